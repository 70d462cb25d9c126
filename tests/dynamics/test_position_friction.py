"""Friction over position, the cube root of the rate and cogging along logs, through a parallelogram: formulas of this file, by virtual work."""

import numpy as np

import robodyn_pin as rp
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build

PLAIN = Preparation(differentiation="filter")
PLACES, LEVELS, CBRT, RIPPLE = [-0.1, 0.0, 0.15], [3.0, 1.0, 4.0], 2.0, [0.7, -0.4]
EFFORTS = (
    {"model": "position", "places": PLACES, "initial": LEVELS, "width": 0.05},
    {"model": "cbrt", "initial": CBRT},
    {"model": "cogging", "waves": [30], "initial": RIPPLE},
)


def arm(*efforts: dict) -> Robot:
    """The IRB 2400 with efforts on a motor and on the passive angle of its elbow, and no others."""
    found = rp.load("irb2400")
    named = [EffortSpec.model_validate({"of": of, **e}) for of in ("m1", found.model.names[3]) for e in efforts]
    return build("irb2400", found.file.model_copy(update={"efforts": named}), found.urdf_xml, found.urdf_path)


def moving(robot: Robot, n: int = 900) -> Log:
    t = np.arange(n) / 200
    gear = np.abs(robot.coordinates.S).max(axis=1)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    return Log("log", t, home + gear * 0.2 * np.sin(np.outer(t, np.arange(1.0, 7.0)) + np.arange(6)), None)


def by_hand(x: np.ndarray, xd: np.ndarray) -> np.ndarray:
    """Sum of the three efforts along one axis."""
    first = (x - PLACES[0]) / (PLACES[1] - PLACES[0])
    second = (x - PLACES[1]) / (PLACES[2] - PLACES[1])
    level = np.where(x < PLACES[1], 3.0 - 2.0 * np.clip(first, 0, 1), 1.0 + 3.0 * np.clip(second, 0, 1))
    ripple = RIPPLE[0] * np.sin(30 * x) + RIPPLE[1] * np.cos(30 * x)
    return level * np.tanh(xd / 0.05) + CBRT * np.sign(xd) * np.abs(xd) ** (1 / 3) + ripple


def test_predicted_torques_grow_by_the_formulas_on_motor_and_passive_elbow():
    smooth, rubbing = arm(), arm(*EFFORTS)
    log = moving(smooth)
    extra = predict(rubbing, log, PLAIN) - predict(smooth, log, PLAIN)
    (part,) = along_log(smooth, log, PLAIN, 10_000)
    state, asked = part.state, 0.0
    for row in (rubbing.efforts[0].rows[0], rubbing.efforts[3].rows[0]):
        asked = asked + by_hand(state.q @ row, state.v @ row)[:, None] * row
    expected = np.einsum("nij,ni->nj", state.T, asked)[part.keep]  # coordinates are the motors
    np.testing.assert_allclose(extra, expected, atol=1e-9 * np.abs(expected).max())


def test_blocks_and_paths_give_the_same_columns():
    robot = arm(*EFFORTS)
    log, lowpass = moving(robot), Lowpass(order=2, cutoff=20)
    first = columns(robot).layout.first_scalar

    def seen(size: int) -> np.ndarray:
        parts = along_log(robot, log, PLAIN, size, [lowpass])
        return np.concatenate([state_regressor(robot, p.state)[p.keep][:, :, first:] for p in parts])

    whole = seen(10_000)
    np.testing.assert_allclose(seen(150), whole, atol=1e-9 * np.abs(whole).max())
    (part,) = along_log(robot, log, PLAIN, 10_000)
    found = []
    for path in ("kernel", "pinocchio"):
        with forced(path):
            found.append((state_regressor(robot, part.state), coordinate_efforts(robot, part.state)))
    for compiled, plain in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, atol=1e-12 * np.abs(plain).max())
