"""How much less than its rows say a member's logs show: residuals are coloured, alike in all members of a type.

Rows that are called independent are too sure of themselves. With g_k = A_k'(y_k - A_k x) the pull of piece k of a log on
what its member's logs give together, white residuals of size one have sum_k E[g_k g_k'] = H, the sum of A'A. What the pieces
of all members really scatter is H^1/2 K H^1/2, and the information of member i is J_i = H_i^1/2 K^-1 H_i^1/2, in
coordinates in which the members' H_i add up to one. A few pieces say little of K (r, r): it is mixed with a multiple of one,
which counts as r pieces.

Source: White, Econometrica 48(4), 1980, and Liang & Zeger, Biometrika 73(1), 1986 (sandwich by clusters); Ledoit & Wolf,
J. Multivariate Analysis 88(2), 2004 (mixing with a multiple of one).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.hierarchy import Shown

SHOWN = 1e-12  # of the largest eigenvalue of all members' H, in units of each parameter: below, nobody shows it


@dataclass(frozen=True)
class Pieces:
    """Rows [A, y] of a member in pieces, in units of their noise, folded."""

    H: np.ndarray  # (k, r, r) A'A
    b: np.ndarray  # (k, r) A'y

    @property
    def whole(self) -> np.ndarray:
        """A'A of all pieces (r, r)."""
        return self.H.sum(axis=0)

    @property
    def values(self) -> np.ndarray:
        """Least squares (r,), zero along what is not shown."""
        H = self.whole
        unit = 1 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
        return unit * (
            np.linalg.pinv(H * np.outer(unit, unit), hermitian=True, rcond=SHOWN) @ (unit * self.b.sum(axis=0))
        )

    @property
    def pulls(self) -> np.ndarray:
        """How each piece pulls at the values (k, r)."""
        return self.b - self.H @ self.values


@dataclass(frozen=True)
class Colour:
    """What the residuals of a type are like."""

    basis: np.ndarray  # (r, r) in which the members' H add up to one: basis' H basis
    K: np.ndarray  # (r, r) scatter of the pieces there; one for white residuals

    def information(self, H: np.ndarray) -> np.ndarray:
        """Information J (r, r) of rows with A'A = H (r, r)."""
        values, vectors = np.linalg.eigh(self.basis.T @ H @ self.basis)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        back = np.linalg.inv(self.basis)
        J = back.T @ root @ np.linalg.solve(self.K, root) @ back
        return (J + J.T) / 2

    def growth(self, H: np.ndarray, direction: np.ndarray) -> float:
        """By how much the variance of a single parameter along `direction` (r,) is larger than white residuals say."""
        seen = direction @ self.information(H) @ direction
        return float(direction @ H @ direction / seen) if seen > 0 else 1.0


def colour_of(members: Sequence[Pieces]) -> Colour:
    """The colour that the members' residuals have in common; each has at least two pieces."""
    H = np.sum([m.whole for m in members], axis=0)
    unit = 1 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(H * np.outer(unit, unit))
    basis = (unit[:, None] * vectors) / np.sqrt(np.maximum(values, SHOWN * values[-1]))
    scatter, pieces, r = np.zeros_like(H), 0, len(H)
    for member in members:
        g = member.pulls @ basis
        scatter += len(g) / (len(g) - 1) * g.T @ g
        pieces += len(g)
    K = (pieces * scatter + np.trace(scatter) * np.eye(r)) / (pieces + r)
    return Colour(basis, K)


def shown_by(member: Pieces, colour: Colour) -> Shown:
    """What a member's logs show of its parameters, as sure as the colour lets them be."""
    return Shown(member.values, colour.information(member.whole))
