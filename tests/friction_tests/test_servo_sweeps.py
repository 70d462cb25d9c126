"""Sweeps with a servo's ripple: strokes found whatever trembles, intervals that hold the truth, what is not shown not claimed."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from servo_sweeps import HINGE, SLIDE, Axis, recorded, reference, robot_files

from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.files import parse_yaml
from robodyn_pin.friction_tests.free_motor import measure
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.loaded_motor import measure_sweeps
from robodyn_pin.friction_tests.result import FrictionResult
from robodyn_pin.identification.ripple import sticks
from robodyn_pin.identification.steady_motion import EvenMotion
from robodyn_pin.robot.robot import load

MOTOR = "motor: x"


def measured(tmp_path, axis: Axis, log: dict[str, np.ndarray], wanted=MOTOR) -> FrictionResult:
    robot = load(robot_files(tmp_path, axis.turns))
    pl.DataFrame(log).write_parquet(tmp_path / "log.parquet")
    run = parse_yaml(f"{{robot: axis.yaml, logs: [{{file: log.parquet}}], {wanted}}}", FrictionFile, "friction.yaml")
    return measure(run, tmp_path, robot) if run.motor else measure_sweeps(run, tmp_path, robot).motors["x"]


@pytest.mark.parametrize("ripple", [0.0, 1e-4])
@pytest.mark.parametrize("frequency", [5, 17, 60])
def test_every_stroke_is_found_and_no_ramp(ripple, frequency):
    rate, grain = 500.0, 1.3e-6
    q, v = reference(SLIDE, rate)
    t = np.arange(len(q)) / rate
    trembling = np.round((q + ripple * np.sin(2 * np.pi * frequency * t)) / grain) * grain
    parts = EvenMotion(0.3, 2e-3, 0.05).parts(trembling, rate, grain)
    assert len(parts) == 2 * len(SLIDE.speeds)
    for part, speed in zip(parts, np.repeat(SLIDE.speeds, 2) * np.tile([1, -1], len(SLIDE.speeds)), strict=True):
        inner = v[part][len(v[part]) // 10 : -len(v[part]) // 10]
        np.testing.assert_allclose(inner, speed, rtol=1e-9)


@pytest.mark.parametrize("axis", [SLIDE, HINGE], ids=["slide", "hinge"])
def test_friction_and_offset_lie_within_their_intervals(tmp_path, axis):
    """40 logs, 120 intervals: small version of figures/sweeps.py. Four standard deviations below 95 % are 87 %."""
    hits = []
    for seed in range(40):
        found = measured(tmp_path, axis, recorded(axis, 1000 + seed))
        quantities = {q.name: q for q in found.quantities}
        for name, value in {"coulomb": axis.coulomb, "viscous": axis.viscous, "offset": axis.offset}.items():
            if name in quantities:
                hits.append(abs(quantities[name].value - value) <= quantities[name].reach)
    assert len(hits) >= 110  # a bend that is not there counts in hardly a log
    assert np.mean(hits) >= 0.87


def test_units_are_those_of_the_axis(tmp_path):
    units = {q.name: q.unit for q in measured(tmp_path, SLIDE, recorded(SLIDE, 0)).quantities}
    assert units == {"coulomb": "N", "viscous": "N s/m", "offset": "N"}
    bent = replace(HINGE, static=2.0, stribeck=0.3)
    units = {q.name: q.unit for q in measured(tmp_path, bent, recorded(bent, 0)).quantities}
    assert units == {"Fs": "N m", "Fc": "N m", "Fv": "N m s/rad", "omega_st": "rad/s", "offset": "N m"}


def test_a_force_that_turns_with_the_ripple_is_no_friction_of_one_speed(tmp_path):
    """0.1 mm at 5 to 60 Hz turns the slowest strokes round: their mean force is too low."""
    found = measured(tmp_path, SLIDE, recorded(SLIDE, 0))
    (said,) = found.warnings
    assert "ripple turns the motion round" in said
    assert np.abs(found.points.speed).min() > 0.015


def test_a_ripple_of_the_reading_alone_takes_no_stroke_away(tmp_path):
    rate, rng = 500.0, np.random.default_rng(0)
    q, v = reference(SLIDE, rate)
    t = np.arange(len(q)) / rate
    tau = SLIDE.offset + SLIDE.friction(v) + SLIDE.noise * rng.normal(size=len(t))
    found = measured(tmp_path, SLIDE, {"t": t, "q_x": q + 1e-4 * np.sin(2 * np.pi * 40 * t), "tau_x": tau})
    assert len(found.points.speed) == 16
    assert found.quantities[0].value == pytest.approx(2.0, abs=0.01)


def test_a_sweep_with_gravity_gives_friction_and_load(tmp_path):
    log = recorded(replace(SLIDE, offset=29.4), 3)
    found = {q.name: q for q in measured(tmp_path, SLIDE, log, "sweeps: {at: {x: 0.05}}").quantities}
    assert found["coulomb"].value == pytest.approx(2.0, abs=0.08)
    assert found["load"].value == pytest.approx(29.4, abs=0.06)


def one_way() -> dict[str, np.ndarray]:
    rate, x, q, tau = 500.0, 0.0, [np.zeros(250)], [np.full(250, SLIDE.offset)]
    for w in SLIDE.speeds:
        way = w * np.arange(round(0.1 / w * rate)) / rate
        q += [x + way, np.full(150, x + way[-1])]
        tau += [np.full(len(way), SLIDE.offset + SLIDE.coulomb + SLIDE.viscous * w), np.full(150, SLIDE.offset)]
        x += way[-1]
    q, tau = np.concatenate(q), np.concatenate(tau)
    return {"t": np.arange(len(q)) / rate, "q_x": q, "tau_x": tau + 0.1 * np.random.default_rng(0).normal(size=len(q))}


def test_one_direction_shows_viscous_friction_and_neither_coulomb_nor_offset(tmp_path):
    found = measured(tmp_path, SLIDE, one_way())
    shown = {q.name: q.shown for q in found.quantities}
    assert shown == {"coulomb": False, "viscous": True, "offset": False}
    assert str(found.quantities[0]) == "the log does not show it"
    assert found.summary()["table"]["coulomb"]["value"] is None
    assert {e["model"]: e["known"] for e in found.efforts} == {"coulomb": False, "viscous": True}
    with pytest.raises(BadLog, match="in the positive direction only"):
        measured(tmp_path, SLIDE, one_way(), "sweeps: {at: {x: 0.05}}")


def test_friction_that_the_log_does_not_show_is_not_written_as_known(robodyn, tmp_path):
    fast = replace(SLIDE, speeds=(0.15, 0.155, 0.16, 0.165), noise=3.0)
    robot_files(tmp_path, False)
    pl.DataFrame(recorded(fast, 1)).write_csv(tmp_path / "log.csv")
    (tmp_path / "friction.yaml").write_text("{robot: axis.yaml, logs: [{file: log.csv}], sweeps: {at: {x: 0.05}}}")
    done = robodyn("friction", tmp_path / "friction.yaml", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "the log does not show it" in done.stdout
    assert "no robot file is written" in done.stdout
    assert not (tmp_path / "out" / "axis_friction.yaml").exists()
    assert not any(e["known"] for e in json.loads((tmp_path / "out" / "friction.json").read_text())["efforts"])


def test_an_axis_that_sticks_and_slips_does_not_move_evenly(tmp_path):
    t = np.arange(20000) / 500
    step = t * 0.003 / 3e-4
    q = 3e-4 * (np.floor(step) + np.clip((step % 1 - 0.9) / 0.1, 0, 1))
    q = np.round(q / 1.3e-6) * 1.3e-6
    assert sticks(q, 500, 1.3e-6)
    assert not sticks(0.003 * t + 1e-5 * np.sin(2 * np.pi * 40 * t), 500, 1.3e-6)
    with pytest.raises(RobodynError, match="sticks and slips"):
        measured(tmp_path, SLIDE, {"t": t, "q_x": q, "tau_x": 2 + step % 1})


def test_an_axis_that_creeps_is_not_swept(tmp_path):
    log = recorded(SLIDE, 3)
    t = np.arange(200000) / 500
    creep = {"t": t + log["t"][-1] + 0.002, "q_x": log["q_x"][-1] + 1e-5 * t, "tau_x": 0.5 + 0 * t}
    found = measured(tmp_path, SLIDE, {k: np.append(log[k], creep[k]) for k in log})
    assert any("taken for creeping" in w for w in found.warnings)
    assert np.abs(found.points.speed).min() > 1e-3


def test_a_stribeck_peak_is_found_where_it_is_and_not_claimed_where_it_is_not(tmp_path):
    bent = replace(HINGE, static=0.8, stribeck=0.25)
    found = measured(tmp_path, bent, recorded(bent, 0))
    assert found.model == "stribeck"
    assert found.quantities[0].value == pytest.approx(2.3, rel=0.03)
    asked = measured(tmp_path, HINGE, recorded(HINGE, 0), "motor: x, model: stribeck")
    assert asked.model == "linear"
    assert "do not show a curve that bends" in asked.warnings[0]
