"""How much less than its rows say a member's logs show: residuals are coloured, alike in all members of a type.

Rows that are called independent are too sure of themselves. With g_k = A_k'(y_k - A_k x) the pull of piece k of a log on
what its member's logs give together, white residuals of size one have sum_k E[g_k g_k'] = H, the sum of A'A. What the pieces
of all members really scatter is H^1/2 K H^1/2, and the information of member i is J_i = H_i^1/2 K^-1 H_i^1/2, in
coordinates in which the members' H_i add up to one. A few pieces say little of K (r, r): it is mixed with a multiple of one,
which counts as r pieces.

Source: Bell & McCaffrey, Survey Methodology 28(2), 2002 (pulls grown by what the fit took); White, Econometrica 48(4), 1980, and Liang & Zeger, Biometrika 73(1), 1986 (sandwich by clusters); Ledoit & Wolf,
J. Multivariate Analysis 88(2), 2004 (mixing with a multiple of one).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.hierarchy import ShownByLogs, solved_as_shown

SHOWN = 1e-12  # of the largest eigenvalue of all members' H, in units of each parameter: below, nobody shows it
LEFT = 0.05  # least share of a piece's pull that the values are taken to leave


def whitening_basis(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A basis (r, r) with basis' H basis = 1, but for what H does not show, and its inverse."""
    unit = 1 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(H * np.outer(unit, unit))
    size = np.sqrt(np.maximum(values, SHOWN * values[-1]))
    return unit[:, None] * vectors / size, (size[:, None] * vectors.T) / unit


@dataclass(frozen=True)
class RowPieces:
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
        return solved_as_shown(self.whole, self.b.sum(axis=0))

    @property
    def pulls(self) -> np.ndarray:
        """How each piece pulls at the values (k, r), grown by what the values took from it: (1 - H_k / H)^-1/2 in a basis of H."""
        H = self.whole
        basis, back = whitening_basis(H)
        seen = basis.T @ self.H @ basis
        values, vectors = np.linalg.eigh(np.eye(len(H)) - (seen + seen.swapaxes(1, 2)) / 2)
        g = (self.b - self.H @ self.values) @ basis
        along = (vectors.swapaxes(1, 2) @ g[:, :, None]) / np.sqrt(np.maximum(values, LEFT))[:, :, None]
        return (vectors @ along)[:, :, 0] @ back


@dataclass(frozen=True)
class Colour:
    """What the residuals of a type are like."""

    basis: np.ndarray  # (r, r) in which the members' H add up to one: basis' H basis
    back: np.ndarray  # (r, r) its inverse
    K: np.ndarray  # (r, r) scatter of the pieces there; one for white residuals

    def information(self, H: np.ndarray) -> np.ndarray:
        """Information J (r, r) of rows with A'A = H (r, r)."""
        values, vectors = np.linalg.eigh(self.basis.T @ H @ self.basis)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        J = self.back.T @ root @ np.linalg.solve(self.K, root) @ self.back
        return (J + J.T) / 2


def colour_of(members: Sequence[RowPieces]) -> Colour:
    """The colour that the members' residuals have in common; each has at least two pieces."""
    basis, back = whitening_basis(np.sum([m.whole for m in members], axis=0))
    g = np.concatenate([m.pulls for m in members]) @ basis
    scatter, r = g.T @ g, len(basis)
    K = (len(g) * scatter + np.trace(scatter) * np.eye(r)) / (len(g) + r)
    return Colour(basis, back, K)


def shown_by(member: RowPieces, colour: Colour) -> ShownByLogs:
    """What a member's logs show of its parameters, as sure as the colour lets them be."""
    return ShownByLogs(member.values, colour.information(member.whole))
