"""Stacked rows folded into a triangular factor: estimators see p rows however long the log was.

R'R = [W, y]'[W, y], so every least-squares fit of the rows is one of the factor. Merging is associative: chunks, logs
and machines may be folded in any grouping.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dtpqrt

WIDTH = 32  # columns that LAPACK handles at once


@dataclass(frozen=True)
class Factor:
    """Rows [W, y] of one row group (a motor or coordinate), folded."""

    R: np.ndarray  # (p + 1, p + 1) upper triangular
    rows: int  # how many rows it stands for
    energy: float = 0.0  # sum of squares of what was measured, known efforts included: what errors are relative to

    def residual(self, x: np.ndarray) -> float:
        """Sum of squares of W x - y."""
        return float(np.sum((self.R[:, :-1] @ x - self.R[:, -1]) ** 2))

    def of(self, columns: np.ndarray) -> "Factor":
        """The factor of some columns (k,) of W, ascending: what leads and loses none of its columns is triangular already."""
        kept = np.append(columns, len(self.R) - 1)
        lead, R = int(np.sum(kept == np.arange(len(kept)))), np.zeros((len(kept), len(kept)))
        R[:lead] = self.R[:lead, kept]
        R[lead:, lead:] = triangle(self.R[lead:, kept[lead:]])
        return replace(self, R=R)


def empty(p: int) -> Factor:
    """The factor of no rows with p parameters."""
    return Factor(np.zeros((p + 1, p + 1)), 0)


def fold_rows(factor: Factor, W: np.ndarray, y: np.ndarray, measured: np.ndarray | None = None) -> Factor:
    """The factor with rows W (n, p), y (n,) added; `measured` (n,) is y before known efforts were subtracted."""
    energy = float(np.sum((y if measured is None else measured) ** 2))
    rows = np.concatenate([W, y[:, None]], axis=1)
    return Factor(absorb(factor.R, rows), factor.rows + len(W), factor.energy + energy)


def merge_factors(factors: Sequence[Factor]) -> Factor:
    """The factor of all rows together."""
    R = merge_triangles([f.R for f in factors])
    return Factor(R, sum(f.rows for f in factors), sum(f.energy for f in factors))


def weighted(groups: Sequence[Factor], sigma: np.ndarray) -> np.ndarray:
    """One triangular factor of all groups, each divided by its standard deviation; sigma (groups,)."""
    return merge_triangles([f.R / s for f, s in zip(groups, sigma, strict=True)])


def merge_triangles(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Upper triangular R (k, k) with R'R the sum over the parts (k, k), upper triangular like it: a third of the work of `triangle`."""
    below = _below_diagonal(len(parts[0]))
    assert not any(part[below].any() for part in parts), "only triangles can be merged like this"
    R, *others = parts
    for part in others:
        R, *_, info = dtpqrt(len(R), min(WIDTH, len(R)), R, part)
        assert info == 0
    return R


def triangle(rows: np.ndarray) -> np.ndarray:
    """Upper triangular R (k, k) with R'R = rows'rows, rows (n, k)."""
    return absorb(np.zeros((rows.shape[1], rows.shape[1])), rows)


def absorb(R: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The factor of [R; rows], R (k, k) upper triangular: LAPACK's QR that leaves the triangle's zeros alone."""
    if not rows.size:
        return R
    folded, *_, info = dtpqrt(0, min(WIDTH, len(R)), R, rows)
    assert info == 0
    return np.asarray(folded)


@lru_cache(maxsize=8)
def _below_diagonal(k: int) -> np.ndarray:
    """Which entries (k, k) lie below the diagonal, where LAPACK neither looks nor writes."""
    return np.tri(k, k, -1, bool)
