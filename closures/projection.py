"""The projection onto the independent coordinates: v = T c', a = T c'' + g, with J T = 0."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.elimination import Reduced, solve_dense
from robodyn_pin.closures.loops import Loops


@dataclass(frozen=True)
class Projection:
    """T and g of N samples."""

    T: np.ndarray  # (N, nv, d) joint rates per coordinate rate
    g: np.ndarray  # (N, nv) joint accelerations at zero coordinate acceleration


FEW = 16  # samples that are solved as a whole: leg by leg pays where many share its steps


def solve_block(loops: Loops, J: np.ndarray, S: np.ndarray, right: np.ndarray | None, rates: np.ndarray) -> np.ndarray:
    """x (N, nv, k) with J x = right (N, m, k), None for zero, and S x = rates (N, d, k); J (N, m, nv), S (d, nv).

    Loops with more equations than rank (m + d > nv) are solved by least squares: consistent equations have one solution.
    """
    order = loops.plan(S) if len(J) >= FEW else None
    return solve_dense(J, S, right, rates) if order is None else Reduced(order, J, S).solve(right, rates)


def project(loops: Loops, S: np.ndarray, q: np.ndarray, cd: np.ndarray) -> tuple[Projection, np.ndarray]:
    """T, g and the joint rates v (N, nv) at closed states q (N, nv) with coordinate rates cd (N, d).

    The coordinates are c = S q + offset, S (d, nv). With no loops T is the inverse of S and g is zero.
    """
    (n, d), nv = cd.shape, q.shape[1]
    if loops.size == 0:
        T = np.broadcast_to(np.linalg.inv(S), (n, nv, d))
        return Projection(T, np.zeros_like(q)), cd @ T[0].T if n else np.zeros_like(q)
    T, g, v = np.empty((n, nv, d)), np.empty((n, nv)), np.empty((n, nv))
    todo = np.arange(n)
    if kernel_choice.chosen(n) and (compiled := loops.compiled(S)):
        regular = np.empty(n, bool)
        kernel_choice.kernel("robodyn_pin.closures.kernel_solve").project_samples(
            *compiled, *kernel_choice.ready(S, q, cd), T, g, v, regular
        )
        todo = np.flatnonzero(~regular)
    for begin in range(0, len(todo), loops.chunk):
        part = todo[begin : begin + loops.chunk]
        T[part], g[part], v[part] = _project(loops, S, q[part], cd[part])
    return Projection(T, g), v


def tangents(loops: Loops, S: np.ndarray, q: np.ndarray) -> np.ndarray:
    """T (N, nv, d) at closed states q (N, nv)."""
    n, d = len(q), len(S)
    if loops.size == 0 or kernel_choice.chosen(n):
        return project(loops, S, q, np.zeros((n, d)))[0].T
    T = np.empty((n, q.shape[1], d))
    for begin in range(0, n, loops.chunk):  # without kernels, half of the projection's work
        J = loops.at(q[begin : begin + loops.chunk]).jacobian()
        T[begin : begin + loops.chunk] = solve_block(loops, J, S, None, np.broadcast_to(np.eye(d), (len(J), d, d)))
    return T


def _project(loops: Loops, S: np.ndarray, q: np.ndarray, cd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = cd.shape
    at, order = loops.at(q), loops.plan(S)
    J = at.jacobian()
    reduced = None if order is None or n < FEW else Reduced(order, J, S)
    solve = reduced.solve if reduced else lambda right, rates: solve_dense(J, S, right, rates)
    T = solve(None, np.broadcast_to(np.eye(d), (n, d, d)))
    v = np.einsum("nij,nj->ni", T, cd)
    return T, solve(-at.drift(v)[..., None], np.zeros((n, d, 1)))[..., 0], v
