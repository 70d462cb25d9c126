"""The motors' noise along the coordinates, where there are more motors than degrees of freedom.

Noise n of the motors arrives in B'tau as B'n: correlated between the coordinates, and changing with the pose. Least squares
that takes it as constant and independent along each coordinate (IDIM-WLS as Briot et al. (DualV) print it) weighs the rows
wrongly and calls its parameters surer than they are, by up to two on the DualV. Rows times the inverse root of B'diag(s^2)B
carry independent noise of equal size, so the choice of coordinates no longer matters.
"""

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.limits import torque_limit
from robodyn_pin.robot.robot import Robot


def motor_noise(run: RunFile, robot: Robot) -> np.ndarray | None:
    """Standard deviations (n_motors,) of the motors' noise that rows are whitened by; None: rows stay as projected.

    If the run file names the noise of every motor, it is used. Else the noise is known up to a common factor, which the
    residuals give: it is in proportion to the torque limits where all motors have one, and equal otherwise.

    Raises:
        BadFile: `noise: limits` and a motor without limit.
    """
    names = robot.motors.names
    if len(names) == len(robot.coordinates.names) or run.noise == "coordinates":
        return None
    if isinstance(run.noise, dict):
        return np.array([run.noise[name] for name in names]) if set(run.noise) == set(names) else None
    limits = np.array([torque_limit(robot, name) for name in names])
    if limits.all():
        return limits / np.exp(np.mean(np.log(limits)))
    if run.noise == "limits":
        raise no_limit(robot, names[int(np.argmin(limits))])
    return np.ones(len(names))


def no_limit(robot: Robot, name: str) -> BadFile:
    """The error for a motor or coordinate without a limit."""
    return BadFile(f"'noise: limits' needs a torque or force limit of {name!r} in the file of robot {robot.name!r}")


def noise_found(run: RunFile, robot: Robot, sigma: np.ndarray) -> dict[str, float]:
    """Standard deviation of the fitted rows' noise [N m or N] by coordinate, or by motor where rows are whitened.

    Args:
        sigma: (d,) that weighted least squares found.
    """
    noise = motor_noise(run, robot)
    if noise is None:
        return dict(zip(robot.coordinates.names, sigma.tolist(), strict=True))
    return dict(zip(robot.motors.names, (noise * np.sqrt(np.mean(sigma**2))).tolist(), strict=True))
