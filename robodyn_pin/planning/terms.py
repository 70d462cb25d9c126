"""Every limited quantity along a path as a function of the path's speed: value = a s'' + b s'^2 + c + d s'.

Gnad et al. (IRB 360), eqs. (38) to (42): a comes from the mass, b from products of rates, c from gravity and dry
friction, whose sign depends on the path's direction alone, and d from viscous friction. The jerk of an axis is
s' (q''' s'^2 + 3 q'' s'' + q' s'''/s').
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robodyn_pin.dynamics.loads import quantities
from robodyn_pin.planning.path_dynamics import JointPath, PathDynamics
from robodyn_pin.robot.limits import Limits

LOADS = ("torque", "force", "end_effector")
REVERSAL = 0.02  # share of a limit by which c changes from one knot to the next only if dry friction reverses
SPEEDS = np.array([0.5, 1.0, 1.5])  # times the reference ds/dt: where the loads are evaluated

Rates = tuple[np.ndarray, np.ndarray, np.ndarray]  # ds/dt and its two derivatives by time (N,) each
# A number for each quantity (N, m), each jerk (N, k), and for all velocities together (N,).
PerLimit = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Terms:
    """Coefficients of m quantities and k jerks at N points of a path, scaled so that each limit is -1 to 1.

    A tightened limit is still -1 to 1: the coefficients are divided by the factor that is left of the original limit.
    """

    s: np.ndarray  # (N,)
    labels: tuple[tuple[str, str], ...]  # kind and axis of the m quantities
    a: np.ndarray  # (N, m)
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    standstill: np.ndarray  # (2, m) quantities while the robot stands at both ends: there is no dry friction then
    reversals: np.ndarray  # (T,) intervals between the points in which dry friction reverses its sign
    max_z: np.ndarray  # (N,) largest (ds/dt)^2 that the velocity limits allow
    jerk_labels: tuple[tuple[str, str], ...]
    q1: np.ndarray  # (N, k)
    q2: np.ndarray
    q3: np.ndarray
    factor: np.ndarray  # (N, m) share of the original limit that is left
    jerk_factor: np.ndarray  # (N, k)
    velocity_factor: np.ndarray  # (N,)

    def at(self, points: np.ndarray) -> "Terms":
        """Return the terms at some of the points (N,), without relation to each other."""
        found = self._with(lambda x: x[points])
        return replace(found, standstill=found.c[[0, -1]], reversals=self.reversals[:0])

    def at_midpoints(self) -> "Terms":
        """Return the terms in the middle of the intervals, the means of those at both ends."""
        return self._with(lambda x: (x[:-1] + x[1:]) / 2)

    def _with(self, change: Callable[[np.ndarray], np.ndarray]) -> "Terms":
        """Return the terms with `change` applied to every array over the points."""
        others = ("standstill", "reversals")
        arrays: dict[str, Any] = {
            k: change(x) for k, x in vars(self).items() if isinstance(x, np.ndarray) and k not in others
        }
        return replace(self, **arrays)

    def tightened(self, factors: Iterable[np.ndarray]) -> "Terms":
        """Return the terms with only these shares of the present limits, in the order of `PerLimit`.

        At least half of what standstill leaves of a limit remains, so that slow motion stays possible where it was.
        """
        factor, jerk_factor, velocity_factor = factors
        at_rest = np.maximum(*np.abs(standstill_range(self)))
        factor = np.where(at_rest < 1, np.maximum(factor, (1 + at_rest) / 2), factor)
        a, b, c, d = (x / factor for x in (self.a, self.b, self.c, self.d))
        q1, q2, q3 = (x / jerk_factor for x in (self.q1, self.q2, self.q3))
        return replace(
            self, a=a, b=b, c=c, d=d, q1=q1, q2=q2, q3=q3, max_z=self.max_z * velocity_factor**2,
            standstill=self.standstill / factor[[0, -1]], factor=self.factor * factor,
            jerk_factor=self.jerk_factor * jerk_factor, velocity_factor=self.velocity_factor * velocity_factor,
        )  # fmt: skip


def terms_along(dynamics: PathDynamics, joint_path: JointPath, limits: Limits, rate: np.ndarray) -> Terms:
    """Return the terms at N points for ds/dt about `rate` (N,); they are exact for Coulomb and viscous friction."""
    s, loads = joint_path.s, limits.of(LOADS)
    velocity, acceleration, jerk = (limits.of([kind]) for kind in ("velocity", "acceleration", "jerk"))
    centre, half = acceleration.scale
    q1, q2 = (_along(x, acceleration) / half for x in (joint_path.q1, joint_path.q2))
    rest = np.tile(-centre / half, (len(s), 1))
    with np.errstate(divide="ignore"):
        max_z = (velocity.scale[1] / np.abs(_along(joint_path.q1, velocity))) ** 2
    j1, j2, j3 = (_along(x, jerk) / jerk.scale[1] for x in (joint_path.q1, joint_path.q2, joint_path.q3))
    *parts, standstill = _load_terms(dynamics, joint_path, loads, rate)
    a, b, c, d = (np.hstack(pair) for pair in zip((q1, q2, rest, 0 * q1), parts, strict=True))
    return Terms(
        s=s, labels=(*acceleration.labels, *loads.labels), a=a, b=b, c=c, d=d,
        standstill=np.hstack([rest[[0, -1]], standstill]),
        reversals=np.flatnonzero(np.abs(np.diff(c, axis=0)).max(axis=1, initial=0.0) > REVERSAL),
        max_z=max_z.min(axis=1, initial=np.inf), jerk_labels=tuple(jerk.labels), q1=j1, q2=j2, q3=j3,
        factor=np.ones_like(a), jerk_factor=np.ones_like(j1), velocity_factor=np.ones_like(s),
    )  # fmt: skip


def _along(x: np.ndarray, limits: Limits) -> np.ndarray:
    """Return joint quantities x (N, n) along the axes of limits (N, m)."""
    return np.hstack([np.zeros((len(x), 0)), *(x @ b.S.T for b in limits.bounds)])


def dry_friction_range(terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest c (N, m), at the ends of the path with dry friction and without it."""
    low, high = terms.c.copy(), terms.c.copy()
    low[[0, -1]], high[[0, -1]] = (pick(terms.c[[0, -1]], terms.standstill) for pick in (np.minimum, np.maximum))
    return low, high


