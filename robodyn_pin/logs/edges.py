"""Edges of a log: rows at both ends whose rates miss what lies beyond the end, or beyond a jump there, so that torques and forces may be far off there.

Whoever looks for extremes, compares or draws leaves them out, and says so.
"""

import numpy as np

from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.jumps import jump_at_start
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform


def edge_rows(log: Log, preparation: Preparation) -> int:
    """Edge rows at each end of a log; half of its rows where no other are left.

    Where its clock is irregular, rows as far from an end in time as edges on the uniform clock are.
    """
    even = uniform(log)
    edge = rates_of(even, preparation).edge + max(jump_at_start(q, even.rate) for q in (even.q, even.q[::-1]))
    if even is not log:
        away = np.minimum(log.t - log.t[0], log.t[-1] - log.t) < (edge - 0.5) / even.rate
        first, last = (np.count_nonzero(half) for half in np.array_split(away, 2))
        edge = int(max(first, last))
    return min(edge, log.size // 2)


def inside(rows: int, edge: int) -> slice:
    """The rows that are no edge; where there are none, all."""
    return slice(edge, rows - edge) if rows > 2 * edge else slice(rows)


def edge_text(rows: int, edge: int, left_out: str = "are left out") -> str:
    """The end of a sentence that says how many rows are left out and why; empty if none is.

    Args:
        left_out: what is done with them.
    """
    if not edge:
        return ""
    if rows > 2 * edge:
        return f"; the {edge} rows at each end of the log {left_out}: rates there lack the samples beyond the end"
    return (
        "; the log is so short that the rates of all its rows lack samples beyond its ends: no row is left out, and near the "
        "ends torques and forces may be far off"
    )
