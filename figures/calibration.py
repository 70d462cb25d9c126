"""Calibration of simulated robots: errors at poses that no fit saw, coverage of the intervals, time, the number of errors that are shown."""

import json
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pinocchio as pin
from make import ROBODYN, Row, Section

from robodyn_pin.calibration.calibration import Calibration, calibrate
from robodyn_pin.calibration.calibration_file import CalibrationFile
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, errors_of
from robodyn_pin.calibration.geometry_fit import Z95
from robodyn_pin.calibration.simulated_points import columns_of_observations, simulate_observations
from robodyn_pin.calibration.targets import COLUMNS, TargetSpec
from robodyn_pin.logs.writing import write_table
from robodyn_pin.robot.robot import load

EXAMPLE = Path(__file__).parents[1] / "examples" / "irb360_calibration"
REFLECTORS = ((0.10, 0.0, 0.0), (-0.05, 0.08, 0.0), (-0.05, -0.08, 0.03))  # [m]
OWN = ["offsets", "joints", "closures", "lengths"]
TRACKER = pin.SE3(pin.exp3(np.array([0.1, 0.2, 0.7])), np.array([2.0, 1.0, 0.3]))  # the robot's base, seen from the tracker
ROBOTS = {"irb360": ("end_effector", 0.4), "irb2400": ("flange", 0.4), "hexapod": ("platform", 0.06), "fivebar": ("rod_1_end", 0.4)}
SIGMA = 2e-5  # [m]


def campaign(name: str, seed: int, poses: int, path: Path) -> tuple[CalibrationFile, dict[str, float]]:
    """Write simulated points of a robot with errors of the tolerances' size; a run file for them, and the errors by name."""
    frame, span = ROBOTS[name]
    robot = load(name)
    robot = robot.with_coordinates(robot.motors.names)
    targets = {f"r{k + 1}": TargetSpec(frame=frame, at=at, sigma=SIGMA) for k, at in enumerate(REFLECTORS)}
    errors = errors_of(robot, robot.coordinates.names, targets, OWN, Tolerances())
    rng = np.random.default_rng(seed)
    machine = ErringRobot(robot, errors, targets, TRACKER)
    centre = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c = centre + rng.uniform(-span, span, (poses, len(centre)))
    e = rng.normal(size=len(errors)) * [error.tolerance for error in errors]
    note = f"SIMULATED points of {name} with errors of its geometry, seed {seed}; SI units"
    write_table(path, columns_of_observations(machine, simulate_observations(machine, e, c, rng), COLUMNS), note)
    run = CalibrationFile(robot=name, measurements=Path(path.name), targets=targets)
    return run, {error.name: float(value) for error, value in zip(errors, e, strict=True)}


def rms(off: dict[str, np.ndarray]) -> float:
    """Root mean square of one axis over all targets [m]."""
    return float(np.sqrt(np.concatenate([x.ravel() for x in off.values()]).var() + np.concatenate([x.ravel() for x in off.values()]).mean() ** 2))


def covered(found: Calibration, truth: dict[str, float]) -> list[bool]:
    """Which of the robot's own errors lie within their 95 % intervals."""
    sides = zip(found.robot.errors, found.fit.e, found.fit.deviations, strict=True)
    return [bool(abs(value - truth[x.name]) <= Z95 * s) for x, value, s in sides if x.name in truth]
