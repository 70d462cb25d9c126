"""Identification: the motion to record, the estimate, and the comparison of two results."""

from pathlib import Path
from typing import Annotated

import typer

from robodyn_pin.commands.options import (
    JsonOption,
    OutOption,
    SchedulerOption,
    WorkersOption,
    answer,
    folder_of,
    verdict,
)
from robodyn_pin.errors import RobodynError
from robodyn_pin.output.console import print_excitation, print_result
from robodyn_pin.output.progress import bar, status


def excite_command(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml).")],
    out: OutOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the motion within the limits whose log determines the parameters best; it starts and ends at rest.

    Writes the motion for `robodyn simulate`, as a log, as a table for a controller, and as a figure. Ends with exit
    code 3 if parameters that were asked for stay undetermined.

    Example: robodyn excite examples/irb360_excite.yaml --out results/irb360_excite
    """
    from robodyn_pin.excitation.excitation_file import ExcitationFile
    from robodyn_pin.excitation.search import excite as search
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.excitation import write_excitation
    from robodyn_pin.workers import working

    settings = read_yaml(run, ExcitationFile)
    folder = folder_of(run, settings, out)
    with bar("searching") as step, working(workers, scheduler):
        found = search(settings, run.parent, step)
    write_excitation(found, folder)
    answer(as_json, found.summary(), print_excitation, found, folder)
    verdict(not found.unknown)


def identify_command(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml).")],
    out: OutOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder, also s3://..., in which what is folded of each log stays: an interrupted run goes on from there."
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop at a log that cannot be used, even if a pattern or a folder found it."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate a robot's parameters from logs, as the run file says.

    Many logs are shared among processes; how many they are changes no digit.

    Ends with exit code 3 if the verdict is negative.

    Example: robodyn identify examples/irb360.yaml --out results/irb360
    """
    from robodyn_pin.log_to_robot.leaf import keeping
    from robodyn_pin.log_to_robot.run import execute, read_run
    from robodyn_pin.workers import working

    settings = read_run(run)
    folder = folder_of(run, settings, out)
    with status() as say, working(workers, scheduler), keeping(cache):
        result = execute(settings, run.parent, say, strict)
        say("report")
        result.write(folder)
    answer(as_json, result.summary(), print_result, result, folder)
    verdict(result.verdict.accepted)


def compare_command(
    first: Annotated[Path, typer.Argument(help="Result folder.")],
    second: Annotated[Path, typer.Argument(help="Result folder of the same robot.")],
    as_json: JsonOption = False,
) -> None:
    """Compare two results of one robot: what changed, by how much, and is it more than chance?

    Chance is told by pieces of the logs, each left out once: residuals may be coloured and the model may be imperfect. Of
    comparisons of a robot with itself about 5 % say that it changed.

    Example: robodyn compare results/monday results/tuesday
    """
    from robodyn_pin.log_to_robot.compare import compare as compare_results
    from robodyn_pin.log_to_robot.compare import read_result
    from robodyn_pin.output.comparison import print_comparison
    from robodyn_pin.robot.robot import load
    from robodyn_pin.robot.units import effort_units

    found = compare_results(read_result(first), read_result(second))
    try:
        units = effort_units(load(first))
    except RobodynError:  # the comparison needs no robot; only the table's units do
        units = {}
    answer(as_json, found.summary(), print_comparison, found, units)
