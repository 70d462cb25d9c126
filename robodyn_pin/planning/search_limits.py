"""All limits of a grid as the search evaluates them: slacks in one array, tangents and curvature, places last in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from robodyn_pin.planning.limit_rows import ENTRIES, WITHOUT_W, ConstraintSet, LimitRows


@dataclass(frozen=True)
class _Columns:
    """The rows of a constraint set with the places P last."""

    beta: np.ndarray  # (m, P)
    alpha: np.ndarray
    gamma: np.ndarray
    delta: np.ndarray | None  # None: no viscous friction
    jerk: np.ndarray  # (3, k, P) e3, 3 e2, e1


class SearchLimits:
    """The limits of several constraint sets. Slacks and multipliers are arrays (c,), one entry for each side of a limit."""

    def __init__(self, constraints: Sequence[ConstraintSet]):
        self.parts = _joined(constraints)
        self.columns = [_columns(part.rows) for part in self.parts]
        shapes = [(2 * (c.beta.shape[0] + c.jerk.shape[1]), c.beta.shape[1]) for c in self.columns]
        self._shapes, self._ends = shapes, np.cumsum([0, *(a * b for a, b in shapes)]).tolist()

    @property
    def size(self) -> int:
        """Number c of slacks."""
        return int(self._ends[-1])

    def blocks(self, flat: np.ndarray) -> list[np.ndarray]:
        """Return the slacks, or what belongs to them, of each part (2 (m + k), P): upper then lower sides, then jerks'."""
        return [flat[a:b].reshape(shape) for a, b, shape in zip(self._ends, self._ends[1:], self._shapes, strict=False)]

    def motions(self, x: np.ndarray) -> list[np.ndarray]:
        """Return y, u, w (3, P) of coefficients x (n,), or of a change of them, at the places of each part."""
        return [part.motion(x).T for part in self.parts]

    def slacks(self, x: np.ndarray) -> np.ndarray | None:
        """Return the slacks (c,) at coefficients x (n,); None where y is not positive."""
        found, motions = np.empty(self.size), self.motions(x)
        if not all((y > 0).all() for y, _, _ in motions):
            return None
        for out, of, (y, u, w) in zip(self.blocks(found), self.columns, motions, strict=True):
            m, k, root = len(of.beta), of.jerk.shape[1], np.sqrt(y)
            value = of.beta * y
            value += of.alpha * u
            value += of.gamma
            if of.delta is not None:
                value += of.delta * root
            np.subtract(1.0, value, out=out[:m])
            np.add(1.0, value, out=out[m : 2 * m])
            if k:
                jerk, most = of.jerk[0] * y + of.jerk[1] * u + of.jerk[2] * w, 1 / root
                np.subtract(most, jerk, out=out[2 * m : 2 * m + k])
                np.add(most, jerk, out=out[2 * m + k :])
        return found


