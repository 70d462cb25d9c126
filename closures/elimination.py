"""Solving [J; S] x = right leg by leg: what occurs in one closure only is eliminated inside it, a small system is left.

The struts of a delta robot each bring two joints that no other closure sees. A Householder step per such joint leaves
one equation per strut between the shared joints; joints that are coordinates themselves are known. The IRB 360's 27
unknowns so become six. Orthogonal steps keep least squares: redundant but consistent equations are solved as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

SINGULAR = 1e-11  # a pivot below this share of the largest: the sample is solved by rank, densely


class EliminationPlan(NamedTuple):
    """Who is eliminated where; decided once from the pattern of [J; S]. Padded with zeros, counts beside."""

    rows: np.ndarray  # (blocks, most rows) equations of each closure
    n_rows: np.ndarray  # (blocks,)
    columns: np.ndarray  # (blocks, most columns) unknowns of each closure, its own first
    n_columns: np.ndarray
    n_own: np.ndarray  # how many of them occur in no other closure and in no coordinate
    place: np.ndarray  # (blocks, most columns) position among the shared unknowns; -1: own or known
    known: np.ndarray  # (k,) unknowns that are a coordinate themselves, up to a factor
    known_row: np.ndarray  # (k,) which coordinate
    mixed: np.ndarray  # coordinates that combine several joints
    shared: np.ndarray  # unknowns of the shared system
    n_left: int  # equations of the shared system


def elimination_plan(sizes: Sequence[int], pattern: np.ndarray, S: np.ndarray) -> EliminationPlan | None:
    """Order of elimination; None where the equations cannot determine every unknown.

    Args:
        sizes: how many rows of J each closure has.
        pattern: (closures, nv) which unknowns a closure involves.
        S: (d, nv) coordinates per unknown.
    """
    single = (S != 0).sum(axis=1) == 1
    known = np.array([np.flatnonzero(row)[0] for row in S[single]], int)
    own = pattern & (pattern.sum(axis=0) == 1) & ~(S != 0).any(axis=0)
    shared = np.setdiff1d(np.flatnonzero(~own.any(axis=0)), known)
    left = sum(sizes) - int(own.sum()) + int((~single).sum())
    if len(set(known)) < len(known) or (own.sum(axis=1) > sizes).any() or left < len(shared):
        return None
    return _plan(sizes, pattern, own, known, shared, single, left)


def unreduced(sizes: Sequence[int], pattern: np.ndarray) -> EliminationPlan:
    """Every closure's unknowns in their order, nothing eliminated."""
    none = np.zeros(0, int)
    return _plan(sizes, pattern, np.zeros_like(pattern), none, none, np.zeros(0, bool), 0)


def _plan(
    sizes: Sequence[int],
    pattern: np.ndarray,
    own: np.ndarray,
    known: np.ndarray,
    shared: np.ndarray,
    single: np.ndarray,
    left: int,
) -> EliminationPlan:
    position = np.full(pattern.shape[1], -1)
    position[shared] = np.arange(len(shared))
    first = np.cumsum([0, *sizes])
    columns = [
        np.concatenate([np.flatnonzero(mine), np.flatnonzero(p & ~mine)]) for mine, p in zip(own, pattern, strict=True)
    ]
    return EliminationPlan(
        rows=_padded([np.arange(*ends) for ends in pairwise(first)]), n_rows=np.array(sizes, int),
        columns=_padded(columns), n_columns=np.array([len(c) for c in columns], int), n_own=own.sum(axis=1),
        place=_padded([position[c] for c in columns]), known=known, known_row=np.flatnonzero(single),
        mixed=np.flatnonzero(~single), shared=shared, n_left=left,
    )  # fmt: skip


def _padded(lists: Sequence[np.ndarray]) -> np.ndarray:
    out = np.zeros((len(lists), max((len(x) for x in lists), default=0)), int)
    for row, x in zip(out, lists, strict=True):
        row[: len(x)] = x
    return out


@dataclass(frozen=True)
class _Legs:
    """Closures of one shape, reduced together: arrays (rows, columns, legs, N), samples last."""

    index: np.ndarray  # which closures
    rows: np.ndarray  # (legs, m)
    columns: np.ndarray  # (legs, c)
    own: int
    A: np.ndarray
    steps: list[tuple[np.ndarray, np.ndarray]]


