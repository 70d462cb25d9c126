"""Every limited quantity along a path as a function of its speed: value = a s'' + b s'^2 + c + d s'.

Gnad et al. (IRB 360), eqs. (38) to (42): a from the mass, b from the products of rates, c from gravity and dry friction,
whose sign is fixed along a path, d from viscous friction; the jerk of an axis is s' (q''' s'^2 + 3 q'' s'' + q' s'''/s').
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robodyn_pin.planning.path_dynamics import Model, Posture
from robodyn_pin.robot.limits import Bounds, Limits

LOADS = ("torque", "force", "end_effector")
TURN = 0.02  # share of a limit by which gravity never changes from one knot to the next
SPEEDS = np.array([0.5, 1.0, 1.5])  # of the expected ds/dt: where the loads are evaluated


@dataclass(frozen=True)
class Terms:
    """Along N points of a path, of m quantities and k jerks. All are scaled: within -1 and 1 is within the limits."""

    s: np.ndarray  # (N,)
    labels: tuple[tuple[str, str], ...]  # kind and axis of the m quantities
    a: np.ndarray  # (N, m)
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    still: np.ndarray  # (2, m) quantities at standstill at both ends: dry friction holds nothing there
    turns: np.ndarray  # (T,) intervals between the points in which dry friction turns
    fastest: np.ndarray  # (N,) largest (ds/dt)^2 that the velocities allow
    jerk_labels: tuple[tuple[str, str], ...]
    q1: np.ndarray  # (N, k)
    q2: np.ndarray
    q3: np.ndarray
    room: np.ndarray  # (N, m) shares of the limits that the scale stands for
    jerk_room: np.ndarray  # (N, k)
    speed_room: np.ndarray  # (N,)

    def part(self, at: np.ndarray) -> "Terms":
        """At some of the points (N,), each for itself."""
        found = self._with(lambda x: x[at])
        return replace(found, still=found.c[[0, -1]], turns=self.turns[:0])

    def between(self) -> "Terms":
        """In the middle of the intervals, as means of those at both ends."""
        return self._with(lambda x: (x[:-1] + x[1:]) / 2)

    def _with(self, change: Callable[[np.ndarray], np.ndarray]) -> "Terms":
        """With what is known at each point changed."""
        apart = ("still", "turns")
        arrays: dict[str, Any] = {
            k: change(x) for k, x in vars(self).items() if isinstance(x, np.ndarray) and k not in apart
        }
        return replace(self, **arrays)

    def tightened(self, room: np.ndarray, jerk_room: np.ndarray, speed_room: np.ndarray) -> "Terms":
        """With only these shares of the limits of before: (N, m), (N, k) and, of the velocities, (N,).

        Half of what standing still leaves of a limit stays: slow motion is as possible as before.
        """
        held = np.maximum(*np.abs(rests(self)))
        room = np.where(held < 1, np.maximum(room, (1 + held) / 2), room)
        a, b, c, d = (x / room for x in (self.a, self.b, self.c, self.d))
        q1, q2, q3 = (x / jerk_room for x in (self.q1, self.q2, self.q3))
        return Terms(
            self.s, self.labels, a, b, c, d, self.still / room[[0, -1]], self.turns, self.fastest * speed_room**2, self.jerk_labels, q1, q2, q3,
            self.room * room, self.jerk_room * jerk_room, self.speed_room * speed_room,
        )  # fmt: skip


def terms(model: Model, posture: Posture, limits: Limits, rate: np.ndarray) -> Terms:
    """The terms at N places for motions whose ds/dt is about `rate` (N,): exact where friction is Coulomb's and viscous."""
    s = posture.s
    of = {kind: [b for b in limits.bounds if b.kind == kind] for kind in ("velocity", "acceleration", "jerk")}
    fastest = _fastest(posture, of["velocity"], len(s))
    q1, q2 = (_stack([x @ b.S.T / b.half for b in of["acceleration"]], len(s)) for x in (posture.q1, posture.q2))
    centre = _stack([np.tile(-b.centre / b.half, (len(s), 1)) for b in of["acceleration"]], len(s))
    loaded = [b for b in limits.bounds if b.kind in LOADS]
    j1, j2, j3 = (
        _stack([x @ b.S.T / b.half for b in of["jerk"]], len(s)) for x in (posture.q1, posture.q2, posture.q3)
    )
    *parts, still = _loads(model, posture, loaded, rate)
    a, b, c, d = (np.hstack(pair) for pair in zip((q1, q2, centre, 0 * q1), parts, strict=True))
    labels = _names([*of["acceleration"], *loaded])
    turns = np.flatnonzero(np.abs(np.diff(c, axis=0)).max(axis=1, initial=0.0) > TURN)
    return Terms(
        s, labels, a, b, c, d, np.hstack([centre[[0, -1]], still]), turns, fastest, _names(of["jerk"]), j1, j2, j3, np.ones_like(a), np.ones_like(j1),
        np.ones_like(s),
    )  # fmt: skip


