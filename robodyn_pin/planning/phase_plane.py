"""Which speeds any motion along a path can have at its knots: sweeps over the phase plane, forward and back.

Without the jerk all that the future of a motion knows of its past is y, and y' / 2 = u is linear in an interval:

    y_k + h u_k = y_{k+1} - h u_{k+1}

The y of a knot are cut into cells. A cell holds every u that keeps the limits at any of its y, so no motion is lost: where no
cell is left there is none. Unlike linear programs the cells take sqrt(y), viscous friction, as it is.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.planning.constraints import Rows

CELLS = 1000
PASSES = 4  # each with finer cells, on what the one before has left


@dataclass(frozen=True)
class Tube:
    """Least and largest y (K + 1,) at the knots that any motion has; or the knot that none passes."""

    low: np.ndarray
    high: np.ndarray
    blocked: int | None


def tube(knots: Rows, top: np.ndarray, scale: float = 1.0) -> Tube:
    """For limits at K + 1 knots, paced, and y below `top` (K + 1,); the limits but the speeds' are `scale` times as wide."""
    low, high = 0 * top, top
    for _ in range(PASSES):
        edges = np.linspace(np.sqrt(low), np.sqrt(high), CELLS + 1, axis=1) ** 2
        kept, blocked = _swept(knots, edges, scale)
        if blocked is not None:
            return Tube(low, high, blocked)
        first, last = kept.argmax(axis=1), CELLS - kept[:, ::-1].argmax(axis=1)
        each = np.arange(len(top))
        low, high = edges[each, first], edges[each, last]
    return Tube(low, high, None)


def _swept(knots: Rows, edges: np.ndarray, scale: float) -> tuple[np.ndarray, int | None]:
    """Cells (K + 1, n) between `edges` (K + 1, n + 1) that a motion from the begin to the end can pass, and a knot without."""
    h = 1 / (len(edges) - 1)
    kept, least, most = (
        np.stack(x)
        for x in zip(*(_cells(knots.part(slice(k, k + 1)), e, scale) for k, e in enumerate(edges)), strict=True)
    )
    low, high = edges[:, :-1], edges[:, 1:]
    after, before = (low + h * least, high + h * most), (low - h * most, high - h * least)
    for k in range(1, len(edges)):
        kept[k] &= _met(*(x[k] for x in before), *(x[k - 1][kept[k - 1]] for x in after))
        if not kept[k].any():
            return kept, k
    for k in range(len(edges) - 2, -1, -1):
        kept[k] &= _met(*(x[k] for x in after), *(x[k + 1][kept[k + 1]] for x in before))
        if not kept[k].any():
            return kept, k
    return kept, None


def _cells(knot: Rows, edges: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether a cell has any u, the least and the largest one, (n,) each."""
    beta, alpha, delta = knot.linear[0, :, 0], knot.linear[0, :, 1], knot.delta[0]
    width = np.append(np.full(len(alpha) - 1, scale), 1.0)
    parts = beta * edges[:, None], delta * np.sqrt(edges)[:, None]
    low = knot.gamma[0] + sum(np.minimum(x[1:], x[:-1]) for x in parts)
    high = knot.gamma[0] + sum(np.maximum(x[1:], x[:-1]) for x in parts)
    size = np.abs(alpha)
    known = size > 0
    size = np.where(known, size, 1.0)
    ahead, back = np.where(alpha > 0, high, -low), np.where(alpha > 0, low, -high)
    least = np.where(known, (-width - ahead) / size, -np.inf).max(axis=1)
    most = np.where(known, (width - back) / size, np.inf).min(axis=1)
    still = (known | ((low <= width) & (high >= -width))).all(axis=1)
    return still & (least <= most), least, most


def _met(begin: np.ndarray, end: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which intervals from `begin` to `end` (n,) meet any of those from `begins` to `ends` (m,)."""
    order = np.argsort(begins)
    reach = np.maximum.accumulate(np.append(-np.inf, ends[order]))
    return np.asarray(reach[np.searchsorted(begins[order], end, side="right")] >= begin)
