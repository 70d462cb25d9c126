"""Torsional springs in a robot's drives, and the kinematics of its tool at given coordinates of the rigid robot.

There are two layouts. `motors`, the default and right for a robot with a parallelogram: each motor drives through a spring,
and the loops carry the spring's torque to the tool. `joints`, as Stiff-6660 prints it in (1)-(7): springs act on the relative
angles of the joints between base and tool, as if each joint had its own drive and there were no loop.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.closures.projection import project
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict
from robodyn_pin.robot.axes import Axes, resolve_axes
from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.kinematics import tree_jacobians
from robodyn_pin.robot.robot import Robot, State

SpringLayout = Literal["motors", "joints"]


class Tool(Strict):
    """The point that is loaded and measured, given in a frame of the robot."""

    frame: str
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m]


@dataclass(frozen=True)
class Springs:
    """n springs in a robot with d degrees of freedom, and its tool."""

    robot: Robot  # its coordinates are the springs' axes if there are as many springs as degrees of freedom
    axes: Axes  # the n axes on which the springs act
    tool: Tool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the springs."""
        return self.axes.names

    def with_tool(self, tool: Tool) -> "Springs":
        """The same springs with another tool.

        Raises:
            UnknownName: the robot has no such frame.
        """
        check_tool(self.robot, tool)
        return replace(self, tool=tool)


@dataclass(frozen=True)
class PoseKinematics:
    """Positions and Jacobians of the rigid robot at N poses; the tool's quantities are in the axes of the base."""

    state: State  # closed, at rest
    point: np.ndarray  # (N, 3) position of the tool's point [m]
    rotation: np.ndarray  # (N, 3, 3) of the tool's frame
    tree_jacobian: np.ndarray  # (N, 6, nv) velocity of the point and angular velocity per joint rate of the tree
    angles: np.ndarray  # (N, n) positions of the springs' axes [rad]
    B: np.ndarray  # (N, n, d) rates of the springs' axes per coordinate rate

    @property
    def q(self) -> np.ndarray:
        """Positions of all joints (N, nv)."""
        return self.state.q

    @property
    def T(self) -> np.ndarray:
        """Rates of all joints per coordinate rate (N, nv, d)."""
        return self.state.T

    @property
    def J(self) -> np.ndarray:
        """Velocity of the point per coordinate rate (N, 3, d)."""
        return np.asarray(self.tree_jacobian[:, :3] @ self.T)


def springs_in(robot: Robot, tool: Tool, layout: SpringLayout = "motors") -> Springs:
    """The springs of a robot.

    Raises:
        UnknownName: the robot has no frame of the tool's name. BadFile: the relative angles do not determine the robot, or
            it has fewer motors than degrees of freedom.
    """
    check_tool(robot, tool)
    axes = robot.motors if layout == "motors" else _serial_axes(robot, tool)
    if len(axes.names) < (d := len(robot.coordinates.names)):
        raise BadFile(
            f"springs on {len(axes.names)} motors do not hold the {d} degrees of freedom of robot {robot.name!r}"
        )
    if len(axes.names) == len(robot.coordinates.names) and axes.names != robot.coordinates.names:
        robot = robot.with_coordinates(axes.names)
    return Springs(robot, axes, tool)


def check_tool(robot: Robot, tool: Tool) -> None:
    """Raise UnknownName if the robot lacks the tool's frame, BadFile if the frame never moves."""
    number = frame_number(robot.model, tool.frame, f"robot {robot.name!r}")
    if robot.model.frames[number].parentJoint == 0:
        raise BadFile(
            f"frame {tool.frame!r} of robot {robot.name!r} never moves; name a frame that moves with the tool"
        )


def _serial_axes(robot: Robot, tool: Tool) -> Axes:
    """The joints between base and tool.

    Raises:
        BadFile: they do not form a serial arm.
    """
    model = robot.model
    frame = model.frames[frame_id(model, tool.frame)]
    joints = model.supports[frame.parentJoint].tolist()[1:]
    slides = [robot.loops.sliding[model.joints[j].idx_v] for j in joints]
    if len(joints) != len(robot.coordinates.names) or any(slides):
        raise BadFile(
            f"springs on the relative angles need a serial arm, a turning joint for each of the "
            f"{len(robot.coordinates.names)} degrees of freedom; between base and {tool.frame!r} robot {robot.name!r} has "
            f"{', '.join(model.names[j] for j in joints)}; use 'springs: motors'"
        )
    return resolve_axes(model, [model.names[j] for j in joints], robot.motors)


