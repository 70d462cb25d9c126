"""The scene of a robot at home, or along a log with its loops closed."""

from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import read_as
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.scene import Scene, scene_of_robot

FRAMES = 30.0  # pictures a second


def scene_of(robot: Robot, log_path: Path | None, run: RunFile | None) -> Scene:
    """The robot at home, or moving as a log says; columns, units and scale of the log as in `run`.

    Raises:
        BadLog, ClosureFailed: the log cannot be read or leaves the workspace; nothing is shown then.
    """
    t, q = np.zeros(1), robot.home[None]
    if log_path is not None:
        log = read_as(run, log_path, robot, torque=False)
        t, q = played(robot, log, run.preparation if run else Preparation())
    scene = scene_of_robot(robot, robot.name)
    scene.display(q[0])
    if len(t) > 1:
        scene.animate(t, q)
    return scene


def played(robot: Robot, log: Log, preparation: Preparation) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) and joint positions (n, nv) of a log for its pictures, loops closed."""
    even = uniform(log)
    thin = slice(None, None, max(1, round(even.rate / FRAMES)))
    q, dq, ddq = (x[thin] for x in rates_of(even, preparation).motion(even))
    state = close_motors(robot, q, dq, ddq, label=lambda i: even.row(i * thin.step))
    return even.t[thin], state.q
