"""Calibration: where the tool really is, and the robot whose geometry says so."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of, verdict
from robodyn_pin.output.console import print_table

if TYPE_CHECKING:
    from robodyn_pin.calibration.calibration import Calibration
    from robodyn_pin.calibration.pose_design import PoseDesign


def calibrate_command(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml): robot, measurements, targets, what to calibrate.")],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the errors of a robot's geometry from measured points, poses or distances, its loops closed for every candidate.

    Ends with exit code 3 if poses that were held out, or the fitted ones, contradict the result.

    Example: robodyn calibrate examples/irb360_calibration.yaml --out results/irb360_calibration
    """
    from robodyn_pin.calibration.calibration import calibrate
    from robodyn_pin.calibration.calibration_file import CalibrationFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.calibration import calibration_summary, write_calibration

    settings = read_yaml(run, CalibrationFile)
    found = calibrate(settings, run.parent)
    folder = folder_of(run, settings, out)
    write_calibration(found, folder)
    answer(as_json, calibration_summary(found), print_calibration, found, folder)
    verdict(found.accepted)


def print_calibration(found: "Calibration", folder: Path) -> None:
    """Errors at held-out poses, the surest errors of the geometry, and the verdict on the terminal."""
    from robodyn_pin.output.calibrated_drives import drive_spring_rows
    from robodyn_pin.output.calibration import SIMULATED_POINTS, calibration_sentences, error_rows, held_out_rows

    if found.simulated:
        print(SIMULATED_POINTS)
    robot = found.robot.robot.name
    print_table(f"{robot}: {len(found.held_out.c)} held-out poses, {len(found.fitted.c)} fitted", held_out_rows(found))
    print_table(
        "Errors of the geometry that are furthest from zero, in their standard deviations", error_rows(found)[:10]
    )
    if springs := drive_spring_rows(found):
        print_table("Springs in the drives", springs)
    for line in calibration_sentences(found):
        print(line)
    for complaint in found.complaints:
        print(f"NOT ACCEPTED: {complaint}")
    print(f"page: {folder / 'calibration.html'}; robot: {folder / found.calibrated.name}.yaml")


def design_calibration(run: Path, out: Path | None, as_json: bool) -> None:
    """Choose the poses of a calibration: `robodyn design --for calibration`."""
    from robodyn_pin.calibration.pose_design import PosesFile, design_poses
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.calibration import pose_design_summary, write_pose_design

    settings = read_yaml(run, PosesFile)
    found = design_poses(settings, run.parent)
    folder = folder_of(run, settings, out)
    write_pose_design(found, folder)
    answer(as_json, pose_design_summary(found), _print_pose_design, found, folder)


def _print_pose_design(found: "PoseDesign", folder: Path) -> None:
    from robodyn_pin.output.calibration import pose_design_sentences

    for line in pose_design_sentences(found):
        print(line)
    print(f"table: {folder / 'poses.csv'}")