class Reduced:
    """[J; S] of N samples, reduced; solves for any right side."""

    def __init__(self, plan: EliminationPlan, J: np.ndarray, S: np.ndarray):
        self._plan, self._J, self._S = plan, J, S
        by_sample = np.ascontiguousarray(J.transpose(1, 2, 0))
        n = len(J)
        shapes = np.stack([plan.n_rows, plan.n_columns, plan.n_own], axis=1)
        self._legs, left = [], []
        for m, c, own in np.unique(shapes, axis=0):
            index = np.flatnonzero((shapes == (m, c, own)).all(axis=1))
            rows, columns = plan.rows[index, :m], plan.columns[index, :c]
            A = by_sample[rows.T[:, None], columns.T[None]]
            legs = _Legs(index, rows, columns, int(own), A, _triangulate(A, int(own)))
            self._legs.append(legs)
            left.append(self._onto_shared(legs))
        mixed = np.repeat(S[np.ix_(plan.mixed, plan.shared)][..., None], n, axis=2)
        self._G = np.concatenate([*left, mixed])
        self._steps = _triangulate(self._G, len(plan.shared))
        of_legs = [np.abs(x.A[range(x.own), range(x.own)]).reshape(-1, n) for x in self._legs]
        pivots = np.concatenate([*of_legs, np.abs(self._G[range(len(plan.shared)), range(len(plan.shared))])])
        with np.errstate(invalid="ignore"):
            self._singular = np.flatnonzero(
                ~(pivots.min(axis=0, initial=1.0) > SINGULAR * pivots.max(axis=0, initial=1.0))
            )

    def _onto_shared(self, legs: _Legs) -> np.ndarray:
        """Rows that are left of legs, as rows of the shared system (rows, shared, N)."""
        plan = self._plan
        rest = legs.A[legs.own :, legs.own :]
        out = np.zeros((rest.shape[0], rest.shape[2], len(plan.shared) + 1, rest.shape[3]))
        place = plan.place[legs.index][:, legs.own : legs.A.shape[1]]
        out[:, np.arange(len(place))[:, None], place] = rest.transpose(0, 2, 1, 3)  # -1 is the spare column
        return out[:, :, :-1].reshape(rest.shape[0] * rest.shape[2], len(plan.shared), rest.shape[3])

    def solve(self, right: np.ndarray | None, rates: np.ndarray) -> np.ndarray:
        """x (N, nv, k) with J x = right (N, m, k), None for zero, and S x = rates (N, d, k)."""
        plan, n, k = self._plan, len(self._J), rates.shape[2]
        s = rates.transpose(1, 2, 0)
        r = None if right is None else np.ascontiguousarray(right.transpose(1, 2, 0))
        x = np.zeros((self._S.shape[1], k, n))
        gain = self._S[plan.known_row, plan.known]
        x[plan.known] = s[plan.known_row] / gain[:, None, None]
        sides, left = [], []
        for legs in self._legs:
            shape = (len(legs.A), k, len(legs.index), n)
            y = (
                np.zeros(shape)
                if r is None
                else _turned(np.ascontiguousarray(r[legs.rows.T].transpose(0, 2, 1, 3)), legs.steps)
            )
            rest = y[legs.own :] - _product(legs.A[legs.own :, legs.own :], x[legs.columns.T[legs.own :]])
            sides.append(y)
            left.append(rest.transpose(0, 2, 1, 3).reshape(rest.shape[0] * rest.shape[2], k, n))
        h = np.concatenate([*left, s[plan.mixed] - np.tensordot(self._S[plan.mixed], x, 1)])
        h = _turned(h, self._steps)
        x[plan.shared] = _back(self._G, h, len(plan.shared))
        for legs, y in zip(self._legs, sides, strict=True):
            y = y[: legs.own] - _product(legs.A[: legs.own, legs.own :], x[legs.columns.T[legs.own :]])
            x[legs.columns.T[: legs.own]] = _back(legs.A, y, legs.own).transpose(0, 2, 1, 3)
        out = x.transpose(2, 0, 1)
        bad = self._singular
        if len(bad):
            out = out.copy()
            out[bad] = solve_dense(self._J[bad], self._S, None if right is None else right[bad], rates[bad])
        return out


def stacked(J: np.ndarray, S: np.ndarray) -> np.ndarray:
    """[J; S] (N, m + d, nv) of J (N, m, nv) and S (d, nv)."""
    return np.concatenate([J, np.broadcast_to(S, (len(J), *S.shape))], axis=1)


def solve_dense(J: np.ndarray, S: np.ndarray, right: np.ndarray | None, rates: np.ndarray) -> np.ndarray:
    """As `Reduced.solve`, every sample's [J; S] as a whole, by rank where need be; not a number where that is not finite."""
    n, m, nv = J.shape
    right = np.concatenate([np.zeros((n, m, rates.shape[2])) if right is None else right, rates], axis=1)
    K = stacked(J, S)
    x = np.full((n, nv, rates.shape[2]), np.nan)
    good = np.isfinite(K).all(axis=(1, 2))
    if K.shape[1] == nv:
        try:
            x[good] = np.linalg.solve(K[good], right[good])
            return x
        except np.linalg.LinAlgError:  # one of them is singular
            pass
    x[good] = np.linalg.pinv(K[good], rcond=1e-9) @ right[good]
    return x


def _triangulate(A: np.ndarray, columns: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Householder steps on the first columns of A (m, c, ..., N), in place; returns their vectors and scales."""
    steps = []
    for j in range(min(columns, len(A) - 1)):
        u = A[j:, j].copy()
        norm = np.sqrt((u * u).sum(axis=0))
        top = -np.copysign(norm, u[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1 / (norm * (norm + np.abs(u[0])))
        scale[norm == 0] = 0.0
        u[0] -= top
        _reflect(A[j:, j + 1 :], u, scale)
        A[j, j] = top
        steps.append((u, scale))
    return steps


def _reflect(y: np.ndarray, u: np.ndarray, scale: np.ndarray) -> None:
    """y -= u (scale u'y) in place, y (m, k, ..., N), u (m, ..., N): row by row, several times faster than einsum."""
    along = u[0] * y[0]
    term = np.empty_like(along)
    for r in range(1, len(u)):
        along += np.multiply(u[r], y[r], out=term)
    along *= scale
    for r in range(len(u)):
        y[r] -= np.multiply(u[r], along, out=term)


def _turned(y: np.ndarray, steps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Q'y for y (m, k, ..., N)."""
    for j, (u, scale) in enumerate(steps):
        _reflect(y[j:], u, scale)
    return y


def _back(A: np.ndarray, y: np.ndarray, size: int) -> np.ndarray:
    """Solve the upper triangle of A against y (m, k, ..., N); (size, k, ..., N)."""
    x = y[:size].copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(size - 1, -1, -1):
            for j in range(i + 1, size):
                x[i] -= A[i, j] * x[j]
            x[i] /= A[i, i]
    return x


def _product(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A (m, c, legs, N) times x (c, legs, k, N): (m, k, legs, N)."""
    return np.einsum("rcln,clkn->rkln", A, x)
