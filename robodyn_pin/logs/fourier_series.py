"""Motions that repeat: the period found, and the Fourier series of all whole and broken periods by least squares."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.logs.spectrum import FEWEST, PIECE, Spectrum, pieces, spectrum
from robodyn_pin.logs.stored_log import AnyLog

SEARCHED = 131_072  # samples from the log's begin in which a period is looked for
UNLIKE = 0.1  # mean square difference over that of unrelated positions: above, the motion has left where it was
ALIKE = 1e-2  # below, it may have come back; the series says later how well
HARMONICS = 400  # at most
BAND = 0.2  # of the sampling rate: highest harmonic that is tried
CHANCE = 1e-3  # probability that noise alone makes a harmonic count
TABLE = 4096  # samples whose oscillations are computed once


@dataclass(frozen=True)
class Series:
    """q(k) = Re sum_h c_h exp(i h w k) of sample k, h = 0..H."""

    w: float  # [rad per sample]
    coefficients: np.ndarray  # (H + 1, n) complex
    floor: np.ndarray  # (n,) mean square of a coefficient that is noise alone
    residual: np.ndarray  # (n,) rms of what is left of the positions
    reach: int = 0  # needs no neighbours

    @property
    def harmonics(self) -> int:
        return len(self.coefficients) - 1

    def motion(self, size: int, begin: int, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, rates and accelerations (size, n) of samples begin.. of the log."""
        q = np.empty((3, size, self.coefficients.shape[1]))
        turn = 1j * self.w * np.arange(self.harmonics + 1)
        table = np.exp(np.outer(np.arange(min(size, TABLE)), turn))
        for k in range(0, size, TABLE):
            here = np.exp(turn * (begin + k))[:, None] * self.coefficients
            part = table[: size - k]
            for order in range(3):
                q[order, k : k + len(part)] = (part @ (here * (turn[:, None] * rate) ** order)).real
        return q[0], q[1], q[2]

    def acceleration_error(self, noise: np.ndarray, rate: float) -> np.ndarray:
        """Expected rms error (n,): noise of the coefficients, and what the series leaves of the motion.

        What it leaves beyond the encoders' noise is unknown in frequency; it is taken at the highest harmonic.
        """
        w = self.w * rate * np.arange(self.harmonics + 1)
        left = np.maximum(self.residual**2 - noise**2, 0) * w[-1] ** 4
        return np.sqrt(0.5 * self.floor * (w**4).sum() + left)


def period_of(log: AnyLog) -> float | None:
    """Period [s] of a motion that repeats at least once, else None; None too where a log is too short to tell."""
    period = find_period(log, spectrum(log)) if log.size >= FEWEST else None
    return None if period is None else period / log.rate


