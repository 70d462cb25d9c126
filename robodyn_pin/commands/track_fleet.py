"""Online identification of many robots, each along its own logs."""

from pathlib import Path
from typing import Annotated

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, SchedulerOption, WorkersOption, answer, folder_of
from robodyn_pin.output.progress import bar


def track_fleet_command(
    file: Annotated[Path, typer.Argument(help="Fleet file (.yaml: run, robots).")],
    settings: Annotated[
        Path | None, typer.Option(help="Settings (.yaml) as of `robodyn track`: forgetting, noise, payload, ...")
    ] = None,
    out: OutOption = None,
    states: Annotated[
        Path | None,
        typer.Option(
            help="SQLite file with the state of each robot, with which the next run goes on; default: states.sqlite in the result folder."
        ),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Track each robot of a fleet along its new logs, from where its last log left it.

    The state of a robot is kept after each log, at once or not at all: an interrupted run goes on from there. A log that
    cannot be used is named and left out.

    Example: robodyn track-fleet fleet.yaml --settings track.yaml --out results/tracked
    """
    from robodyn_pin.files import read_yaml, resolve
    from robodyn_pin.fleets.fleet_file import FleetFile
    from robodyn_pin.fleets.members import robots_of
    from robodyn_pin.fleets.states import opened_states
    from robodyn_pin.fleets.tracking import states_made_with, track_robots
    from robodyn_pin.log_to_robot.run import read_run
    from robodyn_pin.online.track_file import TrackFile, reading_as
    from robodyn_pin.output.tracked_robots import print_tracked, summary_of_tracked, write_tracked
    from robodyn_pin.robot.robot import load_named
    from robodyn_pin.workers import working

    fleet = read_yaml(file, FleetFile)
    folder, run_file = folder_of(file, fleet, out), resolve(file.parent, fleet.run)
    run = read_run(run_file)
    robot = load_named(run.robot, run_file.parent)
    asked = reading_as(run, read_yaml(settings, TrackFile) if settings else TrackFile())
    kept = states or folder / "states.sqlite"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with (
        opened_states(kept, states_made_with(robot, asked)) as known,
        bar("tracking") as step,
        working(workers, scheduler),
    ):
        found = track_robots(robot, asked, robots_of(fleet, file.parent), file.parent, known, step)
    write_tracked(found, folder)
    answer(as_json, summary_of_tracked(found), print_tracked, found, folder)
