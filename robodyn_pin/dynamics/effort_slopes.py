"""How friction, rotors and springs change with the coordinates: the columns of an effort on the tree's joints, differentiated.

Along an axis k with f(x, x', x'') the chain rule goes through x = k'q. In closures, where w = J_w v turns, J_w changes as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.bends import Bends
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.efforts import Effort, Stack
from robodyn_pin.robot.friction_models import basis
from robodyn_pin.robot.friction_slopes import motion_slopes
from robodyn_pin.robot.robot import Robot, State

Loaded = Mapping[bytes, np.ndarray]  # by axes: derivatives (3, N, r, d) of |load| by c, c', c''


@dataclass(frozen=True)
class Moved:
    """A closed motion, and how it changes with the coordinates."""

    state: State
    bends: Bends
    loads: Loaded | None = None  # of friction that grows with the load

    def along(self, rows: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Derivatives (3, N, r, k, d) by c, c', c'' of columns along axes, rows (r, nv), whose slopes by x, x', x'' are (3, N, r, k)."""
        T, v, a = (onto(rows, x) for x in (self.state.T, self.bends.v, self.bends.a))
        by_x, by_xd, by_xdd = slopes[..., None]
        T, v, a = T[:, :, None], v[:, :, None], a[:, :, None]
        return np.stack([by_x * T + by_xd * v + by_xdd * a, by_xd * T + 2 * by_xdd * v, by_xdd * T])


