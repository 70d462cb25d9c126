"""How the projection and the joints' motion change with the coordinates: dT/dc, dv/dc and da/dc, by the implicit function theorem.

J T = 0 holds wherever the loops are closed, and so do J v = 0 and J a + drift = 0. Their derivatives along the loops are again
equations of J, with what variations.py says as right sides. With the coordinates c(t) free, v and a are derivatives of q(c(t)), so

    dv/dc' = T,   da/dc'' = T,   da/dc' = 2 dv/dc.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.projection import solve_block
from robodyn_pin.closures.variations import acceleration_slopes, rate_slopes, varied


@dataclass(frozen=True)
class Bends:
    """Derivatives of N closed samples by the coordinates c."""

    T: np.ndarray  # (N, nv, d, d) of T: T[..., j, k] = d2q / dc_j dc_k, the same in j and k
    v: np.ndarray  # (N, nv, d)
    a: np.ndarray  # (N, nv, d)


def bends(loops: Loops, S: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, T: np.ndarray) -> Bends:
    """The derivatives at closed states q, v, a (N, nv) with T (N, nv, d) of the coordinates S (d, nv).

    Raises:
        RobodynError: the tree has joints of more than one degree of freedom.
    """
    n, nv, d = T.shape
    found = Bends(np.zeros((n, nv, d, d)), np.zeros((n, nv, d)), np.zeros((n, nv, d)))
    if loops.size:
        for begin in range(0, n, loops.chunk):
            part = slice(begin, begin + loops.chunk)
            _bend(loops, S, q[part], v[part], a[part], T[part], Bends(found.T[part], found.v[part], found.a[part]))
    return found


def _bend(
    loops: Loops, S: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, T: np.ndarray, found: Bends
) -> None:
    at, J, d = loops.placed(q), loops.jacobian(q), T.shape[2]
    still, cd = np.zeros_like(T), np.einsum("ij,nj->ni", S, v)
    first, second = np.triu_indices(d)
    right = [
        rate_slopes(at, varied(at, T[:, :, j], still[:, :, 0], T[:, :, j:], still[:, :, j:], still[:, :, j:]))
        for j in range(d)
    ]
    pairs = solve_block(loops, J, S, -np.concatenate(right, axis=2), np.zeros((len(q), d, len(first))))
    found.T[:, :, first, second] = found.T[:, :, second, first] = pairs
    found.v[:] = np.einsum("nijk,nk->nij", found.T, cd)
    right_of_a = acceleration_slopes(at, varied(at, v, a, T, found.v, still))
    found.a[:] = solve_block(loops, J, S, -right_of_a, np.zeros((len(q), d, d)))
