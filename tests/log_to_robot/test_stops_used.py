"""Identified stops: strengths put into simulated robots are found; stops that never slide are left out."""

from dataclasses import replace

import numpy as np
import pytest
from test_friction_shapes import identified, with_friction

from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.identification.fold import Factor, empty
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.standing_still import more_standstill
from robodyn_pin.log_to_robot.stops_used import with_used_stops
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

STOPS, STRENGTHS = [0.004, 0.02, 0.05, 0.12], [1.0, 0.8, 0.6, 0.9]
NAMES = ("phi1", "phi2", "phi3", "psi")
MOTION = FourierMotion(
    rate=200, duration=20, period=2.5, centre=dict.fromkeys(NAMES, 0.3),
    sin={name: (0.12 * np.roll([1.0, -0.4, 0.8, 0.2, -0.5], k)).tolist() for k, name in enumerate(NAMES)},
)  # fmt: skip
RUN = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}})


def test_strengths_of_four_stops_are_found_through_loops_and_the_identified_file_predicts_them(tmp_path):
    truth = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": STOPS, "initial": STRENGTHS})
    log = simulate(truth, MOTION, Noise(np.full(4, 0.02), None, 0))
    asked = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": [*STOPS, 40.0]})
    result = identified(asked, RUN, log)
    labels = list(result.layout.labels)
    found = [result.feasible.values[labels.index(f"stop_{k}(phi1)")] for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, STRENGTHS, rtol=0.05)
    assert any("left out of 'maxwell_slip': phi1 40 rad" in text for text in result.verdict.cautions)
    again = load(result.write(tmp_path / "result", report=False))
    assert predict(again, log, RUN.preparation) == pytest.approx(predict(result.robot, log, RUN.preparation), abs=1e-6)


def test_a_held_out_log_that_stands_still_far_more_often_is_told():
    """The axis with the stops stands, one without them does, or all move: 0 % of the fitted samples stand."""
    robot = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": STOPS, "initial": STRENGTHS})

    def rows(*counts: int) -> list[Factor]:
        return [replace(empty(1), rows=n) for n in counts]

    fitted = np.array([0.07, 0.07, 0.3, 0.0])
    said = more_standstill(robot, fitted, [rows(49, 95, 80, 100), rows(51, 5, 20, 0)])
    assert said.startswith(
        "phi1 stands still in 51 % of the held-out samples, in 7 % of the fitted ones: stops of 'maxwell_slip'"
    )
    assert more_standstill(robot, fitted, [rows(95, 49, 80, 100), rows(5, 51, 20, 0)]) == ""
    assert more_standstill(robot, np.array([0.3, 0, 0, 0]), [rows(49, 1, 1, 1), rows(51, 0, 0, 0)]) == ""


def test_a_verdict_says_that_the_held_out_part_stands():
    robot = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": STOPS, "initial": STRENGTHS})
    log = simulate(robot, MOTION, Noise(np.full(4, 0.02), None, 0))
    q = log.q.copy()
    cut = int(0.7 * log.size)
    q[cut + 200 :, 0] = q[cut + 200, 0]  # and torques of before: only what is said counts here
    asked = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": STOPS})
    result = identified(asked, RUN, replace(log, q=q))
    (said,) = [text for text in result.verdict.cautions if "stands still in" in text]
    assert said.startswith("phi1 stands still in")


def test_radii_that_nobody_gives_are_parts_of_the_axis_own_spread():
    robot = with_friction("irb360_arms", {"of": "phi2", "model": "maxwell_slip"})
    log = simulate(load("irb360_arms"), MOTION, Noise(np.zeros(4), None, 0))
    used, said = with_used_stops(robot, [log], 5)
    spread = np.std(log.q[:, NAMES.index("phi2")])
    (effort,) = [e for e in used.efforts if e.memory]
    np.testing.assert_allclose(
        effort.radii, np.array([0.01, 0.03, 0.1, 0.3, 1.0])[: len(effort.radii)] * spread, rtol=1e-3
    )
    assert not said or "phi2" in said[0]
