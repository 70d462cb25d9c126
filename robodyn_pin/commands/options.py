"""Options that several commands share, and how commands answer."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robodyn_pin.errors import RobodynError, shortened
from robodyn_pin.output.console import print_json
from robodyn_pin.yaml_text import is_quantity

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
    prepare_folder(folder)
    return folder


def answer(as_json: bool, summary: object, show: Callable[..., None], *about: Any) -> None:
    """Print JSON and nothing else if it is asked for; otherwise call `show(*about)`."""
    if as_json:
        print_json(summary)
    else:
        show(*about)


def say_unused(as_json: bool, *logs: "Log") -> None:
    """Print the columns of logs that were not used, unless JSON was asked for."""
    for log in logs:
        if log.quality.unused and not as_json:
            print(f"{log.name}: columns not used: {log.quality.not_used}")


def number_list(text: str, option: str, names: str = "") -> list[float]:
    """Numbers separated by commas; as many as there are names, if these are given."""
    try:
        found = [finite(x) for x in text.split(",")]
    except ValueError:
        raise RobodynError(f"{option} expects finite numbers separated by commas, found {shortened(text)}") from None
    if names and len(found) != len(names.split(",")):
        raise RobodynError(f"{option} expects {names}, found {len(found)} numbers: {shortened(text)}")
    return found


def finite(text: str) -> float:
    """The number that a word is.

    Raises:
        ValueError: no number, not finite, or of a size that no quantity of a robot has.
    """
    value = float(text)
    if "_" in text or not is_quantity(value):
        raise ValueError(f"{shortened(text)} is no finite number of a usual size")
    return value


def with_checked_numbers(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes finite numbers of usual sizes only, whichever of its options they are."""

    @wraps(command)
    def checked(**options: Any) -> None:
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            for number in value if isinstance(value, list | tuple) else (value,):
                if isinstance(number, int | float) and not (is_quantity(number) and plain(flag)):
                    raise RobodynError(
                        f"{flag} expects a finite number of a usual size, written without '_'; found {number:g}"
                    )
        command(**options)

    return checked


def plain(flag: str) -> bool:
    """Whether the words of an option on the command line have no underscore, which Python takes for part of a number."""
    words = zip(sys.argv, [*sys.argv[1:], ""], strict=True)
    return not any(
        "_" in (after if word == flag else word.removeprefix(f"{flag}=") if word.startswith(f"{flag}=") else "")
        for word, after in words
    )


def verdict(positive: bool) -> None:
    """End with exit code 3 if the verdict of a command is negative."""
    if not positive:
        raise typer.Exit(3)