@dataclass(frozen=True)
class Tangents:
    """The slacks of a motion to first order, and the curvature of their concave parts."""

    limits: SearchLimits
    y: list[np.ndarray]  # (P,) of each part
    slopes: list[np.ndarray]  # (m, P) of the quantities by y
    bends: list[np.ndarray]  # (P,) minus the slope of 1 / sqrt(y), which limits the jerks

    def change(self, dx: np.ndarray) -> np.ndarray:
        """Return the change of the slacks (c,) for a change of the coefficients (n,)."""
        found, motions = np.empty(self.limits.size), self.limits.motions(dx)
        parts = zip(self.limits.blocks(found), self.limits.columns, self.slopes, self.bends, motions, strict=True)
        for out, of, slope, bend, (y, u, w) in parts:
            m, k = len(slope), of.jerk.shape[1]
            value = slope * y
            value += of.alpha * u
            np.negative(value, out=out[:m])
            out[m : 2 * m] = value
            if k:
                jerk, most = of.jerk[0] * y + of.jerk[1] * u + of.jerk[2] * w, -bend * y
                np.subtract(most, jerk, out=out[2 * m : 2 * m + k])
                np.add(most, jerk, out=out[2 * m + k :])
        return found

    def scatter(self, total: np.ndarray, weights: np.ndarray) -> None:
        """Add the slacks' gradients by the coefficients, each times its weight (c,), to `total` (n,)."""
        parts = zip(
            self.limits.parts, self.limits.columns, self.slopes, self.bends, self.limits.blocks(weights), strict=True
        )
        for part, of, slope, bend, weight in parts:
            m, k = len(slope), of.jerk.shape[1]
            lower = weight[m : 2 * m] - weight[:m]
            local = np.zeros((3, lower.shape[1]))
            local[0], local[1] = (slope * lower).sum(axis=0), (of.alpha * lower).sum(axis=0)
            if k:
                upper, lower = weight[2 * m : 2 * m + k], weight[2 * m + k :]
                local += (of.jerk * (lower - upper)).sum(axis=1)
                local[0] -= bend * (upper + lower).sum(axis=0)
            part.scatter(total, local.T)

    def scatter_bands(self, bands: np.ndarray, weights: np.ndarray, multipliers: np.ndarray) -> None:
        """Add to the lower bands (3, n) of a matrix the sum of weight times gradient gradient', and the curvature of the
        slacks' concave parts times their multipliers; weights, multipliers (c,)."""
        blocks = zip(self.limits.blocks(weights), self.limits.blocks(multipliers), strict=True)
        parts = zip(self.limits.parts, self.limits.columns, self.y, self.slopes, self.bends, blocks, strict=True)
        for part, of, y, slope, bend, (weight, multiplier) in parts:
            m, k = len(slope), of.jerk.shape[1]
            both, entries = weight[:m] + weight[m : 2 * m], np.zeros((len(ENTRIES) if k else WITHOUT_W, len(y)))
            by_y, by_u = both * slope, both * of.alpha
            entries[0] = (by_y * slope).sum(axis=0)
            entries[1] = (by_y * of.alpha).sum(axis=0)
            entries[2] = (by_u * of.alpha).sum(axis=0)
            if k:
                upper, lower = weight[2 * m : 2 * m + k], weight[2 * m + k :]
                for side, sign in ((upper, -1.0), (lower, 1.0)):
                    g = sign * of.jerk
                    g[0] -= bend
                    for entry, (i, j) in zip(entries, ENTRIES, strict=True):
                        entry += (side * g[i] * g[j]).sum(axis=0)
            if of.delta is not None:
                concave = np.where(of.delta < 0, multiplier[:m], multiplier[m : 2 * m])
                entries[0] += (np.abs(of.delta) * concave).sum(axis=0) * y**-1.5 / 4
            part.scatter_bands(bands, entries)


def slack_tangents(limits: SearchLimits, x: np.ndarray) -> Tangents:
    """Return the tangents of the slacks at coefficients x (n,)."""
    ys, slopes, bends = [], [], []
    for of, (y, _, _) in zip(limits.columns, limits.motions(x), strict=True):
        half = 0.5 / np.sqrt(y)
        ys.append(y)
        slopes.append(of.beta if of.delta is None else of.beta + of.delta * half)
        bends.append(half / y)
    return Tangents(limits, ys, slopes, bends)


def _joined(constraints: Sequence[ConstraintSet]) -> list[ConstraintSet]:
    """Return as few sets as possible with the same limits: those of a kind with the same number of rows as one."""

    def kind(part: ConstraintSet) -> tuple[str, int, int]:
        return type(part).__name__, part.rows.gamma.shape[1], part.rows.jerk.shape[1]

    joined = []
    for _, group in groupby(sorted(constraints, key=kind), key=kind):
        parts = list(group)
        intervals = [np.arange(part.space.intervals)[part.intervals] for part in parts]
        places = [np.broadcast_to(part.place, k.shape) for part, k in zip(parts, intervals, strict=True)]
        rows = LimitRows(*(np.concatenate(x) for x in zip(*(vars(part.rows).values() for part in parts), strict=True)))
        joined.append(replace(parts[0], intervals=np.concatenate(intervals), place=np.concatenate(places), rows=rows))
    return joined


def _columns(rows: LimitRows) -> _Columns:
    beta, alpha, gamma, delta = (
        np.ascontiguousarray(x.T) for x in (rows.linear[..., 0], rows.linear[..., 1], rows.gamma, rows.delta)
    )
    jerk = np.ascontiguousarray(rows.jerk.transpose(2, 1, 0))
    return _Columns(beta, alpha, gamma, delta if delta.any() else None, jerk)
