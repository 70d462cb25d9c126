"""Online identification of one robot, sample by sample, in constant memory; bad samples are refused and counted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.errors import ClosureFailed, RobodynError, ShapeMismatch
from robodyn_pin.identification.drift import Trend
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.identification.payload_change import ChangeDetector, PayloadChange
from robodyn_pin.logs.quality import REACHED
from robodyn_pin.online.sample_rows import SampleRows
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import State

BLOCK = 10.0  # [s] over which estimates are averaged for the trend, far longer than the estimator's memory
MOST_CHANGES = 200  # the latest ones are kept
LONGEST_STEP = 3.0  # nominal steps between samples, beyond which joint positions are not extrapolated


@dataclass(frozen=True)
class Update:
    """What the tracker did with one sample."""

    error: np.ndarray  # (d,) measured minus predicted B'tau before the update [N m or N]; NaN if there is none
    start_error: np.ndarray  # (d,) the same, predicted with the parameters at the start
    effort: np.ndarray  # (d,) measured B'tau minus known efforts
    refused: str = ""  # why the estimate did not take it; empty if it did
    change: PayloadChange | None = None  # whose measurement this sample completed


class Tracker:
    """Online identification of one robot.

    Args:
        tracked: the parameters, from the function `tracked`.
        noise: (n_motors,) standard deviation of one torque sample [N m or N].
        rate: sampling rate [Hz]; `forgetting` is per sample at this rate, and the memory in seconds stays the same if samples
            come faster or slower.
    """

    def __init__(self, tracked: Tracked, noise: np.ndarray, rate: float, settings: TrackFile | None = None):
        robot, self.tracked, self.settings = tracked.robot, tracked, settings or TrackFile()
        self.noise, self.rate = np.asarray(noise, float), float(rate)
        if self.noise.shape != (len(robot.motors.names),) or not (self.noise > 0).all():
            raise RobodynError(
                f"noise {self.noise.tolist()} of motors {', '.join(robot.motors.names)}: one positive number each is expected"
            )
        self.estimator = DampedLeastSquares(
            tracked.values, tracked.scale, self.settings.forgetting, self.settings.spread
        )
        self.time, self._taken = 0.0, 0.0  # [s] of the last sample, and of the last one that the estimate took
        self.refused, self.changes = Counter[str](), list[PayloadChange]()
        self.trend = Trend(len(tracked.values), BLOCK)
        self.start = tracked.values.copy()
        self.carried = 0.0  # [kg] picked since the start
        direct = robot.coordinates.names == robot.motors.names  # B is the identity
        self._constant_whitener = np.diag(1 / self.noise) if direct else None
        self._limits = REACHED * torque_limits(robot)
        self._spikes_in_a_row, self.detector = 0, self._new_detector()
        self._sample = SampleRows(tracked)
        self._last: tuple[float, State] | None = None

    def _new_detector(self) -> ChangeDetector | None:
        if self.tracked.payload is None:
            return None
        spec = self.settings.payload
        return ChangeDetector(self.tracked.payload, spec.smallest or self._smallest(), spec.duration)

    def _smallest(self) -> float:
        """The mass [kg] that shifts the torques at home by twice their noise."""
        robot = self.tracked.robot
        rest = np.zeros((1, len(robot.coordinates.names)))
        c = (robot.coordinates.S @ robot.home + robot.coordinates.offset)[None]
        state = robot.close(c, rest, rest)
        shift = self.whitener(state)[0] @ (self.tracked.rows(state)[0][0] @ self.tracked.payload)
        return 2 / max(float(np.sqrt(np.mean(shift**2))), 1e-9)

    def update(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, tau: np.ndarray, t: float | None = None) -> Update:
        """Take one sample of coordinates and rates (d,) and motor torques (n_motors,); t [s], default: one step later.

        A sample that is not finite, out of reach, saturated or a spike is refused: it is counted, and the estimate stays.

        Raises:
            ShapeMismatch: there is not one number per coordinate or motor.
        """
        t = self.time + 1 / self.rate if t is None else t
        d, motors = len(self.tracked.robot.coordinates.names), len(self.noise)
        c, cd, cdd, tau = (np.asarray(x, float) for x in (c, cd, cdd, tau))
        if c.shape != (d,) or cd.shape != (d,) or cdd.shape != (d,) or tau.shape != (motors,):
            raise ShapeMismatch(
                f"c, cd, cdd, tau have shapes {c.shape}, {cd.shape}, {cdd.shape}, {tau.shape}; expected ({d},) three times and "
                f"({motors},)"
            )
        if not np.isfinite(np.concatenate([c, cd, cdd, tau])).all():
            return self.refuse("not a number")
        try:
            state = self._sample.close(c, cd, cdd, self._predicted_joints(t))
        except ClosureFailed:
            return self.refuse("out of reach")
        self._last = t, state
        rows, known = self._sample.rows(state)
        effort = motor_map(self.tracked.robot, state)[0].T @ tau - known
        return self.take(t, rows, effort, tau, self.whitener(state)[0])

    def _predicted_joints(self, t: float) -> np.ndarray | None:
        """Joint positions (nv,) close to those at t: extrapolated from the last sample, or those of it if it is long ago."""
        if self._last is None:
            return None
        before, state = self._last
        h = t - before
        return state.q[0] + (h * state.v[0] + h * h / 2 * state.a[0] if h * self.rate < LONGEST_STEP else 0.0)

    def whitener(self, state: State) -> np.ndarray:
        """The matrix L^-1 (N, d, d) that whitens B'tau, with L L' the covariance of B'tau."""
        if self._constant_whitener is not None:
            return np.broadcast_to(self._constant_whitener, (len(state.q), *self._constant_whitener.shape))
        B = motor_map(self.tracked.robot, state)
        return np.linalg.inv(np.linalg.cholesky(np.einsum("nki,k,nkj->nij", B, self.noise**2, B)))

    def take(self, t: float, rows: np.ndarray, effort: np.ndarray, tau: np.ndarray, whiten: np.ndarray) -> Update:
        """As `update`, for callers that make the rows of many samples at once.

        Args:
            rows: (d, r). effort: (d,) B'tau minus known efforts. tau: (n_motors,). whiten: (d, d) from `whitener`.
        """
        if not np.isfinite(effort).all():
            return self.refuse("not a number")
        step, self.time = (t - self._taken) * self.rate, t
        measured = effort - rows @ self.estimator.values, effort - rows @ self.start, effort
        W, y = whiten @ rows, whiten @ effort
        look = self.estimator.look(W, y)
        change = self._detect_change(t, W, y, look.variance)
        if (np.abs(tau) >= self._limits).any():
            return self.refuse("saturated", measured, change)
        if (np.abs(look.error) > self.settings.gate * np.sqrt(look.variance)).any():
            self._spikes_in_a_row += 1
            if self._spikes_in_a_row <= self.settings.patience:
                return self.refuse("spike", measured, change)
        else:
            self._spikes_in_a_row = 0
        nominal = abs(step - 1) < 0.01 or step <= 0 or step > LONGEST_STEP  # a gap forgets no more than one step
        self._taken = t
        self.estimator.take(look, None if nominal else self.settings.forgetting**step)
        if change is not None and change.explained and self.tracked.payload is not None:
            self._apply_payload(change, self.tracked.payload * change.size)
        self.trend.add(t, self.estimator.values)
        return Update(*measured, "", change)

    def refuse(
        self,
        reason: str,
        measured: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
        change: PayloadChange | None = None,
    ) -> Update:
        """Count a sample that the estimate does not take; `measured` are its errors and effort, if they are known."""
        self.refused[reason] += 1
        missing = np.full(len(self.tracked.robot.coordinates.names), np.nan)
        return Update(*(measured or (missing, missing, missing)), reason, change)

    def _detect_change(self, t: float, W: np.ndarray, y: np.ndarray, variance: np.ndarray) -> PayloadChange | None:
        if self.detector is None:
            return None
        estimator = self.estimator
        change = self.detector.watch(t, W, y, estimator.values, estimator.covariance, variance)
        if change is not None:
            self.changes = [*self.changes, change][-MOST_CHANGES:]
        return change

    def _apply_payload(self, change: PayloadChange, jump: np.ndarray) -> None:
        """Set the estimate to that before a payload was picked, plus the change (r,) by its mass."""
        self.estimator.values = change.values + jump
        self.trend.shift(jump)
        self.carried += change.size

    def state(self) -> dict[str, np.ndarray]:
        """The tracker's own state as arrays, without estimator, detector and trend."""
        changes = [[c.begin, c.found, c.size, c.deviation, c.explained, *c.values] for c in self.changes]
        return {
            "numbers": np.array([self.time, self._taken, self.carried, self._spikes_in_a_row]), "start": self.start,
            "changes": np.array(changes).reshape(len(changes), 5 + len(self.start)), "reasons": np.array(list(self.refused), str),
            "refused": np.array(list(self.refused.values()), int),
        }  # fmt: skip

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from the state of another tracker of the same parameters."""
        self.time, self._taken, self.carried, spikes = state["numbers"].tolist()
        self._spikes_in_a_row, self.start = int(spikes), np.array(state["start"])
        self.changes = [
            PayloadChange(float(row[0]), float(row[1]), float(row[2]), float(row[3]), bool(row[4]), row[5:])
            for row in state["changes"]
        ]
        self.refused = Counter(dict(zip(state["reasons"].tolist(), state["refused"].tolist(), strict=True)))
