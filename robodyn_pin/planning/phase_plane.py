"""Which speeds any motion along a path can have at its knots: sweeps over the phase plane, forward and back.

Without the jerk all that the future of a motion knows of its past is y, and y' / 2 = u is linear in an interval:

    y_k + h u_k = y_{k+1} - h u_{k+1}

The y of a knot are cut into cells. A cell holds every u that keeps the limits at any of its y, so no motion is lost: where no
cell is left there is none, of those whose u is linear between these knots. With points instead of cells none is won: where points
are left there is a motion through them. At the outer knots, where dr/dt does not know u, the middle of the interval says what is possible.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.planning.grid import Knots

CELLS = 1000
PASSES = 4  # each with finer cells, on what the one before has left
POINTS = 1001
LEAST = 1e-9  # of the largest y: what stays of it between the knots of a motion


@dataclass(frozen=True)
class Tube:
    """Least and largest y (K + 1,) at the knots that any motion has; or the knot that none passes."""

    low: np.ndarray
    high: np.ndarray
    blocked: int | None

    def points(self, shares: np.ndarray) -> np.ndarray:
        """y (K + 1, n) at shares (n,) of the way from the least sqrt(y) to the largest."""
        low, high = (np.sqrt(y)[:, None] for y in (self.low, self.high))
        return np.asarray((low + shares * (high - low)) ** 2)


Pair = tuple[np.ndarray, np.ndarray]


def tube(knots: Knots, scale: float = 1.0, cells: int = CELLS) -> Tube:
    """For limits at K + 1 knots; those but the speeds' are `scale` times as wide."""
    top = knots.rows.most
    found, each, h = Tube(0 * top, top, None), np.arange(len(top)), 1 / (len(top) - 1)
    for _ in range(PASSES):
        edges = found.points(np.linspace(0.0, 1.0, cells + 1))
        low, high = edges[:, :-1], edges[:, 1:]
        kept, least, most = _accelerations(knots, low, high, scale)
        if knots.middles is not None:
            for end in (0, -1):
                _beside_outer(knots.middles, end, kept, (low, high), (least, most), scale)
        after, before = (low + h * least, high + h * most), (low - h * most, high - h * least)
        blocked = _swept(kept, before, after)
        if blocked is None:
            blocked = _swept(kept[::-1], _reversed(after), _reversed(before))
            blocked = blocked if blocked is None else len(top) - 1 - blocked
        if blocked is not None:
            return Tube(found.low, found.high, blocked)
        first, last = kept.argmax(axis=1), cells - kept[:, ::-1].argmax(axis=1)
        found = Tube(edges[each, first], edges[each, last], None)
    return found


def course(knots: Knots, speeds: Tube, scale: float = 1.0) -> np.ndarray | None:
    """A motion through points of a tube that keeps the limits at the knots, times `scale`; None where no points are left.

    Returns:
        Coefficients (2 K + 1,) of a y of smoothness 0: at the knots y, between them y_k + h u_k. The outer ends of the first
        and of the last interval, where dr/dt grows with no acceleration, know no u: there it is that of the inner ends.
    """
    y, K = speeds.points(np.linspace(0.0, 1.0, POINTS)), len(speeds.low) - 1
    kept, least, most = _accelerations(knots, y, y, scale)
    least[[0, -1]], most[[0, -1]] = 0.0, 0.0
    ahead, back = (np.full((K + 1, 1), 1 / K) for _ in range(2))
    ahead[-2], back[1] = 2 / K, 2 / K
    after = np.maximum(y + ahead * least, LEAST * y.max()), y + ahead * most
    before = y - back * most, y - back * least
    kept &= after[0] <= after[1]  # y stays above zero in the interval
    if _swept(kept, before, after) is not None:
        return None
    x, at = np.zeros(2 * K + 1), _middle(kept[-1])
    x[-1] = y[-1, at]
    for k in range(K - 1, -1, -1):
        low, high = np.maximum(before[0][k + 1, at], after[0][k]), np.minimum(before[1][k + 1, at], after[1][k])
        at = _middle(kept[k] & (low <= high))
        x[2 * k], x[2 * k + 1] = y[k, at], (low[at] + high[at]) / 2
    x[[1, -2]] = (x[[0, -3]] + x[[2, -1]]) / 2
    return x


