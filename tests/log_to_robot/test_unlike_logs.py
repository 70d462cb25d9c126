"""One log with a mistake among several is named, with its mistake, and refused where it spoils the parameters. All logs are SIMULATED."""

import re
from dataclasses import replace

import numpy as np
import pytest
from simulated import noisy_log, random_swings

import robodyn_pin as rp
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.identification.fold import Factor, merge_factors
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.log_to_robot.unlike_logs import UnlikeLogs, unlike_logs, what_is_unlike
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import Robot, load

OTHERS = "the parameters explain its torques"


@pytest.fixture(scope="module")
def delta() -> tuple[Robot, list[Log]]:
    robot = load("delta3")
    return robot, [
        replace(noisy_log(robot, random_swings(robot, seed, 10), seed=seed), name=f"log{seed}") for seed in range(4)
    ]


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
    assert not any("look" in text for text in verdict.reasons if text != reason)


def test_wrong_rates_of_one_log_are_told_once(delta):
    robot, logs = delta
    mixed = [replace(log, dq=(-1 if k == 1 else 1) * np.gradient(log.q, log.t, axis=0)) for k, log in enumerate(logs)]
    preparation = {"rates": "measured", "filter": {"order": 4, "cutoff": 20}}
    verdict = verdict_of(robot, [uniform(log) for log in mixed[:3]], preparation=preparation)
    assert not verdict.accepted
    assert sum("-1 times the derivative" in text for text in [*verdict.reasons, *verdict.cautions]) == 1


def test_logs_that_agree_are_not_called_unlike(delta):
    robot, logs = delta
    for some in (logs, logs[:3], logs[:2]):
        verdict = verdict_of(robot, some)
        assert verdict.accepted
        assert not any("other logs" in text or "contradict" in text for text in verdict.cautions)


def test_two_of_six_do_not_hide_each_other(delta):
    robot, logs = delta
    more = [replace(noisy_log(robot, random_swings(robot, seed, 10), seed=seed), name=f"log{seed}") for seed in (4, 5)]
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


@pytest.mark.parametrize(
    ("logs", "harm", "mistakes", "refused"),
    [
        ((1,), 1.4, {1: "swapped"}, False),
        ((1,), 1.6, {1: "swapped"}, True),
        ((1,), 1.6, {}, False),
        ((1,), 2.1, {}, True),
        ((0, 1), 1.6, {}, False),
        ((0, 1), 1.6, {1: "swapped"}, True),
    ],
)
def test_without_a_mistake_found_it_takes_more_to_refuse(logs, harm, mistakes, refused):
    names = ["one", "two"] if logs == (0, 1) else ["one", "two", "three"]
    reason, cautions = what_is_unlike(UnlikeLogs(logs, (5.0,) * len(logs), harm), names, mistakes)
    assert (bool(reason), len(cautions)) == (refused, not refused)
    assert ("swapped" in reason + "".join(cautions)) == bool(mistakes)


def test_parameters_follow_the_majority_of_logs():
    """Logs of 100 samples about a constant each, with noise of 0.05: the parameter of all is the mean of the constants."""
    values, noise = np.array([1.0, 1.01, 0.99, 1.005, 9.0]), 0.05
    by_log = [[Factor(np.array([[10, 10 * v], [0, 10 * noise]]), 100, 100 * (v**2 + noise**2))] for v in values]
    everything = weighted_least_squares([merge_factors([factors[0] for factors in by_log])])
    found = unlike_logs(by_log, everything, 1.0)
    assert everything.values[0] == pytest.approx(values.mean())
    assert found.logs == (4,)
    others = values[:4]
    errors = [np.sqrt(np.mean((others - x) ** 2) + noise**2) for x in (values.mean(), others.mean())]
    assert found.harm == pytest.approx(errors[0] / errors[1], rel=1e-9)


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
    """No one zero closes the loops of all logs."""
    robot, logs = delta[0], [log.section(0, 500) for log in delta[1]]
    mixed = [*logs[:2], replace(logs[2], q=logs[2].q + np.array([np.pi, 0, 0]))]
    with pytest.raises(ClosureFailed, match=r"of log2 .*q_phi1 looks too large by 3\.14 rad"):
        rp.identify(robot, mixed, instruments=False)
