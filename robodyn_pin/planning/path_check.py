"""Whether a robot can be on a path at all: its loops close, its joints are in range, nothing is singular."""

from collections.abc import Callable, Mapping

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.closures.singularity import smallest_singular_values
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.errors import BadPath, BeyondLimits
from robodyn_pin.planning.path import Path
from robodyn_pin.planning.path_dynamics import closure_signs
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import Limit

POINTS = 1001  # at which a path is checked
SINGULAR = 0.02  # of the distance to a singularity at home; nearer to one, torques grow without bound


def check_path(robot: Robot, path: Path, given: Mapping[str, Limit] | None = None, points: int = POINTS) -> None:
    """Raise BadPath at the first of so many points of a path where a robot cannot be; names s, the coordinates and why.

    Args:
        robot: in the coordinates of the path. given: limits of positions that count before those of the robot's files.
    """
    s = np.linspace(0, 1, points)
    c = path.at(s).c

    def place(i: int) -> str:
        at = ", ".join(f"{name} {x:.4g}" for name, x in zip(path.names, c[i], strict=True))
        return f"at s = {s[i]:.4g} ({at})"

    S, offset = robot.coordinates.S, robot.coordinates.offset
    q, closed = reachable(robot.loops, S, offset, c, robot.home)
    end = points if closed.all() else int(closed.argmin())
    try:
        check_positions(robot, q[:end], lambda i: f"the path leaves the workspace {place(i)}", given)
    except BeyondLimits as error:
        raise BadPath(str(error)) from None
    _check_singular(robot, q[:end], place)
    if end < points:
        raise BadPath(
            f"the path leaves the workspace {place(end)}: the loops of robot {robot.name!r} cannot close there"
        )


def _check_singular(robot: Robot, q: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise BadPath where the path's coordinates, or the motors, stop determining the mechanism at q (N, nv)."""
    if not robot.loops.size or not len(q):
        return
    for what, S in (("its coordinates", robot.coordinates.S), ("its motors", robot.motors.S)):
        at_home = smallest_singular_values(robot.loops, S, robot.home[None], robot.home)[0]
        distance = smallest_singular_values(robot.loops, S, q, robot.home)
        sign = closure_signs(robot.loops, S, q)  # it changes even where the path jumps over the singularity
        singular = (distance < SINGULAR * at_home) | (sign * sign[0] < 0)
        if singular.any():
            i = int(singular.argmax())
            raise BadPath(
                f"the path meets a singularity {place(i)}: {what} stop determining robot {robot.name!r} there "
                f"({distance[i] / at_home:.2g} of the distance to singularity at home)"
            )
