"""Whether a robot can be on a path at all: its loops close, its joints are in range, nothing is singular."""

from collections.abc import Mapping

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.closures.singularity import first_singular
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.errors import BadPath, BeyondLimits
from robodyn_pin.planning.path import Path
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
    axes = {"its coordinates": robot.coordinates.S, "its motors": robot.motors.S}
    singular = {what: first_singular(robot.loops, S, q[:end], robot.home, SINGULAR) for what, S in axes.items()}
    try:
        check_positions(robot, q[:end], lambda i: f"the path leaves the workspace {place(i)}", given)
    except BeyondLimits as error:
        raise BadPath(str(error)) from None
    for what, found in singular.items():
        if found is not None:
            raise BadPath(
                f"the path meets a singularity {place(found[0])}: {what} stop determining robot {robot.name!r} there "
                f"({found[1]:.2g} of the distance to singularity at home)"
            )
    if end < points:
        raise BadPath(
            f"the path leaves the workspace {place(end)}: the loops of robot {robot.name!r} cannot close there"
        )
