"""Robots that yield: stiffness from loaded poses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import JsonOption, answer, folder_of, verdict
from robodyn_pin.console import print_table

if TYPE_CHECKING:
    from robodyn_pin.elastic.stiffness import Stiffness


def stiffness(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml): robot, tool, prior, measurements.")],
    out: Annotated[
        Path | None, typer.Option(help="Result folder; default: 'output' of the run file, else results/RUN.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Stiffness of a robot's drives from a few loaded poses and a prior, with its uncertainty.

    Ends with exit code 3 if measurements, model and prior do not go together.

    Example: robodyn stiffness examples/irb6660_stiffness.yaml --out results/irb6660_stiffness
    """
    from robodyn_pin.elastic.run_file import StiffnessFile
    from robodyn_pin.elastic.stiffness import identify_stiffness
    from robodyn_pin.elastic.stiffness_files import summary, write_stiffness
    from robodyn_pin.files import read_yaml

    settings = read_yaml(run, StiffnessFile)
    found = identify_stiffness(settings, run.parent)
    folder = folder_of(run, settings, out)
    write_stiffness(found, folder)
    answer(as_json, summary(found), _print_stiffness, found, folder)
    verdict(found.accepted)


def _print_stiffness(found: "Stiffness", folder: Path) -> None:
    from robodyn_pin.elastic.stiffness_files import SIMULATED, campaign_rows, check_words, stiffness_rows

    if found.simulated:
        print(SIMULATED)
    e = found.estimate
    print_table(
        f"Stiffness of {found.springs.robot.name}, {len(e.measurements.rows)} measurements", stiffness_rows(found)
    )
    print(check_words(e))
    if found.campaigns[:-1]:
        print_table("Campaigns", campaign_rows(found))
    for caution in found.cautions:
        print(f"caution: {caution}")
    for complaint in found.complaints:
        print(f"NOT ACCEPTED: {complaint}")
    print(f"page: {folder / 'stiffness.html'}")
