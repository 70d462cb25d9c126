"""Some samples of the logs on which a guess about them is tried: motion and torques in the band of the motion."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from robodyn_pin.dynamics.equations import along, motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.memory import saturated
from robodyn_pin.dynamics.regressor import columns, known_efforts, state_regressor
from robodyn_pin.log_to_robot.instruments import HIGHEST, LOOKED_AT, band
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

SAMPLES = 500  # of all logs together
STRETCHES = 10  # of the logs, one after the other, on which two explanations are compared
REWEIGHED = 4  # times that the coordinates are weighted anew
WIDE = 6.0  # cut-off over the band of the motion: friction that changes its sign is faster than the motion
UNSEEN = 1e-10  # share of the energy of columns below which a combination of them counts as zero
WEAK = 1e-9  # weight, for columns of length one, that keeps what the fitted stretches hardly show near zero
DELAYS = (-0.1, -0.05, -0.025, -0.01, 0.01, 0.025, 0.05, 0.1)  # [s] of torques behind positions that are tried


@dataclass(frozen=True)
class Picked:
    """M samples of n motors, SI units."""

    q: np.ndarray  # (M, n)
    dq: np.ndarray  # (M, n)
    ddq: np.ndarray  # (M, n)
    tau: np.ndarray  # (M, n)
    stretch: np.ndarray  # (M,) 0 .. STRETCHES - 1
    loaded: np.ndarray  # (M,) whether the robot carried the payload
    later: np.ndarray  # (M, DELAYS, n) torques that the log has so much later

    def every(self, step: int) -> "Picked":
        """One sample of so many."""
        return self._at(np.arange(len(self.q)) % step == 0)

    def of(self, stretches: Sequence[int]) -> "Picked":
        """Those of some stretches."""
        return self._at(np.isin(self.stretch, stretches))

    def _at(self, chosen: np.ndarray) -> "Picked":
        return Picked(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def changed(self, positions: np.ndarray, torques: np.ndarray, time: float) -> "Picked":
        """The samples with positions and torques mixed by (n, n) matrices, and all times multiplied by `time`."""
        q, dq, ddq = (x @ positions.T for x in (self.q, self.dq / time, self.ddq / time**2))
        return replace(self, q=q, dq=dq, ddq=ddq, tau=self.tau @ torques.T)

    def earlier(self, delay: int, motors: Sequence[int]) -> "Picked":
        """With the torques of some motors as the log has them DELAYS[delay] later."""
        tau = self.tau.copy()
        tau[:, motors] = self.later[:, delay][:, motors]
        return replace(self, tau=tau)


def picked(robot: Robot, logs: Sequence[AnyLog], run: RunFile) -> Picked:
    """Samples spread evenly over the logs (of long ones, over their first part).

    Raises:
        BadLog: no torques; too short for the filter.
    """
    cutoff, parts = WIDE * max(band(log) for log in logs), []
    if run.preparation.cutoff is not None:  # as fine as the encoders are
        cutoff = min(cutoff, float(np.max(run.preparation.cutoff)))
    share = SAMPLES // len(logs)
    longest = max(map(abs, DELAYS))
    for log in logs:
        part = log.section(0, min(log.size, LOOKED_AT))
        lowpass = Lowpass(order=4, cutoff=min(cutoff, HIGHEST * part.rate))
        rates = rates_of(part, Preparation(rates=run.preparation.rates, filter=lowpass))
        edge = max(run.rows.cut, min(max(rates.reach, round(longest * part.rate)), part.size // 10))
        index = np.unique(np.linspace(edge, part.size - 1 - edge, share).astype(int))
        index = index[~left_out(robot, log, None, run.rows.saturated == "drop")(index)]
        motion = (x[index] for x in rates.motion(part))
        tau = lowpass.apply(part.efforts, part.rate, part.name)
        shifted = index[:, None] + np.round(np.array(DELAYS) * part.rate).astype(int)
        later = tau[np.clip(shifted, 0, part.size - 1)]
        parts.append((*motion, tau[index], np.full(len(index), log.loaded), later))
    q, dq, ddq, tau, loaded, later = (np.concatenate(x) for x in zip(*parts, strict=True))
    return Picked(q, dq, ddq, tau, np.arange(len(q)) * STRETCHES // len(q), loaded, later)


@dataclass(frozen=True)
class PickedRows:
    """The robot's equations W pi + known = B'tau at these samples."""

    W: np.ndarray  # (M, d, p)
    known: np.ndarray  # (M, d)
    B: np.ndarray  # (M, n, d)
    q: np.ndarray  # (M, nv) joints on the loops
    off: np.ndarray  # (M, n) positions of the motors there, less the measured ones [rad or m]

    @property
    def miss(self) -> float:
        """Largest rms distance of a motor's position from the loops [rad or m]."""
        return largest_rms(self.off)

    def left(self, tau: np.ndarray, x: np.ndarray) -> np.ndarray:
        """What parameters x (p,) leave of the torques (M, n): (M, d)."""
        return self.W @ x + self.known - self.measured(tau)

    def measured(self, tau: np.ndarray) -> np.ndarray:
        """B'tau (M, d) of torques tau (M, n)."""
        return along(self.B, tau)


