"""Torques and strut forces against MuJoCo (mujoco_twin.py): its mass matrix, its bias forces, its Jacobians of the cut joints.

B'tau = T'(M a + bias) is formed from those alone. States come from closed forms (workspaces.py), so the
package is asked for nothing but its answer. Friction is left out on both sides; rotors (armature) stay.
"""

import numpy as np
import pytest
from mujoco_twin import asked, tensions, twin
from workspaces import WORKSPACES

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.dynamics.multipliers import constraint_forces
from robodyn_pin.dynamics.struts import strut_loads
from robodyn_pin.robot.robot import Robot, build, load

STATES = 50


def without_friction(name: str) -> Robot:
    catalogue = load(name)
    rotors = [effort for effort in catalogue.file.efforts if effort.model == "armature"]
    file = catalogue.file.model_copy(update={"efforts": rotors})
    return build(name, file, catalogue.urdf_xml, catalogue.urdf_path)


def relative_errors(name: str, states: int = STATES) -> tuple[float, float, float]:
    """Largest over the states: error of B'tau, error of the motor torques, both relative, and the gap in MuJoCo."""
    robot = without_friction(name)
    rng = np.random.default_rng(sum(map(ord, name)))
    reach = WORKSPACES[name](rng, states)
    cd, cdd = 2 * rng.normal(size=reach.c.shape), 20 * rng.normal(size=reach.c.shape)
    tau = inverse_dynamics(robot, reach.c, cd, cdd)
    at, worst = twin(robot), np.zeros(3)
    for k in range(states):
        q = np.array([reach.joints[joint][k] for joint in at.joints])
        found = asked(at, q, cd[k], cdd[k])
        B, efforts, gap = at.motors @ found.T, found.T.T @ found.efforts, found.gap
        least_norm = np.linalg.pinv(B.T) @ efforts
        off = np.linalg.norm(B.T @ tau[k] - efforts) / np.linalg.norm(efforts)
        off_motors = np.linalg.norm(tau[k] - least_norm) / np.linalg.norm(least_norm)
        worst = np.maximum(worst, [off, off_motors, gap])
    return tuple(worst)


@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_torques_are_those_of_mujoco(name):
    efforts, motors, gap = relative_errors(name)
    assert gap < 1e-12  # the closed-form states are closed in MuJoCo, too
    assert efforts < 1e-7
    assert motors < 1e-7  # of least norm where there are more motors than degrees of freedom


@pytest.mark.parametrize(("name", "speed"), [("irb360", 2), ("irb360_measure", 2), ("delta3", 2), ("h4", 0.5)])
def test_strut_forces_are_those_of_mujoco_up_to_the_torque_limits(name, speed):
    """The forces that close MuJoCo's rigid equations at the state: J'lambda = M a + bias - S'tau."""
    robot, rng = without_friction(name), np.random.default_rng(7)
    reach, limits = WORKSPACES[name](rng, STATES), np.array([robot.file.limits[m].torque for m in robot.motors.names])
    cd, direction = speed * rng.normal(size=reach.c.shape), rng.normal(size=reach.c.shape)
    still, more = (inverse_dynamics(robot, reach.c, cd, x) for x in (0 * direction, direction))
    room = np.abs(np.where(more > still, limits, -limits) - still) / np.abs(more - still)
    cdd = room.min(axis=1, keepdims=True) * direction
    forces = constraint_forces(robot, reach.c, cd, cdd)
    np.testing.assert_allclose((np.abs(forces.tau) / limits).max(axis=1), 1, rtol=1e-9)
    loads = strut_loads(robot, robot.close(reach.c, cd, cdd), forces.multipliers)
    at, largest = twin(robot), 0.0
    for k in range(STATES):
        q = np.array([reach.joints[joint][k] for joint in at.joints])
        found = tensions(at, robot, q, cd[k], cdd[k])
        for column, (strut, (lower, upper)) in enumerate(found.items()):
            assert forces.struts[strut][k] == pytest.approx(lower, abs=1e-6)
            assert loads.upper[k, column] == pytest.approx(upper, abs=1e-6)
            largest = max(largest, abs(upper))
    assert largest > limits[0] / 2  # of the order of arm torque over arm length
