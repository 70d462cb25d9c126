"""Spectra of positions: how much noise the encoders leave, and how far an estimate of the acceleration is off."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammainccinv

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.stored_log import AnyLog

SEGMENT = 16384  # samples of one periodogram
PIECE = 100_000  # samples that are read at once
STILL = np.pi / 2  # [rad per sample] above, machines do not move
CHANCE = 1e-6  # probability that noise alone looks like motion at some frequency
FEWEST = 64  # samples below which a spectrum says nothing


@dataclass(frozen=True)
class Spectrum:
    """Power of the motors' positions over frequency; white noise of variance s^2 has s^2 everywhere."""

    frequency: np.ndarray  # (k,) [rad per sample], above 0, up to pi
    power: np.ndarray  # (k, n) [rad^2 or m^2]
    noise: np.ndarray  # (n,) standard deviation of the encoders' noise [rad or m]
    acceleration: np.ndarray  # (n,) rms, noise included [rad/s^2 or m/s^2]
    chance: float  # times the noise: power up to there may be noise alone
    rate: float  # [Hz]

    def acceleration_error(self, passed: np.ndarray) -> np.ndarray:
        """Expected rms error (n,) of accelerations that pass `passed` (k, n or 1) of the true ones.

        What is missing is (1 - G)^2 of the true power, that is the power seen less the noise; what is too much is G^2 of the
        noise. An unbiased estimate of the error, as Stein's or Mallows' is, from the log alone.
        """
        return self._acceleration((1 - passed) ** 2 * self._motion + passed**2 * self.noise**2)

    def acceleration_of_motion(self) -> np.ndarray:
        """Rms acceleration (n,) of the motion that stands above the encoders' noise [rad/s^2 or m/s^2]."""
        return self._acceleration(self._motion)

    @cached_property
    def _motion(self) -> np.ndarray:
        """Power (k, n) of the positions that is not noise."""
        # Differences from the noise that chance explains would, times w^4, hide all that is known at low frequencies.
        seen = (self.power > self.chance * self.noise**2) & (self.frequency[:, None] <= STILL)
        return np.where(seen, self.power - self.noise**2, 0)

    def _acceleration(self, power: np.ndarray) -> np.ndarray:
        """Rms acceleration (n,) of positions with this power (k, n)."""
        found = np.trapezoid(self.frequency[:, None] ** 4 * power, self.frequency, axis=0)
        return np.sqrt(found / np.pi) * self.rate**2


def pieces(log: AnyLog, size: int, overlap: int = 0) -> Iterator[tuple[int, np.ndarray]]:
    """Positions of a log in pieces of at most `size` samples, each with the index of its first one."""
    for begin in range(0, max(1, log.size - overlap), size - overlap):
        yield begin, log.section(begin, min(begin + size, log.size)).q


def spectrum(log: AnyLog) -> Spectrum:
    """Averaged periodograms of a log on a uniform clock.

    They are taken of second differences, in which the motion does not drown the noise, and divided by what differencing does.
    The noise is the mean above half the Nyquist frequency.

    Raises:
        BadLog: fewer samples than a spectrum needs.
    """
    if log.size < FEWEST:
        raise BadLog(
            f"{log.name}: {log.size} rows are too few to tell motion from noise; at least {FEWEST} are needed, "
            "or 'differentiation: filter'"
        )
    size = min(SEGMENT, log.size - 2)
    window = np.hanning(size + 2)[1:-1, None]
    total, squares, count, samples = np.zeros((size // 2 + 1, log.section(0, 1).q.shape[1])), 0.0, 0, 0
    for _, q in pieces(log, max(PIECE, size + 2), size + 2):
        second = np.diff(q, 2, axis=0)
        squares, samples = squares + (second**2).sum(axis=0), samples + len(second)
        for begin in range(0, len(second) - size + 1, max(1, size // 2)):
            total += np.abs(np.fft.rfft(window * second[begin : begin + size], axis=0)) ** 2
            count += 1
    frequency = 2 * np.pi * np.arange(1, size // 2 + 1) / size
    power = total[1:] / (count * (window**2).sum() * (2 * np.sin(frequency / 2))[:, None] ** 4)
    noise = np.sqrt(power[frequency > STILL].mean(axis=0))
    # Segments overlap by half; an average of m independent periodograms of noise is gamma distributed.
    independent = max(1.0, count / 2)
    chance = float(gammainccinv(independent, CHANCE / power.size)) / independent
    acceleration = np.sqrt(squares / samples) * log.rate**2
    return Spectrum(frequency, power, noise, acceleration, chance, log.rate)