def standstill_range(terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest quantity (N, m) at the points for s' = s'' = 0.

    At the ends of the path with dry friction and without it; at all knots of a run of intervals in which dry friction
    reverses, with the friction before the run and with that after it.
    """
    (low, high), k, end = dry_friction_range(terms), terms.reversals, len(terms.c) - 1
    for run in np.split(k, np.flatnonzero(np.diff(k) > 1) + 1) if len(k) else []:
        knots, beside = slice(run[0], run[-1] + 2), [max(run[0] - 1, 0), min(run[-1] + 2, end)]
        both = (terms.c * terms.factor)[beside, None] / terms.factor[knots]
        low[knots], high[knots] = np.minimum(low[knots], both.min(axis=0)), np.maximum(high[knots], both.max(axis=0))
    return low, high


def limited_quantities(dynamics: PathDynamics, joint_path: JointPath, limits: Limits, rates: Rates) -> np.ndarray:
    """Return the limited quantities (N, m), columns as `limits.labels`, by the inverse dynamics, not by the terms."""
    state = joint_path.state(*rates[:2])
    found = dynamics.loads(joint_path.s, state) if limits.kinds.intersection(LOADS) else {}
    if "jerk" in limits.kinds:
        sd, sdd, sddd = (x[:, None] for x in rates)
        found["jerk"] = joint_path.q3 * sd**3 + 3 * joint_path.q2 * sd * sdd + joint_path.q1 * sddd
    return quantities(limits, state, found)


def _load_terms(
    dynamics: PathDynamics, joint_path: JointPath, loads: Limits, rate: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return a, b, c, d (N, m) of the loads, and the loads (2, m) while the robot stands at both ends.

    They come from four motions: three speeds without acceleration, and one speed with it.
    """
    if not loads.bounds:
        return (*np.zeros((4, len(joint_path.s), 0)), np.zeros((2, 0)))
    centre, half = loads.scale

    def scaled(path: JointPath, sd: np.ndarray, sdd: np.ndarray) -> np.ndarray:
        return (limited_quantities(dynamics, path, loads, (sd, sdd, sdd)) - centre) / half

    low, mid, high = (scaled(joint_path, rate * k, 0 * rate) for k in SPEEDS)
    a = (scaled(joint_path, rate, rate**2) - mid) / rate[:, None] ** 2
    standstill = scaled(joint_path.at([0, -1]), np.zeros(2), np.zeros(2))
    inverse = np.linalg.inv(SPEEDS[:, None] ** np.arange(3))  # the parabola c + d v + b v^2 through v = SPEEDS * rate
    c, d, b = (row[0] * low + row[1] * mid + row[2] * high for row in inverse)
    return a, b / rate[:, None] ** 2, c, d / rate[:, None], standstill
