"""Where frames are."""

import numpy as np
import pinocchio as pin

from robodyn_pin.frames import frame_number
from robodyn_pin.robot import Robot


def forward_kinematics(robot: Robot, c: np.ndarray, *frames: str) -> np.ndarray:
    """Poses of frames in the base frame at the coordinates c (N, d): (N, frames, 4, 4), without that axis for one frame.

    Raises:
        UnknownName: no such frame. ShapeMismatch, ClosureFailed: as `Robot.close`.
    """
    model, data = robot.model, robot.model.createData()
    numbers = [frame_number(model, name, f"robot {robot.name!r}") for name in frames]
    q = robot.close(c, np.zeros_like(c), np.zeros_like(c)).q
    poses = np.tile(np.eye(4), (len(q), len(numbers), 1, 1))
    for i, sample in enumerate(q):
        pin.forwardKinematics(model, data, sample)
        for k, number in enumerate(numbers):
            placed = pin.updateFramePlacement(model, data, number)
            poses[i, k, :3, :3], poses[i, k, :3, 3] = placed.rotation, placed.translation
    return poses[:, 0] if len(frames) == 1 else poses
