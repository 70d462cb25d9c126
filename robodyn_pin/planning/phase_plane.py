"""The speeds that a motion along a path can have at its knots, by forward and backward sweeps over the phase plane.

Without jerk limits y alone joins the past of a motion to its future. With u = y'/2 linear in an interval of length h

    y_k + h u_k = y_{k+1} - h u_{k+1}.

The y of each knot are cut into cells, and each cell gets the range of all u that keep the limits at any of its y. A
forward sweep keeps the cells that a cell of the knot before leads to (the reachable set), a backward sweep those that
lead on to the end (the controllable set). Since a cell's range of u is too wide rather than too narrow, no motion is
lost: where no cell is left, no motion exists whose u is linear between these knots. The same sweeps over points of y
instead of cells lose motions but invent none: where points are left, a motion goes through them.

At the first and the last knot sigma' = 0, so that s'' = sigma'' y + sigma' u does not contain u. There the middle of
the outer interval limits u instead.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.planning.grid import KnotLimits

CELLS = 1000
PASSES = 4  # each with finer cells, within what the one before has left
POINTS = 1001
LEAST = 1e-9  # of the largest y: y of a motion does not fall below it between knots


@dataclass(frozen=True)
class SpeedRange:
    """The least and the largest y (K + 1,) at the knots that any motion can have, or the knot that no motion passes."""

    low: np.ndarray
    high: np.ndarray
    blocked: int | None

    def levels(self, shares: np.ndarray) -> np.ndarray:
        """Return y (K + 1, n) at shares (n,) of the way from the least sqrt(y) to the largest one."""
        low, high = (np.sqrt(y)[:, None] for y in (self.low, self.high))
        return np.asarray((low + shares * (high - low)) ** 2)


Interval = tuple[np.ndarray, np.ndarray]  # lower and upper bounds


def speed_range(limits: KnotLimits, widening: float = 1.0, cells: int = CELLS) -> SpeedRange:
    """Return the speeds at K + 1 knots; all limits but those of velocities are `widening` times as wide."""
    top = limits.rows.max_y
    found, knots, h = SpeedRange(0 * top, top, None), np.arange(len(top)), 1 / (len(top) - 1)
    for _ in range(PASSES):
        edges = found.levels(np.linspace(0.0, 1.0, cells + 1))
        low, high = edges[:, :-1], edges[:, 1:]
        kept, least, most = _acceleration_ranges(limits, low, high, widening)
        if limits.middles is not None:
            for end in (0, -1):
                _limit_outer_interval(limits.middles, end, kept, (low, high), (least, most), widening)
        after, before = (low + h * least, high + h * most), (low - h * most, high - h * least)
        blocked = _sweep(kept, before, after)
        if blocked is None:
            backward = _sweep(kept[::-1], _reversed(after), _reversed(before))
            blocked = None if backward is None else len(top) - 1 - backward
        if blocked is not None:
            return SpeedRange(found.low, found.high, blocked)
        first, last = kept.argmax(axis=1), cells - kept[:, ::-1].argmax(axis=1)
        found = SpeedRange(edges[knots, first], edges[knots, last], None)
    return found


def motion_within(limits: KnotLimits, speeds: SpeedRange, widening: float = 1.0) -> np.ndarray | None:
    """Return a motion through points of a speed range that keeps the limits, `widening` times as wide, at the knots.

    Returns:
        Coefficients (2 K + 1,) of a y of smoothness 0: y at the knots, and y_k + h u_k between them. At the first and
        the last knot, where no limit contains u, u is that of the interval's other end. None: no points are left.
    """
    y, K = speeds.levels(np.linspace(0.0, 1.0, POINTS)), len(speeds.low) - 1
    kept, least, most = _acceleration_ranges(limits, y, y, widening)
    least[[0, -1]], most[[0, -1]] = 0.0, 0.0
    ahead, back = (np.full((K + 1, 1), 1 / K) for _ in range(2))
    ahead[-2], back[1] = 2 / K, 2 / K
    after = np.maximum(y + ahead * least, LEAST * y.max()), y + ahead * most
    before = y - back * most, y - back * least
    kept &= after[0] <= after[1]  # y stays positive in the interval
    if _sweep(kept, before, after) is not None:
        return None
    x, point = np.zeros(2 * K + 1), _middle_one(kept[-1])
    x[-1] = y[-1, point]
    for k in range(K - 1, -1, -1):
        low, high = np.maximum(before[0][k + 1, point], after[0][k]), np.minimum(before[1][k + 1, point], after[1][k])
        point = _middle_one(kept[k] & (low <= high))
        x[2 * k], x[2 * k + 1] = y[k, point], (low[point] + high[point]) / 2
    x[[1, -2]] = (x[[0, -3]] + x[[2, -1]]) / 2
    return x


def _acceleration_ranges(
    limits: KnotLimits, low: np.ndarray, high: np.ndarray, widening: float
) -> tuple[np.ndarray, ...]:
    """Return whether cells of y from `low` to `high` (K + 1, n) allow any u, the least u and the largest u."""
    parts = (_accelerations_at_knot(limits, k, low[k], high[k], widening) for k in range(len(low)))
    return tuple(np.stack(x) for x in zip(*parts, strict=True))


def _accelerations_at_knot(
    limits: KnotLimits, k: int, low: np.ndarray, high: np.ndarray, widening: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, alpha = limits.rows, limits.rows.linear[k, :, 1]
    width = np.append(np.full(len(alpha) - 1, widening), 1.0) - limits.friction_spread[k]
    beta, gamma, delta = (
        np.where(alpha < 0, -x, x)[:, None] for x in (rows.linear[k, :, 0], rows.gamma[k], rows.delta[k])
    )
    parts = ((beta * low, beta * high), (delta * np.sqrt(low), delta * np.sqrt(high)))
    # The least and the largest quantities at u = 0.
    least, most = (gamma + sum(pick(*ends) for ends in parts) for pick in (np.minimum, np.maximum))
    free, size, width = alpha == 0, np.abs(alpha)[:, None], width[:, None]
    kept = (width >= 0).all() & ((least[free] <= width[free]) & (most[free] >= -width[free])).all(axis=0)
    begin = ((-width - most)[~free] / size[~free]).max(axis=0, initial=-np.inf)
    end = ((width - least)[~free] / size[~free]).min(axis=0, initial=np.inf)
    return kept & (begin <= end), begin, end


def _limit_outer_interval(
    middles: KnotLimits, end: int, kept: np.ndarray, y: Interval, u: Interval, widening: float
) -> None:
    """Drop cells of the knot next to an outer one (end 0 or -1) that break a limit in the middle of the interval.

    There u = (y_1 - y_0) / 2 h and y = (y_0 + 3 y_1 - 2 h u_1) / 4. At the last knot the same holds with time reversed.
    """
    if not kept[end].any():
        return
    sign, inner, h = (1.0, 1, 1 / (len(kept) - 1)) if end == 0 else (-1.0, -2, 1 / (len(kept) - 1))
    outer = y[0][end][kept[end]].min(), y[1][end][kept[end]].max()
    low, high = y[0][inner], y[1][inner]
    two_h_u = np.sort([sign * 2 * h * u[0][inner], sign * 2 * h * u[1][inner]], axis=0)
    beyond = 2 * middles.rows.max_y[end]  # a finite y that is over the limit
    middle_y = np.clip([(outer[0] + 3 * low - two_h_u[1]) / 4, (outer[1] + 3 * high - two_h_u[0]) / 4], 0.0, beyond)
    middle_u = np.sort([sign * (low - outer[1]) / (2 * h), sign * (high - outer[0]) / (2 * h)], axis=0)
    rows = middles.rows
    beta, alpha, gamma, delta = (
        x[end][:, None] for x in (rows.linear[..., 0], rows.linear[..., 1], rows.gamma, rows.delta)
    )
    width = np.append(np.full(len(beta) - 1, widening), 1.0)[:, None] + middles.friction_spread[end][:, None]
    parts = beta * middle_y[:, None], alpha * middle_u[:, None], delta * np.sqrt(middle_y)[:, None]
    least, most = (gamma + sum(pick(x, axis=0) for x in parts) for pick in (np.min, np.max))
    kept[inner] &= ((least <= width) & (most >= -width)).all(axis=0)


def _sweep(kept: np.ndarray, before: Interval, after: Interval) -> int | None:
    """Keep only the cells (K + 1, n) that a kept cell of the knot before leads to; return the first knot without one.

    Args:
        before, after: y - h u and y + h u of the cells, (K + 1, n) each.
    """
    for k in range(len(kept)):
        if k:
            kept[k] &= _overlaps(*(x[k] for x in before), *(x[k - 1][kept[k - 1]] for x in after))
        if not kept[k].any():
            return k
    return None


def _overlaps(begin: np.ndarray, end: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return which intervals from `begin` to `end` (n,) overlap any of those from `begins` to `ends` (m,)."""
    order = np.argsort(begins)
    furthest = np.maximum.accumulate(np.append(-np.inf, ends[order]))
    return np.asarray(furthest[np.searchsorted(begins[order], end, side="right")] >= begin)


def _middle_one(kept: np.ndarray) -> int:
    """Return the index in the middle of those that are kept."""
    indices = np.flatnonzero(kept)
    return int(indices[len(indices) // 2])


def _reversed(interval: Interval) -> Interval:
    return interval[0][::-1], interval[1][::-1]
