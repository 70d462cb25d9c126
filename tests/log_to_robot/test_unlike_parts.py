"""Logs of which a part is unlike the rest: a collision, friction that warms, standstill; columns in another order, or without a sign."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.log_to_robot.likely_mistakes import likely_mistakes
from robodyn_pin.log_to_robot.pieces import PIECES, PieceFolds, pieces_from
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.verdict import worse_on_others
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import Robot, load

QUICK = {"instruments": False}


def simulated(name: str, motion: str) -> tuple[Robot, Log]:
    robot = load(name)
    return robot, noisy_log(robot, motion, 0.03, 4)


@pytest.fixture(scope="module")
def delta() -> tuple[Robot, Log]:
    """SIMULATED."""
    return simulated("irb360", "irb360_motion")


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, Log]:
    """SIMULATED."""
    return simulated("irb6660", "irb2400_motion")


def parts(verdict) -> str:
    return "\n".join([*verdict.reasons, *verdict.cautions])


def test_a_collision_among_fitted_samples_is_told_with_its_time_and_left_out_by_what_is_said(delta):
    robot, log = delta
    t = log.t - log.t[0]
    hit = np.abs(t - 0.4 * t[-1]) < 0.15
    rms = np.sqrt(np.mean(log.efforts**2, axis=0))
    struck = replace(log, tau=log.efforts + hit[:, None] * 4 * rms)
    said = parts(rp.identify(robot, struck, **QUICK).verdict)
    begin, end = map(
        float, re.search(r"fitted samples .*most of them from t = (\S+) to (\S+) s, and make", said).groups()
    )
    assert 0.4 * t[-1] - 0.15 <= begin < end <= 0.4 * t[-1] + 0.15
    assert "are they outliers? With 'robust: student'" in said
    clean, robust = (rp.identify(robot, log, **QUICK), rp.identify(robot, struck, robust="student", **QUICK))
    assert "outliers?" not in parts(clean.verdict) + parts(robust.verdict)
    assert robust.check.scored["feasible"].held_out.by("mean") < 1.05 * clean.check.scored["feasible"].held_out.by(
        "mean"
    )


def test_friction_that_warms_is_no_over_fitting(delta):
    robot, log = delta
    rms = np.sqrt(np.mean(log.efforts**2, axis=0))
    cold = 0.15 * rms * np.sign(np.gradient(log.q, axis=0)) * np.linspace(1, 0, log.size)[:, None]
    [reason] = rp.identify(robot, replace(log, tau=log.efforts + cold), **QUICK).verdict.reasons
    assert reason.startswith("the held-out data are unlike the fit data")
    assert "warmth" in reason


def test_a_slow_log_too_short_to_cover_its_motion_is_told_so_and_is_no_over_fitting(arm):
    robot, log = arm
    reasons = rp.identify(robot, uniform(log.section(0, int(4 * log.rate))), **QUICK).verdict.reasons
    assert any("does their motion go further? A longer or richer log covers more" in text for text in reasons)


@pytest.mark.parametrize(
    ("unseen", "said"),
    [(1.05, "the held-out data are unlike the fit data"), (1.6, "over-fitted"), (np.nan, "over-fitted")],
)
def test_parts_of_the_fit_data_that_a_fit_has_not_seen_tell_over_fitting_from_other_data(unseen, said):
    assert worse_on_others(2.0, unseen).startswith(said)


def test_the_error_on_pieces_that_an_estimate_has_not_seen_is_that_of_least_squares_without_each(delta):
    rng, robot, motors = np.random.default_rng(6), delta[0], 4
    piece, A = np.repeat(np.arange(PIECES), 3), rng.normal(size=(3 * PIECES, 20))
    y = A @ rng.normal(size=20) + rng.normal(size=3 * PIECES)
    folds = PieceFolds(robot, 20, 1.0)
    folds.add(piece, np.column_stack([A, y])[:, None], np.zeros((len(y), motors)), np.zeros((len(y), motors), bool))
    x = np.linalg.lstsq(A, y, rcond=None)[0]
    unseen = [
        y[piece == g] - A[piece == g] @ np.linalg.lstsq(A[piece != g], y[piece != g], rcond=None)[0]
        for g in range(PIECES)
    ]
    expected = np.linalg.norm(np.concatenate(unseen)) / np.linalg.norm(y - A @ x)
    assert expected > 1.3
    assert pieces_from([folds], len(y), x).unseen == pytest.approx(expected, rel=1e-9)


def test_standstill_of_two_thirds_of_a_log_is_left_out(delta):
    robot, log = delta
    still, noise = 2 * log.size, 0.03 * np.sqrt(np.mean(log.efforts**2, axis=0))
    resting = log.efforts[:1] + noise * np.random.default_rng(1).normal(size=(still, 4))
    long = replace(
        log, t=np.arange(3 * log.size) / log.rate, q=np.concatenate([np.repeat(log.q[:1], still, axis=0), log.q]),
        tau=np.concatenate([resting, log.efforts]), dq=None, ddq=None,
    )  # fmt: skip
    found, plain = rp.identify(robot, long, **QUICK), rp.identify(robot, log, **QUICK)
    assert found.verdict.accepted
    assert found.check.scored["feasible"].held_out.by("mean") == pytest.approx(
        plain.check.scored["feasible"].held_out.by("mean"), rel=0.05
    )


def told(robot: Robot, log: Log) -> list[str]:
    run = RunFile(robot=robot.name, fit=[LogSpec(file=Path("log.csv"))])
    return [m.said for m in likely_mistakes(robot, [log], run)]


@pytest.mark.parametrize(
    ("columns", "said"),
    [("tau", "the torques look"), ("q", "the positions look"), ("both", "positions and torques look")],
)
@pytest.mark.parametrize("order", [[5, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0]])
def test_columns_in_another_order_are_named_with_their_motors(arm, columns, said, order):
    robot, log = arm
    q, tau = (x[:, order] if columns in (name, "both") else x for name, x in (("q", log.q), ("tau", log.efforts)))
    wanted = f"{said} as if their columns were those of {', '.join(robot.motors.names[k] for k in order)}"
    assert wanted in told(robot, uniform(replace(log, q=q, tau=tau)))


def test_torques_without_their_sign_are_named(delta):
    robot, log = delta
    [said] = told(robot, replace(log, tau=np.abs(log.efforts)))
    assert said == (
        "the torques in tau_phi1, tau_phi2, tau_phi3, tau_psi come near zero and never below it: they have lost their sign"
    )
    one = log.efforts.copy()
    one[:, 1] = np.abs(one[:, 1])
    assert told(robot, replace(log, tau=one)) == [
        "the torques in tau_phi2 come near zero and never below it: they have lost their sign"
    ]


def test_torques_that_nothing_explains_are_not_called_kilonewton_metres(delta):
    """A hundredth of the torques of another time: a thousand times larger, they hide the bodies of the files, which then are as good as any."""
    robot, log = delta
    assert not any("kN m" in said for said in told(robot, replace(log, tau=0.01 * np.roll(log.efforts, 700, axis=0))))


def test_a_torque_that_never_changes_its_sign_or_a_drive_that_was_off_is_none_without_a_sign(arm):
    """Axis 2 of an arm holds its weight; the controller writes zeros while its drives are off."""
    robot, log = arm
    held = log.efforts.copy()
    held[:, 1] = np.abs(held[:, 1]) + 0.2 * np.sqrt(np.mean(held[:, 1] ** 2))
    held[np.arange(log.size) * 20 // log.size % 3 == 0, 1] = 0.0  # seven times
    assert not any("lost their sign" in said for said in told(robot, replace(log, tau=held)))
