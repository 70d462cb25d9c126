"""A calibration from its run file to a verdict: read, lay over, fit, look at poses that were held out."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robodyn_pin.calibration.calibrated import calibrated_texts, check_same
from robodyn_pin.calibration.calibration_file import CalibrationFile
from robodyn_pin.calibration.correction import CorrectedPath, correct_for_geometry, read_path, tool_of
from robodyn_pin.calibration.erring_robot import ErringRobot, Predicted
from robodyn_pin.calibration.geometry_errors import GROUPS, GeometryError, possible_errors, reads_a_length
from robodyn_pin.calibration.geometry_fit import OUTLIER, GeometryFit, deviations_of, fit_geometry, residuals
from robodyn_pin.calibration.loaded_correction import correct_for_load
from robodyn_pin.calibration.measured_loads import check_scale, read_loads, yielding_drives
from robodyn_pin.calibration.points_file import Observations, laid_over, read_observations
from robodyn_pin.calibration.shown_errors import ShownErrors, shown
from robodyn_pin.errors import BadFile, BadLog, ClosureFailed
from robodyn_pin.files import resolve
from robodyn_pin.robot.robot import Robot, load_named
from robodyn_pin.telling import tell
from robodyn_pin.workers import one_thread

LEAST = 4  # poses to fit
IMPLAUSIBLE = 1e-4  # probability of a misfit that chance does not explain
MOST_OUTLIERS = 0.1  # share of the numbers
FAR_ROUND = 4 * np.pi  # [rad] angles beyond are hardly radians
OPENS = 1e-7  # [m or rad per unit] an error that opens loops by more is not one that they allow


@dataclass(frozen=True)
class Calibration:
    """A calibrated robot and how far it can be believed."""

    run: CalibrationFile
    robot: ErringRobot  # with the errors that are sought
    fit: GeometryFit
    placed: GeometryFit  # base and tool alone: the drawn robot as well as it can be laid over the measurements
    shown: ShownErrors  # how the fitted poses show each error, by the slopes of the drawn geometry
    left_out: dict[str, str]  # errors that are not sought, with the reason
    fitted: Observations
    held_out: Observations
    # Predicted minus measured of each target (N, 1, 3 or 6) at held-out poses [m or rad], NaN where not measured; turns of a pose
    # are the rotation vector from the measured to the predicted one.
    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]
    places: dict[str, np.ndarray]  # (N, 3) of each target there [m]
    plausibility: float  # probability of as large a misfit at fitted poses
    held_out_plausibility: float
    urdf: str
    yaml: str
    calibrated: Robot
    corrected: CorrectedPath | None  # for a controller that keeps the drawn geometry

    @property
    def simulated(self) -> bool:
        """Whether the measurements are marked as simulated."""
        return self.fitted.simulated

    @property
    def without_lengths(self) -> bool:
        """Whether no number that was measured is a length: a robot of another size would give the same ones."""
        robot = self.robot.robot
        encoders = all(spec.kind == "encoder" for spec in self.run.targets.values())
        lengths = [reads_a_length(robot, spec) for spec in self.run.targets.values()]
        return encoders and not any(lengths) and not robot.slides(robot.coordinates.S).any()

    @property
    def complaints(self) -> tuple[str, ...]:
        """Why the result is not accepted."""
        found = []
        worst = self.fit.outliers / max(1, len(self.fit.residuals))
        if worst > MOST_OUTLIERS:
            found.append(
                f"{100 * worst:.0f} % of the measured numbers lie more than {OUTLIER:g} standard deviations off: sigma is too small, or the targets are wrong"
            )
        if self.plausibility < IMPLAUSIBLE:
            found.append(
                f"the fitted poses contradict the geometry (probability of such a misfit {self.plausibility:.1g}): errors that are not sought, "
                "tolerances or sigma that are too small"
            )
        if self.held_out_plausibility < IMPLAUSIBLE:
            found.append(
                f"poses that were held out are further off than their intervals say (probability {self.held_out_plausibility:.1g})"
            )
        return tuple(found)

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against the result."""
        return not self.complaints


