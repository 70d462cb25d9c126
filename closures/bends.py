"""How the projection and the joints' motion change with the coordinates: dT/dc, dv/dc and da/dc, by the implicit function theorem.

J T = 0 holds wherever the loops are closed, and so do J v = 0 and J a + drift = 0. Their derivatives along the loops are again
equations of J, with what variations.py says as right sides. With the coordinates c(t) free, v and a are derivatives of q(c(t)), so

    dv/dc' = T,   da/dc'' = T,   da/dc' = 2 dv/dc.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures import kernel_choice
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
    todo = np.arange(n if loops.size else 0)
    if len(todo) and kernel_choice.chosen(n) and (compiled := loops.compiled(S)):
        regular, given = np.empty(n, bool), kernel_choice.ready(S, q, v, a, T)
        kernel = kernel_choice.kernel("robodyn_pin.closures.kernel_bends")
        kernel.bend_samples(*compiled, *given, found.T, found.v, found.a, regular)
        todo = np.flatnonzero(~regular)
    for begin in range(0, len(todo), loops.chunk):
        part = todo[begin : begin + loops.chunk]
        found.T[part], found.v[part], found.a[part] = _bent(loops, S, q[part], v[part], a[part], T[part])
    return found


def _bent(
    loops: Loops, S: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, nv, d = T.shape
    at, J, bent = loops.placed(q), loops.jacobian(q), np.empty((n, nv, d, d))
    still, cd = np.zeros_like(T), v @ S.T
    first, second = np.triu_indices(d)
    right = [
        rate_slopes(at, varied(at, T[:, :, j], still[:, :, 0], T[:, :, j:], still[:, :, j:], still[:, :, j:]))
        for j in range(d)
    ]
    pairs = solve_block(loops, J, S, -np.concatenate(right, axis=2), np.zeros((n, d, len(first))))
    bent[:, :, first, second] = bent[:, :, second, first] = pairs
    dv = np.einsum("nijk,nk->nij", bent, cd)
    right_of_a = acceleration_slopes(at, varied(at, v, a, T, dv, still))
    return bent, dv, solve_block(loops, J, S, -right_of_a, np.zeros((n, d, d)))
