"""Measured positions that no state on the loops has exactly, brought onto them by least squares: batched Gauss-Newton."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing import COARSE, SMALL_MOVE, close, follow, newton, reachable
from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.projection import tangents
from robodyn_pin.errors import ClosureFailed

SETTLED = 1e-10  # [rad or m] a step as short as this ends it
STEPS = 30  # the miss of real encoders makes each step shorten the next one a hundredfold at least
DETERMINED = 1e3  # condition number at home up to which some axes are tried as coordinates
SMALL_MISS = 0.1  # [rad or m] at which a guess from fewer axes is still in the right assembly mode
RESTLESS = 1e-3  # [rad or m] a step that is still as long after so many is on its way nowhere
FAR_STEPS = 200  # from home to the first sample, no more than SMALL_MOVE of a measured axis at once


def nearest(
    loops: Loops,
    S: np.ndarray,
    offset: np.ndarray,
    measured: tuple[np.ndarray, np.ndarray],
    x: np.ndarray,
    start: np.ndarray,
    label: Callable[[int], str] = str,
    near: np.ndarray | None = None,
) -> np.ndarray:
    """Coordinates c (N, d) of the states on the loops whose measured axes are nearest to x (N, n), n >= d.

    Minimises |M q + m - x|^2 over phi(q) = 0. A first guess is made from `start` (nv,) on, by as many measured axes as
    determine the mechanism or else in sequence; then all samples are corrected at once.

    Args:
        S, offset: coordinates c = S q + offset. measured: M (n, nv) and m (n,).
        near: states (N, nv) on the loops that may be the first guess, where they are close enough.

    Raises:
        ClosureFailed: a sample that no state comes near to, or that the coordinates do not determine.
    """
    task = _Task(loops, S, offset, *measured)
    _check_near(task, x, start, label)
    guess = _known(task, x, near)
    guess = _by_some(task, x, start) if guess is None else guess
    c = _followed(task, x, start, label) if guess is None else guess
    for _ in range(STEPS):
        q = close(loops, S, offset, c, start, label)
        step = _step(task, x, q)
        c = c + step
        if np.abs(step).max() <= SETTLED:
            return c
    worst = int(np.abs(step).max(axis=1).argmax())
    raise ClosureFailed(
        f"no state on the loops is nearest to the measured positions at {label(worst)}; check the motors' order, offsets and "
        "units",
        worst,
        loops.row_owner[0],
        float(np.abs(step).max()),
    )


def _check_near(task: "_Task", x: np.ndarray, start: np.ndarray, label: Callable[[int], str]) -> None:
    """Refuse what cannot be followed: too far from `start` at first, or later from the sample before.

    A motor with a gear goes as many times further as its joints.
    """
    moves = np.abs(np.diff(x, axis=0, prepend=(task.M @ start + task.m)[None]))
    geared = np.maximum(1.0, np.abs(task.M).sum(axis=1))
    far = np.argwhere(moves > FAR_STEPS * SMALL_MOVE * geared)
    if len(far):
        i, k = far[0].tolist()
        before = "where the robot is assembled" if i == 0 else "the sample before"
        raise ClosureFailed(
            f"the measured positions at {label(i)} lie {moves[i, k]:.4g} rad or m from {before}, which is out of reach; check the "
            "motors' units and offsets",
            i,
            task.loops.row_owner[0],
            float(moves[i, k]),
        )


@dataclass(frozen=True)
class _Task:
    """What coordinates c = S q + offset are looked for, and which axes M q + m were measured."""

    loops: Loops
    S: np.ndarray  # (d, nv)
    offset: np.ndarray  # (d,)
    M: np.ndarray  # (n, nv)
    m: np.ndarray  # (n,)


def _known(task: _Task, x: np.ndarray, near: np.ndarray | None) -> np.ndarray | None:
    """Coordinates (N, d) of states that are known near the measured axes; None: they are not, or not all near enough."""
    if near is None or np.abs(near @ task.M.T + task.m - x).max() > SMALL_MISS:
        return None
    return near @ task.S.T + task.offset


def _by_some(task: _Task, x: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """Coordinates (N, d) at which d of the measured axes are exact and the others not far off; None: there are none."""
    M, m = task.M, task.m
    if not kernel_choice.chosen(len(x)):
        return None
    home = M @ tangents(task.loops, task.S, start[None])[0]
    for some in map(list, combinations(range(len(M)), len(task.S))):
        if np.linalg.cond(home[some]) > DETERMINED:
            continue
        with np.errstate(all="ignore"):  # the mechanism that only these drive may be singular on the way
            q, closed = reachable(task.loops, M[some], m[some], x[:, some], start)
            if closed.all() and np.abs(q @ M.T + m - x).max() <= SMALL_MISS:
                return q @ task.S.T + task.offset
    return None


def _followed(task: _Task, x: np.ndarray, start: np.ndarray, label: Callable[[int], str]) -> np.ndarray:
    """Coordinates (N, d), a sample every now and then found from the one before it in bounded steps, the others between.

    Raises:
        ClosureFailed: at the first sample that the steps do not come to rest at; those after it would be sought in vain, too.
    """
    fastest = np.abs(np.diff(x, axis=0)).max(initial=1e-300)
    stride = int(np.clip(SMALL_MOVE / fastest, 1, COARSE))
    coarse = np.unique(np.append(np.arange(0, len(x), stride), len(x) - 1))
    q, c = start[None], np.empty((len(coarse), len(task.S)))
    for k, sample in enumerate(x[coarse]):
        for _ in range(FAR_STEPS):
            step = _step(task, sample[None], q, SMALL_MOVE)
            q = _moved(task, q, q @ task.S.T + task.offset + step)
            if np.abs(step).max() <= 1e-6:
                break
        else:
            if (last := float(np.abs(step).max())) > RESTLESS:
                i = int(coarse[k])
                raise ClosureFailed(
                    f"the loops come to no rest near the measured positions at {label(i)}; check the motors' order, signs, offsets "
                    "and units",
                    i,
                    task.loops.row_owner[0],
                    last,
                )
        c[k] = q[0] @ task.S.T + task.offset
    return np.stack([np.interp(np.arange(len(x)), coarse, column) for column in c.T], axis=1)


def _moved(task: _Task, q: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Closed joints (1, nv) at coordinates c (1, d) near those of q (1, nv); where the loops stay open, what Newton ends with."""
    if kernel_choice.chosen(1) and (compiled := task.loops.compiled(task.S)):
        near, _ = follow(compiled, task.S, task.offset, c, q[0], scattered=False)
        if np.isfinite(near).all():
            return near
    return newton(task.loops, task.S, task.offset, c, q, steps=8)


def _step(task: _Task, x: np.ndarray, q: np.ndarray, longest: float = np.inf) -> np.ndarray:
    """Gauss-Newton step (N, d) at closed states q (N, nv), measured axes moving by no more than `longest`."""
    M, m = task.M, task.m
    away = x - (q @ M.T + m)
    away *= np.minimum(1.0, longest / np.maximum(np.abs(away).max(axis=1, keepdims=True), 1e-300))
    return (np.linalg.pinv(M @ tangents(task.loops, task.S, q)) @ away[..., None])[..., 0]