def onto(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What joints' x (N, nv, ...) are along axes, rows (r, nv) with few entries: (N, r, ...)."""
    found = np.zeros((len(x), len(rows), *x.shape[2:]))
    for r, j in np.argwhere(rows):
        found[:, r] += rows[r, j] * x[:, j]
    return found


def stack_slopes(stack: Stack, moved: Moved) -> np.ndarray:
    """Derivatives (3, N, nv, d) of what a stack of efforts asks of the tree's joints, at the robot's coefficients."""
    q, v, a, rows = moved.state.q, moved.state.v, moved.state.a, stack.rows
    slopes = motion_slopes(stack.spec, q @ rows.T + stack.shifts, v @ rows.T, a @ rows.T)
    force = moved.along(rows, (slopes * stack.values).sum(axis=-1)[..., None])[:, :, :, 0]
    found = np.zeros((3, *q.shape, force.shape[3]))
    for r, j in np.argwhere(rows):
        found[:, :, j] += rows[r, j] * force[:, :, r]
    return found


def column_slopes(robot: Robot, effort: Effort, moved: Moved) -> np.ndarray:
    """Derivatives (3, N, nv, k, d) of the columns of one effort on the tree's joints.

    Raises:
        RobodynError: friction with memory.
    """
    if _cold(effort, moved.state):
        return np.zeros((3, *moved.state.q.shape, len(effort.labels), moved.state.T.shape[2]))
    total = np.einsum("xnrkd,rj->xnjkd", _along_axes(robot, effort, moved)[1], effort.rows)
    if effort.closures:
        total += _in_closures(robot, effort, moved)
    return _warmed(effort, moved.state, total)


def projected_slopes(robot: Robot, effort: Effort, moved: Moved) -> np.ndarray:
    """As `column_slopes`, on the coordinates: (3, N, d, k, d)."""
    state, rows, bent = moved.state, effort.rows, moved.bends.T
    n, _, d = state.T.shape
    if effort.closures or _cold(effort, state):
        total = np.einsum("nij,xnipk->xnjpk", state.T, column_slopes(robot, effort, moved))
        columns = effort.columns(state.q, state.v, state.a, state.stops, state.loads, state.warmth)
        total[0] += np.einsum("nijk,nip->njpk", bent, columns)
        return total
    f, slopes = _along_axes(robot, effort, moved)
    rates, bends = onto(rows, state.T), onto(rows, bent)[:, :, :, None]
    total = np.zeros((3, n, d, f.shape[2], d))
    for r in range(len(rows)):
        total += rates[:, r, :, None, None] * slopes[:, :, r, None]
        total[0] += bends[:, r] * f[:, r, None, :, None]
    return _warmed(effort, state, total)


def _cold(effort: Effort, state: State) -> bool:
    """Whether it counts for nothing, as it grows with a warmth that is not said."""
    return effort.spec.warmth is not None and state.warmth is None


def _warmed(effort: Effort, state: State, total: np.ndarray) -> np.ndarray:
    if effort.spec.warmth and state.warmth is not None:
        total *= state.warmth[effort.spec.warmth][:, None, None, None]
    return total


def _along_axes(robot: Robot, effort: Effort, moved: Moved) -> tuple[np.ndarray, np.ndarray]:
    """Columns (N, r, k) along the axes of an effort, and their derivatives (3, N, r, k, d)."""
    if effort.memory:
        raise RobodynError(
            f"friction {effort.spec.model!r} of {effort.name!r} depends on the motion before, so it has no derivatives by the motion now; "
            f"give robot {robot.name!r} 'coulomb' friction there instead"
        )
    state, rows = moved.state, effort.rows
    motion = state.q @ rows.T + effort.shifts, state.v @ rows.T, state.a @ rows.T
    f, slopes = basis(effort.spec, *motion), moved.along(rows, motion_slopes(effort.spec, *motion))
    if effort.bears:
        assert moved.loads is not None  # `asked_of` and `regressor_slopes` work them out before
        assert state.loads is not None
        load, key = state.loads[effort.load_key], effort.load_key
        return f * load[:, :, None], slopes * load[:, :, None, None] + f[..., None] * moved.loads[key][:, :, :, None]
    return f, slopes


def _in_closures(robot: Robot, effort: Effort, moved: Moved) -> np.ndarray:
    """Of friction J_w' w/|w| f(|w|) in balls and pins: (3, N, nv, k, d)."""
    state, loops = moved.state, robot.loops
    axes = loops.axes(state.q)
    turned = np.einsum(
        "nri,ji,nid->nrjd", axes, _above(robot), state.T
    )  # angular velocity of each body per coordinate rate
    by_c = np.cross(turned, axes[..., None], axis=1)
    total = np.zeros((3, *state.q.shape, len(effort.labels), state.T.shape[2]))
    for name in effort.closures:
        sign = loops.turning(name)
        w = np.einsum("nrj,nj->nr", axes, sign * state.v)
        dw = np.stack([
            np.einsum("nrjd,nj->nrd", by_c, sign * state.v) + axes @ (sign[:, None] * moved.bends.v),
            axes @ (sign[:, None] * state.T),
        ])  # fmt: skip
        speed = np.linalg.norm(w, axis=1)
        still = speed == 0
        n = w / np.where(still, 1.0, speed)[:, None]
        f, rise = (
            basis(effort.spec, 0 * speed, speed, 0 * speed),
            motion_slopes(effort.spec, 0 * speed, speed, 0 * speed)[1],
        )
        ratio = np.where(still[:, None], rise, f / np.where(still, 1.0, speed)[:, None])
        onto = np.einsum("nr,xnrd->xnd", n, dw)
        across = dw - n[:, :, None] * onto[:, :, None]
        moment = across[:, :, :, None] * ratio[:, None, :, None] + np.einsum("nr,nk,xnd->xnrkd", n, rise, onto)
        total[:2] += sign[:, None, None] * np.einsum("nrj,xnrkd->xnjkd", axes, moment)
        total[0] += sign[:, None, None] * np.einsum("nrjd,nr,nk->njkd", by_c, n, f)
    return total


def _above(robot: Robot) -> np.ndarray:
    """Whether joint i moves the body of joint j, (nv, nv)."""
    model, found = robot.model, np.zeros((robot.model.nv, robot.model.nv))
    for j in range(1, model.njoints):
        found[j - 1, [i - 1 for i in list(model.supports[j])[1:]]] = 1.0
    return found
