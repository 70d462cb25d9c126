"""Rows in units of the motors' noise."""

import numpy as np


def whitened(rows: np.ndarray, B: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
    """Rows (N, d, k) along the coordinates times the inverse root of B'diag(noise^2)B; as they are without `noise`.

    Row j is what coordinate j adds to those before it, in units of the motors' noise.

    Args:
        B: (N, n_motors, d) motor rates per coordinate rate. noise: (n_motors,) standard deviations.
    """
    if noise is None:
        return rows
    scaled = B * noise[:, None]
    return np.linalg.solve(np.linalg.cholesky(np.einsum("nij,nik->njk", scaled, scaled)), rows)


def whitened_slopes(
    rows: np.ndarray, slopes: np.ndarray, B: np.ndarray, dB: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whitened rows (N, d, p), and their derivatives (3, N, d, p, d): of rows with `slopes`, and of B with dB (N, n_motors, d, d), by c.

    Cholesky's factor L of C changes by L F, F the lower triangle of L^-1 dC L^-T with half its diagonal.
    """
    scaled, change = B * noise[:, None], dB * noise[:, None, None]
    C, half = np.einsum("nij,nik->njk", scaled, scaled), np.einsum("nij,nikx->nxjk", scaled, change)
    inverse = np.linalg.inv(np.linalg.cholesky(C))
    whole = inverse[:, None] @ (half + half.transpose(0, 1, 3, 2)) @ inverse.transpose(0, 2, 1)[:, None]
    F = np.tril(whole, -1) + np.eye(C.shape[1]) * whole / 2
    found, white = np.einsum("nij,xnjpk->xnipk", inverse, slopes), inverse @ rows
    found[0] -= np.einsum("nkij,njp->nipk", F, white)
    return white, found
