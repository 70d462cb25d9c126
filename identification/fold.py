"""Stacked rows folded into a triangular factor: estimators see p rows however long the log was.

R'R = [W, y]'[W, y], so every least-squares fit of the rows is one of the factor. Merging is associative: chunks, logs
and machines may be folded in any grouping.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
    R = absorb(factors[0].R, np.concatenate([f.R for f in factors[1:]])) if len(factors) > 1 else factors[0].R
    return Factor(R, sum(f.rows for f in factors), sum(f.energy for f in factors))


def weighted(groups: Sequence[Factor], sigma: np.ndarray) -> np.ndarray:
    """One triangular factor of all groups, each divided by its standard deviation; sigma (groups,)."""
    return triangle(np.concatenate([f.R / s for f, s in zip(groups, sigma, strict=True)]))


def triangle(rows: np.ndarray) -> np.ndarray:
    """Upper triangular R (k, k) with R'R = rows'rows, rows (n, k)."""
    return absorb(np.zeros((rows.shape[1], rows.shape[1])), rows)


def absorb(R: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The factor of [R; rows], R (k, k) upper triangular: LAPACK's QR that leaves the triangle's zeros alone."""
    if not rows.size:
        return R
    folded, *_, info = dtpqrt(0, min(WIDTH, len(R)), R, rows)
    assert info == 0
    return np.triu(folded)
