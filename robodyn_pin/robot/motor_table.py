"""How joints follow motors where loops are parallelograms or couplings: factors that hold in every pose, as a table.

A controller of ROS (ros2_control) commands a serial arm by its joints; the machine has motors. With the joints' rates
v = T c' and the motors' m' = S T c', v = F m' with F = T (S T)^-1, and motors that do the same work give F'(efforts of joints).
A parallelogram or a coupling has rows of F that are the same in every pose; other loops have none, and no such table.
"""

import numpy as np

from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.robot.robot import Robot, State

POSES, REACHES = 40, (0.3, 0.1, 0.03)  # poses that are tried, and how far around home [rad or m]
SAME = 1e-9  # rad or m per rad or m: factors that differ by less are one


def motor_table(robot: Robot) -> tuple[str, list[str]]:
    """Return a CSV `joint, offset, <motors>`, and the joints that follow the motors otherwise.

    joint = offset + sum of factor * motor [rad or m]; effort of a motor = sum over the joints of factor * effort of the joint.

    Raises:
        RobodynError: not as many motors as degrees of freedom, or no joint follows them by constant factors.
    """
    S, d = robot.motors.S, len(robot.coordinates.names)
    if len(S) != d:
        more = "which of them bears an effort is open" if len(S) > d else "not all joints follow them"
        raise RobodynError(
            f"robot {robot.name!r} has {len(S)} motors for {d} degrees of freedom: {more}; no factors between them exist"
        )
    state = _poses(robot)
    F = state.T @ np.linalg.inv(S @ state.T)
    constant = np.abs(F - F[0]).max(axis=(0, 2)) < SAME
    names = list(robot.model.names)[1:]
    if not constant.any():
        raise RobodynError(
            f"robot {robot.name!r} has no joint that follows its motors by the same factors in every pose, as behind a parallelogram; "
            "`robodyn export --to c` writes its inverse dynamics instead"
        )
    mean = F.mean(axis=0)
    offsets = robot.home - mean @ (S @ robot.home + robot.motors.offset)
    lines = [
        f"# {robot.name}: joint = offset + sum of factor * motor [rad or m]; effort of a motor = sum of factor * effort of the joint [N m or N]",
        ",".join(["joint", "offset", *robot.motors.names]),
    ]
    for k in np.flatnonzero(constant):
        lines.append(",".join([names[k], *(_text(x) for x in (offsets[k], *mean[k]))]))
    varying = [name for name, same in zip(names, constant, strict=True) if not same]
    lost = [f"joints that follow the motors otherwise in every pose: {', '.join(varying)}"] if varying else []
    return "\n".join(lines) + "\n", lost


def _poses(robot: Robot) -> State:
    """Return the robot at rest in random poses around home."""
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    around = np.random.default_rng(0).uniform(-1, 1, (POSES, len(home)))
    for reach in REACHES[:-1]:
        try:
            return robot.at_rest(home + reach * around)
        except ClosureFailed:
            continue
    return robot.at_rest(home + REACHES[-1] * around)


def _text(x: float) -> str:
    """Return a number without the round-off of closing the loops."""
    return f"{0.0 if abs(x) < SAME else x:.12g}"
