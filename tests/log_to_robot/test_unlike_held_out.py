"""A held-out log with a mistake is named with it: the fit data have none. All logs are SIMULATED."""

import re
from dataclasses import replace

import numpy as np
import pytest
from simulated import noisy_log, random_swings

import robodyn_pin as rp
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.log_to_robot import verdict
from robodyn_pin.log_to_robot.run import execute
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

CONTRARY = "the held-out data contradict the fit data"


@pytest.fixture(scope="module")
def delta() -> tuple[Robot, list[Log]]:
    robot = load("delta3")
    return robot, [
        replace(noisy_log(robot, random_swings(robot, seed, 5), seed=seed), name=f"log{seed}") for seed in range(6)
    ]


def verdict_of(robot: Robot, fit: list[Log], held_out: list[Log]):
    return rp.identify(robot, fit, held_out, instruments=False, intervals=False).verdict


SPOILED = {
    "tau_phi1 and tau_phi2 look swapped": lambda log: {"tau": log.efforts[:, [1, 0, 2]]},
    "tau_phi2 looks like -tau_phi2": lambda log: {"tau": log.efforts * [1, -1, 1]},
    "all torques look 2 times too large": lambda log: {"tau": 2 * log.efforts},
    "tau_phi1 looks too large by (3|3.0\\d|2.9\\d) N m": lambda log: {"tau": log.efforts + np.array([3, 0, 0])},
}


@pytest.mark.parametrize("said", SPOILED)
def test_a_mistake_of_the_held_out_log_is_named_with_its_log(delta, said):
    robot, (*fit, judge) = delta[0], delta[1][:3]
    found = verdict_of(robot, fit, [replace(judge, **SPOILED[said](judge))])
    assert not found.accepted
    [reason] = [text for text in found.reasons if text.startswith(CONTRARY)]
    assert re.search(f"; log2, samples \\d+ to \\d+: {said}", reason)
    assert not any("none of the usual mistakes" in text for text in found.reasons)


@pytest.mark.parametrize(
    "more",
    [lambda rate: 0.5 * np.tanh(rate / 0.05) * [1, 0.5, 0.8], lambda rate: 0.6 * rate],
    ids=["coulomb", "viscous"],
)
def test_more_friction_is_called_no_mistake(delta, more):
    robot, (*fit, judge) = delta[0], delta[1][:3]
    rubs = replace(judge, tau=judge.efforts + more(np.gradient(judge.q, judge.t, axis=0)))
    reason = verdict_of(robot, fit, [rubs]).reasons[0]
    assert reason.startswith("the held-out data are unlike the fit data")
    assert "warmth" in reason


@pytest.mark.parametrize("most", [1.5, 100.0])
def test_one_of_many_that_judge_is_told_once(delta, monkeypatch, most):
    """A reason where all of them together are explained badly, else a caution."""
    monkeypatch.setattr(verdict, "MOST_WORSE", most)
    robot, (one, two, judge, *judges) = delta
    said = verdict_of(robot, [one, two], [*judges, replace(judge, tau=judge.efforts + np.array([1, 0, 0]))])
    told = [text for text in [*said.reasons, *said.cautions] if "log2, " in text]
    assert told == [text for text in (said.reasons if most < 100 else said.cautions) if text.startswith(CONTRARY)]
    assert "tau_phi1 looks too large by" in told[0]


def test_a_held_out_log_too_short_to_look_for_mistakes_is_judged_as_ever(delta, tmp_path):
    """Twelve samples: the search for mistakes filters sixteen at least."""
    robot, (fit, judge) = delta[0], delta[1][1:3]
    write_log(tmp_path / "fit.csv", fit, robot)
    write_log(tmp_path / "judge.csv", replace(judge, tau=judge.efforts * [1, -1, 1]), robot)
    run = {"robot": "delta3", "fit": [{"file": "fit.csv"}], "held_out": [{"file": "judge.csv", "rows": [400, 412]}]}
    found = execute(RunFile.model_validate({**run, "instruments": False, "intervals": False}), tmp_path, str).verdict
    assert not found.accepted
    assert not any("look" in text for text in found.reasons)


def test_held_out_positions_at_which_loops_do_not_close_say_why(delta):
    robot, (*fit, judge) = delta[0], delta[1][:3]
    with pytest.raises(ClosureFailed, match=r"of log2 .*q_phi2 looks too large by 3\.14 rad"):
        verdict_of(robot, fit, [replace(judge, q=judge.q + np.array([0, np.pi, 0]))])
