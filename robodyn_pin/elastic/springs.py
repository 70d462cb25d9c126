"""Torsional springs in a robot's drives, and where its tool is: the rigid robot's geometry at given positions.

Two layouts. `motors`, the default and what a robot with a parallelogram has: each motor turns through a spring, whose
torque the loops carry to the tool. `joints`, as Stiff-6660 prints it in (1)-(7): springs on the relative angles of
the joints between base and tool, as if each joint had a drive of its own and there were no loop.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.projection import project
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict
from robodyn_pin.robot.axes import Axes, resolve_axes
from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.kinematics import tree_jacobians
from robodyn_pin.robot.robot import Robot

Layout = Literal["motors", "joints"]


class Tool(Strict):
    """The point that is loaded and measured: in the axes of a frame of the robot, from its origin."""

    frame: str
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m]


@dataclass(frozen=True)
class Springs:
    """n springs in a robot with d degrees of freedom, and its tool."""

    robot: Robot  # in the coordinates of the springs, where there are as many springs as degrees of freedom
    axes: Axes  # that the springs turn, n of them
    tool: Tool

    @property
    def names(self) -> tuple[str, ...]:
        """Of the springs."""
        return self.axes.names

    def with_tool(self, tool: Tool) -> "Springs":
        """The same springs, another point of interest.

        Raises:
            UnknownName: no such frame.
        """
        check_tool(self.robot, tool)
        return replace(self, tool=tool)


@dataclass(frozen=True)
class Placed:
    """The robot at N positions, its tool in the axes of the base."""

    q: np.ndarray  # (N, nv) of all joints
    T: np.ndarray  # (N, nv, d)
    point: np.ndarray  # (N, 3) [m]
    turn: np.ndarray  # (N, 3, 3) axes of the tool's frame
    tree: np.ndarray  # (N, 6, nv) velocity of the point and angular velocity, for each joint
    angles: np.ndarray  # (N, n) of the springs' axes [rad]
    B: np.ndarray  # (N, n, d) of the springs' axes, for each coordinate

    @property
    def J(self) -> np.ndarray:
        """Velocity of the point for each coordinate (N, 3, d)."""
        return np.asarray(self.tree[:, :3] @ self.T)


def springs_in(robot: Robot, tool: Tool, layout: Layout = "motors") -> Springs:
    """The springs of a robot.

    Raises:
        UnknownName: the tool's frame. BadFile: no relative angles that determine the robot, or fewer motors than that takes.
    """
    check_tool(robot, tool)
    axes = robot.motors if layout == "motors" else _chain(robot, tool)
    if len(axes.names) < (d := len(robot.coordinates.names)):
        raise BadFile(
            f"springs on {len(axes.names)} motors do not hold the {d} degrees of freedom of robot {robot.name!r}"
        )
    if len(axes.names) == len(robot.coordinates.names) and axes.names != robot.coordinates.names:
        robot = robot.with_coordinates(axes.names)
    return Springs(robot, axes, tool)


def check_tool(robot: Robot, tool: Tool) -> None:
    """Raise UnknownName for a frame that is not there, BadFile for one that never moves."""
    number = frame_number(robot.model, tool.frame, f"robot {robot.name!r}")
    if robot.model.frames[number].parentJoint == 0:
        raise BadFile(f"frame {tool.frame!r} of robot {robot.name!r} never moves; the tool is on one that does")


def _chain(robot: Robot, tool: Tool) -> Axes:
    """The joints between base and tool.

    Raises:
        BadFile: they are no serial arm.
    """
    model = robot.model
    frame = model.frames[model.getFrameId(tool.frame)]
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


def motors_of(springs: Springs, placed: Placed) -> np.ndarray:
    """Motor positions (N, n_motors) [rad or m]."""
    motors = springs.robot.motors
    return np.asarray(placed.q @ motors.S.T + motors.offset)


def place(springs: Springs, c: np.ndarray) -> Placed:
    """The robot at coordinates c (N, d); raises `ClosureFailed` out of reach."""
    robot, tool = springs.robot, springs.tool
    state = robot.close(c, 0 * c, 0 * c, label=lambda i: f"pose {i + 1}")
    model, data = robot.model, robot.model.createData()
    number = model.getFrameId(tool.frame)
    turn, origin = np.empty((len(c), 3, 3)), np.empty((len(c), 3))
    for i, q in enumerate(state.q):
        pin.framesForwardKinematics(model, data, q)
        turn[i], origin[i] = data.oMf[number].rotation, data.oMf[number].translation
    lever = turn @ np.array(tool.at)
    tree = tree_jacobians(robot, state.q, tool.frame)
    tree[:, :3] += np.cross(tree[:, 3:], lever[:, :, None], axis=1)
    axes = springs.axes
    return Placed(
        state.q, state.T, origin + lever, turn, tree, state.q @ axes.S.T + axes.offset, axes.S @ state.T
    )  # fmt: skip


def curvature(springs: Springs, placed: Placed) -> tuple[np.ndarray, np.ndarray]:
    """Second derivatives for the coordinates: of the tool's point (N, 3, d, d), of the springs' axes (N, n, d, d).

    Of a tree the first are cross products of its Jacobian's columns; the loops add the second derivatives of the joints.
    """
    point, turn = placed.tree[:, :3], placed.tree[:, 3:]
    # A joint turns all that the joints after it do; joints are numbered from the base on.
    upper = np.triu(np.cross(turn[:, :, :, None], point[:, :, None, :], axis=1))
    whole = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
    T = placed.T
    of_point = np.swapaxes(T, 1, 2)[:, None] @ whole @ T[:, None]
    joints = _bent(springs.robot, placed)
    of_point += np.einsum("nxv,nvij->nxij", point, joints)
    return of_point, np.einsum("sv,nvij->nsij", springs.axes.S, joints)


def _bent(robot: Robot, placed: Placed) -> np.ndarray:
    """Second derivatives of all joints for the coordinates (N, nv, d, d), from the drift g of v = T c': it is quadratic."""
    (n, nv), d = placed.q.shape, placed.T.shape[2]
    if robot.loops.size == 0:
        return np.zeros((n, nv, d, d))
    i, j = np.triu_indices(d)
    both = np.eye(d)[i] + np.eye(d)[j]
    q, cd = np.repeat(placed.q, len(i), axis=0), np.tile(both, (n, 1))
    g = project(robot.loops, robot.coordinates.S, q, cd)[0].g.reshape(n, len(i), nv).transpose(0, 2, 1)
    squares = g[:, :, i == j] / 4
    out = np.empty((n, nv, d, d))
    out[:, :, i, j] = out[:, :, j, i] = np.where(i == j, g / 4, (g - squares[:, :, i] - squares[:, :, j]) / 2)
    return out
