"""Whether one explanation of the torques is clearly better than another, beyond what luck would give.

A gain must show on all stretches of the log alike: a paired t test over ten of them, with a chance of one in a hundred that any
of all guesses passes by luck (Bonferroni). Residuals are coloured, so samples do not count; stretches are much longer than the
residuals remember and count as one value each (batch means: Law, Simulation Modeling and Analysis, section 9.5.3; of errors
of two predictions: Diebold and Mariano 1995). The stretches are of the fit logs; both explanations have as many parameters.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from robodyn_pin.log_to_robot.usual_guesses import Guess

FAMILYWISE = 0.01  # chance that a log without mistakes gets one told
CLEARLY = np.log(0.5)  # the product over the motors of their errors must fall to half
SURELY = np.log(0.8)  # the same where all parameters are fitted, on a log that is explained well
SLIGHTLY = np.log(0.99)  # the same where the bodies of the files gain clearly as well
WELL = 0.35  # error up to which the bodies of the robot's files are called meaningful


@dataclass(frozen=True)
class TriedErrors:
    """Logarithms of squared errors over squared torques (stretches + 1, d), of all samples in the last row."""

    free: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class Judgement:
    """Whether a guess is clearly better, and by what."""

    gain: float  # logarithm of the product of the errors' ratios, of both explanations; zero: no clear gain
    of_files: bool
    of_log: bool
    probability: float


def judge_gain(asis: TriedErrors, tried: TriedErrors, count: int, guess: Guess, calm: bool = False) -> Judgement:
    """Whether a guess, one of `count`, is clearly better; the robot's files count as well where it is of that robot."""
    free, by_free = _clear(asis.free, tried.free, count, SURELY if calm else CLEARLY)
    own, by_own = _clear(asis.own, tried.own, count)
    # Bodies of the files count only if they explain the torques well, and never against a clear loss of the free fit.
    if guess.robot is not None or typical_error(tried.own) >= WELL or gain_of(asis.free, tried.free) >= -CLEARLY:
        own, by_own = 0.0, 1.0
    if own < 0 and not free and _surely_better(asis, tried, count):
        free, by_free = gain_of(asis.free, tried.free), by_own
    if calm and not (own < 0 > free or _bodies_agree(asis, tried, guess)):
        return Judgement(0.0, False, False, 1.0)
    of_files = own < free
    return Judgement(free + own, of_files, free < 0, by_own if of_files else by_free)


def _surely_better(asis: TriedErrors, tried: TriedErrors, count: int) -> bool:
    """Whether the fit of all parameters gains beyond luck, however little: enough where the bodies of the files gain clearly."""
    return _clear(asis.free, tried.free, count, SLIGHTLY)[0] < 0


def _bodies_agree(asis: TriedErrors, tried: TriedErrors, guess: Guess) -> bool:
    """Whether the bodies of the robot's files gain, too, where they mean anything. They must for another time: it makes friction
    wider or narrower, which any log may like."""
    if min(typical_error(asis.own), typical_error(tried.own)) < WELL:
        return gain_of(asis.own, tried.own) < SURELY
    return guess.time == 1


def _clear(before: np.ndarray, after: np.ndarray, count: int, enough: float = CLEARLY) -> tuple[float, float]:
    """The gain of all samples, zero where it is not clear, and its chance."""
    each, total = (after - before)[:-1].sum(axis=1) / 2, gain_of(before, after)
    error = max(float(each.std(ddof=1)), 1e-9) / np.sqrt(len(each))
    chance = min(1.0, count * float(student.cdf(each.mean() / error, len(each) - 1)))
    return (total if total < enough and chance < FAMILYWISE else 0.0), chance


def gain_of(before: np.ndarray, after: np.ndarray) -> float:
    return float((after - before)[-1].sum() / 2)


def errors_of(tried: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(tried[-1] / 2))


def typical_error(tried: np.ndarray) -> float:
    """Geometric mean of the motors' errors."""
    return float(np.exp(tried[-1].mean() / 2))
