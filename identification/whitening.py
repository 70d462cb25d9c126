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
