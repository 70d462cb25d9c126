"""Stiffness of a robot's drives: which poses to load, and the stiffness from deviations measured there."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of, verdict
from robodyn_pin.output.console import print_table
from robodyn_pin.output.progress import bar

if TYPE_CHECKING:
    from robodyn_pin.elastic.design import Design
    from robodyn_pin.elastic.stiffness import StiffnessResult

Purpose = Literal["stiffness", "calibration"]


def stiffness_command(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml): robot, tool, prior, measurements.")],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer the stiffness of a robot's drives, with its uncertainty, from a few poses under load and a prior.

    Ends with exit code 3 if measurements, model and prior contradict each other.

    Example: robodyn stiffness examples/irb6660_stiffness.yaml --out results/irb6660_stiffness
    """
    from robodyn_pin.elastic.stiffness import identify_stiffness
    from robodyn_pin.elastic.stiffness_file import StiffnessFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.stiffness import stiffness_summary, write_stiffness

    settings = read_yaml(run, StiffnessFile)
    found = identify_stiffness(settings, run.parent)
    folder = folder_of(run, settings, out)
    write_stiffness(found, folder)
    answer(as_json, stiffness_summary(found), print_stiffness, found, folder)
    verdict(found.accepted)


def print_stiffness(found: "StiffnessResult", folder: Path) -> None:
    """Stiffnesses, checks and uses on the terminal."""
    from robodyn_pin.output.stiffness import SIMULATED, campaign_rows, sampling_check_sentence, stiffness_rows
    from robodyn_pin.output.stiffness_uses import use_sentences

    if found.simulated:
        print(SIMULATED)
    e = found.estimate
    print_table(
        f"Stiffness of {found.springs.robot.name}, {len(e.measurements.rows)} measurements", stiffness_rows(found)
    )
    print(sampling_check_sentence(e))
    if found.campaigns[:-1]:
        print_table(
            "Campaigns: stiffness in 10⁶ N m/rad, rms error of the deviations predicted at the validation poses",
            campaign_rows(found, short=True),
        )
    for title, text in use_sentences(found).items():
        print(f"{title}: {text}")
    for caution in found.cautions:
        print(f"caution: {caution}")
    for complaint in found.complaints:
        print(f"NOT ACCEPTED: {complaint}")
    print(f"page: {folder / 'stiffness.html'}")


def design_command(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml): robot, tool, prior, what may be measured.")],
    purpose: Annotated[
        Purpose, typer.Option("--for", help="What the poses are for: the stiffness of the drives, or the geometry.")
    ] = "stiffness",
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the poses and forces whose measured deviations determine the stiffness best, or the poses that show a geometry best.

    Ends with exit code 3 if some spring would keep its prior.

    Example: robodyn design examples/irb6660_design.yaml --out results/irb6660_design
    """
    if purpose == "calibration":
        from robodyn_pin.commands.calibrate import design_calibration

        design_calibration(run, out, as_json)
        return
    from robodyn_pin.elastic.design import optimal_design
    from robodyn_pin.elastic.design_file import DesignFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.design import design_summary, write_design

    settings = read_yaml(run, DesignFile)
    with bar("searching") as step:
        found = optimal_design(settings, run.parent, step)
    folder = folder_of(run, settings, out)
    write_design(found, folder)
    answer(as_json, design_summary(found), _print_design, found, folder)
    verdict(not found.undetermined)


def _print_design(found: "Design", folder: Path) -> None:
    from robodyn_pin.output.design import design_sentences, measurement_rows

    print_table(
        f"Measurements to take of {found.springs.robot.name}, planned with the prior's stiffness",
        measurement_rows(found),
    )
    for line in design_sentences(found):
        print(line)
    for name, reason in found.undetermined.items():
        print(f"UNDETERMINED: {name} {reason}")
    print(f"page: {folder / 'design.html'}; table: {folder / 'design.csv'}")
