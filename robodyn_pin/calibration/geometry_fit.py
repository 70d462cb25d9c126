"""The most probable errors of a geometry: weighted nonlinear least squares with tolerances as priors and Huber's loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.calibration.erring_robot import ErringRobot, Predicted
from robodyn_pin.calibration.points_file import Observations
from robodyn_pin.errors import SolverFailed

HUBER = 2.5  # standard deviations: beyond them residuals count by their size, not by their square
OUTLIER = 5.0  # standard deviations
Z95 = 1.959964


@dataclass(frozen=True)
class GeometryFit:
    """Errors of a geometry and how sure they are."""

    e: np.ndarray  # (errors,) [rad, m or 1]
    covariance: np.ndarray  # (errors, errors), normal approximation about them
    start: np.ndarray  # (N, joints) closed positions at the fitted poses
    residuals: np.ndarray  # (k,) predicted minus measured, in standard deviations
    misfit: float  # sum of squares of residuals that are no outliers, and of the prior
    outliers: int
    evaluations: int

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation (errors,) of each error."""
        return np.sqrt(np.diag(self.covariance))


def deviations_of(robot: ErringRobot, seen: Observations, found: Predicted) -> dict[str, np.ndarray]:
    """Predicted minus measured of each target (N, 1, 3 or 6) [m or rad], NaN where it was not measured.

    Turns of a pose are the rotation vector from the measured to the predicted one.
    """
    off = {name: found.values[name] - seen.values[name] for name in robot.targets}
    for name, spec in robot.targets.items():
        if spec.kind == "pose":
            for i in np.flatnonzero(~np.isnan(seen.values[name][:, 0])):
                measured = pin.exp3(seen.values[name][i, 3:])
                off[name][i, 3:] = pin.log3(measured.T @ found.places[name][i, :3, :3])
    return off


def residuals(robot: ErringRobot, seen: Observations, found: Predicted) -> tuple[np.ndarray, np.ndarray]:
    """Predicted minus measured over its standard deviation (k,), and its slopes (k, errors); target by target."""
    parts, slopes = [np.empty(0)], [np.empty((0, len(robot.errors)))]
    for name, every in deviations_of(robot, seen, found).items():
        there, spec = ~np.isnan(every[:, 0]), robot.targets[name]
        off, J = every[there], found.slopes[name][there].copy()
        if spec.kind == "pose":
            for i, turn in enumerate(off[:, 3:]):
                J[i, 3:] = pin.Jlog3(pin.exp3(turn)) @ J[i, 3:]
        sigma = np.full(spec.rows, spec.sigma)
        sigma[3:] = spec.sigma_angle
        parts.append((off / sigma).ravel())
        slopes.append((J / sigma[:, None]).reshape(-1, len(robot.errors)))
    return np.concatenate(parts), np.concatenate(slopes)


def fit_geometry(
    robot: ErringRobot,
    seen: Observations,
    start: np.ndarray,
    guess: np.ndarray | None = None,
    free: Sequence[bool] | None = None,
) -> GeometryFit:
    """Errors that explain measurements best without leaving their tolerances more than they must.

    Args:
        start: joint positions (N, joints) near the closed ones. guess: errors to begin with; default: none.
        free: which errors may differ from the guess; default: all.

    Raises:
        ClosureFailed: loops do not close on the way. SolverFailed: no optimum was reached.
    """
    from scipy.optimize import least_squares

    tolerance = np.array([error.tolerance for error in robot.errors])
    base = np.zeros(len(tolerance)) if guess is None else guess
    moved = np.flatnonzero(np.ones(len(tolerance), bool) if free is None else np.asarray(free))
    last: dict[str, np.ndarray] = {"q": start}
    kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def errors_at(x: np.ndarray) -> np.ndarray:
        e = base.copy()
        e[moved] = x * tolerance[moved]
        return e

    def evaluated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if x.tobytes() not in kept:
            kept.clear()
            e = errors_at(x)
            found = robot.predict(e, seen.c, last["q"], wrench=seen.wrench)
            last["q"] = found.q
            r, J = residuals(robot, seen, found)
            J = (J * tolerance)[:, moved]
            kept[x.tobytes()] = np.concatenate([r, x]), np.concatenate([J, np.eye(len(moved))])
        return kept[x.tobytes()]

    count = sum(int((~np.isnan(seen.values[name][:, 0])).sum()) * spec.rows for name, spec in robot.targets.items())

    def huber(z: np.ndarray) -> np.ndarray:
        rho = np.stack([z, np.ones_like(z), np.zeros_like(z)])
        far = np.flatnonzero(z[:count] > HUBER**2)
        root = np.sqrt(z[far])
        rho[:, far] = 2 * HUBER * root - HUBER**2, HUBER / root, -0.5 * HUBER / root**3
        return rho

    solved = least_squares(
        lambda x: evaluated(x)[0], base[moved] / tolerance[moved], lambda x: evaluated(x)[1], loss=huber, x_scale=1.0,
        xtol=1e-10, ftol=1e-10, gtol=1e-10, max_nfev=60,
    )  # fmt: skip
    if solved.status <= 0:
        raise SolverFailed(
            f"the errors of the geometry were not found in {solved.nfev} steps; narrow the tolerances", solved.message
        )
    r, J = evaluated(solved.x)
    weight = huber(r**2)[1]
    C = np.zeros((len(tolerance), len(tolerance)))
    scaled = np.linalg.inv(J.T @ (weight[:, None] * J))
    C[np.ix_(moved, moved)] = scaled * np.outer(tolerance[moved], tolerance[moved])
    far = np.abs(r[:count]) > OUTLIER
    misfit = float((r[:count][~far] ** 2).sum() + (solved.x**2).sum())
    return GeometryFit(errors_at(solved.x), C, last["q"], r[:count], misfit, int(far.sum()), int(solved.nfev))
