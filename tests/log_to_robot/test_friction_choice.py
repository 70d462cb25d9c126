"""Friction chosen for each axis: hysteresis that was put in is taken, and none where there is none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from test_friction_shapes import identified, with_friction
from test_stops_used import MOTION, STOPS, STRENGTHS

from robodyn_pin.files import parse_yaml
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.log_to_robot import cross_validation
from robodyn_pin.log_to_robot.fit_data import all_rows
from robodyn_pin.log_to_robot.friction_choice import FrictionChoice, Tried, with_finer_widths, worth_it
from robodyn_pin.log_to_robot.prior_knowledge import weighting
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.output.console import print_result
from robodyn_pin.robot.offered_friction import offered
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
    assert [t["model"] for t in said["tried"]] == ["coulomb+viscous", "coulomb+viscous+maxwell_slip"]
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


def test_every_offered_model_is_taken_where_it_was_put_in():
    """One axis each has a Stribeck peak, a load and |v| v; the widths of all are found too, so that no peak mends a width."""
    rubs = [{"of": name, "model": "coulomb", "initial": 2.0, "width": 0.05} for name in ("phi2", "phi3", "psi")]
    rubs += [{"of": name, "model": "viscous", "initial": 0.5} for name in ("phi2", "phi3", "psi")]
    peak = {"of": "phi1", "model": "stribeck", "initial": [2.0, 2.0, 0.5], "width": 0.05, "speed": 0.6}
    load = {"of": "phi2", "model": "load", "initial": 0.3, "width": 0.05}
    square = {"of": "phi3", "model": "quadratic", "initial": 0.4}
    robot = with_friction("irb360_arms", *rubs, peak, load, square)
    log = simulate(robot, MOTION, Noise(np.full(4, 0.1), None, 4))
    words = ["coulomb+viscous", "stribeck", "maxwell_slip", "+load", "+quadratic"]
    run = RUN.model_copy(update={"choose": RUN.choose.model_copy(update={"friction": words})})
    asked = [
        {"of": name, "model": model} for name in ("phi1", "phi2", "phi3", "psi") for model in ("coulomb", "viscous")
    ]
    result = identified(with_friction("irb360_arms", *asked), run, log)
    taken = {c.axis: c.chosen for c in result.settings.friction}
    assert taken.pop("phi1").split("+")[0] == "stribeck"  # |v| v may mend the width, which was found without a peak
    assert taken == {"phi2": "coulomb+viscous+load", "phi3": "coulomb+viscous+quadratic", "psi": "coulomb+viscous"}
    (speed,) = result.settings.shapes
    assert speed.value == pytest.approx(0.6, rel=0.1)
    values = dict(zip(result.layout.labels, result.feasible.values.tolist(), strict=True))
    assert values["load(phi2)"] == pytest.approx(0.3, rel=0.1)
    assert values["quadratic(phi3)"] == pytest.approx(0.4, rel=0.1)
    told = result.verdict.friction
    assert "worth it on phi1 (stribeck" in told
    assert "phi2 (coulomb+viscous+load), phi3 (coulomb+viscous+quadratic); on psi coulomb+viscous is enough" in told
    for choice in result.settings.friction:
        for tried in choice.tried[1:]:
            assert tried.percent >= tried.bound or tried.model == choice.chosen or "stribeck" in tried.model


def test_widths_are_those_of_the_last_rates(monkeypatch):
    """Rates are chosen before friction and after it. Smooth ones at first let friction look wider than it is."""
    preparations = iter([{"filter": {"order": 4, "cutoff": 4}}, {}])
    monkeypatch.setattr(
        cross_validation, "rates_by_torques",
        lambda run, *_: (run.model_copy(update={"preparation": Preparation.model_validate(next(preparations))}), ""),
    )  # fmt: skip
    names = ("phi1", "phi2", "phi3", "psi")
    rubs = [{"of": name, "model": "coulomb", "initial": 2.0, "width": 0.025} for name in names]
    log = simulate(with_friction("irb360_arms", *rubs), MOTION, Noise(np.full(4, 0.1), None, 5))
    asked = [{"of": name, "model": model} for name in names for model in ("coulomb", "viscous")]
    result = identified(with_friction("irb360_arms", *asked), RUN, log)
    found = {e.name: e.spec.width for e in result.robot.efforts if e.spec.model == "coulomb"}
    assert found == pytest.approx(dict.fromkeys(names, 0.025), rel=0.04)  # sought once: 7 % off
    assert {c.chosen for c in result.settings.friction} == {"coulomb+viscous"}


@pytest.mark.parametrize(("start", "near"), [(0.1025, True), (0.13, False)])
def test_widths_are_sought_in_steps_that_cost_no_error(start, near):
    """Widths 2.5 % off, which coarser steps leave, and 30 %; beside a Stribeck peak, and of axes that are not named, they stay."""
    names = ("phi1", "phi2", "phi3", "psi")
    rubs = [{"of": name, "model": "coulomb", "initial": 2.0, "width": 0.1} for name in names]
    peak = {"of": "phi3", "model": "stribeck", "initial": [2.0, 1.0, 0.5], "width": 0.1, "speed": 0.6}
    log = simulate(with_friction("irb360_arms", *rubs, peak), MOTION, Noise(np.full(4, 0.01), None, 6))
    off = [r | {"width": start} for r in (*rubs, peak)]
    robot, logs = with_friction("irb360_arms", *off), [uniform(log)]
    found = with_finer_widths(
        robot, {"phi1", "phi2", "phi3"}, near, lambda r: all_rows(r, RUN, logs), weighting(RUN, robot, log.rate)
    )
    widths = [(e.name, e.spec.width) for e in found.efforts if e.spec.width and e.name in names]
    assert sorted(dict(widths).items()) == [
        ("phi1", pytest.approx(0.1, rel=0.01)), ("phi2", pytest.approx(0.1, rel=0.01)), ("phi3", start), ("psi", start),
    ]  # fmt: skip


def test_speed_and_width_of_the_robot_file_stay_where_friction_is_chosen():
    peak = {"of": "phi1", "model": "stribeck", "width": 0.03, "speed": 0.4}
    robot = offered(with_friction("irb360_arms", peak), ["coulomb+viscous", "stribeck"])
    shapes = {e.spec.model: (e.spec.width, e.spec.speed, e.spec.fit) for e in robot.efforts if e.name == "phi1"}
    assert shapes == {"coulomb": (0.03, None, []), "viscous": (None, None, []), "stribeck": (0.03, 0.4, [])}


@pytest.mark.parametrize(
    ("gain", "deviation", "said"),
    [
        (0.5, 0.6, "on m1 (quadratic gains 0.5 +- 0.6 %) the log cannot tell"),
        (-0.1, 0.05, "on m1 coulomb is enough"),
        (0.001, 0.002, "on m1 coulomb is enough"),
    ],
)
def test_the_verdict_tells_a_log_that_cannot_tell_from_a_model_that_is_enough(gain, deviation, said):
    tried = Tried("coulomb", 10.0), Tried("quadratic", 10.0 - gain, gain, deviation, min(10.0 - deviation, 9.95))
    assert said in worth_it([FrictionChoice("m1", tried, "coulomb")])