def find_period(log: AnyLog, spectrum: Spectrum) -> float | None:
    """Period in samples of a motion that repeats at least once, else None.

    The first lag at which all positions come back, by the mean square difference; then sharpened over more and more periods.
    """
    head = log.section(0, min(SEARCHED, log.size)).q
    head = head - head.mean(axis=0)
    moving = head.std(axis=0) > 10 * spectrum.noise
    if not moving.any():
        return None
    y = head[:, moving] / head[:, moving].std(axis=0)
    unlike = _difference(y)[: len(y) // 2 + 1]
    left = np.flatnonzero(unlike > UNLIKE)
    if not len(left):
        return None
    low = unlike[1:-1]
    back = np.flatnonzero((low <= unlike[:-2]) & (low < unlike[2:]) & (low < ALIKE)) + 1
    back = back[back > left[0]]
    if not len(back):
        return None
    # Half and third periods may look alike; the first lag that is about as good as the best one is the period.
    period = float(back[unlike[back] <= 4 * unlike[back].min() + 1e-6][0])
    weight = np.where(moving, 1 / np.maximum(spectrum.noise, 1e-12) ** 2, 0.0)
    count = 1
    while True:
        for _ in range(2):
            period += _late(log, count * period, weight) / count
        count *= 2
        if count * period > log.size / 2:
            return period


def _difference(y: np.ndarray) -> np.ndarray:
    """Mean square difference of y (N, n) with itself, by lag, over that of unrelated samples of variance 1."""
    n = len(y)
    power = np.abs(np.fft.rfft(y, 2 * n, axis=0)) ** 2
    product = np.fft.irfft(power.sum(axis=1))[:n]
    running = np.concatenate([[0.0], np.cumsum((y**2).sum(axis=1))])
    lag = np.arange(n)
    squares = running[n - lag] + running[n] - running[lag]
    return np.maximum(squares - 2 * product, 0) / ((n - lag) * 2 * y.shape[1])


def _late(log: AnyLog, lag: float, weight: np.ndarray) -> float:
    """By how many samples the motion comes back later than after `lag` samples, least squares."""
    whole = int(lag)
    # Lagrange's weights of the eight samples around a time between samples: encoders are coarse, so is a straight line.
    near = np.arange(-3, 5)
    weights = [np.prod([(lag - whole - j) / (k - j) for j in near if j != k]) for k in near]
    product = square = 0.0
    for begin in range(3, log.size - whole - 4, PIECE):
        end = min(begin + PIECE, log.size - whole - 4)
        if end - begin < 2:
            break
        now, then = log.section(begin, end).q, log.section(begin + whole - 3, end + whole + 4).q
        shifted = sum(w * then[k : k + len(now)] for k, w in enumerate(weights))
        speed = np.gradient(now, axis=0)
        product += float((weight * speed * (now - shifted)).sum())
        square += float((weight * speed**2).sum())
    return product / square


def fit_series(log: AnyLog, period: float, noise: np.ndarray) -> Series:
    """Fourier series of a log by least squares, all its samples, in two passes through the log.

    Harmonics up to the last one that stands above the floor of the spectrum in some motor. The floor comes from the highest
    harmonics: an encoder makes the same error in every period if these are whole samples, and then averaging helps less than
    the encoder's noise suggests.
    """
    from scipy.linalg import solve_toeplitz

    w, n = 2 * np.pi / period, log.size
    most = max(1, min(HARMONICS, int(BAND * period)))
    offset = log.section(0, 1).q[0]
    turn = 1j * w * np.arange(-most, most + 1)
    table = np.exp(-np.outer(turn, np.arange(TABLE)))
    right, sums = np.zeros((len(turn), len(offset)), complex), np.zeros(len(turn), complex)
    for begin, q in pieces(log, TABLE):
        here, part = np.exp(-turn * begin), table[:, : len(q)]
        right += here[:, None] * (part @ (q - offset))
        sums += here * part.sum(axis=1)
    # Oscillations are almost orthogonal over many periods, not quite over broken ones: sum exp(i (k - h) w t) is Toeplitz.
    column = np.concatenate([sums[most:], _geometric(w, np.arange(most + 1, 2 * most + 1), n)])
    found = solve_toeplitz((column, column.conj()), right)[most:]
    found[1:] *= 2
    power = np.abs(found) ** 2
    floor = power[most // 2 + 1 :].mean(axis=0) if most > 1 else 4 * noise**2 / n
    floor = np.maximum(floor, (1e-15 * np.abs(found).max(axis=0)) ** 2)
    seen = (power > floor * np.log(most * len(offset) / CHANCE)).any(axis=1)
    kept = np.flatnonzero(seen[1:])[-1] + 1 if seen[1:].any() else 1
    found[0] += offset
    series = Series(w, found[: kept + 1], floor, np.zeros(len(offset)))
    squares = np.zeros(len(offset))
    for begin, q in pieces(log, PIECE):
        squares += ((q - series.motion(len(q), begin, 1.0)[0]) ** 2).sum(axis=0)
    return Series(w, series.coefficients, floor, np.sqrt(squares / n))


def _geometric(w: float, j: np.ndarray, n: int) -> np.ndarray:
    """sum over t < n of exp(-i j w t)."""
    return (1 - np.exp(-1j * j * w * n)) / (1 - np.exp(-1j * j * w))
