"""Whether one explanation of the torques is clearly better than another, beyond what luck would give.

The logs are cut into ten stretches. Parameters are fitted to the even ones and judged on the odd ones, and the other way round, so
that each stretch is judged by parameters that have not seen it. Its value is the sum over the motors of log(rms error with the guess
undone / rms error as it is). Two things are asked: the mean of the ten values is negative by a one-sided paired t test (nine degrees
of freedom) at 0.01 / number of guesses (Bonferroni), and the same sum over all stretches together is below `CLEARLY`, on a log
that is explained well below `SURELY`. Residuals are coloured, so samples do not count; stretches are much longer than the
residuals remember and count as one value each (batch means: Law, Simulation Modeling and Analysis, section 9.5.3; of errors
of two predictions: Diebold and Mariano 1995). Bodies of the robot's files that explain the corrected log as well as any bodies do
are the real ones: then their gain is one that the log shows, and it alone is tested.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from robodyn_pin.log_to_robot.usual_guesses import Guess

FAMILYWISE = 0.01  # chance that a log without mistakes gets one told
CLEARLY = np.log(0.5)  # the product over the motors of their errors must fall to half
SURELY = np.log(0.8)  # the same where all parameters are fitted, on a log that is explained well
AS_GOOD = np.log(1.2)  # difference in the same product below which two explanations are as good as each other
REAL = 1.2  # bodies of the files whose error is at most so many times that of any bodies are taken for the real ones
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
    enough = SURELY if calm else CLEARLY
    free, by_free = _clear(asis.free, tried.free, count, enough)
    own, by_own = _clear(asis.own, tried.own, count, enough)
    if guess.offset is not None and free == 0:  # gravity of other bodies passes for it: only those of the files speak
        return Judgement(0.0 if calm or typical_error(tried.own) >= WELL else own, True, False, by_own)
    real = typical_error(tried.own) < min(WELL, REAL * typical_error(tried.free))
    if guess.robot is None and real and own < 0:
        return Judgement(gain_of(asis.free, tried.free) + own, free == 0, True, by_own)
    if calm:
        if not _bodies_agree(asis, tried, guess):
            return Judgement(0.0, False, False, 1.0)
        return Judgement(free, False, free < 0, by_free)
    # Bodies of the files count only if they explain the torques well, and never against a clear loss of the free fit.
    if guess.robot is not None or typical_error(tried.own) >= WELL or gain_of(asis.free, tried.free) >= -CLEARLY:
        own, by_own = 0.0, 1.0
    of_files = own < free
    return Judgement(free + own, of_files, free < 0, by_own if of_files else by_free)


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
    chance = min(1.0, count * float(stdtr(len(each) - 1, each.mean() / error)))
    return (total if total < enough and chance < FAMILYWISE else 0.0), chance


def gain_of(before: np.ndarray, after: np.ndarray) -> float:
    return float((after - before)[-1].sum() / 2)


def errors_of(tried: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(tried[-1] / 2))


def typical_error(tried: np.ndarray) -> float:
    """Geometric mean of the motors' errors."""
    return float(np.exp(tried[-1].mean() / 2))
