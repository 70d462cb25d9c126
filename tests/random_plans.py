"""Random paths and limits for the planner, and what came of them, looked at with functions that the planner does not use."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from arm import arm

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.dynamics.multipliers import constraint_forces
from robodyn_pin.errors import ClosureFailed, InfeasiblePlan
from robodyn_pin.planning.limits import planning_limits, symmetric
from robodyn_pin.planning.path import Path, through
from robodyn_pin.planning.solve import fastest
from robodyn_pin.robot.limits import AxisLimits, Limits
from robodyn_pin.robot.robot import Robot, load

POINTS = 100
TIMES = 400  # of a motion that are looked at


@dataclass(frozen=True)
class Outcome:
    """What came of a random problem."""

    time: float  # of the motion [s], nan where there is none
    worst: float  # share over a limit of torques, strut forces, velocities and accelerations, by other functions
    jerked: float  # share over a limit of the jerk, by the planner's dense check
    cost: float  # share of the time that the final scaling took
    label: tuple[str, str] | None  # the limit that forbids the motion
    excess: float
    proved: bool


@cache
def robots() -> dict[str, Robot]:
    return {"arm": arm(), "irb360": load("irb360").with_coordinates(["x", "y", "z", "psi"])}


def random_plan(rng: np.random.Generator) -> Outcome:
    """A robot, two to six way-points, limits over a decade (some too small for the robot's weight), ends and jerk at random."""
    name = str(rng.choice(["arm", "irb360"]))
    robot, jerk = robots()[name], bool(rng.random() < 0.5)
    count = int(rng.integers(2, 7))
    middle, reach = (0.0, 1.5) if name == "arm" else (np.array([0, 0, -0.2, 0]), np.array([0.3, 0.3, 0.1, 1.0]))
    path = reachable(robot, lambda: middle + reach * rng.uniform(-1, 1, (count, len(robot.coordinates.names))))
    limits = random_limits(name, robot, rng, jerk)
    ends = tuple(rng.choice(["rest", "free"], 2))
    try:
        plan = fastest(robot, path, limits, points=POINTS, ends=ends)
    except InfeasiblePlan as error:
        return Outcome(np.nan, np.nan, np.nan, 0.0, error.label, error.excess, error.proved)
    jerked = max((over for (kind, _), over in plan.excess.items() if kind == "jerk"), default=-1.0)
    return Outcome(plan.time, looked_at(robot, path, limits, plan.profile), jerked, plan.scaling_cost, None, 0.0, True)


def reachable(robot: Robot, draw: Callable[[], np.ndarray]) -> Path:
    """The first spline through drawn way-points that stays in the workspace and crosses no singularity."""
    sliding = np.array([name in "xyz" for name in robot.coordinates.names])
    while True:
        path = through(robot.coordinates.names, draw(), sliding)
        c = path.at(np.linspace(0, 1, 500)).c
        try:
            state = robot.close(c, 0 * c, 0 * c)
        except ClosureFailed:
            continue
        side = np.linalg.det(robot.motors.S @ state.T)
        if (side * side[0] > 0).all():
            return path


def random_limits(name: str, robot: Robot, rng: np.random.Generator, jerk: bool) -> Limits:
    """Of the motors, and of the struts of a Delta."""
    if name == "arm":
        size = {"velocity": 3.0, "acceleration": 10.0, "torque": 60.0} | ({"jerk": 100.0} if jerk else {})
        names = robot.coordinates.names
        most = {kind: value * 10.0 ** rng.uniform(-0.5, 0.5, len(names)) for kind, value in size.items()}
        return Limits(tuple(symmetric(kind, names, value) for kind, value in most.items()))
    kinds = {"velocity", "acceleration", "torque", "force"} | ({"jerk"} if jerk else set())
    given = [b for b in planning_limits(robot, {}).bounds if b.kind in kinds]
    scaled = [AxisLimits(b.kind, b.names, b.S, b.centre, b.half * 10.0 ** rng.uniform(-1.2, 0.3)) for b in given]
    return Limits(tuple(scaled))


def looked_at(robot, path, limits, profile) -> float:
    """Largest share over a limit at equal times, from the coordinates' rates."""
    s, sd, sdd, _ = (x[:, None] for x in profile.at_time(np.linspace(0, profile.time, TIMES)))
    geometry = path.at(s[:, 0])
    motion = geometry.c, geometry.c1 * sd, geometry.c2 * sd**2 + geometry.c1 * sdd
    state = robot.close(*motion)
    found = {"velocity": state.v, "acceleration": state.a, "torque": inverse_dynamics(robot, *motion)}
    if any(b.kind == "force" for b in limits.bounds):
        lower = np.stack([*constraint_forces(robot, *motion).struts.values()], axis=1)
        found["force"] = np.hstack([lower, np.zeros_like(lower)])  # the upper ends are the planner's own
    shares = [np.abs(found[b.kind] @ b.S.T / b.half).max() for b in limits.bounds if b.kind in found]
    return float(max(shares)) - 1
