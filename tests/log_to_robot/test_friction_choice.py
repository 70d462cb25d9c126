"""Friction chosen for each axis: hysteresis that was put in is taken, and none where there is none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from test_friction_shapes import identified, with_friction
from test_stops_used import MOTION, STOPS, STRENGTHS

from robodyn_pin.files import parse_yaml
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.log_to_robot.friction_choice import worth_it
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.output.console import print_result
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

RUN = parse_yaml(
    "{robot: irb360_arms, fit: [{file: log.csv}], rows: {cut: 5}, "
    "choose: {folds: 3, friction: [coulomb+viscous, maxwell_slip]}}",
    RunFile, "run.yaml",
)  # fmt: skip
RUBS = [{"of": name, "model": "coulomb", "initial": 1.0, "width": 0.05} for name in ("phi1", "psi")]


def test_the_axis_with_stops_gets_them_and_the_other_keeps_the_simple_model(tmp_path, capsys):
    slips = {"of": "phi1", "model": "maxwell_slip", "stops": STOPS, "initial": STRENGTHS}
    log = simulate(with_friction("irb360_arms", *RUBS, slips), MOTION, Noise(np.full(4, 0.1), None, 0))
    result = identified(with_friction("irb360_arms", *RUBS), RUN, log)
    taken = {c.axis: c.chosen for c in result.settings.friction}
    assert taken["phi1"] == "coulomb+viscous+maxwell_slip"
    assert {chosen for axis, chosen in taken.items() if axis != "phi1"} == {"coulomb+viscous"}
    print_result(result, tmp_path)
    assert "a richer model is worth it on phi1 (coulomb+viscous+maxwell_slip)" in capsys.readouterr().out
    folder = result.write(tmp_path / "result")
    (said,) = [c for c in json.loads((folder / "result.json").read_text())["friction_chosen"] if c["axis"] == "phi1"]
    assert said["tried"] == ["coulomb+viscous", "coulomb+viscous+maxwell_slip"]
    assert "friction that was tried" in (folder / "report.html").read_text(encoding="utf-8")
    assert {e.spec.model for e in load(folder).efforts if e.name == "phi1"} >= {"coulomb", "viscous", "maxwell_slip"}


def test_a_robot_without_hysteresis_keeps_the_simple_model_on_every_axis():
    log = simulate(with_friction("irb360_arms", *RUBS), MOTION, Noise(np.full(4, 0.1), None, 1))
    result = identified(with_friction("irb360_arms", *RUBS), RUN, log)
    assert {c.chosen for c in result.settings.friction} == {"coulomb+viscous"}
    assert "no richer model is worth it" in worth_it(result.settings.friction)


@pytest.mark.parametrize(("offered", "sentence"), [("[coulomb+viscous, +grease]", "has 'grease' in '\\+grease'; it knows"), ("[+quadratic, coulomb]", "begin with the simplest"), ("[coulomb]", "begin with the simplest")])  # fmt: skip
def test_friction_that_cannot_be_chosen_is_refused(offered, sentence):
    text = f"{{robot: a, fit: [{{file: log.csv}}], choose: {{friction: {offered}}}}}"
    with pytest.raises(Exception, match=sentence):
        parse_yaml(text, RunFile, "run.yaml")


def test_friction_over_position_is_taken_where_the_robot_has_it_and_found_through_loops(tmp_path):
    """Force by a formula of its own: Coulomb 1 + 0.8 sin(9 x) either way, cube root of the rate on psi."""
    robot = with_friction("irb360_arms", *RUBS)
    log = simulate(robot, MOTION, Noise(np.zeros(4), None, 2))
    i, j = 0, 3
    t, q = log.t, log.q
    rates = np.gradient(q, t, axis=0)
    extra = np.zeros_like(q)
    extra[:, i] = np.tanh(rates[:, i] / 0.05) * (1 + 0.8 * np.sin(9 * q[:, i]))
    extra[:, j] = 1.5 * np.cbrt(rates[:, j])
    noise = 0.02 * np.random.default_rng(3).normal(size=q.shape)
    rubbed = replace(log, tau=log.tau + extra + noise)
    run = RUN.model_copy(
        update={"choose": RUN.choose.model_copy(update={"friction": ["coulomb+viscous", "+cbrt", "+position"]})}
    )
    result = identified(robot, run, rubbed)
    taken = {c.axis: c.chosen for c in result.settings.friction}
    assert "position" in taken["phi1"]
    assert "coulomb" not in taken["phi1"]
    assert "cbrt" in taken["psi"]
    assert "position" not in taken["psi"]
    folder = result.write(tmp_path / "result", report=False)
    again = load(folder)
    (rubs,) = [e for e in again.efforts if e.spec.model == "position" and e.name == "phi1"]
    assert (rubs.initial >= -1e-9).all()
    places = np.array(rubs.spec.places)[1:-1]
    np.testing.assert_allclose(rubs.initial[1:4], 1 + (1 + 0.8 * np.sin(9 * places)), atol=0.3)
    assert predict(again, rubbed, run.preparation) == pytest.approx(
        predict(result.robot, rubbed, run.preparation), abs=1e-6
    )
