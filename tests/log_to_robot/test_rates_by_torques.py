"""Which rates are taken, asked with errors that are made up; and on a simulated log with a clock like those of controllers."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.log_to_robot import cross_validation
from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.log_to_robot.rates_by_torques import rates_by_torques
from robodyn_pin.log_to_robot.run import execute
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

RATE, PLAIN = 100.0, 5.0  # [Hz], [%] error of rates by the encoders' noise
Error = Callable[[RunFile, Sequence[AnyLog]], float]


def run(**preparation: object) -> RunFile:
    return RunFile.model_validate({"robot": "arm", "fit": [{"file": "log.csv"}], "preparation": preparation})


def log(late: float = 0.0, measured: bool = True) -> Log:
    t, rng = np.arange(2000) / RATE, np.random.default_rng(0)
    q = np.stack([np.sin(t), np.cos(1.3 * t), np.sin(0.7 * t)], axis=1)
    found = Log("log.csv", t, q + 1e-5 * rng.normal(size=q.shape), q, dq=q if measured else None)
    return replace(found, quality=replace(quality_of(found, load("delta3")), late=late, irregular=0.0, repeated=0))


def valley(best: float | tuple[float, ...], least: float, rates: str = "positions", otherwise: float = 20.0) -> Error:
    """Errors that are least at a cut-off [Hz] of some rates."""

    def error(candidate: RunFile, logs: Sequence[AnyLog]) -> float:
        asked = candidate.preparation
        if asked.cutoff is None:
            return PLAIN
        return (
            least + float(np.mean(np.abs(np.log2(np.divide(asked.cutoff, best)))))
            if asked.rates == rates
            else otherwise
        )

    return error


def chosen(error: Error, of: Log) -> tuple[RunFile, str]:
    return rates_by_torques(run(), [of], error, lambda stage: None, lambda logs: None)


@pytest.mark.parametrize("best", [3.0, 12.0, 30.0])
@pytest.mark.parametrize("rates", ["positions", "measured"])
def test_the_rates_of_the_least_error_are_taken(best, rates):
    found, said = chosen(valley(best, 2.0, rates), log())
    assert found.preparation.rates == rates
    assert found.preparation.cutoff == pytest.approx(best, rel=0.2)  # half an octave's grid
    assert "by the encoders' noise 5 %" in said


def test_each_motor_has_a_cut_off_of_its_own_where_that_is_worth_it():
    found, said = chosen(valley((6.0, 12.0, 24.0), 2.0), log())
    assert found.preparation.cutoff == (6.0, 12.0, 24.0)
    assert "at 6, 12, 24 Hz" in said
    # A hundredth of an octave is not worth it: 0.5 % of the motor's share of the error is asked for.
    alike, _ = chosen(valley((12.0, 12.0, 12.0 * 2**0.505), 2.0), log())
    assert alike.preparation.cutoff == 12.0


def test_a_log_without_measured_rates_is_asked_for_none():
    found, _ = chosen(valley(8.0, 2.0, "measured", otherwise=4.0), log(measured=False))
    assert found.preparation.rates == "positions"


@pytest.mark.parametrize(
    ("least", "late", "taken"), [(4.97, 0.0, False), (4.9, 0.0, True), (4.97, 1e-3, True), (5.1, 1e-3, False)]
)
def test_rates_by_the_encoders_noise_lead_unless_the_clock_is_odd(least, late, taken):
    """By one percent of the error; noise on a clock that is odd has no lead, and still the last word."""
    found, _ = chosen(valley(12.0, least), log(late))
    assert (found.preparation.cutoff is not None) == taken


@pytest.mark.parametrize(
    "asked", [{"differentiation": "spline"}, {"filter": {"cutoff": 8}}, {"rates": "measured"}, {"choose": [8]}]
)
def test_what_the_run_file_asks_for_is_not_changed(asked):
    def never(candidate: RunFile, logs: Sequence[AnyLog]) -> float:
        raise AssertionError("asked for an error")

    tried = {"choose": {"cutoff": asked["choose"]}} if "choose" in asked else {"preparation": asked}
    given = run().model_validate({**run().model_dump(), **tried})
    assert rates_by_torques(given, [log()], never, lambda stage: None, lambda logs: None) == (given, "")


@pytest.mark.parametrize("always", [True, False])
def test_positions_that_do_not_close_at_the_first_cutoff_are_looked_at_as_they_are(always):
    failures, least = [], valley(12.0, 2.0)

    def error(candidate: RunFile, logs: Sequence[AnyLog]) -> float:
        if always or not failures:
            failures.append(candidate)
            raise ClosureFailed("the loop is open", 0, "loop", 1.0)
        return least(candidate, logs)

    def closing(logs: Sequence[AnyLog]) -> None:
        if always:
            raise ClosureFailed("as they are, too", 0, "loop", 1.0)

    with pytest.raises(ClosureFailed, match="as they are") if always else nullcontext():
        found, _ = rates_by_torques(run(), [log(measured=False)], error, lambda stage: None, closing)
        assert found.preparation.cutoff == pytest.approx(12.0, rel=0.5)
    assert len(failures) == 1


def simulated(robot: Robot, seed: int, jitter: float, share: float) -> Log:
    """The disassembled IRB 360 along sines, sampled irregularly at true stamps; rows repeat the one before."""
    rng, n = np.random.default_rng(seed), 2500
    w, phase = 2 * np.pi * rng.uniform(0.1, 1.5, (5, 4)), rng.uniform(0, 6, (5, 4))
    t = np.sort(np.arange(n) / RATE + np.clip(jitter * rng.normal(size=n), -0.01, 0.01)) + 1e-6 * np.arange(n) / RATE
    angle, size = t[:, None, None] * w + phase, 0.15 / w
    q, dq = (size * np.sin(angle)).sum(1), (size * w * np.cos(angle)).sum(1)
    tau = rp.inverse_dynamics(robot, q, dq, -(size * w**2 * np.sin(angle)).sum(1))
    tau = tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    q = q + 1e-5 * rng.normal(size=q.shape)
    kept = np.maximum.accumulate(np.where(rng.uniform(size=n) < share, 0, np.arange(n)))
    found = Log("log", t, q[kept], tau[kept], simulated=True)
    return replace(found, quality=quality_of(found, robot))


def test_jitter_and_repeated_rows_cost_next_to_nothing(tmp_path: Path):
    robot, errors = load("irb360_arms"), []
    write_log(tmp_path / "unseen.csv", simulated(robot, 7, 0.0, 0.0), robot)
    for jitter, share in ((0.0, 0.0), (3e-3, 0.1)):
        write_log(tmp_path / "log.csv", simulated(robot, 0, jitter, share), robot)
        fit, unseen = [{"file": "log.csv"}], [{"file": "unseen.csv"}]
        asked = RunFile.model_validate({"robot": "irb360_arms", "fit": fit, "held_out": unseen, "instruments": False})
        errors.append(execute(asked, tmp_path).scored["feasible"].held_out.mean_percent)
    assert errors[1] <= 1.05 * errors[0]


@pytest.mark.parametrize(("asked", "said"), [({}, False), ({"filter": {"order": 4, "cutoff": 0.4}}, True)])
def test_rates_are_compared_once_and_named_where_the_run_file_has_worse_ones(asked, said, monkeypatch):
    """Torques are unlike any motion in the first case: then other rates cannot be the cause, and nobody looks again."""
    robot, compared = load("irb360_arms"), []
    rates = cross_validation.rates_by_torques
    monkeypatch.setattr(
        cross_validation, "rates_by_torques", lambda run, *given: compared.append(run) or rates(run, *given)
    )
    log = simulated(robot, 0, 0.0, 0.0)
    log = log if said else replace(log, tau=log.tau[::-1].copy())
    verdict = identify(robot, log, **({"preparation": asked} if asked else {})).verdict
    assert not verdict.accepted
    assert any("the rates are the likely cause: with 'preparation: {" in x for x in verdict.reasons) == said
    assert sum(not run.preparation.filter for run in compared) == 1
