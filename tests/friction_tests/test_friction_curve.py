"""Friction over speed: steady parts against when they were held, curves against closed forms, and what cannot be said."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import curve_fit

from robodyn_pin.errors import BadLog, RobodynError, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.friction_tests.free_motor import measure
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.result import curve_columns, names
from robodyn_pin.friction_tests.strokes import settled
from robodyn_pin.identification.friction_curve import Points, fit_curve, stretch_point
from robodyn_pin.identification.steady_motion import EvenMotion
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.steps import StepMotion, stepped
from robodyn_pin.robot.robot import load

SPEEDS = [s * w for w in (0.5, 1, 3, 8, 20, 55) for s in (1, -1)]
GNAD = (0.5272, 0.6672, 8.5919)  # Gnad et al. (IRB 360), Table 2


def published(w: np.ndarray) -> np.ndarray:
    """Eq. (48), as printed."""
    a_c, a_v, eps = GNAD
    return a_c * np.tanh(100 * w) + a_v * np.tanh(w / eps)


def sweep(speeds=SPEEDS, hold=0.8, inertia=0.003, noise=0.0, seed=0) -> Log:
    """A shaft that turns: friction and inertia, positions as an encoder of 15 bits behind a gear of 11 reads them."""
    motion = StepMotion(rate=1000, hold=hold, ramp=0.3, speeds=[{"psi": w} for w in speeds])
    t, c, cd, cdd = stepped(motion, ("phi1", "phi2", "phi3", "psi"))
    tau = published(cd) + inertia * cdd + noise * np.random.default_rng(seed).normal(size=cd.shape)
    step = 2 * np.pi / 2**15 / 11
    return Log("sweep", t, np.round(c / step) * step, tau)


def run_file(**update) -> FrictionFile:
    text = "{robot: irb360_arms, logs: [{file: sweep.csv}], motor: psi}"
    return FrictionFile.model_validate(parse_yaml(text, FrictionFile, "friction.yaml").model_dump() | update)


def measured(tmp_path, log, **update):
    robot = load("irb360_arms")
    write_log(tmp_path / "sweep.csv", log, robot)
    return measure(run_file(**update), tmp_path, robot)


def test_steady_parts_lie_inside_the_holds_and_miss_none():
    log = sweep()
    parts = EvenMotion(0.3, 2e-3, 0.05).parts(log.q[:, 3], log.rate, 2 * np.pi / 2**15 / 11)
    assert len(parts) == len(SPEEDS)
    for k, part in enumerate(map(settled, parts)):
        begin = 1.1 * (k + 1)  # the first 0.8 s stand still, then a ramp of 0.3 s
        assert begin - 0.02 <= log.t[part.start] < begin + 0.15
        assert begin + 0.65 < log.t[part.stop - 1] <= begin + 0.82


@pytest.mark.parametrize("accelerate", [5.0, 50.0])
def test_a_slow_ramp_holds_no_speed(accelerate):
    t = np.arange(0, 55 / accelerate, 1e-3)
    assert EvenMotion(0.3, 2e-3, 0.02).parts(accelerate * t**2 / 2, 1000, 1e-9) == []


@pytest.mark.parametrize("side", [1, -1])
def test_friction_that_would_drive_a_shaft_is_a_wrong_sign(tmp_path, side):
    log = sweep(noise=0.02)
    found = measured(tmp_path, replace(log, tau=log.efforts * [1, 1, 1, side])).mistakes
    assert [text[:45] for text in found] == ["friction would push psi the way it moves, by "] * (side < 0)
    up = sweep([w for w in SPEEDS if w > 0])
    one_way = measured(tmp_path, replace(up, tau=-up.efforts))
    assert one_way.mistakes == ()  # a load may be larger than friction


def test_model_48_is_found_from_a_sweep_that_another_formula_made(tmp_path):
    result = measured(tmp_path, sweep())
    fit = result.fits["saturating"]
    # The ends of the holds let a little of the ramps in: 1e-4 of the effort.
    np.testing.assert_allclose([*fit.coefficients[:2], fit.shape], GNAD, rtol=2e-3)
    assert abs(fit.coefficients[2]) < 1e-4  # no offset was put in
    assert fit.rmse < 1e-3 < 0.05 < result.fits["linear"].rmse
    assert result.warnings == ()


def test_deviations_say_how_far_noisy_fits_are_off():
    """50 seeds: errors over stated deviations have a size of one."""
    w = np.array(SPEEDS)
    z = []
    for seed in range(50):
        y = published(w) + 0.01 * np.random.default_rng(seed).normal(size=len(w))
        points = Points(w, y, np.ones_like(w), np.ones_like(w), np.ones_like(w))
        fit = fit_curve(points, lambda w, s: curve_columns("saturating", w, s), True, names("saturating"))
        z.append((np.array([*fit.coefficients, fit.shape]) - GNAD) / [*fit.deviations, fit.shape_deviation])
    assert 0.8 < np.sqrt(np.mean(np.square(z))) < 1.3  # 12 points, 3 unknowns: Student's t has 1.13


def test_deviations_are_those_of_points_left_out_one_by_one():
    """HC3 is the jackknife but for a factor near one; the fits of the jackknife are SciPy's."""
    w = np.repeat(np.array(SPEEDS), 8)
    y = published(w) + 0.01 * np.random.default_rng(1).normal(size=len(w))
    points = Points(w, y, np.ones_like(w), np.ones_like(w), np.ones_like(w))
    fit = fit_curve(points, lambda w, s: curve_columns("saturating", w, s), True, names("saturating"))

    def model(w, a, b, s):
        return a * np.tanh(100 * w) + b * np.tanh(w / s)

    without = [curve_fit(model, np.delete(w, i), np.delete(y, i), GNAD)[0] for i in range(len(w))]
    jackknife = np.sqrt((len(w) - 1) * np.var(without, axis=0))
    np.testing.assert_allclose([*fit.deviations, fit.shape_deviation], jackknife, rtol=2e-2)


