"""Bodies as log-Cholesky factors: every vector theta is a body that can exist, and every such body has one theta.

P = U U' with U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]] and
theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3).

Source: Rucker & Wensing, IEEE RA-L 7(2), 2022; map and Jacobian are Pinocchio's, the inverse map and the second
derivatives ours.
"""

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import NotPhysical, RobodynError
from robodyn_pin.identification.parameters import PSEUDO_INERTIA, pseudo_inertia

SAMPLES = 40  # random bodies that show whether equalities are linear in theta
CURVED = 1e-8  # of the largest singular value

# Where theta (1: d1, d2, d3, s12, s23, s13, t1, t2, t3) stands in U.
ROWS, COLUMNS = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 1, 2, 2, 3, 3, 3])


def to_log_cholesky(x: np.ndarray) -> np.ndarray:
    """theta (10,) of a body x (10,), both in the same units: the inverse of Pinocchio's map.

    U is upper triangular, NumPy's factor lower: rows and columns are turned round before and after.

    Raises:
        NotPhysical: the pseudo-inertia of x is not positive definite.
    """
    try:
        U = np.linalg.cholesky(pseudo_inertia(x)[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise NotPhysical("log-Cholesky parameters need a positive definite pseudo-inertia") from None
    U, alpha = U / U[3, 3], np.log(U[3, 3])
    return np.concatenate([[alpha], np.log(np.diag(U)[:3]), U[ROWS[3:], COLUMNS[3:]]])


def from_log_cholesky(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Body x (10,) of theta (10,), and its Jacobian (10, 10)."""
    parameters = pin.LogCholeskyParameters(theta)
    return parameters.toDynamicParameters(), parameters.calculateJacobian()


def curvature(theta: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Second derivatives (10, 10) of w @ x(theta) for weights w (10,): what Gauss-Newton leaves out.

    With G so that w @ x = <G, U U'> and V = e^-alpha U, the derivatives of V are single entries: those in rows i, k and
    the same column give 2 e^2alpha G_ik, and e^d is its own derivative once more.
    """
    G = (np.linalg.pinv(PSEUDO_INERTIA).T @ w).reshape(4, 4)
    G = (G + G.T) / 2
    alpha, inner = theta[0], theta[1:]
    V = np.eye(4)
    V[ROWS, COLUMNS] = np.concatenate([np.exp(inner[:3]), inner[3:]])
    slope = np.concatenate([np.exp(inner[:3]), np.ones(6)])  # dV / dtheta
    first = 2 * slope * (G @ V)[ROWS, COLUMNS]
    second = 2 * np.outer(slope, slope) * G[np.ix_(ROWS, ROWS)] * (COLUMNS[:, None] == COLUMNS)
    second[range(3), range(3)] += first[:3]
    H = np.empty((10, 10))
    H[0, 0], H[0, 1:], H[1:, 0], H[1:, 1:] = 4 * np.sum(G * (V @ V.T)), 2 * first, 2 * first, second
    return np.exp(2 * alpha) * H


def slice_basis(theta: np.ndarray, x: np.ndarray, N: np.ndarray, name: str) -> np.ndarray:
    """Basis (10, k) of theta over the bodies x + N z, k as many as z has; alpha comes first where the mass is free.

    Equalities are linear in x, not in theta. Symmetries (axes of inertia, centres on an axis) are linear in both; whether
    they are is seen from the theta of random bodies that meet them.

    Args:
        theta: of the body x (10,). N: (10, k).

    Raises:
        RobodynError: the bodies are curved in theta; names the body.
    """
    rng, k = np.random.default_rng(0), N.shape[1]
    found: list[np.ndarray] = []
    while len(found) < SAMPLES:
        step = N @ rng.normal(size=k)
        while np.linalg.eigvalsh(pseudo_inertia(x + step))[0] <= 0:
            step /= 2
        found.append(to_log_cholesky(x + step) - theta)
    size, axes = np.linalg.svd(np.array(found))[1:]
    if k < 10 and size[k] > CURVED * size[0]:
        raise RobodynError(
            f"the equalities of body {name!r} are curved in log-Cholesky variables; those of symmetry (my=0, Ixy=0, "
            "Iyy=Izz) and a fixed mass are not. Use the feasible fit"
        )
    span, alpha = axes[:k].T, np.eye(10)[:, :1]
    if np.linalg.norm(span[0]) < CURVED:  # the mass is fixed
        return span
    return np.column_stack([alpha, np.linalg.qr(np.column_stack([alpha, span]))[0][:, 1:k]])
