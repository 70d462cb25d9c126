"""The motors' noise along the coordinates, where there are more motors than degrees of freedom.

Noise n of the motors arrives in B'tau as B'n: correlated between the coordinates, and changing with the pose. Least squares
that takes it as constant and independent along each coordinate (IDIM-WLS as Briot et al. (DualV) print it) weighs the rows
wrongly and calls its parameters surer than they are, by up to two on the DualV. Rows times the inverse root of B'diag(s^2)B
carry independent noise of equal size: then it does not matter any more which coordinates were chosen.
"""

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.limits import torque_limits
from robodyn_pin.robot import Robot
from robodyn_pin.run_file import RunFile


def motor_noise(run: RunFile, robot: Robot) -> np.ndarray | None:
    """Standard deviations (n_motors,) of the motors' noise that rows are whitened by; None: rows stay as projected.

    Up to a common factor, which the residuals give, unless the run file names the noise of every motor: in proportion to the
    torque limits where all have one, else all alike.

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


def torque_limit(robot: Robot, name: str) -> float:
    """Largest torque [N m] or force [N] of a motor, or of a coordinate as the robot's file says; zero: not known."""
    if name in robot.motors.names:
        most = float(torque_limits(robot)[robot.motors.names.index(name)])
        return most if np.isfinite(most) else 0.0
    limit = robot.file.limits.get(name)
    return float((limit and (limit.torque or limit.force)) or 0.0)


def no_limit(robot: Robot, name: str) -> BadFile:
    """What to say where a limit is needed."""
    return BadFile(f"'noise: limits' needs a torque or force limit of {name!r} in the file of robot {robot.name!r}")


def whitened(rows: np.ndarray, B: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
    """Rows (N, d, k) along the coordinates times the inverse root of B'diag(noise^2)B; as they are without `noise`.

    Row j is what coordinate j adds to those before it, in units of the motors' noise.

    Args:
        B: (N, n_motors, d) motor rates per coordinate rate. noise: (n_motors,) standard deviations.
    """
    if noise is None:
        return rows
    scaled = B * noise[:, None]
    return np.linalg.solve(np.linalg.cholesky(np.einsum("nij,nik->njk", scaled, scaled)), rows)


def noise_found(run: RunFile, robot: Robot, sigma: np.ndarray) -> dict[str, float]:
    """Standard deviation of the fitted rows' noise [N m or N] by coordinate, or by motor where rows are whitened.

    Args:
        sigma: (d,) that weighted least squares found.
    """
    noise = motor_noise(run, robot)
    if noise is None:
        return dict(zip(robot.coordinates.names, sigma.tolist(), strict=True))
    return dict(zip(robot.motors.names, (noise * np.sqrt(np.mean(sigma**2))).tolist(), strict=True))
