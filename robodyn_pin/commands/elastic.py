"""Robots that yield: which poses to load, and stiffness from loaded poses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of, verdict
from robodyn_pin.output.console import bar, print_table

if TYPE_CHECKING:
    from robodyn_pin.elastic.design import Design
    from robodyn_pin.elastic.stiffness import Stiffness


def stiffness(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml): robot, tool, prior, measurements.")],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stiffness of a robot's drives from a few loaded poses and a prior, with its uncertainty.

    Ends with exit code 3 if measurements, model and prior do not go together.

    Example: robodyn stiffness examples/irb6660_stiffness.yaml --out results/irb6660_stiffness
    """
    from robodyn_pin.elastic.stiffness import identify_stiffness
    from robodyn_pin.elastic.stiffness_file import StiffnessFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.stiffness import summary, write_stiffness

    settings = read_yaml(run, StiffnessFile)
    found = identify_stiffness(settings, run.parent)
    folder = folder_of(run, settings, out)
    write_stiffness(found, folder)
    answer(as_json, summary(found), print_stiffness, found, folder)
    verdict(found.accepted)


def print_stiffness(found: "Stiffness", folder: Path) -> None:
    """Stiffnesses, checks and uses on the terminal."""
    from robodyn_pin.output.stiffness import SIMULATED, campaign_rows, check_words, stiffness_rows
    from robodyn_pin.output.stiffness_uses import use_words

    if found.simulated:
        print(SIMULATED)
    e = found.estimate
    print_table(
        f"Stiffness of {found.springs.robot.name}, {len(e.measurements.rows)} measurements", stiffness_rows(found)
    )
    print(check_words(e))
    if found.campaigns[:-1]:
        print_table(
            "Campaigns: stiffness in 10⁶ N m/rad, error of deviations at poses never used",
            campaign_rows(found, short=True),
        )
    for title, words in use_words(found).items():
        print(f"{title}: {words}")
    for caution in found.cautions:
        print(f"caution: {caution}")
    for complaint in found.complaints:
        print(f"NOT ACCEPTED: {complaint}")
    print(f"page: {folder / 'stiffness.html'}")


def design(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml): robot, tool, prior, what may be measured.")],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """The poses and forces whose measured deviations leave the least uncertainty of the stiffness.

    Ends with exit code 3 if some spring would keep its prior.

    Example: robodyn design examples/irb6660_design.yaml --out results/irb6660_design
    """
    from robodyn_pin.elastic.design import design as search
    from robodyn_pin.elastic.design_file import DesignFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.design import summary, write_design

    settings = read_yaml(run, DesignFile)
    with bar("searching") as step:
        found = search(settings, run.parent, step)
    folder = folder_of(run, settings, out)
    write_design(found, folder)
    answer(as_json, summary(found), _print_design, found, folder)
    verdict(not found.untold)


def _print_design(found: "Design", folder: Path) -> None:
    from robodyn_pin.output.design import measurement_rows, words

    print_table(f"Measurements to take of {found.springs.robot.name}, planned with the prior", measurement_rows(found))
    for line in words(found):
        print(line)
    for name, why in found.untold.items():
        print(f"NOT TOLD: {name} {why}")
    print(f"page: {folder / 'design.html'}; table: {folder / 'design.csv'}")
