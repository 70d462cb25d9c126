"""The first robot file, made of the file that somebody has."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import answer, not_an_input
from robodyn_pin.errors import RobodynError

if TYPE_CHECKING:
    from robodyn_pin.log_to_robot.first_run import FirstRun
    from robodyn_pin.robot.first_file import First
    from robodyn_pin.robot.robot import Robot

KINDS = "URDF, MJCF (.xml), SDF, xacro, or Gepetto's YAML"


def init_command(
    file: Annotated[Path, typer.Argument(help=f"{KINDS}.")],
    out: Annotated[Path | None, typer.Option(help="Robot file to write; default: FILE with the suffix .yaml.")] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Log of this robot: its columns and units are looked for, and a run file is written, too."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: take the usual answer, and say so in the file.")
    ] = False,
) -> None:
    """Write a robot file beside a URDF, MJCF or SDF: motors, loops and friction, with what was found and assumed.

    With --log a run file, too: FILE may then be a robot file or a name of the catalogue.

    Example: robodyn init myrobot.urdf --log mylog.csv --yes
    """
    from robodyn_pin.files import write_text
    from robodyn_pin.robot.first_file import first_file
    from robodyn_pin.robot.robot import load

    if log is not None and (file.suffix in ("", ".yaml", ".yml")):
        answer(False, None, _say_run, log, *_run_file(load(str(file)), file, log, out))
        return
    if file.is_dir():
        raise RobodynError(f"{str(file)!r} is a folder, expected a robot's file: {KINDS}")
    recipe, text = file, None
    if recipe.suffix == ".xacro":
        file, text = _from_xacro(recipe, out)
    ours = file.suffix in (".yaml", ".yml")  # Gepetto's
    target = out or (file.with_name(f"{file.stem}_robot.yaml") if ours else file.with_suffix(".yaml"))
    not_an_input(target, file)
    _must_be_new(target)
    try:
        made = first_file(file, target, _usual if yes else _asked, text)
    except RobodynError as error:
        if text is None:
            raise
        raise RobodynError(f"{recipe}, as xacro expands it: {error}") from None
    text = made.urdf or text
    if text is not None:
        tree = target.with_suffix(".urdf")
        if tree.exists():
            raise RobodynError(
                f"{tree} exists already, and the tree would be written there; name another file with --out"
            )
        write_text(tree, text)
    write_text(target, made.text)
    try:
        run = None if log is None else _run_file(made.robot, target, log, None)
    except RobodynError as error:
        raise RobodynError(f"{error}; nothing was written, without --log {target.name} is") from None
    if recipe != file:
        made.notes.found.insert(0, f"{file}, which xacro makes of {recipe.name}")
    answer(False, None, _say, made, target)
    if run is not None:
        _say_run(log, *run)


def _from_xacro(file: Path, out: Path | None) -> tuple[Path, str]:
    """Return the place of the URDF that a xacro file makes, beside what will be written, and its text."""
    from robodyn_pin.robot.xacro_macros import expanded

    plain = file.with_name(file.name.removesuffix(".xacro").removesuffix(".urdf") + ".urdf")
    tree = plain if out is None else out.with_suffix(".urdf")
    _must_be_new(tree)
    _must_be_new(out or tree.with_suffix(".yaml"))
    return tree, expanded(file)


def _run_file(robot: "Robot", file: Path, log: Path, out: Path | None) -> tuple[Path, "FirstRun"]:
    """Write a run file for a log of a robot, and return its place and what is said of it; `file`: the robot's."""
    from robodyn_pin.files import write_text
    from robodyn_pin.log_to_robot.first_run import first_run

    target = out or (file if file.suffix else Path(file.name)).with_name(f"{file.stem}_run.yaml")
    not_an_input(target, file, log)
    _must_be_new(target)
    made = first_run(robot, file, log, target)
    write_text(target, made.text)
    return target, made


def _say_run(log: Path | None, target: Path, made: "FirstRun") -> None:
    print(f"{target}: a run file for {log}")
    for what in made.found:
        print(f"found: {what}")
    for what in made.assumed:
        print(f"assumed: {what}")
    print(f"next: robodyn identify {target}")


def _must_be_new(target: Path) -> None:
    if target.exists():
        raise RobodynError(f"{target} exists already; name another file with --out, or delete it")


def _usual(question: str, answers: list[str]) -> str:
    return answers[0]


def _asked(question: str, answers: list[str]) -> str:
    """Ask on the terminal."""
    if not sys.stdin.isatty():
        raise RobodynError(
            f"{question}? There is no terminal to ask on; --yes takes {answers[0]!r}"
            + (f" (others: {'; '.join(answers[1:])})" if answers[1:] else "")
        )
    if len(answers) == 1:
        return str(typer.prompt(f"{question}?", default=answers[0]))
    for k, text in enumerate(answers, 1):
        print(f"  {k}: {text}")
    chosen = typer.prompt(f"{question}?", default=1, type=int)
    if not 1 <= chosen <= len(answers):
        raise RobodynError(f"the answer {chosen} is none of 1 to {len(answers)}; nothing was written")
    return answers[chosen - 1]


def _say(made: "First", target: Path) -> None:
    from robodyn_pin.robot.dense_bodies import too_dense
    from robodyn_pin.robot.first_text import summary
    from robodyn_pin.robot.other_units import other_units
    from robodyn_pin.viz.meshes import drawable

    print(f"{target}: {summary(made.robot)}")
    if lost := drawable(made.robot.urdf_xml, made.robot.urdf_path.parent).remark:
        print(lost)
    for what in made.notes.found:
        print(f"found: {what}")
    for what in made.notes.assumed:
        print(f"assumed: {what}")
    for what in [*(f"{name}: {why}" for name, why in too_dense(made.robot).items()), *other_units(made.robot)]:
        print(f"caution: {what}")
    print(f"next: robodyn check {target}; robodyn show {target}")
