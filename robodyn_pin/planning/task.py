"""From a plan file to a planned motion, its table, and the time that each kind of limit costs."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.families.reduced_arms import strut_model
from robodyn_pin.families.reduced_delta import reduced_model
from robodyn_pin.files import resolve
from robodyn_pin.planning.limits import planning_limits
from robodyn_pin.planning.path import Path
from robodyn_pin.planning.path_check import check_path
from robodyn_pin.planning.path_dynamics import point_blocks
from robodyn_pin.planning.plan import Plan, PlanCurves
from robodyn_pin.planning.plan_file import PlanFile, path_of
from robodyn_pin.planning.solve import fastest
from robodyn_pin.planning.table import PlannedMotion, course_at, cycle_times, motion_at
from robodyn_pin.robot.limits import Limits, strut_limits, torque_limits
from robodyn_pin.robot.payload import loaded
from robodyn_pin.robot.robot import Robot, load, load_named
from robodyn_pin.telling import Milestone, tell

SETTLING = 0.02  # [s] after the motion's end that a controller follows too
ROOM = 0.1  # share of a limit; a limit with more than that left everywhere costs no time


@dataclass(frozen=True)
class PlanTask:
    """What a plan file asks for, read and checked."""

    settings: PlanFile
    robot: Robot  # with its load and the path's coordinates
    path: Path
    limits: Limits

    @property
    def strut_limits(self) -> tuple[float | None, ...]:
        """Largest allowed force [N] of each strut, without margin, even if the plan leaves these limits out."""
        return tuple(strut_limits(self.robot, self.settings.limits).values())

    @property
    def torque_limits(self) -> tuple[float | None, ...]:
        """Largest allowed torque [N m or N] of each motor, likewise."""
        found = torque_limits(self.robot, self.settings.limits).tolist()
        return tuple(most if np.isfinite(most) else None for most in found)


@dataclass(frozen=True)
class StrutUse:
    """The largest strut force of a planned motion."""

    model: str  # "full" or "reduced"
    force: float  # [N] size of the largest one, at either end
    strut: str  # that carries it
    at: float  # [s] when
    margin: float | None  # [N] least distance of any strut to its limit; None: no limit is known


@dataclass(frozen=True)
class PlanResult:
    """A planned motion and its evaluation."""

    task: PlanTask
    plan: Plan
    motion: PlannedMotion  # at the controller's cycle
    curves: PlanCurves
    length: float  # of the path [m or rad]
    struts: tuple[StrutUse, ...]  # by the full model; where it fits by the reduced model, too
    # Largest used share of every limit, 1 at the limit, on the plan's dense grid and in the rows of the table.
    largest_use: dict[tuple[str, str], float]
    # Time [s] that each kind of limit costs; of a kind None: nothing else limits the motion. None: not asked for.
    costs: dict[str, float | None] | None
    seconds: float  # computing time of the plan

    def course(self, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Time (N,), coordinates, rates, accelerations (N, d) at `rate` [Hz], until a moment after the end."""
        t = np.arange(int(np.ceil((self.plan.time + SETTLING) * rate)) + 1) / rate
        return t, *course_at(self.task.path, self.plan.profile, t)[1:]

    @property
    def torque_limits(self) -> dict[str, float]:
        """Largest torque [N m or N] of each motor that has a limit, without the plan's margins."""
        found = zip(self.task.robot.motors.names, self.task.torque_limits, strict=True)
        return {name: most for name, most in found if most is not None}


def read_task(settings: PlanFile, folder: FilePath) -> PlanTask:
    """Read the robot and check the path that a plan file asks for; file paths in it start from `folder`.

    Raises:
        BadPath: the robot cannot follow the path; says where. BadFile, UnknownName: says what is wrong in the files.
    """
    robot = load_named(settings.robot, folder) if settings.params is None else load(resolve(folder, settings.params))
    for body in settings.payload:
        robot = loaded(robot, body)
    if settings.path.coordinates is not None:
        robot = robot.with_coordinates(settings.path.coordinates)
    path = path_of(settings.path, robot)
    check_path(robot, path, settings.limits)
    end_effector = settings.end_effector.model_dump(exclude_none=True)
    _check_reduced(robot, bool(end_effector), settings.reduced)
    limits = planning_limits(robot, settings.limits, settings.margins.model_dump(), end_effector)
    return PlanTask(settings, robot, path, limits.of(limits.kinds.difference(settings.without)))