def _accelerations(knots: Knots, low: np.ndarray, high: np.ndarray, scale: float) -> tuple[np.ndarray, ...]:
    """Whether cells of y from `low` to `high` (K + 1, n) have any u, the least and the largest one, (K + 1, n) each."""
    parts = (_at_knot(knots, k, low[k], high[k], scale) for k in range(len(low)))
    return tuple(np.stack(x) for x in zip(*parts, strict=True))


def _at_knot(
    knots: Knots, k: int, low: np.ndarray, high: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, alpha = knots.rows, knots.rows.linear[k, :, 1]
    width = np.append(np.full(len(alpha) - 1, scale), 1.0) - knots.spread[k]
    beta, gamma, delta = (
        np.where(alpha < 0, -x, x)[:, None] for x in (rows.linear[k, :, 0], rows.gamma[k], rows.delta[k])
    )
    parts = ((beta * low, beta * high), (delta * np.sqrt(low), delta * np.sqrt(high)))
    least, most = (gamma + sum(pick(*ends) for ends in parts) for pick in (np.minimum, np.maximum))  # without u
    free, size, width = alpha == 0, np.abs(alpha)[:, None], width[:, None]
    kept = (width >= 0).all() & ((least[free] <= width[free]) & (most[free] >= -width[free])).all(axis=0)
    begin = ((-width - most)[~free] / size[~free]).max(axis=0, initial=-np.inf)
    end = ((width - least)[~free] / size[~free]).min(axis=0, initial=np.inf)
    return kept & (begin <= end), begin, end


def _beside_outer(middles: Knots, end: int, kept: np.ndarray, y: Pair, u: Pair, scale: float) -> None:
    """Keep of the cells beside an outer knot, 0 or -1, those that some u of that knot leads to through the middle of the interval.

    There u = (y_1 - y_0) / 2 h and y = (y_0 + 3 y_1 - 2 h u_1) / 4; at the other end of the path time runs back.
    """
    if not kept[end].any():
        return
    sign, inner, h = (1.0, 1, 1 / (len(kept) - 1)) if end == 0 else (-1.0, -2, 1 / (len(kept) - 1))
    outer = y[0][end][kept[end]].min(), y[1][end][kept[end]].max()
    low, high = y[0][inner], y[1][inner]
    pull = np.sort([sign * 2 * h * u[0][inner], sign * 2 * h * u[1][inner]], axis=0)
    beyond = 2 * middles.rows.most[end]  # its share is over the limit, and it is finite
    here = np.clip([(outer[0] + 3 * low - pull[1]) / 4, (outer[1] + 3 * high - pull[0]) / 4], 0.0, beyond)
    push = np.sort([sign * (low - outer[1]) / (2 * h), sign * (high - outer[0]) / (2 * h)], axis=0)
    rows = middles.rows
    beta, alpha, gamma, delta = (
        x[end][:, None] for x in (rows.linear[..., 0], rows.linear[..., 1], rows.gamma, rows.delta)
    )
    width = np.append(np.full(len(beta) - 1, scale), 1.0)[:, None] + middles.spread[end][:, None]
    parts = beta * here[:, None], alpha * push[:, None], delta * np.sqrt(here)[:, None]
    least, most = (gamma + sum(pick(x, axis=0) for x in parts) for pick in (np.min, np.max))
    kept[inner] &= ((least <= width) & (most >= -width)).all(axis=0)


def _swept(kept: np.ndarray, before: Pair, after: Pair) -> int | None:
    """Keep of the cells (K + 1, n) those that one of the knot before leads to; the first knot where none is left."""
    for k in range(len(kept)):
        if k:
            kept[k] &= _met(*(x[k] for x in before), *(x[k - 1][kept[k - 1]] for x in after))
        if not kept[k].any():
            return k
    return None


def _met(begin: np.ndarray, end: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which intervals from `begin` to `end` (n,) meet any of those from `begins` to `ends` (m,)."""
    order = np.argsort(begins)
    reach = np.maximum.accumulate(np.append(-np.inf, ends[order]))
    return np.asarray(reach[np.searchsorted(begins[order], end, side="right")] >= begin)


def _middle(kept: np.ndarray) -> int:
    places = np.flatnonzero(kept)
    return int(places[len(places) // 2])


def _reversed(pair: Pair) -> Pair:
    return pair[0][::-1], pair[1][::-1]
