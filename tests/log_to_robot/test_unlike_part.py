"""A part of a log that is unlike the rest is told with its time, and chance tells none. All logs are SIMULATED."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.log_to_robot.unlike_part import unlike_part
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import load

SIZE, RATE = 8000, 200.0
LOG = Log("log", np.arange(SIZE) / RATE, np.zeros((SIZE, 2)), None)


def told(left: np.ndarray) -> str:
    return unlike_part(LOG, np.arange(SIZE), left, 10 * noise(77), ["one", "two"])


def noise(seed: int, colour: float = 0.0) -> np.ndarray:
    white = np.random.default_rng(seed).normal(size=(SIZE, 2))
    return lfilter([1], [1, -colour], white, axis=0)


@pytest.mark.parametrize("colour", [0.0, 0.9, 0.99])
def test_chance_tells_nothing(colour):
    """The memory of the coloured errors is 10 and 100 samples, a piece has 500."""
    assert sum(bool(told(noise(seed, colour))) for seed in range(200)) <= 2


@pytest.mark.parametrize(("begin", "end"), [(0, 12), (14, 26), (28, 40)])
def test_a_part_is_told_with_its_coordinate_time_and_size(begin, end):
    t = LOG.t[:, None]
    left = noise(1) * np.where((t >= begin) & (t < end), [1, 3], 1)
    said = re.match(
        r"log: from about t = (\S+) to (\S+) s the error of two is (\S+) times as large", told(left)
    ).groups()
    first, last, worse = map(float, said)
    assert (first, last) == (pytest.approx(begin, abs=2.5), pytest.approx(end, abs=2.5))  # a piece has 2.5 s
    assert worse == pytest.approx(3, rel=0.2)


def test_errors_that_grow_and_parts_that_are_apart_are_no_part():
    t = LOG.t[:, None]
    assert not told(noise(2) * np.linspace(1, 3, SIZE)[:, None])
    assert not told(noise(2) * np.where((t < 5) | (t > 35), 3, 1))


@pytest.mark.filterwarnings("error")
def test_where_nothing_is_predicted_nothing_is_told_and_numpy_is_silent():
    model, grown = 10 * noise(77) * [1, 0], noise(1) * np.where(LOG.t < 12, 3, 1)[:, None]
    assert not unlike_part(LOG, np.arange(SIZE), np.column_stack([noise(3)[:, 0], grown[:, 1]]), model, ["one", "two"])
    assert "the error of one" in unlike_part(LOG, np.arange(SIZE), grown, model, ["one", "two"])
    unlike_part(LOG, np.arange(SIZE), grown, np.where(LOG.t[:, None] < 5, 10 * noise(77), 0), ["one", "two"])


@pytest.mark.parametrize("begin", [0.4, 0.7])
def test_another_gain_of_a_part_is_told_with_its_size(begin):
    """The model's torques lie between: of both parts it leaves as much where they are as long."""
    rng = np.random.default_rng(5)
    model, later = 10 * noise(6), np.arange(SIZE) >= begin * SIZE
    left = model * np.where(later, 0.2, -0.1)[:, None] * [0, 1] + 0.5 * rng.normal(size=(SIZE, 2))
    said = unlike_part(LOG, np.arange(SIZE), left, model, ["one", "two"])
    size = re.search(r"the torque of two is (\S+) times that in the rest", said)[1]
    shorter = 1.2 / 0.9 if begin > 0.5 else 0.9 / 1.2
    assert float(size) == pytest.approx(shorter, rel=0.05)


def test_a_motor_whose_gain_has_changed_on_the_way_is_told():
    robot = load("irb360")
    log = noisy_log(robot, "irb360_motion")
    later = (np.arange(log.size) > log.size // 2)[:, None] & (np.arange(4) == 1)
    settings = {"instruments": False, "intervals": False}
    for gain in (1.0, 1.5):
        verdict = rp.identify(robot, replace(log, tau=log.efforts * np.where(later, gain, 1.0)), **settings).verdict
        said = [text for text in [*verdict.reasons, *verdict.cautions] if "has something changed (a gain" in text]
        assert len(said) == (gain > 1)
        assert all(re.search(r"the torque of phi2 is 1\.(4\d?|5\d?) times that", text) for text in said)
