"""The two arms with a parallelogram by their modified Denavit-Hartenberg tables, plain matrices in absolute angles.

The motors' angles are absolute for the upper arm: theta_3 of a table is q3 - q2. Complex angles give complex frames, so
that a derivative can be taken by a complex step.
"""

from dataclasses import dataclass

import numpy as np

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
