"""Logs of one robot, simulated with coloured noise and friction that the model lacks, compared many times."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from robodyn_pin.dynamics.equations import along
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.block_jackknife import without_each
from robodyn_pin.identification.comparison import Change, Known, changes
from robodyn_pin.identification.fold import empty, fold_rows, weighted
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.log_to_robot.fit_data import independent_share
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.pieces import PIECES, cut_up
from robodyn_pin.log_to_robot.rows import filtered, observe
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.fourier_series import period_of
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import Robot


@dataclass(frozen=True)
class Recorded:
    """The rows of one log, its torques exact."""

    W: np.ndarray  # (n, d, p)
    y: np.ndarray  # (n, d)
    q: np.ndarray  # (N, m) of every sample
    rate: float  # [Hz]
    piece: np.ndarray  # (n,)
    share: float  # of the rows, that is independent
    shaken: Callable[[np.ndarray], np.ndarray]  # errors of the motors' torques (N, m) -> of the rows (n, d)


def record(robot: Robot, log: Log, run: RunFile, period: float | None = None) -> Recorded:
    """Rows of a log without noise, prepared as a run file says."""
    lowpass, noise, cut = run.rows.filter, motor_noise(run, robot), run.rows.cut
    blocks, rows = [], []
    for block in observe(robot, log, run.preparation, [lowpass]):
        W, known, measured = filtered(block, lowpass, log, noise)
        index = block.begin + np.arange(len(W))
        kept = (index >= cut) & (index < log.size - cut) & (index % run.rows.every == 0)
        low = block.begin - block.keep.start
        blocks.append((low, low + len(block.W), block.B, block.keep, kept))
        rows.append((W[kept], (measured - known)[kept], index[kept]))

    def shaken(errors: np.ndarray) -> np.ndarray:
        found = []
        for low, high, B, keep, kept in blocks:
            y = along(B, errors[low:high])[:, :, None]
            y = whitened(y, B, noise)[:, :, 0]
            found.append((lowpass.apply(y, log.rate, "noise") if lowpass else y)[keep][kept])
        return np.concatenate(found)

    W, y, index = (np.concatenate(x) for x in zip(*rows, strict=True))
    piece, _ = cut_up(log, period if period else period_of(log), cut)
    return Recorded(W, y, log.q, log.rate, piece(index), independent_share(run, log.rate), shaken)


def estimate(log: Recorded, y: np.ndarray) -> Known:
    """The estimate from torques (n, d) of a log's rows."""
    p = log.W.shape[2]
    groups = [fold_rows(empty(p), log.W[:, j], y[:, j]) for j in range(y.shape[1])]
    base = base_set(weighted(groups, np.ones(len(groups)))[:, :-1])
    found = weighted_least_squares(groups, base, log.share)
    rows = np.concatenate([log.W[:, :, base.columns], y[:, :, None]], axis=2) / found.sigma[:, None]
    parts = [rows[log.piece == g].reshape(-1, base.size + 1) for g in range(PIECES)]
    factors = [fold_rows(empty(base.size), x[:, :-1], x[:, -1]) for x in parts]
    return Known(base, found.values, without_each(factors), found.covariance)


def coloured(rng: np.random.Generator, shape: tuple[int, int], memory: float) -> np.ndarray:
    """AR(1) noise (N, m) of variance one whose correlation falls to 1/e in `memory` samples; 0: white."""
    r = np.exp(-1 / memory) if memory else 0.0
    return lfilter([np.sqrt(1 - r * r)], [1, -r], rng.normal(size=shape), axis=0)


def friction_left_out(rng: np.random.Generator, sizes: np.ndarray) -> Callable[[np.ndarray, float], np.ndarray]:
    """Friction (N, m) that Coulomb and viscous terms do not describe, of motor positions (N, m) at a rate [Hz].

    A peak at low speeds (Stribeck) and a ripple with the position, each up to 30 % of `sizes` (m,).
    """
    peak, ripple = rng.uniform(0, 0.3, (2, len(sizes)))
    phase, waves = rng.uniform(0, 2 * np.pi, len(sizes)), rng.uniform(2, 6, len(sizes))

    def torque(q: np.ndarray, rate: float) -> np.ndarray:
        v = np.gradient(q, axis=0) * rate
        usual = v.std(axis=0)
        sign = np.tanh(v / (0.05 * usual))
        return sizes * sign * (peak * np.exp(-((v / (0.3 * usual)) ** 2)) + ripple * np.sin(waves * q + phase))

    return torque


def compared(
    first: Recorded, second: Recorded, rng: np.random.Generator, noise: np.ndarray, memory: float, missing: np.ndarray | None,
    paired: bool, change: np.ndarray | float = 0.0,
) -> Change:  # fmt: skip
    """One comparison of a robot with itself, or with one whose parameters (p,) are larger by `change`.

    Args:
        noise: (m,) standard deviation of the torques' coloured noise. missing: (m,) size of the friction that the model lacks.
    """
    friction = None if missing is None else friction_left_out(rng, missing)
    known = []
    for log, more in ((first, 0.0), (second, change)):
        errors = noise * coloured(rng, log.q.shape, memory)
        if friction is not None:
            errors = errors + friction(log.q, log.rate)
        y = log.y + log.shaken(errors)
        known.append(estimate(log, y + log.W @ more if np.ndim(more) else y))
    return changes(*known, paired)


def named(robot: Robot, change: Change, label: str) -> bool:
    """Whether a parameter is what explains the change best, or among what cannot be told from that."""
    labels = columns(robot).layout.labels
    return change.cause is not None and any(labels[k] == label for k in change.cause.columns)
