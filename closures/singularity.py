"""How far closed states are from a singular one: the smallest singular value of the solved block, in pure numbers."""

import numpy as np

from robodyn_pin.closures.elimination import stacked
from robodyn_pin.closures.loops import Loops

LINEAR = ("x", "y", "z", "length")  # closure rows in metres; rx, ry, rz are in radians


def smallest_singular_values(loops: Loops, S: np.ndarray, q: np.ndarray, home: np.ndarray) -> np.ndarray:
    """Smallest singular value (N,) of [J; S] at q (N, nv), without units.

    The block is scaled by one length L, the root mean square of the metres per radian in J at home (nv,), 1 m where
    there are none: prismatic columns are multiplied by L, linear rows divided by L. Coordinate rows S (d, nv) and
    couplings, whose gear ratios mean nothing here, are divided by their largest entry.
    """
    J = loops.evaluate(q).J
    sliding = loops.sliding
    kinds = [name.rsplit(".", 1)[1] for name in loops.row_names]
    linear = np.array([kind in LINEAR for kind in kinds], bool)
    L = lever(loops, home)
    K = stacked(J, S) * np.where(sliding, L, 1.0)
    K[:, : loops.size][:, linear] /= L
    plain = np.flatnonzero([kind == "coupling" for kind in kinds] + [True] * len(S))
    K[:, plain] /= np.abs(K[:, plain]).max(axis=2, keepdims=True)
    return np.linalg.svd(K, compute_uv=False)[:, -1]


def lever(loops: Loops, home: np.ndarray) -> float:
    """One length of the robot [m]: the root mean square of the metres per radian in J at home (nv,); 1 m where none are."""
    linear = np.array([name.rsplit(".", 1)[1] in LINEAR for name in loops.row_names], bool)
    levers = loops.at(home[None]).jacobian()[0][np.ix_(linear, ~loops.sliding)]
    levers = levers[np.abs(levers) > 1e-9]
    return float(np.sqrt((levers**2).mean())) if len(levers) else 1.0


def determinant_signs(loops: Loops, S: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Sign (N,) of det [J; S] at q (N, nv): it changes where axes S (d, nv) stop determining the mechanism.

    Ones where redundant closures or axes make the matrix not square.
    """
    K = stacked(loops.jacobian(q), S)
    return np.linalg.slogdet(K)[0] if K.shape[1] == K.shape[2] else np.ones(len(q))


def first_singular(
    loops: Loops, S: np.ndarray, q: np.ndarray, home: np.ndarray, least: float
) -> tuple[int, float] | None:
    """The first of the states q (N, nv) along a motion that is singular, and its share of the distance at home; None: none.

    Singular is a share below `least`; also where the sign of det [J; S] is no more that of the first state, since the
    motion may jump over the singularity.
    """
    if not loops.size or not len(q):
        return None
    at_home = smallest_singular_values(loops, S, home[None], home)[0]
    distance, sign = smallest_singular_values(loops, S, q, home), determinant_signs(loops, S, q)
    singular = (distance < least * at_home) | (sign * sign[0] < 0)
    i = int(singular.argmax())
    return (i, float(distance[i] / at_home)) if singular[i] else None
