"""Some samples of the logs on which a guess about them is tried: motion and torques in the band of the motion."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from robodyn_pin.dynamics.equations import along, motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.memory import saturated
from robodyn_pin.dynamics.regressor import columns, known_efforts, state_regressor
from robodyn_pin.log_to_robot.instruments import LOOKED_AT, band
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

SAMPLES = 500  # of all logs together
STRETCHES = 10  # of the logs, one after the other, on which two explanations are compared
REWEIGHED = 4  # times that the noise of the coordinates is estimated anew
WIDE = 6.0  # cut-off over the band of the motion: friction that changes its sign is faster than the motion
TINY = 1e-6  # weight, for columns of length one, that keeps parameters at zero which the samples do not show
DELAYS = (-0.1, -0.05, -0.025, -0.01, 0.01, 0.025, 0.05, 0.1)  # [s] of torques behind positions that are tried
HIGHEST = 0.4  # of the sampling rate: cut-off of the low-pass where the motion fills the band


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
    miss: float  # largest rms distance of a motor's position from the loops [rad or m]

    def left(self, tau: np.ndarray, x: np.ndarray) -> np.ndarray:
        """What parameters x (p,) leave of the torques (M, n): (M, d)."""
        return self.W @ x + self.known - self.measured(tau)

    def measured(self, tau: np.ndarray) -> np.ndarray:
        """B'tau (M, d) of torques tau (M, n)."""
        return along(self.B, tau)


def picked_rows(robot: Robot, samples: Picked) -> PickedRows:
    """Raises ClosureFailed where the loops cannot close at these positions."""
    # Samples apart from each other do not know the motion between them.
    state = saturated(robot, close_motors(robot, samples.q, samples.dq, samples.ddq))
    W = state_regressor(robot, state)
    W[~samples.loaded, :, robot.payload_columns] = 0.0
    off = state.q @ robot.motors.S.T + robot.motors.offset - samples.q
    miss = float(np.sqrt(np.mean(off**2, axis=0)).max())
    return PickedRows(W, known_efforts(robot, state), motor_map(robot, state), miss)


class Explanations:
    """Fits of torques to the equations: of all parameters, and of friction alone with the bodies of the robot's files."""

    def __init__(self, robot: Robot, rows: PickedRows) -> None:
        named = columns(robot)
        self.rows, self.layout, self.values = rows, named.layout, named.values
        self.bounded = np.array([False] * named.layout.first_scalar + list(named.layout.nonnegative), bool)
        self.factors = [np.linalg.qr(rows.W[:, j]) for j in range(rows.W.shape[1])]

    def free(self, tau: np.ndarray) -> np.ndarray:
        """What is left (M, d) of torques (M, n) by any parameters, friction and the like not negative."""
        y = self.rows.measured(tau) - self.rows.known
        parts = [np.column_stack([R, Q.T @ y[:, j]]) for j, (Q, R) in enumerate(self.factors)]
        sigma = np.maximum(np.sqrt(np.mean(y**2, axis=0)), 1e-12)
        for last in range(REWEIGHED):
            R = np.concatenate([part / s for part, s in zip(parts, sigma, strict=True)])
            x = _least_squares(R, self.bounded if last == REWEIGHED - 1 else np.zeros_like(self.bounded))
            sigma = np.maximum(np.sqrt(np.mean((self.rows.W @ x - y) ** 2, axis=0)), 1e-6 * sigma.max())
        return self.rows.left(tau, x)

    def own(self, tau: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
        """The same with the bodies of the robot's files, or of other values (p,); friction, armature and the like fitted."""
        first, x = self.layout.first_scalar, np.array(self.values if values is None else values)
        x[first:] = 0.0
        left, y = -self.rows.left(tau, x), self.rows.measured(tau)
        scale = np.maximum(np.sqrt(np.mean(y**2, axis=0)), 1e-12)
        if first < self.layout.size:
            A = (self.rows.W[:, :, first:] / scale[:, None]).reshape(-1, self.layout.size - first)
            x[first:] = _least_squares(np.column_stack([A, (left / scale).ravel()]), self.bounded[first:])
        return self.rows.left(tau, x)


def _least_squares(rows: np.ndarray, bounded: np.ndarray) -> np.ndarray:
    """The x (p,) that minimises ||A x - b|| for rows [A, b], not negative where `bounded` (p,); it stays near zero along what A does not show."""
    A, b = rows[:, :-1], rows[:, -1]
    length = np.linalg.norm(A, axis=0)
    length[length <= 1e-12 * length.max(initial=1e-300)] = 1.0
    order = np.argsort(bounded, kind="stable")  # those without bounds stand first: they follow from the others
    weak = np.column_stack([TINY * np.eye(len(length)), np.zeros(len(length))])
    R = np.asarray(np.linalg.qr(np.concatenate([np.column_stack([(A / length)[:, order], b]), weak]), mode="r"))
    k, x = int((~bounded).sum()), np.zeros(len(length))
    x[k:] = nnls(R[k:-1, k:-1], R[k:-1, -1])[0] if k < len(x) else x[k:]
    x[:k] = solve_triangular(R[:k, :k], R[:k, -1] - R[:k, k:-1] @ x[k:])
    return x[np.argsort(order)] / length