@one_thread()
def calibrate(run: CalibrationFile, folder: Path) -> Calibration:
    """Read the measurements and find the errors of the robot's geometry; paths start from `folder`.

    Raises:
        RobodynError: files, poses or measurements are wrong; the message says which.
    """
    drawn = load_named(run.robot, folder)
    robot = drawn.with_coordinates(_coordinates(run, drawn))
    tool = None if run.path is None else tool_of(robot, run.path)
    to_correct = (
        None if run.path is None or tool is None else read_path(resolve(folder, run.path.file), run.path, robot, tool)
    )
    slides = robot.slides(robot.coordinates.S)
    length, angle = run.units.factors
    sliding = [name for name, spec in run.targets.items() if reads_a_length(robot, spec)]
    path = resolve(folder, run.measurements)
    seen = read_observations(path, robot.coordinates.names, slides, run.targets, length, angle, run.columns, sliding)
    held = _held_out(run, seen)
    springs = run.drives is not None
    errors = possible_errors(robot, robot.coordinates.names, run.targets, run.calibrate, run.tolerances, springs)
    bare = ErringRobot(robot, (), run.targets)
    tell(f"closing the loops at {len(seen.c)} poses")
    q = _closed(bare, seen, seen.c[:, ~slides], angle)
    drives = None
    if run.drives is not None and run.load is not None:
        drives = yielding_drives(run.drives, run.load, robot)
        seen = replace(seen, wrench=read_loads(path, run.load, robot, q, run.units.newton))
    free = any(error.group == "base" for error in errors)
    base = laid_over(seen, run.targets, bare.predict(np.zeros(0), seen.c, q, slopes=False).values, free)
    whole = ErringRobot(robot, errors, run.targets, base, drives)
    if drives is not None:  # all poses, so that a message counts them as the file does
        whole.settled(np.zeros(len(errors)), seen.c, q, seen.wrench, slopes=False)
    fitted, start = seen[~held], q[~held]
    sought, left_out, slopes = _sought(whole, fitted, start, run)
    tell(f"fitting {len(sought.errors)} errors to {len(slopes)} numbers")
    around = [error.group in ("base", "tool") for error in sought.errors]
    placed = fit_geometry(sought.rigid(), fitted, start, free=around)
    fit = fit_geometry(sought, fitted, start, placed.e)
    tell(f"{fit.evaluations} evaluations")
    tolerance = np.array([error.tolerance for error in sought.errors])
    unseen = seen[held]
    drawn_there = sought.rigid().predict(placed.e, unseen.c, q[held])
    there = sought.predict(fit.e, unseen.c, q[held], wrench=unseen.wrench)
    before, after = (deviations_of(sought, unseen, at) for at in (drawn_there, there))
    places = {name: place[:, :3, 3] for name, place in there.places.items()}
    urdf, text, calibrated = calibrated_texts(sought, fit.e, seen.simulated)
    check_same(sought, fit.e, calibrated, fitted.c, fit.start)
    corrected = None
    if to_correct is not None and tool is not None:
        own = calibrated.with_coordinates(robot.coordinates.names)
        corrected = correct_for_geometry(robot, own, to_correct, tool)
        if run.path is not None and run.load is not None:
            file, newton = resolve(folder, run.path.file), run.path.units.newton
            push = read_loads(file, run.load, robot, bare.nominal(to_correct.c), newton, needed=False)
            corrected = correct_for_load(corrected, sought, fit.e, own, push)
    return Calibration(
        run, sought, fit, placed, shown(slopes * tolerance), left_out, fitted, unseen, before, after, places,
        _probability(fit.misfit, len(fit.residuals) - fit.outliers), _held_out_probability(sought, unseen, fit, there),
        urdf, text, calibrated, corrected,
    )  # fmt: skip


def _closed(bare: ErringRobot, seen: Observations, angles: np.ndarray, unit: float) -> np.ndarray:
    """Closed positions (N, joints) of the drawn robot; where they do not close and angles (N, k) go far beyond a turn, these are in degrees."""
    try:
        return bare.nominal(seen.c, seen.label)
    except ClosureFailed as failed:
        reached = np.abs(angles).max(initial=0.0)
        if unit != 1.0 or reached < FAR_ROUND:
            raise
        raise BadLog(
            f"{seen.name}: angles of the coordinates reach {reached:.3g}, and there the loops do not close: they are in degrees, expected rad; add "
            "'units: {angle: deg}' to the run file"
        ) from failed


