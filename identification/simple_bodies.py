"""Bodies of simple shape: what weighing and a ruler tell about parameters. SI, Pinocchio's order, about the joint frame.

Source: parallel-axis theorem; Gnad et al. (IRB 360), section 3.3, for the regularisation values of a Delta robot.
"""

import numpy as np

from robodyn_pin.identification.parameters import PSEUDO_INERTIA

QUANTITIES = {"mass": "kg"} | {f"centre {axis}": "m" for axis in "xyz"}
QUANTITIES |= {f"I{axes} about the centre": "kg m²" for axes in ("xx", "xy", "yy", "xz", "yz", "zz")}
_FROM_PSEUDO_INERTIA = np.linalg.pinv(PSEUDO_INERTIA)


def ball(mass: float, radius: float) -> np.ndarray:
    """Parameters (10,) of a solid ball about its centre: a neutral body that says little. Radius 0: a point."""
    inertia = 0.4 * mass * radius**2
    return np.array([mass, 0, 0, 0, inertia, 0, inertia, 0, 0, inertia])


def cylinder(mass: float, radius: float, length: float, axis: str = "z", inner: float = 0.0) -> np.ndarray:
    """Parameters (10,) of a cylinder along `axis` about its centre, hollow from radius `inner` [m]."""
    along = mass * (radius**2 + inner**2) / 2
    across = mass * (length**2 + 3 * (radius**2 + inner**2)) / 12
    xx, yy, zz = (along if axis == name else across for name in "xyz")
    return np.array([mass, 0, 0, 0, xx, 0, yy, 0, 0, zz])


def moved(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Parameters (10,) of the body x (10,) after a translation by (3,) [m] in the joint frame."""
    m, h, c = x[0], x[1:4], np.asarray(by, float)
    # P -> A P A' with A = [[1, c], [0, 1]]: its second moments grow by c h' + h c' + m c c'.
    second = np.outer(c, h) + np.outer(h, c) + m * np.outer(c, c)
    inertia = np.trace(second) * np.eye(3) - second
    rows, columns = [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]
    return np.concatenate([[m], h + m * c, x[4:] + inertia[rows, columns]])


def in_other_frame(H: np.ndarray) -> np.ndarray:
    """A (10, 10) with x' = A x: parameters in the frame in which theirs has the homogeneous placement H (4, 4) [m].

    P' = H P H' for the pseudo-inertia P, whose last row and column are those of the mass.
    """
    return np.asarray(_FROM_PSEUDO_INERTIA @ np.kron(H, H) @ PSEUDO_INERTIA)


def nearest_body(x: np.ndarray, eigenvalue: float) -> np.ndarray:
    """The body nearest to x (10,) whose pseudo-inertia has no eigenvalue below `eigenvalue`, in the units of x.

    Nearest in the Euclidean distance of pseudo-inertias, where cutting off eigenvalues is exact.
    """
    values, vectors = np.linalg.eigh((PSEUDO_INERTIA @ x).reshape(4, 4))
    P = vectors * np.maximum(values, eigenvalue) @ vectors.T
    return np.linalg.lstsq(PSEUDO_INERTIA, P.ravel(), rcond=None)[0]


def about_centre(x: np.ndarray) -> np.ndarray:
    """Mass, centre of mass and inertia about it (10,), from mass, first moments and inertia about the joint's frame."""
    m, h = x[0], x[1:4]
    S = np.outer(h, h) / m
    steiner = [S[1, 1] + S[2, 2], -S[0, 1], S[0, 0] + S[2, 2], -S[0, 2], -S[1, 2], S[0, 0] + S[1, 1]]
    return np.concatenate([[m], h / m, x[4:] - steiner])
