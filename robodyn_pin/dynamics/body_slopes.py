"""How what the bodies ask changes with the coordinates: of the tree's joints, and of the columns of the projected regressor."""

import numpy as np
import pinocchio as pin

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.batch import Placed, vector_product
from robodyn_pin.closures.bends import Bends
from robodyn_pin.closures.variations import Varied, varied
from robodyn_pin.dynamics.regressor import body_table
from robodyn_pin.dynamics.rigid_loads import body_parameters
from robodyn_pin.robot.robot import Robot, State

ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # of an inertia, in Pinocchio's order


def body_effort_slopes(robot: Robot, state: State, bends: Bends) -> np.ndarray:
    """Derivatives (3, N, nv, d) by c, c', c'' of what bodies ask of the tree's joints."""
    model, data = robot.model, robot.model.createData()
    if kernel_choice.chosen(len(state.q)) and (compiled := robot.loops.compiled()):
        found = np.empty((3, *state.T.shape))
        given = model.gravity.linear, body_parameters(robot), state.q, state.v, state.a, state.T, bends.v, bends.a
        kernel = kernel_choice.kernel("robodyn_pin.dynamics.kernel_slopes")
        kernel.effort_slopes(compiled[0], *kernel_choice.ready(*given), found)
        return found
    by_q, by_v, M = np.empty((3, *state.q.shape, model.nv))
    for i, motion in enumerate(zip(state.q, state.v, state.a, strict=True)):
        by_q[i], by_v[i], M[i] = pin.computeRNEADerivatives(model, data, *motion)
    T, v, a = state.T, bends.v, bends.a
    return np.stack([by_q @ T + by_v @ v + M @ a, by_v @ T + 2 * M @ v, M @ T])


def body_regressor_slopes(robot: Robot, state: State, bends: Bends, width: int) -> np.ndarray:
    """Derivatives (3, N, d, width, d) by c, c', c'' of the bodies' columns of the projected regressor, its first ones; zeros beyond.

    A body's ten columns on the coordinates are X' R: X its motion per coordinate rate, R of its own acceleration and rotation, all
    along its axes. Both change as the body sees it.

    Raises:
        RobodynError: the tree has joints of more than one degree of freedom.
    """
    T, none = state.T, np.zeros_like(state.T)
    n, _, d = T.shape
    found = np.zeros((3, n, d, width, d))
    if kernel_choice.chosen(n) and (tables := robot.loops.compiled()):
        given = kernel_choice.ready(state.q, state.v, state.a, T, bends.T, bends.v, bends.a)
        kernel = kernel_choice.kernel("robodyn_pin.dynamics.kernel_regressor_slopes")
        kernel.body_column_slopes(tables[0], body_table(robot), *given, found)
        return found
    at = robot.loops.placed(state.q, whole=True)
    g = robot.model.gravity.linear[:, None, None]
    along_c = varied(at, state.v, state.a, T, bends.v, bends.a)
    along_cd = varied(at, state.v, state.a, none, T, 2 * bends.v)
    along_cdd = varied(at, state.v, state.a, none, none, T)
    X = along_c.U  # (joints, 6, d, N)
    turned = [varied(at, T[:, :, j], none[:, :, 0], T, bends.T[:, :, j], none).dV for j in range(d)]
    for joint, first in zip(*robot.body_columns, strict=True):
        felt = _felt(at, along_c, joint, g)
        R, columns = _ten(*felt), slice(first, first + 10)
        own_X = _along_axes(at, joint, X[joint])
        for x, along in enumerate((along_c, along_cd, along_cdd)):
            changes = _felt_slopes(at, along, joint, g)
            found[x, :, :, columns] += np.einsum("ijn,ipkn->njpk", own_X, _ten_slopes(*felt, *changes))
        for j, dX in enumerate(turned):
            found[0, :, j, columns] += np.einsum("ikn,ipn->npk", _along_axes(at, joint, dX[joint]), R[:, :, 0])
    return found


def _along_axes(at: Placed, joint: int, X: np.ndarray) -> np.ndarray:
    """A motion X (6, D, N) of the world's origin as that of the joint's, along its axes."""
    R, p = at.R[joint][:, :, None], at.p[joint][:, None]
    return np.concatenate([_back(R, X[:3] + _cross(X[3:], p)), _back(R, X[3:])])


def _felt(at: Placed, of: Varied, joint: int, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Acceleration of a joint's origin against gravity, angular velocity and acceleration (3, 1, N), along the joint's own axes."""
    R, p, V, A = at.R[joint][:, :, None], at.p[joint][:, None], of.V[joint], of.A[joint]
    u = V[:3] + _cross(V[3:], p)
    return _back(R, A[:3] + _cross(A[3:], p) + _cross(V[3:], u) - g), _back(R, V[3:]), _back(R, A[3:])


def _felt_slopes(at: Placed, of: Varied, joint: int, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How these change along the directions of `of`, (3, D, N) each: gravity turns as the body sees it."""
    R, p, V = at.R[joint][:, :, None], at.p[joint][:, None], of.V[joint]
    dV, dA = of.dV[joint], of.dA[joint]
    u, du = V[:3] + _cross(V[3:], p), dV[:3] + _cross(dV[3:], p)
    felt = dA[:3] + _cross(dA[3:], p) + _cross(dV[3:], u) + _cross(V[3:], du) + _cross(of.U[joint, 3:], g)
    return _back(R, felt), _back(R, dV[3:]), _back(R, dA[3:])


def _ten(f: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """R (6, 10, ..., N): force m f + b x h + w x (w x h) and moment I b + w x I w + h x f per parameter."""
    return _filled(f, _skew(b) + _times(_skew(w), _skew(w)), _inertial(b) + _times(_skew(w), _inertial(w)))


def _ten_slopes(
    f: np.ndarray, w: np.ndarray, b: np.ndarray, df: np.ndarray, dw: np.ndarray, db: np.ndarray
) -> np.ndarray:
    """How R changes with f, w and b."""
    W, dW = _skew(w), _skew(dw)
    swung = _skew(db) + _times(dW, W) + _times(W, dW)
    return _filled(df, swung, _inertial(db) + _times(dW, _inertial(w)) + _times(W, _inertial(dw)))


def _filled(f: np.ndarray, of_h: np.ndarray, of_inertia: np.ndarray) -> np.ndarray:
    R = np.zeros((6, 10, *f.shape[1:]))
    R[:3, 0], R[:3, 1:4], R[3:, 1:4], R[3:, 4:] = f, of_h, -_skew(f), of_inertia
    return R


def _inertial(x: np.ndarray) -> np.ndarray:
    """I x per entry of I, (3, 6, ..., N)."""
    found = np.zeros((3, 6, *x.shape[1:]))
    for k, (i, j) in enumerate(ENTRIES):
        found[i, k] = x[j]
        found[j, k] = x[i]
    return found


def _skew(x: np.ndarray) -> np.ndarray:
    found = np.zeros((3, 3, *x.shape[1:]))
    found[2, 1], found[0, 2], found[1, 0] = x
    found[1, 2], found[2, 0], found[0, 1] = -x
    return found


def _times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B, (i, j, ..., N) times (j, k, ..., N)."""
    return (A[:, :, None] * B[None]).sum(axis=1)


def _back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R'x, (3, 3, 1, N) times (3, D, N)."""
    return (R * x[:, None]).sum(axis=0)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return vector_product(a[None], b[None])[0]