def test_the_error_of_a_point_is_that_of_its_mean():
    noise = np.random.default_rng(0).normal(size=(400, 500))
    assert np.mean([stretch_point(1.0, sample)[3] for sample in noise]) == pytest.approx(1 / np.sqrt(500), rel=0.1)


def test_linear_friction_is_found_exactly():
    w = np.array([-4.0, -1, 1, 2, 4])
    points = Points(w, 0.4 * np.sign(w) + 0.01 * w, *np.zeros((3, 5)))
    fit = fit_curve(points, lambda w, s: curve_columns("linear", w, s), False, names("linear"))
    np.testing.assert_allclose(fit.coefficients, [0.4, 0.01], rtol=1e-9)


@pytest.mark.parametrize("relative", [True, False])
def test_a_joint_without_friction_has_none(relative):
    """Efforts against the motion are noise: the nearest friction that is not negative is zero."""
    points = Points(np.array([0.1, 0.2, 0.4]), np.array([-3e-3, -2e-3, -4e-3]), *np.zeros((3, 3)))
    fit = fit_curve(points, lambda w, s: curve_columns("linear", w, s), False, names("linear"), relative)
    np.testing.assert_array_equal(fit.coefficients, 0)
    assert np.isfinite(fit.covariance).all()


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(RobodynError, match="'phi1' of robot 'irb360_arms' cannot turn freely"):
        measured(tmp_path, sweep(), motor="phi1")
    with pytest.raises(UnknownName, match="motor 'psy'"):
        measured(tmp_path, sweep(), motor="psy")
    with pytest.raises(BadLog, match="nowhere for 2 s"):
        measured(tmp_path, sweep(), steady={"shortest": 2})
    with pytest.raises(RobodynError, match="2 points at 1 different speeds are too few for 3 unknowns"):
        measured(tmp_path, sweep([5, -5]))


def test_one_direction_says_what_stays_unknown(tmp_path):
    (warning,) = measured(tmp_path, sweep([0.5, 1, 3, 8, 20, 50])).warnings
    assert "all speeds are positive" in warning
    assert "Coulomb" in warning


def test_a_bend_beyond_the_speeds_is_not_claimed(tmp_path):
    log = sweep([s * w for w in (30, 35, 40, 45, 50, 55) for s in (1, -1)])
    asked = measured(tmp_path, log, model="saturating")
    assert any("do not show" in w for w in asked.warnings)
    for result in (asked, measured(tmp_path, log)):
        assert result.model == "linear"
        assert {e["model"] for e in result.efforts} == {"coulomb", "viscous"}


def test_the_command_writes_points_curves_and_picture(robodyn, tmp_path):
    write_log(tmp_path / "sweep.csv", sweep(noise=0.16), load("irb360_arms"), "SIMULATED")
    (tmp_path / "friction.yaml").write_text("{robot: irb360_arms, logs: [{file: sweep.csv}], motor: psi}")
    done = robodyn("friction", tmp_path / "friction.yaml", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "out" / "friction.json").read_text())
    assert found["simulated"]
    assert found["efforts"][0]["model"] == "saturating"
    assert len(pl.read_csv(tmp_path / "out" / "friction.csv", comment_prefix="#")) == len(SPEEDS)
    assert "SIMULATED" in (tmp_path / "out" / "friction.svg").read_text()
