"""The projection onto the independent coordinates: v = T c', a = T c'' + g, with J T = 0."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.loops import LoopRows, Loops


@dataclass(frozen=True)
class Projection:
    """T and g of N samples."""

    T: np.ndarray  # (N, nv, d) joint rates per coordinate rate
    g: np.ndarray  # (N, nv) joint accelerations at zero coordinate acceleration


def solve_block(J: np.ndarray, S: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve [J; S] x = right for every sample; J (N, m, nv), S (d, nv), right (N, m + d, k), x (N, nv, k).

    Loops with more equations than rank (m + d > nv) are solved by rank: consistent equations have one solution.
    """
    K = np.concatenate([J, np.broadcast_to(S, (len(J), *S.shape))], axis=1)
    if K.shape[1] == K.shape[2]:
        return np.linalg.solve(K, right)
    return np.linalg.pinv(K, rcond=1e-9) @ right


def project(loops: Loops, S: np.ndarray, q: np.ndarray, cd: np.ndarray) -> tuple[Projection, np.ndarray]:
    """T, g and the joint rates v (N, nv) at closed states q (N, nv) with coordinate rates cd (N, d).

    The coordinates are c = S q + offset, S (d, nv). With no loops T is the inverse of S and g is zero.
    """
    n, d = cd.shape
    m = loops.size
    unit = np.zeros((n, m + d, d))
    unit[:, m:] = np.eye(d)
    if m == 0:
        T = np.broadcast_to(np.linalg.inv(S), (n, S.shape[1], d))
        return Projection(T, np.zeros_like(q)), cd @ T[0].T if n else np.zeros_like(q)
    T = solve_block(loops.evaluate(q).J, S, unit)
    v = np.einsum("nij,nj->ni", T, cd)
    rows: LoopRows = loops.evaluate(q, v)
    right = np.concatenate([-rows.drift, np.zeros((n, d))], axis=1)[..., None]
    return Projection(T, solve_block(rows.J, S, right)[..., 0]), v
