"""Where frames are."""

import numpy as np
import pinocchio as pin

from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.robot import Robot, State

END_EFFECTORS = ("flange", "tool0", "end_effector", "platform")  # frames to report; the first one that exists


def forward_kinematics(robot: Robot, c: np.ndarray, *frames: str) -> np.ndarray:
    """Return the poses of frames in the base frame at the coordinates c (N, d): (N, frames, 4, 4), without that axis for one frame.

    Raises:
        UnknownName: no such frame. ShapeMismatch, ClosureFailed: as `Robot.close`.
    """
    model, data = robot.model, robot.model.createData()
    numbers = [frame_number(model, name, f"robot {robot.name!r}") for name in frames]
    q = robot.at_rest(c).q
    poses = np.tile(np.eye(4), (len(q), len(numbers), 1, 1))
    for i, sample in enumerate(q):
        pin.forwardKinematics(model, data, sample)
        for k, number in enumerate(numbers):
            placed = pin.updateFramePlacement(model, data, number)
            poses[i, k, :3, :3], poses[i, k, :3, 3] = placed.rotation, placed.translation
    return poses[:, 0] if len(frames) == 1 else poses


def end_effector(robot: Robot) -> str | None:
    """Return the frame that stands for the end of the robot, by its usual names; None: it has none of them."""
    return next((name for name in END_EFFECTORS if robot.model.existFrame(name)), None)


def told_frames(robot: Robot) -> list[str]:
    """Return the frames that the robot file names; where it names none, the one that stands for the robot's end, if any."""
    last = end_effector(robot)
    return list(robot.file.frames) or ([] if last is None else [last])


def frame_positions(robot: Robot, q: np.ndarray, frame: str) -> np.ndarray:
    """Return where a frame's origin is, in the base frame (N, 3) [m], at joint positions q (N, nv).

    Raises:
        UnknownName: no such frame.
    """
    model, data = robot.model, robot.model.createData()
    number, found = frame_number(model, frame, f"robot {robot.name!r}"), np.empty((len(q), 3))
    for i, sample in enumerate(q):
        pin.framesForwardKinematics(model, data, sample)
        found[i] = data.oMf[number].translation
    return found


def frame_accelerations(robot: Robot, state: State, frame: str) -> np.ndarray:
    """Return the accelerations of a frame's origin along the axes of the base frame (N, 3) [m/s^2], without gravity.

    Raises:
        UnknownName: no such frame.
    """
    model, data = robot.model, robot.model.createData()
    number, axes = frame_number(model, frame, f"robot {robot.name!r}"), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    found = np.empty((len(state.q), 3))
    for i, (q, v, a) in enumerate(zip(state.q, state.v, state.a, strict=True)):
        pin.forwardKinematics(model, data, q, v, a)
        found[i] = pin.getFrameClassicalAcceleration(model, data, number, axes).linear
    return found


def frame_jacobian(robot: Robot, c: np.ndarray, frame: str) -> np.ndarray:
    """Return the velocity of a frame's origin and its angular velocity, world axes, per coordinate rate: (N, 6, d).

    Raises:
        UnknownName: no such frame.
    """
    state = robot.at_rest(c)
    return tree_jacobians(robot, state.q, frame) @ state.T


def tree_jacobians(robot: Robot, q: np.ndarray, frame: str) -> np.ndarray:
    """Return the Jacobians (N, 6, nv) of a frame for the tree's joints, world axes at the frame's origin."""
    model, data = robot.model, robot.model.createData()
    number, axes = frame_number(model, frame, f"robot {robot.name!r}"), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    J = np.empty((len(q), 6, model.nv))
    for i, sample in enumerate(q):
        J[i] = pin.computeFrameJacobian(model, data, sample, number, axes).reshape(
            6, -1
        )  # Pinocchio drops a lone column
    return J
