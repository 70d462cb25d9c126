"""All joints' motion from that of the motors, as encoders measure it."""

from collections.abc import Callable

import numpy as np

from robodyn_pin.closures.closing_measured import nearest
from robodyn_pin.closures.projection import tangents
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.errors import ClosureFailed, WrongMobility
from robodyn_pin.robot.robot import Robot, State


def close_motors(
    robot: Robot,
    q: np.ndarray,
    dq: np.ndarray,
    ddq: np.ndarray,
    label: Callable[[int], str] = str,
    near: np.ndarray | None = None,
) -> State:
    """All joints' motion from that of the motors (N, n), projected onto the robot's coordinates.

    With more motors than degrees of freedom no motion of the loops agrees with all encoders: positions are the nearest
    ones, rates c' = B^+ q_m', accelerations c'' = B^+ (q_m'' - S g), all by least squares.

    Args:
        near: closed joints (N, nv) that are known near these, from where the nearest ones are sought.

    Raises:
        ClosureFailed: positions out of reach; the coordinates do not determine a sample.
        WrongMobility: fewer motors than degrees of freedom.
    """
    motors, chosen = robot.motors, robot.coordinates
    if len(motors.names) < len(chosen.names):
        raise _too_few(robot)
    if len(motors.names) == len(chosen.names):
        driven = robot if chosen.names == motors.names else robot.with_coordinates(motors.names)
        state = driven.close(q, dq, ddq, label=label)
    else:
        driven = robot.with_coordinates(
            robot.file.coordinates or chosen.names
        )  # chosen ones may be singular on the way
        state = _least_squares(driven, q, dq, ddq, label, near)
    return state if driven.coordinates.names == chosen.names else _along_chosen(robot, driven, state, label)


def _too_few(robot: Robot) -> WrongMobility:
    """What a log of an under-actuated robot lacks: positions of the joints that no motor drives."""
    motors, d = robot.motors.names, len(robot.coordinates.names)
    passive = [name for name in robot.coordinates.names if name not in motors]
    return WrongMobility(
        f"robot {robot.name!r} has {d} degrees of freedom and {len(motors)} motor{'s' if len(motors) != 1 else ''} "
        f"({', '.join(motors) or 'none'}): a log of the motors does not say where the robot is; name what else is measured "
        f"({', '.join(passive)}) under 'motors' too, with torques of zero in the log"
    )


def _least_squares(
    robot: Robot, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, label: Callable[[int], str], near: np.ndarray | None
) -> State:
    motors, axes = robot.motors, robot.coordinates
    c = nearest(robot.loops, axes.S, axes.offset, (motors.S, motors.offset), q, robot.home, label, near)
    still = robot.close(c, 0 * c, 0 * c, label=label)
    inverse = np.linalg.pinv(motor_map(robot, still))
    cd = (inverse @ dq[..., None])[..., 0]
    unaccelerated = robot.state(still.q, cd, np.zeros_like(cd))
    return unaccelerated.accelerated((inverse @ (ddq - unaccelerated.g @ motors.S.T)[..., None])[..., 0])


def _along_chosen(robot: Robot, driven: Robot, state: State, label: Callable[[int], str]) -> State:
    """The state on the robot's own coordinates, which must not meet a singularity on the way from home."""
    S, names = robot.coordinates.S, robot.coordinates.names
    sense = np.linalg.slogdet(S @ tangents(robot.loops, driven.coordinates.S, robot.home[None]))[0]
    bad = np.flatnonzero(np.linalg.slogdet(S @ state.T)[0] != sense)
    if len(bad):
        raise ClosureFailed(
            f"the projection onto the coordinates {', '.join(names)} is singular on the way to {label(int(bad[0]))}: there they "
            "do not determine the mechanism; choose other coordinates in the run file, or a motion that stays clear of it",
            int(bad[0]),
            "",
            0.0,
        )
    return state.along(S)
