"""The two arms with a parallelogram by their modified Denavit-Hartenberg tables, plain matrices in absolute angles.

The motors' angles are absolute for the upper arm: theta_3 of a table is q3 - q2. Complex angles give complex frames, so
that a derivative can be taken by a complex step.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.robot.robot import Robot

RIGHT = np.pi / 2


@dataclass(frozen=True)
class Table:
    """One row a joint: a and alpha before it, d along it, and its angle at zero."""

    a: tuple[float, ...]
    alpha: tuple[float, ...]
    d: tuple[float, ...]
    offset: tuple[float, ...]
    flange: float  # from frame 6 along its z


IRB2400 = Table(
    a=(0, 0.100, 0.705, 0.135, 0, 0),
    alpha=(0, -RIGHT, 0, -RIGHT, RIGHT, RIGHT),
    d=(0.615, 0, 0, 0.755, 0, 0),
    offset=(0, -RIGHT, 0, 0, np.pi, 0),
    flange=0.085,
)
IRB6660 = Table(
    a=(0, 0.300, 0.700, 0.280, 0, 0),
    alpha=(0, -RIGHT, 0, -RIGHT, RIGHT, -RIGHT),
    d=(0.8145, 0, 0, 0.893, 0, 0),
    offset=(0, -RIGHT, 0, 0, 0, 0),
    flange=0.200,
)


def relative(q: np.ndarray) -> np.ndarray:
    """Angles of the serial chain from the six motors' angles."""
    return np.array([q[0], q[1], q[2] - q[1], q[3], q[4], q[5]])


def step(a: float, alpha: float, d: float, theta: complex) -> np.ndarray:
    """Rx(alpha) Tx(a) Rz(theta) Tz(d), 4 x 4."""
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]],
        dtype=np.result_type(c, float),
    )


def frames(table: Table, q: np.ndarray) -> list[np.ndarray]:
    """Frames 1 to 6 in the base frame (4 x 4 each) at the motors' angles q (6,)."""
    out = [np.eye(4)]
    for row in zip(table.a, table.alpha, table.d, relative(q) + np.array(table.offset), strict=True):
        out.append(out[-1] @ step(*row))
    return out[1:]


def flange(table: Table, q: np.ndarray) -> np.ndarray:
    """The flange in the base frame, 4 x 4."""
    return frames(table, q)[5] @ step(0, 0, table.flange, 0)


def equation_33(table: Table, q: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Jacobian (6, 6) of a point `end` of the last link: columns z_i x (o - o_i) over z_i.

    Axis 2 carries the elbow and turns nothing beyond it: the parallelogram.
    """
    T, columns = frames(table, q), []
    for i in range(6):
        z, to = T[i][:3, 2], T[2][:3, 3] if i == 1 else end
        columns.append(np.concatenate([np.cross(z, to - T[i][:3, 3]), 0 * z if i == 1 else z]))
    return np.stack(columns, axis=1)


SPINDLE = np.array([[0, 0, 1, 0.240], [0, 1, 0, 0], [-1, 0, 0, 0.162], [0, 0, 0, 1]])  # equation (12), table 4
ARMS = {
    # robot, frame: table, pose of the frame from the flange
    ("irb2400", "flange"): (IRB2400, np.eye(4)),
    ("irb2400", "tool0"): (IRB2400, np.eye(4)),
    ("irb2400", "T"): (IRB2400, SPINDLE),
    ("irb2400_spindle", "tcp"): (IRB2400, SPINDLE),
    ("irb6660", "tool0"): (IRB6660, np.eye(4)),
    ("irb6660", "tcp"): (IRB6660, np.block([[np.eye(3), np.array([[0.20], [0], [0.30]])], [np.zeros((1, 3)), 1]])),
}


def ranges(robot: Robot) -> np.ndarray:
    return np.array([robot.file.limits[name].position for name in robot.motors.names])


def allowed(robot: Robot, rng: np.random.Generator, n: int) -> np.ndarray:
    """Motors' angles (n, 6) over their whole ranges, upper against lower arm within its own."""
    low, high = ranges(robot).T
    c = rng.uniform(low, high, (5 * n, 6))
    least, most = robot.file.limits["j3"].position
    return c[(c[:, 2] - c[:, 1] > least) & (c[:, 2] - c[:, 1] < most)][:n]