def _check_reduced(robot: Robot, end_effector: bool, struts: bool) -> None:
    """Refuse a robot that the reduced model does not fit, where something is asked of that model."""
    try:
        if end_effector:
            reduced_model(robot)
        elif struts:
            strut_model(robot)
    except RobodynError as error:
        fits = (
            "'end_effector' limits come from the reduced model of Deltas"
            if end_effector
            else "'reduced' forces come from the reduced model"
        )
        raise BadFile(f"{fits}: {error}") from None


def plan_task(task: PlanTask, progress: Callable[[str], None] = tell) -> PlanResult:
    """Return the fastest motion of a task and its evaluation.

    Raises:
        InfeasiblePlan: no motion keeps the limits; says where on the path and which limit forbids it.
        BadFile: the motion is too long for a table.
    """
    settings, robot, path = task.settings, task.robot, task.path
    kinds = list(dict.fromkeys(b.kind for b in task.limits.bounds if b.kind != "position")) if settings.costs else []
    progress(_round("planning", 0, kinds))
    begin = time.perf_counter()
    plan = fastest_within(task, task.limits)
    seconds = time.perf_counter() - begin
    motion = motion_at(robot, path, plan.profile, cycle_times(plan.profile.time, settings.cycle))
    costs: dict[str, float | None] = {}
    for done, kind in enumerate(kinds):
        progress(_round(f"what limits of {kind} cost", 1 + done, kinds))
        costs[kind] = _cost(task, plan, kind)
    uses, struts = largest_uses(plan, motion), strut_uses(task, motion)
    return PlanResult(
        task, plan, motion, plan.curves(), path.length, struts, uses, costs if settings.costs else None, seconds
    )


def fastest_within(task: PlanTask, limits: Limits) -> Plan:
    """Return the fastest motion of a task within any limits, its own or others; raises as `plan_task`."""
    settings = task.settings
    return fastest(
        task.robot, task.path, limits, points=settings.points, ends=settings.ends, objective=settings.objective,
        reduced=settings.reduced,
    )  # fmt: skip


def _round(text: str, done: int, kinds: Sequence[str]) -> Milestone:
    """A stage of a task, which is as many plans as there are kinds of limits, and one."""
    return Milestone(text, "plan", done / (1 + len(kinds)))


def _cost(task: PlanTask, plan: Plan, kind: str) -> float | None:
    if all(excess < -ROOM for label, excess in plan.excess.items() if label[0] == kind):
        return 0.0
    try:
        without = fastest_within(task, task.limits.of(task.limits.kinds - {kind}))
    except RobodynError:  # the other limits do not bound the motion
        return None
    return round(max(0.0, plan.time - without.time), 6)  # the searches end within microseconds of the optimum


def largest_uses(plan: Plan, motion: PlannedMotion) -> dict[tuple[str, str], float]:
    """Return the largest used share of every limit, on the plan's dense grid and in the rows of its table."""
    centre, half = plan.limits.scale
    s = motion.s[motion.s[:, 0] < 1, 0]  # after the end of the path the robot stands still
    rows = [np.abs(plan.quantities(s[part]) - centre).max(axis=0) / half for part in point_blocks(len(s))]
    in_table = zip(plan.labels, np.max(rows, axis=0).tolist(), strict=True)
    return {label: max(1 + plan.excess[label], share) for label, share in in_table}


def strut_uses(task: PlanTask, motion: PlannedMotion) -> tuple[StrutUse, ...]:
    """Return the largest strut force by the full model and, where it fits, by the reduced one; nothing without struts."""
    if motion.struts is None:
        return ()
    by_model = {"full": (motion.struts.lower, motion.struts.upper)}
    with suppress(RobodynError):  # not every platform has a reduced model
        reduced = strut_model(task.robot)(*motion.joints)
        by_model["reduced"] = reduced.lower, reduced.upper
    found = []
    for name, ends in by_model.items():
        size = np.maximum(*np.abs(ends))
        i, k = np.unravel_index(int(size.argmax()), size.shape)
        largest = zip(task.strut_limits, size.max(axis=0).tolist(), strict=True)
        margin = min((limit - force for limit, force in largest if limit is not None), default=None)
        found.append(StrutUse(name, float(size[i, k]), motion.struts.names[k], float(motion.t[i]), margin))
    return tuple(found)
