"""How long a plan takes on one core, and how that grows with the points of the path: time of the thread that plans, checks included.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/plans.py
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from arm import arm

from robodyn_pin.planning.limits import planning_limits, symmetric
from robodyn_pin.planning.path import Path as Curve
from robodyn_pin.planning.path import through, u_turn
from robodyn_pin.planning.solve import fastest
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import load

REPEATS = 5
COUNTS = (300, 1000, 5000)


def planning_times(points: int = 300, repeats: int = REPEATS) -> list[tuple[str, float, float]]:
    """What, the time asked and the best time reached [s] of one core, of whole plans with their dense check."""
    delta, path, limits = u_turn_of_the_delta()
    motors = Limits(tuple(b for b in limits.bounds if b.kind not in ("force", "end_effector", "jerk")))
    robot, curve, most = seven_joints()
    return [
        ("U-turn, torques, velocities, accelerations", 0.15, best(repeats, delta, path, motors, points)),
        ("arm of seven joints, torques, velocities, accelerations", 0.15, best(repeats, robot, curve, most, points)),
        ("one joint, point to point with jerk, in closed form", 0.001, best(repeats, *point_to_point(), points)),
        ("U-turn, with jerk, struts (full model) and end-effector", 1.0, best(repeats, delta, path, limits, points)),
    ]


def growth(counts: tuple[int, ...] = COUNTS) -> tuple[tuple[int, ...], list[float]]:
    """Numbers of points, and the time [s] that the U-turn with jerk and strut limits takes with each."""
    delta, path, limits = u_turn_of_the_delta()
    return counts, [best(1, delta, path, limits, n) for n in counts]


def best(repeats: int, robot, path: Curve, limits: Limits, points: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        plan = fastest(robot, path, limits, points=points)
        times.append(time.thread_time() - begin)
        assert plan.converged
        assert plan.dense.worst <= 1e-3
    return min(times)


def u_turn_of_the_delta():
    """The U-turn of Gnad et al. (IRB 360) without load, its limits with 10 % margin on torques and forces."""
    robot = load("irb360").with_coordinates(["x", "y", "z", "psi"])
    start, across, up = np.array([0, -0.4, -0.1566, 0]), np.array([0, 0.8, 0, 0]), np.array([0, 0, 0.18, 0])
    sliding = np.array([True, True, True, False])
    path = u_turn(robot.coordinates.names, start, across, up, np.zeros(4), 0.045, sliding)
    margins = {"torque": 0.1, "force": 0.1, "end_effector": 0.1}
    return robot, path, planning_limits(robot, {}, margins, {"force": 140, "torque": 10})


def point_to_point():
    """One joint that moves by 1 rad; its speed, acceleration and jerk are limited."""
    most = {"velocity": 1.2, "acceleration": 3.0, "jerk": 30.0}
    limits = Limits(tuple(symmetric(kind, ("q",), np.array([value])) for kind, value in most.items()))
    return (lambda q, v, a: a), through(["q"], np.array([[0.0], [1.0]]), np.zeros(1, bool)), limits


def seven_joints():
    robot = arm()
    way = np.random.default_rng(1).uniform(-1.5, 1.5, (5, 7))
    most = {"velocity": 3.0, "acceleration": 12.0, "torque": 90.0}
    limits = Limits(tuple(symmetric(k, robot.coordinates.names, np.full(7, v)) for k, v in most.items()))
    return robot, through(robot.coordinates.names, way, np.zeros(7, bool)), limits


def main() -> None:
    for what, asked, spent in planning_times():
        print(f"{what}: {spent:.4f} s (asked {asked} s)")
    for n, spent in zip(*growth(), strict=True):
        print(f"U-turn with jerk and struts, {n} points: {spent:.2f} s, {1e3 * spent / n:.2f} ms a point")


if __name__ == "__main__":
    main()