def rests(terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest quantity (N, m) at the points without speed and acceleration.

    With the friction of standing still at both ends, and of before and after at neighbouring intervals in which it turns.
    """
    low, high, end = terms.c.copy(), terms.c.copy(), len(terms.c) - 1
    low[[0, end]], high[[0, end]] = np.minimum(low[[0, end]], terms.still), np.maximum(high[[0, end]], terms.still)
    for run in np.split(terms.turns, np.flatnonzero(np.diff(terms.turns) > 1) + 1) if len(terms.turns) else []:
        at, beside = slice(run[0], run[-1] + 2), [max(run[0] - 1, 0), min(run[-1] + 2, end)]
        both = (terms.c * terms.room)[beside, None] / terms.room[at]
        low[at], high[at] = np.minimum(low[at], both.min(axis=0)), np.maximum(high[at], both.max(axis=0))
    return low, high


def values(
    model: Model, posture: Posture, limits: Limits, rates: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> np.ndarray:
    """The limited quantities themselves (N, m), columns as `limits.labels`, for ds/dt and its derivatives (N,) each."""
    sd, sdd, sddd = (x[:, None] for x in rates)
    kinds = {b.kind for b in limits.bounds}
    found = {
        "position": posture.q,
        "velocity": posture.q1 * sd,
        "acceleration": posture.q2 * sd**2 + posture.q1 * sdd,
    }
    if kinds.intersection(LOADS):
        found |= model.loads(posture, rates[0], rates[1])
    if "jerk" in kinds:
        found["jerk"] = posture.q3 * sd**3 + 3 * posture.q2 * sd * sdd + posture.q1 * sddd
    return np.hstack([found[b.kind] @ b.S.T for b in limits.bounds])


def _fastest(posture: Posture, bounds: list[Bounds], n: int) -> np.ndarray:
    """Largest (ds/dt)^2 (n,) that limits of velocities allow."""
    with np.errstate(divide="ignore"):
        most = [(b.half / np.abs(posture.q1 @ b.S.T)) ** 2 for b in bounds]
    return _stack(most, n).min(axis=1, initial=np.inf)


def _loads(model: Model, posture: Posture, bounds: list[Bounds], rate: np.ndarray) -> list[np.ndarray]:
    """a, b, c, d (N, m) from four motions: three speeds without acceleration, and one with it; at both ends (2, m) at standstill."""
    if not bounds:
        return [*[np.zeros((len(rate), 0))] * 4, np.zeros((2, 0))]

    def scaled(at: Posture, sd: np.ndarray, sdd: np.ndarray) -> np.ndarray:
        found = model.loads(at, sd, sdd)
        return np.hstack([(found[b.kind] @ b.S.T - b.centre) / b.half for b in bounds])

    low, mid, high = (scaled(posture, rate * k, 0 * rate) for k in SPEEDS)
    pushed = (scaled(posture, rate, rate**2) - mid) / rate[:, None] ** 2
    still = scaled(posture.at([0, -1]), np.zeros(2), np.zeros(2))
    # The parabola c + d v + b v^2 through the three; v = SPEEDS * rate.
    inverse = np.linalg.inv(SPEEDS[:, None] ** np.arange(3))
    c, d, b = (row[0] * low + row[1] * mid + row[2] * high for row in inverse)
    return [pushed, b / rate[:, None] ** 2, c, d / rate[:, None], still]


def _stack(columns: list[np.ndarray], n: int) -> np.ndarray:
    return np.hstack(columns) if columns else np.zeros((n, 0))


def _names(bounds: list[Bounds]) -> tuple[tuple[str, str], ...]:
    return tuple((b.kind, name) for b in bounds for name in b.names)
