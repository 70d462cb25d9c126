"""Draw a robot in the browser."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.ending import ctrl_c_expected
from robodyn_pin.commands.move import move_command
from robodyn_pin.commands.options import BrowserOption, ParamsOption, RobotArg, open_browser, robot_of
from robodyn_pin.errors import RobodynError

if TYPE_CHECKING:
    from robodyn_pin.log_to_robot.run_file import RunFile
    from robodyn_pin.robot.robot import Robot


def show_command(
    robot: RobotArg,
    motion: Annotated[Path | None, typer.Option(help="Log (.csv, .parquet) to play.")] = None,
    params: ParamsOption = None,
    forces: Annotated[
        bool,
        typer.Option(
            "--forces", help="Colour the struts by their force; for a robot without struts, show the motors' torques."
        ),
    ] = False,
    limit: Annotated[
        float | None,
        typer.Option(
            help="With --forces: limit of every strut \\[N] or motor \\[N m or N]; default: those of the robot file.",
            min=0,
        ),
    ] = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="With --forces: use the reduced model of Delta-like robots.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write one HTML file that works offline, or with --motion a recording for Rerun (.rrd), instead of a live page."
        ),
    ] = None,
    move: Annotated[bool, typer.Option("--move", hidden=True, help="As `robodyn move`.")] = False,
    port: Annotated[int | None, typer.Option(hidden=True, help="As `robodyn move`.", min=1, max=65535)] = None,
    browser: BrowserOption = None,
) -> None:
    """Show the robot in the browser, at home or along a motion, optionally with the forces in its struts.

    Example: robodyn show irb360 --motion results/irb360_log.csv --forces --limit 60 --export irb360.html
    """
    if move:
        if motion is not None or export is not None or forces:
            raise RobodynError("--move is controlled by sliders; leave --motion, --forces and --export out")
        print("`robodyn show --move` is `robodyn move` now, which runs here", file=sys.stderr)
        move_command(robot, params, port, browser)
        return
    model, run = robot_of(robot, params)
    if not forces and (limit is not None or reduced):
        raise RobodynError("--limit and --reduced concern the display of forces; add --forces")
    if forces and motion is None:
        raise RobodynError("--forces shows the forces of a motion; add --motion LOG")
    if export is None and not sys.stdin.isatty():
        raise RobodynError(
            "show keeps its page up until Ctrl-C on a terminal, and there is none; add --export FILE.html, which writes "
            "the page as one file"
        )
    if export is not None:
        _check_export(export)
        if export.suffix == ".rrd":
            _record(model, run, motion, forces, export)
            return
    if forces and motion is not None:
        from robodyn_pin.log_to_robot.covariance import covariance_of
        from robodyn_pin.viz.film import film_of

        known = None
        if run is not None and model.file.struts and not reduced:
            known, _ = covariance_of(params or Path(robot), model, run)
        drawn = film_of(model, motion, run, limit, "U2" if reduced else None, known)
    else:
        from robodyn_pin.viz.motion_scene import scene_of

        drawn = scene_of(model, motion, run)
    with drawn as scene:
        _warn(scene.remark)
        if export is not None:
            scene.write_html(export)
            print(export)
            return
        print(f"{model.name} at {scene.url} (Ctrl-C ends)", flush=True)
        open_browser(browser, scene.url)
        with ctrl_c_expected(), contextlib.suppress(EOFError):
            while True:
                input()


def _check_export(export: Path) -> None:
    """See, before the work is done, that a page or a recording can be written here."""
    from robodyn_pin.files import prepare_folder

    if export.suffix not in (".html", ".rrd"):
        raise RobodynError(
            f"{export}: show writes a page (.html), or with --motion a recording for Rerun (.rrd), not "
            f"{export.suffix or 'without a suffix'}"
        )
    prepare_folder(export.parent)


def _record(robot: "Robot", run: "RunFile | None", motion: Path | None, forces: bool, export: Path) -> None:
    """Write a recording for Rerun."""
    from robodyn_pin.logs.differentiation import Preparation
    from robodyn_pin.logs.reading import read_as
    from robodyn_pin.viz.rerun_file import write_rerun

    if motion is None or forces:
        raise RobodynError(
            f"{export.name}: a recording for Rerun has the motion and the torques of a log; add --motion LOG, leave --forces out"
        )
    log = read_as(run, motion, robot, torque=False)
    _warn(write_rerun(robot, log, run.preparation if run else Preparation(), export).remark)
    print(f"{export}: look at it with `rerun {export}`")


def _warn(remark: str) -> None:
    """Print what is not drawn on standard error."""
    if remark:
        print(remark, file=sys.stderr, flush=True)
