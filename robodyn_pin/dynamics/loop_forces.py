"""The multipliers that hold the loops closed: J'lam = rest, with what the tree asks and its motors do not give as rest."""

import numpy as np

from robodyn_pin.closures.elimination import stacked
from robodyn_pin.robot.robot import Robot, State


def multipliers(robot: Robot, state: State, rest: np.ndarray) -> np.ndarray:
    """lam (N, m) with J'lam = rest (N, nv); of several at once lam (N, m, k) and rest (N, nv, k)."""
    if rest.ndim == 2:
        return multipliers(robot, state, rest[..., None])[..., 0]
    m, S = robot.loops.size, robot.coordinates.S
    lam = np.zeros((len(rest), m, rest.shape[2]))
    for begin in range(0, len(rest) if m else 0, robot.loops.chunk):
        part = slice(begin, begin + robot.loops.chunk)
        J = robot.loops.jacobian(state.q[part])
        K = stacked(J, S).transpose(0, 2, 1)
        if K.shape[1] == K.shape[2]:
            lam[part] = np.linalg.solve(K, rest[part])[:, :m]
        else:
            lam[part] = np.linalg.pinv(K[:, :, :m], rcond=1e-9) @ rest[part]
    return lam


def closure_forces(robot: Robot, lam: np.ndarray) -> dict[str, np.ndarray]:
    """Multipliers lam (N, m) by closure, (N, rows) each."""
    return {
        closure.name: lam[:, [k for k, owner in enumerate(robot.loops.row_owner) if owner == closure.name]]
        for closure in robot.loops.closures
    }