def largest_rms(off: np.ndarray) -> float:
    """Of the columns (M, n)."""
    return float(np.sqrt(np.mean(off**2, axis=0)).max())


def picked_rows(robot: Robot, samples: Picked, near: np.ndarray | None = None) -> PickedRows:
    """Raises ClosureFailed where the loops cannot close at these positions; `near` as `close_motors` takes it."""
    # Samples apart from each other do not know the motion between them.
    state = saturated(robot, close_motors(robot, samples.q, samples.dq, samples.ddq, near=near))
    W = state_regressor(robot, state)
    W[~samples.loaded, :, robot.payload_columns] = 0.0
    off = state.q @ robot.motors.S.T + robot.motors.offset - samples.q
    return PickedRows(W, known_efforts(robot, state), motor_map(robot, state), state.q, off)


class Explanations:
    """Torques of each half of the stretches (the even, the odd) as parameters say that were fitted to the other half: of all
    parameters, and of friction alone with the bodies of the robot's files. Friction and the like is not negative."""

    def __init__(self, robot: Robot, rows: PickedRows, samples: Picked) -> None:
        named = columns(robot)
        first, bounded = named.layout.first_scalar, np.array(named.layout.nonnegative, bool)
        self.rows, self.values, self.bodies = rows, named.values, rows.W[:, :, :first]
        friction, others = rows.W[:, :, first:][:, :, bounded], rows.W[:, :, first:][:, :, ~bounded]
        size = np.sqrt(np.mean(rows.measured(samples.tau) ** 2, axis=0))
        size = np.where(size > 0, size, 1.0)
        self._others, self._friction, self._size, self._stretch = others, friction, size, samples.stretch
        self._free = self._with(self.bodies)
        self._own = self._with(self.bodies[:, :, :0])

    def _with(self, bodies: np.ndarray) -> "_Halves":
        return _Halves(np.concatenate([bodies, self._others], axis=2), self._friction, self._size, self._stretch)

    def free(self, tau: np.ndarray) -> np.ndarray:
        """What is left (M, d) of torques (M, n) by any bodies."""
        return self._free.left(self.rows.measured(tau) - self.rows.known)

    def own(self, tau: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
        """The same by the bodies of the robot's files, or of other values (p,)."""
        x = (self.values if values is None else values)[: self.bodies.shape[2]]
        return self._own.left(self.rows.measured(tau) - self.rows.known - self.bodies @ x)

    def own_but(self, tau: np.ndarray, body: int) -> np.ndarray:
        """The same by the bodies of the robot's files but for one group of identical ones, which may be any."""
        of_group, x = slice(10 * body, 10 * body + 10), self.values[: self.bodies.shape[2]].copy()
        x[of_group] = 0.0
        y = self.rows.measured(tau) - self.rows.known - self.bodies @ x
        return self._with(self.bodies[:, :, of_group]).left(y)


class _Halves:
    """Least squares on each half of the stretches. The normal equations of the columns serve all torques."""

    def __init__(self, any_sign: np.ndarray, positive: np.ndarray, size: np.ndarray, stretch: np.ndarray) -> None:
        self.size = size  # (d,) of each coordinate
        positive = positive / self.size[:, None]
        A = np.concatenate([_independent(any_sign / self.size[:, None]), positive], axis=2)
        self.bounded = positive.shape[2]
        self.halves = [(h, np.ascontiguousarray(A[h].transpose(1, 0, 2))) for h in (stretch % 2 == 0, stretch % 2 == 1)]
        self.grams = [a.transpose(0, 2, 1) @ a for _, a in self.halves]
        self.squares = np.einsum("jii->ji", self.grams[0] + self.grams[1])  # (d, p) lengths of the columns

    def left(self, y: np.ndarray) -> np.ndarray:
        """What is left (M, d) of y (M, d), of each half by a fit to the other one."""
        y = y / self.size
        left = np.empty_like(y)
        for (seen, a), gram, (judged, b) in zip(self.halves, self.grams, self.halves[::-1], strict=True):
            moments, energy = (y[seen].T[:, None] @ a)[:, 0], (y[seen] ** 2).sum(axis=0)
            rest, least = energy, np.maximum(1e-12 * energy, 1e-300)
            for _ in range(REWEIGHED):
                weights = 1 / np.maximum(rest, least)
                weights /= weights.max()
                mixed = (weights @ gram.reshape(len(weights), -1)).reshape(gram.shape[1:])
                x = _solved(mixed, weights @ moments, weights @ self.squares, self.bounded)
                rest = energy - 2 * moments @ x + (gram @ x) @ x
            left[judged] = y[judged] - (b @ x).T
        return left * self.size


def _independent(columns: np.ndarray) -> np.ndarray:
    """Combinations (M, d, r) of length one of columns (M, d, p), orthogonal to each other."""
    if not columns.shape[2]:
        return columns
    A = columns.reshape(-1, columns.shape[2])
    length = np.linalg.norm(A, axis=0)
    V = np.diag(1 / np.where(length > 1e-12 * length.max(initial=1e-300), length, np.inf))
    energy, mixed = np.linalg.eigh(V @ (A.T @ A) @ V)
    shown = energy > UNSEEN * energy.max(initial=1e-300)
    found = columns @ (V @ mixed[:, shown] / np.sqrt(energy[shown]))
    return np.asarray(found / np.sqrt((found**2).sum(axis=(0, 1))))


def _solved(gram: np.ndarray, moments: np.ndarray, squares: np.ndarray, bounded: int) -> np.ndarray:
    """The x (p,) of the normal equations for columns of these squared lengths, the last `bounded` of them not negative; it stays
    near zero along what is hardly shown."""
    from scipy.optimize import nnls

    if not len(gram):  # LAPACK takes no empty matrix
        return moments
    free = len(gram) - bounded
    L, broken = dpotrf(gram + np.diag(WEAK * np.where(squares > 0, squares, 1.0)), lower=1)
    if broken:
        raise np.linalg.LinAlgError(f"the normal equations have no Cholesky factor (row {broken})")
    z = dtrtrs(L, moments, lower=1)[0]
    x = dtrtrs(L, z, lower=1, trans=1)[0]
    if (x[free:] < 0).any():
        x[free:] = nnls(L.T[free:, free:], z[free:])[0]
        if free:
            rest = z[:free] - L.T[:free, free:] @ x[free:]
            x[:free] = dtrtrs(L[:free, :free], rest, lower=1, trans=1)[0]
    return np.asarray(x)
