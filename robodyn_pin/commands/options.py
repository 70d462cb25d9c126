"""Options that several commands share, and how commands answer."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robodyn_pin.errors import RobodynError, quoted
from robodyn_pin.numbers import parsed
from robodyn_pin.output.console import print_json
from robodyn_pin.storage.staging import keep_results

if TYPE_CHECKING:
    from robodyn_pin.log_to_robot.run_file import RunFile
    from robodyn_pin.logs.log import Log
    from robodyn_pin.robot.robot import Robot

RobotArg = Annotated[str, typer.Argument(help="Catalogue name, robot file (.yaml, .urdf) or result folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable results on stdout and nothing else.")]
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder to write; default: 'output' of the run file, else results/NAME with the name of the run file."
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        help="Processes that share the logs (excite: the motions that are tried), 1 or more; default: one for each core, where there is enough to do for it.",
        show_default=False,
    ),
]
SchedulerOption = Annotated[
    str | None, typer.Option(help="Share them on a Dask cluster: address of its scheduler, tcp://HOST:8786.")
]
ParamsOption = Annotated[
    Path | None, typer.Option(help="Result folder of an identification; default: the robot's own files.")
]
ToolOption = Annotated[
    Path | None,
    typer.Option(
        help="Tool (.yaml: name, link, mass, centre, inertia, frames) fixed to the robot; its frames can then be named."
    ),
]
PayloadOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="Body fixed to a link or frame (.yaml: link, mass, radius, length, axis, inner, at); may be repeated."
    ),
]

BrowserOption = Annotated[
    bool | None,
    typer.Option(
        "--browser/--no-browser",
        help="Open the page in a browser; default: only where a browser can be shown.",
        show_default=False,
    ),
]


def open_browser(asked: bool | None, url: str) -> None:
    """Open a page in the user's browser if it is asked for; None: if there is a display, or BROWSER names a program."""
    import webbrowser

    if asked is None:
        asked = sys.platform in ("darwin", "win32") or any(
            os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
        )
    if asked:
        webbrowser.open(url)


def robot_of(robot: str, params: Path | None, tool: Path | None = None) -> tuple["Robot", "RunFile | None"]:
    """The robot, identified if a result folder is given, and that result's run settings; with a tool if one is given."""
    found, run = _robot_of(robot, params)
    if tool is None:
        return found, run
    from robodyn_pin.files import read_yaml
    from robodyn_pin.robot.payload import with_tool
    from robodyn_pin.robot.tools import ToolFile

    return with_tool(found, read_yaml(tool, ToolFile)), run


def _robot_of(robot: str, params: Path | None) -> tuple["Robot", "RunFile | None"]:
    from robodyn_pin.log_to_robot.run import read_run
    from robodyn_pin.robot.robot import load

    folder = params or (Path(robot) if Path(robot).is_dir() else None)
    if folder is None:
        return load(robot), None
    found = load(folder)
    if params is not None and not Path(robot).is_dir() and found.name != f"{Path(robot).stem}_identified":
        raise RobodynError(f"{folder} holds {found.name.removesuffix('_identified')!r}, not {robot!r}")
    return found, read_run(folder / "run.yaml")


def carrying_files(robot: "Robot", payload: list[Path] | None) -> tuple["Robot", str]:
    """The robot with payloads, and a text that names them."""
    from robodyn_pin.files import read_yaml
    from robodyn_pin.robot.payload import LoadSpec, loaded

    text = ""
    for file in payload or []:
        body = read_yaml(file, LoadSpec)
        robot, text = loaded(robot, body), f"{text} with {body.mass:g} kg on {body.link}"
    return robot, text


def folder_of(run: Path, settings: Any, out: Path | None) -> Path:
    """The folder of results: that of the option, else of the run file, else results/RUN; created if it is missing."""
    from robodyn_pin.files import prepare_folder

    folder = out or settings.output or Path("results") / run.stem
    not_an_input(folder / "run.yaml", run)
    prepare_folder(folder)
    return folder


def answer(as_json: bool, summary: object, show: Callable[..., None], *about: Any) -> None:
    """Print JSON and nothing else if it is asked for; otherwise call `show(*about)`. The results appear first."""
    keep_results()
    if as_json:
        print_json(summary)
    else:
        show(*about)


def say_unused(as_json: bool, *logs: "Log") -> None:
    """Print what is odd about the clocks of logs, and the columns that were not used, unless JSON was asked for."""
    for log in logs:
        if log.quality.clock and not as_json:
            print(f"{log.name}: {log.quality.clock}")
        if log.quality.unused and not as_json:
            print(f"{log.name}: columns not used: {log.quality.not_used}")


def number_list(text: str, option: str, names: str = "") -> list[float]:
    """Numbers separated by commas; as many as there are names, if these are given."""
    found = [x for part in text.split(",") if (x := parsed(part)) is not None]
    if len(found) != len(text.split(",")):
        raise RobodynError(f"{option} expects numbers separated by commas, found {quoted(text)}")
    if names and len(found) != len(names.split(",")):
        raise RobodynError(f"{option} expects {names}, found {len(found)} numbers: {text!r}")
    return found


def not_an_input(out: Path, *inputs: Path | None) -> None:
    """See, before the work is done, that a file to be written is none that is read, links included.

    Raises:
        RobodynError: it is.
    """
    for path in inputs:
        if path is not None and (
            os.path.realpath(out) == os.path.realpath(path) or (out.exists() and path.exists() and out.samefile(path))
        ):
            raise RobodynError(f"the output {out} is one of the files that are read; name another, nothing was written")


def table_to_write(out: Path, *inputs: Path | None) -> None:
    """See, before the work is done, that a table can be written here, and that it is none of the files that are read.

    Raises:
        BadFile: neither .csv nor .parquet; the folder cannot be written.
        RobodynError: as `not_an_input`.
    """
    from robodyn_pin.files import prepare_folder
    from robodyn_pin.logs.writing import check_name

    check_name(out)
    not_an_input(out, *inputs)
    prepare_folder(out.parent)


def verdict(positive: bool) -> None:
    """End with exit code 3 if the verdict of a command is negative."""
    if not positive:
        raise typer.Exit(3)
