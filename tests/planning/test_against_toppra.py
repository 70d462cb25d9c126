"""Plans without jerk limits and viscous friction against toppra, which knows no others."""

import numpy as np
import pytest
from arm import arm

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.planning.limits import symmetric
from robodyn_pin.planning.path import through, u_turn
from robodyn_pin.planning.solve import fastest
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import build, load

toppra = pytest.importorskip("toppra")
toppra.setup_logging("ERROR")

AGREE = 2e-3  # of the time


class Wrapped(toppra.interpolator.AbstractGeometricPath):
    """One of our paths, as toppra wants it."""

    def __init__(self, path, dof):
        self.path, self._dof = path, dof

    @property
    def dof(self):
        return self._dof

    @property
    def path_interval(self):
        return np.array([0.0, 1.0])

    def __call__(self, s, order=0):
        geometry = self.path.at(np.atleast_1d(s))
        found = (geometry.c, geometry.c1, geometry.c2)[order]
        return found[0] if np.ndim(s) == 0 else found


def by_toppra(path, dynamics, most):
    """Time of toppra's plan from rest to rest [s]: on two grids, finer at the ends, its error is of first order in the step."""
    coarse, fine = (on_grid(path, dynamics, most, points) for points in (500, 1000))
    return 2 * fine - coarse


def on_grid(path, dynamics, most, points):
    r = np.linspace(0, 1, points + 1)
    grid = 3 * r**2 - 2 * r**3
    dof, geometry = len(most["torque"]), path.at(grid)
    still = np.zeros_like(geometry.c)
    asked = [(geometry.c, still, still), (geometry.c, still, geometry.c1), (geometry.c, geometry.c1, geometry.c2)]
    known = {}  # toppra asks sample by sample what we know at once
    for motion in asked:
        found = dynamics(*motion)
        known |= {tuple(x[i].tobytes() for x in motion): found[i] for i in range(len(grid))}
    scheme = toppra.constraint.DiscretizationType.Interpolation
    box = {kind: np.column_stack([-value, value]) for kind, value in most.items()}
    constraints = [
        toppra.constraint.JointVelocityConstraint(box["velocity"]),
        toppra.constraint.JointAccelerationConstraint(box["acceleration"], discretization_scheme=scheme),
        toppra.constraint.JointTorqueConstraint(
            lambda *motion: known[tuple(x.tobytes() for x in motion)],
            box["torque"],
            np.zeros(dof),
            discretization_scheme=scheme,
        ),
    ]
    solver = toppra.algorithm.TOPPRA(constraints, Wrapped(path, dof), gridpoints=grid, solver_wrapper="seidel")
    _, speed, _ = solver.compute_parameterization(0, 0)
    return float((2 * np.diff(grid) / (speed[1:] + speed[:-1])).sum())


def limits(names, most):
    return Limits(tuple(symmetric(kind, names, value) for kind, value in most.items()))


def frictionless(robot):
    file = robot.file.model_copy(update={"efforts": [e for e in robot.file.efforts if e.model == "armature"]})
    return build(robot.name, file, robot.urdf_xml, robot.urdf_path)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_arm_of_seven_joints_is_as_fast(seed):
    robot, rng = arm(), np.random.default_rng(seed)
    names = robot.coordinates.names
    path = through(names, rng.uniform(-1.5, 1.5, (5, 7)), np.zeros(7, bool))
    most = {"velocity": rng.uniform(2, 4, 7), "acceleration": rng.uniform(8, 20, 7), "torque": rng.uniform(60, 120, 7)}

    def dynamics(q, v, a):
        return inverse_dynamics(robot, q, v, a)

    ours = fastest(robot, path, limits(names, most))
    assert ours.time == pytest.approx(by_toppra(path, dynamics, most), rel=AGREE)
    assert ours.dense.worst <= 1e-3


def test_the_u_turn_of_the_delta_is_as_fast():
    # In the motors' coordinates of toppra's joints: torques, speeds and accelerations of the three arms.
    robot = frictionless(load("irb360")).with_coordinates(["x", "y", "z", "psi"])
    path = u_turn(
        robot.coordinates.names, np.array([0, -0.4, -0.1566, 0]), np.array([0, 0.8, 0, 0]), np.array([0, 0, 0.18, 0]),
        np.zeros(4), 0.045, np.array([True, True, True, False]),
    )  # fmt: skip
    arms = ("phi1", "phi2", "phi3")
    columns = [list(robot.model.names).index(name) - 1 for name in arms]

    class Arms:
        """The arms' angles along the path."""

        @staticmethod
        def at(s):
            geometry = path.at(s)
            state = robot.close(geometry.c, geometry.c1, geometry.c2)
            return type(geometry)(s, *(x[:, columns] for x in (state.q, state.v, state.a)), geometry.c3[:, :3])

    by_arms = robot.with_coordinates(["phi1", "phi2", "phi3", "psi"])

    def dynamics(q, v, a):
        more = [np.column_stack([x, np.zeros(len(x))]) for x in (q, v, a)]
        return inverse_dynamics(by_arms, *more)[:, :3]

    most = {"velocity": np.full(3, 18.99), "acceleration": np.full(3, 87.27), "torque": np.full(3, 30.0)}
    ours = fastest(dynamics, Arms, limits(arms, most))
    assert ours.time == pytest.approx(by_toppra(Arms, dynamics, most), rel=AGREE)
    assert ours.dense.worst <= 1e-3
