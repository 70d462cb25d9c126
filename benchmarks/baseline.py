"""The fixed baseline: the closed-loop regressor as a plain loop over Pinocchio's functions computes it.

Nothing here may become faster: ratios over the years are measured against it.
"""

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from robodyn_pin.robot.robot import Robot

ROWS = {"point": slice(3), "planar_point": slice(2), "frame": slice(6), "revolute": [0, 1, 2, 4, 5]}


def plain(robot: Robot) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """A function of q, v, a (N, nv) that returns T'Y (N, d, 10 joints), all columns of the tree."""
    model, data, S = robot.model, robot.model.createData(), robot.coordinates.S
    closures = []
    for c in robot.loops.closures:
        a, b = (model.frames[model.getFrameId(name)] for name in (c.frame_a, c.frame_b))
        anchor = pin.PointAnchorConstraintModel if c.kind.endswith("point") else pin.FrameAnchorConstraintModel
        cm = anchor(model, a.parentJoint, a.placement * c.placement_a, b.parentJoint, b.placement * c.placement_b)
        closures.append((cm, cm.createData(), ROWS[c.kind]))
    d, m = len(S), robot.loops.size
    right = np.concatenate([np.zeros((m, d)), np.eye(d)])
    redundant = m + d > model.nv

    def regressor(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        W = np.empty((len(q), d, 10 * (model.njoints - 1)))
        for i in range(len(q)):
            Y = pin.computeJointTorqueRegressor(model, data, q[i], v[i], a[i])
            if not closures:  # the coordinates of our arms are the joints: T = 1
                W[i] = Y
                continue
            pin.computeJointJacobians(model, data, q[i])
            J = []
            for cm, cd, rows in closures:
                cm.calc(model, data, cd)
                J.append(cm.jacobian(model, data, cd)[rows])
            K = np.vstack([*J, S])
            T = np.linalg.lstsq(K, right, rcond=1e-9)[0] if redundant else np.linalg.solve(K, right)
            W[i] = T.T @ Y
        return W

    return regressor