def coordinates_of(springs: Springs, motors: np.ndarray) -> np.ndarray:
    """Coordinates (N, d) at motor positions (N, n_motors); raises `ClosureFailed` where the loops do not close."""
    state = close_motors(springs.robot, motors, 0 * motors, 0 * motors, lambda i: f"pose {i + 1}")
    return np.asarray(state.q @ springs.robot.coordinates.S.T + springs.robot.coordinates.offset)


def motors_of(springs: Springs, poses: PoseKinematics) -> np.ndarray:
    """Motor positions (N, n_motors) [rad or m]."""
    motors = springs.robot.motors
    return np.asarray(poses.q @ motors.S.T + motors.offset)


def pose_kinematics(springs: Springs, c: np.ndarray) -> PoseKinematics:
    """Positions and Jacobians at coordinates c (N, d); raises `ClosureFailed` if a pose is out of reach."""
    robot, tool = springs.robot, springs.tool
    state = robot.close(c, 0 * c, 0 * c, label=lambda i: f"pose {i + 1}")
    model, data = robot.model, robot.model.createData()
    number = frame_id(model, tool.frame)
    rotation, origin = np.empty((len(c), 3, 3)), np.empty((len(c), 3))
    for i, q in enumerate(state.q):
        pin.framesForwardKinematics(model, data, q)
        rotation[i], origin[i] = data.oMf[number].rotation, data.oMf[number].translation
    lever = rotation @ np.array(tool.at)
    tree_jacobian = tree_jacobians(robot, state.q, tool.frame)
    tree_jacobian[:, :3] += np.cross(tree_jacobian[:, 3:], lever[:, :, None], axis=1)
    axes = springs.axes
    return PoseKinematics(
        state, origin + lever, rotation, tree_jacobian, state.q @ axes.S.T + axes.offset, axes.S @ state.T
    )


def second_derivatives(springs: Springs, poses: PoseKinematics) -> tuple[np.ndarray, np.ndarray]:
    """Second derivatives with respect to the coordinates: of the tool's point (N, 3, d, d), of the springs' axes (N, n, d, d).

    The tree contributes cross products of its Jacobian's columns; the loops add the second derivatives of the joints.
    """
    linear, angular = poses.tree_jacobian[:, :3], poses.tree_jacobian[:, 3:]
    # A joint turns all that the joints after it do; joints are numbered from the base on.
    upper = np.triu(np.cross(angular[:, :, :, None], linear[:, :, None, :], axis=1))
    tree = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
    T = poses.T
    of_point = np.swapaxes(T, 1, 2)[:, None] @ tree @ T[:, None]
    joints = _joint_second_derivatives(springs.robot, poses)
    of_point += np.einsum("nxv,nvij->nxij", linear, joints)
    return of_point, np.einsum("sv,nvij->nsij", springs.axes.S, joints)


def _joint_second_derivatives(robot: Robot, poses: PoseKinematics) -> np.ndarray:
    """Second derivatives of all joints with respect to the coordinates (N, nv, d, d).

    They come from the drift g of a = T c'' + g, which is quadratic in the rates: g = sum_ij d²q/dc_i dc_j c_i' c_j'. Rates
    of one along pairs of coordinates give all of them.
    """
    (n, nv), d = poses.q.shape, poses.T.shape[2]
    if robot.loops.size == 0:
        return np.zeros((n, nv, d, d))
    i, j = np.triu_indices(d)
    pairs = np.eye(d)[i] + np.eye(d)[j]
    q, cd = np.repeat(poses.q, len(i), axis=0), np.tile(pairs, (n, 1))
    g = project(robot.loops, robot.coordinates.S, q, cd)[0].g.reshape(n, len(i), nv).transpose(0, 2, 1)
    squares = g[:, :, i == j] / 4
    derivatives = np.empty((n, nv, d, d))
    derivatives[:, :, i, j] = derivatives[:, :, j, i] = np.where(
        i == j, g / 4, (g - squares[:, :, i] - squares[:, :, j]) / 2
    )
    return derivatives