def _coordinates(run: CalibrationFile, robot: Robot) -> tuple[str, ...]:
    if run.coordinates is not None:
        return tuple(run.coordinates)
    enough = len(robot.motors.names) == len(robot.coordinates.names)
    return robot.motors.names if enough else robot.coordinates.names


def _held_out(run: CalibrationFile, seen: Observations) -> np.ndarray:
    """Which poses no fit sees (N,), spread evenly over the file."""
    n = len(seen.c)
    count = max(1, round(run.held_out * n))
    if n - count < LEAST:
        raise BadLog(f"{seen.name} has {n} poses, expected at least {LEAST + 1}: {LEAST} to fit and one to hold out")
    held = np.zeros(n, bool)
    held[np.floor((np.arange(count) + 0.5) * n / count).astype(int)] = True
    return held


def _sought(
    robot: ErringRobot, seen: Observations, start: np.ndarray, run: CalibrationFile
) -> tuple[ErringRobot, dict[str, str], np.ndarray]:
    """The robot with the errors that can be sought, why others are left out, and the slopes of the residuals.

    Raises:
        BadFile: an error that the run file names is among the others.
    """
    zero = np.zeros(len(robot.errors))
    found = robot.predict(zero, seen.c, start, wrench=seen.wrench)
    tolerance = np.array([error.tolerance for error in robot.errors])
    off, J = residuals(robot, seen, found)
    if seen.wrench is not None:
        unloaded, _ = residuals(robot, seen, robot.predict(zero, seen.c, start, slopes=False))
        geometry = [error.group != "stiffness" for error in robot.errors]
        check_scale(seen.name, -unloaded, (J * tolerance)[:, geometry], off - unloaded)
    opens = robot.contradictions(zero, seen.c, found.q) > OPENS
    size = np.abs(J).max(axis=0) * tolerance
    hidden = size < 1e-9 * max(1.0, float(size.max()))
    left_out: dict[str, str] = {}
    kept: list[GeometryError] = []
    for error, open_, unseen in zip(robot.errors, opens, hidden, strict=True):
        reason = (
            "would open a loop that holds more than it needs"
            if open_
            else "is twisted by no load at a measured pose"
            if unseen and error.group == "stiffness"
            else "moves nothing that is measured"
            if unseen
            else ""
        )
        if not reason:
            kept.append(error)
            continue
        if error.name in run.calibrate and error.name not in GROUPS:
            raise BadFile(
                f"'calibrate' names {error.name!r}, which {reason}; take it out, or measure something that it moves"
            )
        left_out[error.name] = reason
    drives = [error.name for error in robot.errors if error.group == "stiffness"]
    if drives and all(name in left_out for name in drives):
        raise BadFile(
            f"'calibrate' names stiffness, and no load at a measured pose twists a drive, so nothing shows {', '.join(drives)}; measure "
            "loaded poses, or take it out"
        )
    if not any(error.group not in ("base", "tool") for error in kept):
        raise BadFile(
            "no error of the robot itself moves anything that is measured; add groups to 'calibrate', or other targets"
        )
    return robot.with_errors(kept), left_out, J[:, ~(opens | hidden)]


def _probability(square: float, count: int) -> float:
    """Probability of a larger sum of `count` squares of standard normal numbers."""
    from scipy.special import chdtrc

    return float(chdtrc(count, square))


def _held_out_probability(robot: ErringRobot, seen: Observations, fit: GeometryFit, found: Predicted) -> float:
    """Probability of larger errors at unseen poses than those found, by noise and by what the fit leaves unknown; outliers left out."""
    r, J = residuals(robot, seen, found)
    V = np.eye(len(r)) + J @ fit.covariance @ J.T
    near = np.abs(r) <= OUTLIER * np.sqrt(np.diag(V))
    if near.mean() < 1 - MOST_OUTLIERS:
        return 0.0
    return _probability(float(r[near] @ np.linalg.solve(V[np.ix_(near, near)], r[near])), int(near.sum()))
