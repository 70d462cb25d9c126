"""Plans beside toppra (a path, no jerk) and Ruckig (point to point, with jerk)."""

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pinocchio as pin
from peer import Peer
from plans import point_to_point, seven_joints

import robodyn_pin as rp

POINTS = 300


def plans() -> Iterator[Peer]:
    if find_spec("toppra"):
        yield beside_toppra()
    if find_spec("ruckig"):
        yield beside_ruckig()


def beside_toppra() -> Peer:
    import toppra

    toppra.setup_logging("ERROR")
    robot, path, limits = seven_joints()
    data, grid = robot.model.createData(), np.linspace(0, 1, POINTS + 1)
    box = {b.kind: np.column_stack([b.centre - b.half, b.centre + b.half]) for b in limits.bounds}

    class Wrapped(toppra.interpolator.AbstractGeometricPath):
        dof, path_interval = 7, np.array([0.0, 1.0])

        def __call__(self, s: np.ndarray, order: int = 0) -> np.ndarray:
            found = path.at(np.atleast_1d(s))
            x = (found.c, found.c1, found.c2)[order]
            return x if np.ndim(s) else x[0]

    def torque(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return pin.rnea(robot.model, data, q, v, a)

    def theirs() -> np.ndarray:
        scheme = toppra.constraint.DiscretizationType.Interpolation
        constraints = [
            toppra.constraint.JointVelocityConstraint(box["velocity"]),
            toppra.constraint.JointAccelerationConstraint(box["acceleration"], discretization_scheme=scheme),
            toppra.constraint.JointTorqueConstraint(torque, box["torque"], np.zeros(7), discretization_scheme=scheme),
        ]
        solver = toppra.algorithm.TOPPRA(constraints, Wrapped(), gridpoints=grid, solver_wrapper="seidel")
        _, speed, _ = solver.compute_parameterization(0, 0)
        return np.array((2 * np.diff(grid) / (speed[1:] + speed[:-1])).sum())

    def ours() -> np.ndarray:
        return np.array(rp.fastest(robot, path, limits, points=POINTS).time)

    what = f"fastest motion on a path of {POINTS} points, seven joints, torques"
    return Peer(what, "toppra, seidel", "an even grid, no check between its points", ours, theirs, 1, 0.02)


def beside_ruckig() -> Peer:
    import ruckig

    inverse, path, limits = point_to_point()
    most = {b.kind: float(b.half[0]) for b in limits.bounds}

    def theirs() -> np.ndarray:
        asked = ruckig.InputParameter(1)
        asked.current_position, asked.target_position = [0.0], [1.0]
        asked.max_velocity, asked.max_acceleration = [most["velocity"]], [most["acceleration"]]
        asked.max_jerk = [most["jerk"]]
        found = ruckig.Trajectory(1)
        ruckig.Ruckig(1).calculate(asked, found)
        return np.array(found.duration)

    def ours() -> np.ndarray:
        return np.array(rp.fastest(inverse, path, limits).time)

    differs = "the profile's phases; ours is sampled on 300 points and checked"
    return Peer("point to point with jerk, one joint", "Ruckig", differs, ours, theirs, 1, 1e-9)
