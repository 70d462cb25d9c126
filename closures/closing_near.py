"""One closed state from one nearby, as a robot at work meets them: a Newton step or two, without what a search needs."""

import numpy as np
from scipy.linalg.lapack import dgesv

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing import LONGEST_STEP, TOLERANCE, follow
from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import ClosureFailed

STEPS = 8  # of Newton; from a neighbour two are usual
SHORT = 1e-7  # [rad or m] after so short a step the next would be its square

Sample = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # q, v, a (nv,), T (nv, d)


def close_near(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, q: np.ndarray
) -> Sample:
    """The closed state at coordinates c, c', c'' (d,) from joint positions q (nv,) close to it.

    Raises:
        ClosureFailed: it is not close, or out of reach.
    """
    if loops.size == 0:
        T = np.linalg.inv(S)
        return T @ (c - offset), T @ cd, T @ cdd, T
    if kernel_choice.installed() and (compiled := loops.compiled(S)):
        return _compiled(loops, compiled, S, offset, c, cd, cdd, q)
    return _plain(loops, S, offset, c, cd, cdd, q)


def _plain(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, q: np.ndarray
) -> Sample:
    m, nv, d = loops.size, q.shape[0], len(c)
    K, right = np.empty((m + d, nv)), np.empty(m + d)
    K[m:] = S
    solve = _square if m + d == nv else _least
    for _ in range(STEPS):
        at = loops.by_anchors(q[None])
        K[:m], right[:m], right[m:] = at.J[0], -at.phi[0], c - offset - S @ q
        step = solve(K, right)
        longest = np.abs(step).max()
        q = q + step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
        if longest < SHORT:
            break
    K[:m] = loops.by_anchors(q[None]).J[0]
    rates = np.zeros((m + d, d))
    rates[m:] = np.eye(d)
    T = solve(K, rates)
    v = T @ cd
    at = loops.by_anchors(q[None], v[None])
    if not np.abs(at.phi).max() <= 10 * TOLERANCE * max(1.0, float(np.abs(c).max())):
        raise _failed(loops, at.phi[0])
    right[:m], right[m:] = -at.drift[0], cdd
    return q, v, solve(K, right), T


def _square(K: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.asarray(dgesv(K, right)[2])


def _least(K: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(K, right, rcond=None)[0])


def _compiled(
    loops: Loops, compiled: tuple, S: np.ndarray, offset: np.ndarray, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray,
    start: np.ndarray,
) -> Sample:  # fmt: skip
    kernel = kernel_choice.kernel("robodyn_pin.closures.kernel_solve")
    regular = np.empty(1, bool)
    q, closed = follow(compiled, S, offset, c[None], start, scattered=False)
    if not closed[0]:
        raise _failed(loops, loops.by_anchors(q).phi[0])
    T, g, v = np.empty((1, *S.T.shape)), np.empty_like(q), np.empty_like(q)
    kernel.project_samples(*compiled, *kernel_choice.ready(S, q, cd[None]), T, g, v, regular)
    if not regular[0]:
        return _plain(loops, S, offset, c, cd, cdd, q[0])
    return q[0], v[0], T[0] @ cdd + g[0], T[0]


def _failed(loops: Loops, phi: np.ndarray) -> ClosureFailed:
    size = np.where(np.isfinite(phi), np.abs(phi), np.inf)
    worst = int(size.argmax())
    owner = loops.row_owner[worst]
    return ClosureFailed(
        f"closure {owner!r} does not close from the state before: residual {size[worst]:.3g}",
        0,
        owner,
        float(size[worst]),
    )
