"""Friction beside its data: what is drawn is what was put into the log, by formulas of the test's own."""

import numpy as np
import pytest
from test_friction_shapes import identified, with_friction
from test_stops_used import MOTION, NAMES, STOPS, STRENGTHS

from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.units import coordinate_units
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.viz.friction_curves import friction_pictures

RUN = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}})
RUBS = (
    {"of": "phi1", "model": "coulomb", "initial": 3.0, "width": 0.05},
    {"of": "phi1", "model": "viscous", "initial": 2.0},
    {"of": "phi2", "model": "coulomb", "initial": 1.5, "width": 0.05, "known": True},
    {"of": "phi3", "model": "maxwell_slip", "stops": STOPS, "initial": STRENGTHS},
    {"of": "psi", "model": "offset"},
)


@pytest.fixture(scope="module")
def result() -> Result:
    robot = with_friction("irb360_arms", *RUBS)
    return identified(robot, RUN, simulate(robot, MOTION, Noise(np.full(4, 0.05), None, 0)))


@pytest.fixture(scope="module")
def drawn(result) -> dict:
    pictures = friction_pictures(result.robot_before, result.check.samples[0], coordinate_units(result.robot_before))
    return {p.name: p for p in pictures}


def _columns(picture) -> dict[str, np.ndarray]:
    return {head: np.asarray(x) for head, x in picture.columns.items()}


def test_model_and_measured_points_are_the_friction_that_was_put_in(drawn):
    """Unknown friction and friction that the robot file knows alike; points besides carry the torques' noise."""
    laws = {"phi1": lambda w: 3.0 * np.tanh(w / 0.05) + 2.0 * w, "phi2": lambda w: 1.5 * np.tanh(w / 0.05)}
    for name, law in laws.items():
        found = _columns(drawn[f"friction_{name}"])
        expected = law(found["speed [rad/s]"])
        np.testing.assert_allclose(found["model [N m]"], expected, atol=0.05)
        # five standard deviations of the noise; rates in turns are a little off
        assert np.quantile(np.abs(found["measured less bodies [N m]"] - expected), 0.99) < 5 * 0.05


def test_only_friction_that_depends_on_the_position_is_drawn_over_it(drawn):
    assert "position [rad]" in drawn["friction_phi3"].svg
    assert "position [rad]" not in drawn["friction_phi1"].svg
    for name in drawn:
        assert "speed [rad/s]" in drawn[name].svg
        assert "torque [N m]" in drawn[name].svg


def test_an_axis_without_friction_has_no_picture_of_it(drawn):
    assert set(drawn) == {f"friction_{name}" for name in NAMES if name != "psi"}


def test_the_same_result_gives_the_same_bytes(result, drawn):
    units = coordinate_units(result.robot_before)
    again = friction_pictures(result.robot_before, result.check.samples[0], units)
    assert [p.svg for p in again] == [p.svg for p in drawn.values()]
