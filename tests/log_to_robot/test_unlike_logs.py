"""One log with a mistake among several is named, with its mistake, and refused where it spoils the parameters. All logs are SIMULATED."""

import re
from dataclasses import replace

import numpy as np
import pytest
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load

OTHERS = "the parameters explain its torques"


def motion_of(robot: Robot, seed: int) -> FourierMotion:
    names, rng = robot.motors.names, np.random.default_rng(seed)
    terms = {part: {m: (0.1 * rng.normal(size=5)).tolist() for m in names} for part in ("sin", "cos")}
    return FourierMotion(rate=200, duration=10, period=5, centre=dict.fromkeys(names, 0.3), **terms)


@pytest.fixture(scope="module")
def delta() -> tuple[Robot, list[Log]]:
    robot = load("delta3")
    return robot, [replace(noisy_log(robot, motion_of(robot, seed), seed=seed), name=f"log{seed}") for seed in range(4)]


def verdict_of(robot: Robot, logs: list[Log], **settings):
    return rp.identify(robot, logs, instruments=False, **settings).verdict


SPOILED = {
    "tau_phi1 and tau_phi2 look swapped": lambda log: {"tau": log.efforts[:, [1, 0, 2]]},
    "tau_phi2 looks like -tau_phi2": lambda log: {"tau": log.efforts * [1, -1, 1]},
    "all torques look (1.9\\d*|2) times too large": lambda log: {"tau": 2 * log.efforts},
    "the torques look like kN m": lambda log: {"tau": log.efforts / 1000},
    "tau_phi3 looks (2.9\\d*|3) times too small": lambda log: {"tau": log.efforts / [1, 1, 3]},
}


@pytest.mark.parametrize("said", SPOILED)
def test_a_log_with_a_mistake_is_named_with_it_and_refused(delta, said):
    robot, logs = delta
    mixed = [replace(log, **SPOILED[said](log)) if k == 2 else log for k, log in enumerate(logs)]
    verdict = verdict_of(robot, mixed)
    [reason] = [text for text in verdict.reasons if text.startswith("fit logs contradict the others")]
    assert re.search(f"log2, .*: {OTHERS} .* times worse .* and see what changes: .*{said}", reason)
    assert reason.count(OTHERS) == 1


def test_logs_that_agree_are_not_called_unlike(delta):
    robot, logs = delta
    for some in (logs, logs[:3], logs[:2]):
        verdict = verdict_of(robot, some)
        assert verdict.accepted
        assert not any("other logs" in text or "contradict" in text for text in verdict.cautions)


def test_two_of_six_do_not_hide_each_other(delta):
    robot, logs = delta
    more = [replace(noisy_log(robot, motion_of(robot, seed), seed=seed), name=f"log{seed}") for seed in (4, 5)]
    mixed = [replace(log, tau=log.efforts / 20) if k in (1, 5) else log for k, log in enumerate([*logs, *more])]
    [reason] = [text for text in verdict_of(robot, mixed).reasons if "contradict" in text]
    assert re.findall(rf"(log\d), samples \S+ to \d+: {OTHERS}", reason) == ["log1", "log5"]


def test_two_logs_that_contradict_each_other_are_refused_and_the_mistake_is_found_in_its_log(delta):
    robot, logs = delta
    swapped = replace(logs[1], tau=logs[1].efforts[:, [1, 0, 2]])
    reason = verdict_of(robot, [logs[0], swapped]).reasons[0]
    assert re.match(r"log0, samples \S+ to \d+ and log1, samples \S+ to \d+ contradict each other", reason)
    assert re.search(r"; log1, samples \S+ to \d+: tau_phi1 and tau_phi2 look swapped", reason)
    assert not re.search(r"; log0, ", reason)


def test_a_log_that_spoils_nothing_is_a_caution(delta):
    """Among enough others, one with five times the noise."""
    robot, logs = delta
    noise = 0.1 * np.sqrt(np.mean(logs[0].efforts ** 2, axis=0)) * np.random.default_rng(7).normal(size=logs[0].q.shape)
    verdict = verdict_of(robot, [replace(logs[0], tau=logs[0].efforts + noise), *logs[1:]])
    assert verdict.accepted
    [caution] = [text for text in verdict.cautions if OTHERS in text]
    assert caution.startswith("log0, ")
    assert caution.endswith("is it of another robot, with another load, or has something broken?")


def test_the_log_whose_loops_do_not_close_is_the_one_that_is_looked_at(delta):
    robot, logs = delta[0], [log.section(0, 500) for log in delta[1]]
    mixed = [*logs[:2], replace(logs[2], q=np.degrees(logs[2].q))]
    with pytest.raises(ClosureFailed, match=r"of log2 .*all angles look like degrees"):
        rp.identify(robot, mixed, instruments=False)
