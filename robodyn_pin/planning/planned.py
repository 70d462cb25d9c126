"""From a plan file to a planned motion: the robot with its load, the path, the limits, the plan, the table, what costs time."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath

import numpy as np

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.files import resolve
from robodyn_pin.limits import Limits, strut_limits, torque_limits
from robodyn_pin.payload import loaded
from robodyn_pin.planning.limits import planning_limits
from robodyn_pin.planning.model import blocks
from robodyn_pin.planning.path import Path
from robodyn_pin.planning.plan_file import PlanFile, path_of
from robodyn_pin.planning.reach import check_path
from robodyn_pin.planning.solve import Plan, fastest
from robodyn_pin.planning.table import Motion, cycle_times, motion_at
from robodyn_pin.reduced import reduced_model, tree_forces
from robodyn_pin.robot import Robot, load, load_named

ROOM = 0.1  # share of a limit: where that much is left of it everywhere, it costs no time


@dataclass(frozen=True)
class Task:
    """What is to be planned."""

    settings: PlanFile
    robot: Robot  # with its load, in the path's coordinates
    path: Path
    limits: Limits

    @property
    def strut_limits(self) -> tuple[float | None, ...]:
        """Largest force [N] of each strut, without margin, whether planned with or not."""
        return tuple(strut_limits(self.robot, self.settings.limits).values())

    @property
    def torque_limits(self) -> tuple[float | None, ...]:
        """Largest torque [N m or N] of each motor, likewise."""
        found = torque_limits(self.robot, self.settings.limits).tolist()
        return tuple(most if np.isfinite(most) else None for most in found)


@dataclass(frozen=True)
class StrutUse:
    """The largest strut force of a planned motion."""

    model: str  # "full" or "reduced"
    force: float  # [N] largest size, at either end
    strut: str
    at: float  # [s]
    margin: float | None  # [N] to the limit, of the strut that is nearest to its own; None: no limit known


@dataclass(frozen=True)
class Planned:
    """A planned motion, and what is known of it."""

    task: Task
    plan: Plan
    motion: Motion  # at the controller's cycle
    struts: tuple[StrutUse, ...]  # of the full model; of Deltas of the reduced one too
    costs: dict[str, float | None] | None  # [s] by kind of limit, None: nothing else limits; None: not asked for
    seconds: float  # that planning took

    @cached_property
    def used(self) -> dict[tuple[str, str], float]:
        """Largest share of every limit, 1 at the limit: on the dense grid of the plan, and in the rows of the table."""
        centre, half = self.task.limits.scale
        s = self.motion.s[:, 0]
        s = s[s < 1]  # behind the end the robot stands still
        rows = [np.abs(self.plan.quantities(s[part]) - centre).max(axis=0) / half for part in blocks(len(s))]
        return {
            label: max(1 + self.plan.excess[label], float(share))
            for label, share in zip(self.task.limits.labels, np.max(rows, axis=0), strict=True)
        }


def read_task(settings: PlanFile, folder: FilePath) -> Task:
    """What a plan file asks for; its paths start from `folder`.

    Raises:
        BadPath: a path that cannot be followed; says where. BadFile, UnknownName: what is wrong in the files.
    """
    robot = load_named(settings.robot, folder) if settings.params is None else load(resolve(folder, settings.params))
    for body in settings.payload:
        robot = loaded(robot, body)
    if settings.path.coordinates is not None:
        robot = robot.with_coordinates(settings.path.coordinates)
    path = path_of(settings.path, robot)
    check_path(robot, path, settings.limits)
    end_effector = settings.end_effector.model_dump(exclude_none=True)
    if end_effector or settings.reduced:
        _check_delta(robot)
    limits = planning_limits(robot, settings.limits, settings.margins.model_dump(), end_effector)
    kept = tuple(b for b in limits.bounds if b.kind not in settings.without)
    return Task(settings, robot, path, Limits(kept))


def _check_delta(robot: Robot) -> None:
    try:
        reduced_model(robot)
    except RobodynError as error:
        raise BadFile(
            f"'end_effector' limits and 'reduced' forces come from the reduced model of Deltas: {error}"
        ) from None


def plan_task(task: Task, progress: Callable[[str], None] = lambda stage: None) -> Planned:
    """The fastest motion of a task.

    Raises:
        InfeasiblePlan: there is none; says where on the path and which limit forbids it.
        BadFile: it is too long for a table.
    """
    settings, robot, path = task.settings, task.robot, task.path
    progress("planning")
    begin = time.perf_counter()
    plan = fastest_within(task, task.limits)
    seconds = time.perf_counter() - begin
    progress("table")
    motion = motion_at(robot, path, plan.profile, cycle_times(plan.profile.time, settings.cycle))
    progress("what each limit costs")
    costs = _costs(task, plan) if settings.costs else None
    return Planned(task, plan, motion, strut_uses(task, motion), costs, seconds)


def fastest_within(task: Task, limits: Limits) -> Plan:
    """The fastest motion of a task within other limits than its own; raises as `plan_task`."""
    settings = task.settings
    return fastest(
        task.robot, task.path, limits, points=settings.points, ends=settings.ends, objective=settings.objective,
        reduced=settings.reduced,
    )  # fmt: skip


def _costs(task: Task, plan: Plan) -> dict[str, float | None]:
    """How much shorter [s] the motion would be without each kind of limit; zero where all of the kind have much room."""
    kinds = dict.fromkeys(b.kind for b in task.limits.bounds if b.kind != "position")
    return {kind: _cost(task, plan, kind) for kind in kinds}


def _cost(task: Task, plan: Plan, kind: str) -> float | None:
    if all(over < -ROOM for label, over in plan.excess.items() if label[0] == kind):
        return 0.0
    try:
        free = fastest_within(task, Limits(tuple(b for b in task.limits.bounds if b.kind != kind)))
    except RobodynError:  # what is left limits nothing
        return None
    return round(max(0.0, plan.time - free.time), 6)  # searches end some microseconds before the optimum


def strut_uses(task: Task, motion: Motion) -> tuple[StrutUse, ...]:
    """The largest strut forces of a motion by the models that the robot has; none without struts."""
    if motion.struts is None:
        return ()
    by_model = {"full": (motion.struts.lower, motion.struts.upper)}
    with suppress(RobodynError):  # no Delta: there is no reduced model of it
        by_model["reduced"] = _reduced(task.robot, motion)
    found = []
    for name, ends in by_model.items():
        size = np.maximum(*np.abs(ends))
        i, k = np.unravel_index(int(size.argmax()), size.shape)
        left = [
            most - x for most, x in zip(task.strut_limits, size.max(axis=0).tolist(), strict=True) if most is not None
        ]
        strut, at = motion.struts.names[k], float(motion.t[i])
        found.append(StrutUse(name, float(size[i, k]), strut, at, min(left, default=None)))
    return tuple(found)


def _reduced(robot: Robot, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Strut forces (N, k) of the reduced model of a Delta, at lower and upper ends."""
    model, lower, upper = reduced_model(robot), [], []
    for part in blocks(len(motion.t)):
        state = robot.close(motion.c[part], motion.cd[part], motion.cdd[part])
        forces = tree_forces(model, state.q, state.v, state.a)
        lower.append(forces.lower)
        upper.append(forces.upper)
    return np.concatenate(lower), np.concatenate(upper)
