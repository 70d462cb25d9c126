"""Many robots of one type: what they have in common, which one differs, and what wears."""

import time
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
from robodyn_pin.output.progress import status


def fleet_command(
    file: Annotated[Path, typer.Argument(help="Fleet file (.yaml: run, robots).")],
    out: OutOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder, also s3://..., in which what is folded of each log stays: the next run folds new logs only."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a log that cannot be used.")] = False,
    watch: Annotated[
        float | None,
        typer.Option(help="Go on, and look for new logs every so many seconds, until Ctrl-C.", min=1.0),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a fleet of robots of one type, each by its own logs and by the others.

    Bodies, friction and motors' constants scatter from robot to robot; how much is estimated. Writes a page with the
    robots, worst first, fleet.json, parameters.csv and each robot's URDF and robot file.

    Ends with exit code 3 if a robot differs from the others, changes steadily, or has a log that is unlike its others.

    Example: robodyn fleet examples/irb360_fleet.yaml --out results/fleet
    """
    from robodyn_pin.files import read_yaml, resolve
    from robodyn_pin.fleets.fleet import judge_fleet
    from robodyn_pin.fleets.fleet_file import FleetFile
    from robodyn_pin.fleets.members import fold_fleet, logs_there, robots_of
    from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
    from robodyn_pin.log_to_robot.leaf import keeping
    from robodyn_pin.log_to_robot.run import read_run
    from robodyn_pin.output.fleet import print_fleet, summary_of_fleet, write_fleet
    from robodyn_pin.robot.robot import load_named
    from robodyn_pin.workers import working

    settings = read_yaml(file, FleetFile)
    folder, run_file = folder_of(file, settings, out), resolve(file.parent, settings.run)
    asked = read_run(run_file)
    robot, run = ready_to_fold(load_named(asked.robot, run_file.parent), asked, run_file.parent)
    while True:
        before = logs_there(settings, file.parent)
        with status() as say, working(workers, scheduler), keeping(cache):
            say("logs")
            fold = fold_fleet(robot, run, robots_of(settings, file.parent), file.parent, strict)
            say("the type, and each robot")
            found = judge_fleet(robot, run, fold, strict)
            say("page")
            write_fleet(found, folder)
        answer(as_json, summary_of_fleet(found), print_fleet, found, folder)
        if watch is None:
            break
        while logs_there(settings, file.parent) == before:
            time.sleep(watch)
    verdict(not any(m.odd for m in found.members))
