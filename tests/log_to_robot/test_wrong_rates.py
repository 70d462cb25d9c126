"""Measured rates and accelerations that contradict the positions are named, and nothing else is blamed for them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.errors import RobodynError
from robodyn_pin.log_to_robot.likely_mistakes import Mistake, likely_mistakes
from robodyn_pin.log_to_robot.run import as_asked, read_run, select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.wrong_rates import wrong_rates
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.uniform import quality_of, uniform
from robodyn_pin.robot.robot import Robot, load, load_named

MEASURED = {"preparation": {"rates": "measured", "filter": {"order": 4, "cutoff": 20}}, "instruments": False}
LATE = 5  # samples of 4 ms


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, Log, np.ndarray, np.ndarray]:
    """SIMULATED: an arm, a log, and rates and accelerations from its positions by NumPy."""
    robot = load("irb6660")
    log = noisy_log(robot, "irb2400_motion")
    dq = np.gradient(log.q, log.t, axis=0)
    return robot, log, dq, np.gradient(dq, log.t, axis=0)


def measured(robot: Robot, log: Log, dq: np.ndarray, ddq: np.ndarray | None = None) -> Log:
    """The log with measured rates, as one that was read."""
    found = replace(log, dq=dq, ddq=ddq)
    return uniform(replace(found, quality=quality_of(found, robot)))


def told(robot: Robot, log: Log, rates: str = "measured") -> tuple[Mistake, ...]:
    run = RunFile(robot=robot.name, fit=[LogSpec(file=Path("log.csv"))], preparation={"rates": rates})
    return likely_mistakes(robot, [log], run)


CONTRARY = {
    "dq_m1, dq_m2, dq_m3, dq_m4, dq_m5, dq_m6 are 57.3 times the derivatives of q_m1, ": lambda dq: np.degrees(dq),
    "dq_m1 is -1 times the derivative of q_m1": lambda dq: dq * [-1, 1, 1, 1, 1, 1],
    "dq_m1, dq_m2 hardly correlate with the derivatives of q_m1, q_m2": lambda dq: dq[:, [1, 0, 2, 3, 4, 5]],
    "dq_m2 is 7 times the derivative of q_m2": lambda dq: dq * [1, 7, 1, 1, 1, 1],
    "dq_m3 is 0 in all rows although the motor moves": lambda dq: dq * [1, 1, 0, 1, 1, 1],
    r"dq_m4: \+0.3 rad/s \(or m/s\) too much all the time": lambda dq: dq + 0.3 * (np.arange(6) == 3),
    "dq_m5: (98|99|100|101|102) ms late": lambda dq: np.where(np.arange(6) == 4, np.roll(dq, 5 * LATE, axis=0), dq),
}


@pytest.mark.parametrize("said", CONTRARY)
def test_rates_that_contradict_positions_are_the_only_mistake_told(arm, said):
    robot, log, dq, _ = arm
    [mistake] = told(robot, measured(robot, log, CONTRARY[said](dq)))
    assert re.match(f"simulated: {said}", mistake.said)
    assert mistake.said.endswith("with 'rates: positions' under 'preparation' they come from positions")
    assert mistake.of_log


def test_rates_that_agree_or_are_not_used_are_no_mistake(arm):
    robot, log, dq, ddq = arm
    noisy = dq + 0.05 * dq.std(axis=0) * np.random.default_rng(2).normal(size=dq.shape)
    assert told(robot, measured(robot, log, noisy, ddq)) == ()
    assert told(robot, measured(robot, log, 1.2 * dq)) == ()  # a filter, of which the log's remarks tell
    assert told(robot, measured(robot, log, -dq), rates="positions") == ()


@pytest.mark.parametrize(
    ("said", "factor"), [("57.3 times", 180 / np.pi), ("-1 times", -1.0), ("zero in all rows", 0.0)]
)
def test_accelerations_are_held_against_the_rates(arm, said, factor):
    robot, log, dq, ddq = arm
    [mistake] = told(robot, measured(robot, log, dq, ddq * [1, factor, 1, 1, 1, 1]))
    assert mistake.said.startswith(f"simulated: ddq_m2: {said}")


def test_late_rates_are_no_early_torques(arm):
    """20 ms make 3 % of these rates: a caution. Torques looked early for it, which was a reason against the result."""
    robot, log, dq, _ = arm
    late = measured(robot, log, np.roll(dq, LATE, axis=0))
    [mistake] = told(robot, late)
    assert mistake.said.startswith("simulated: dq_m1, dq_m2, dq_m3, dq_m4, dq_m5, dq_m6: 20 ms late")
    assert not mistake.of_log
    verdict = rp.identify(robot, late, **MEASURED).verdict
    assert verdict.accepted
    assert mistake.said in verdict.cautions


def test_a_result_by_rates_of_other_columns_is_refused_and_says_so_once(arm):
    """It was accepted with an error of 22 %; from positions the same log has 2 %."""
    robot, log, dq, _ = arm
    verdict = rp.identify(robot, measured(robot, log, dq[:, [1, 0, 2, 3, 4, 5]]), **MEASURED).verdict
    assert not verdict.accepted
    assert sum("hardly correlate" in text for text in [*verdict.reasons, *verdict.cautions]) == 1


def test_of_many_logs_the_first_with_wrong_rates_is_named(arm):
    robot, log, dq, _ = arm
    logs = [
        measured(robot, replace(log, name=name), sign * dq) for name, sign in (("one", 1), ("two", -1), ("three", -1))
    ]
    run = RunFile(robot=robot.name, fit=[LogSpec(file=Path("log.csv"))], preparation={"rates": "measured"})
    [mistake] = likely_mistakes(robot, logs, run)
    assert mistake.said.startswith("two: dq_m1, ")


def test_logs_that_show_no_parameter_are_refused_in_a_sentence():
    """A robot that gravity does not pull, by rates that are zero."""
    robot = load("dualv")
    log = noisy_log(robot, "dualv_motion")
    with pytest.raises(RobodynError, match=r"show none of the parameters.*are measured rates more than zeros"):
        rp.identify(robot, measured(robot, log, 0 * log.q), **MEASURED)


@pytest.mark.parametrize("name", ["mtm", "panda"])
def test_rates_of_measured_logs_are_not_refused(measured_logs, name):
    path = Path(__file__).parents[1] / "runs" / f"{name}.yaml"
    run = read_run(path)
    robot, run = as_asked(load_named(run.robot, path.parent), run, path.parent)
    for spec in [*run.fit, *run.held_out]:
        found = wrong_rates(select(robot, run, path.parent, spec).log, robot.motors.names)
        assert found.wrong + found.late == []
