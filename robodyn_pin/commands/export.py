"""Robots for other programs, one line of a table a format, and for controllers."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from robodyn_pin.commands.options import JsonOption, ParamsOption, RobotArg, answer, not_an_input, robot_of
from robodyn_pin.errors import RobodynError, UnknownName

if TYPE_CHECKING:
    from robodyn_pin.exporting.c_files import Written
    from robodyn_pin.robot.robot import Robot


def _urdf(robot: "Robot", name: str) -> tuple[dict[str, str], list[str]]:
    from robodyn_pin.robot.urdf_out import urdf_and_file

    return urdf_and_file(robot, name)


def _mjcf(robot: "Robot", name: str) -> tuple[dict[str, str], list[str]]:
    from robodyn_pin.robot.mjcf_out import mjcf_of

    text, lost = mjcf_of(robot)
    return {".xml": text}, lost


def _sdf(robot: "Robot", name: str) -> tuple[dict[str, str], list[str]]:
    from robodyn_pin.robot.sdf_out import sdf_of

    text, lost = sdf_of(robot)
    return {".sdf": text}, lost


def _ros2_control(robot: "Robot", name: str) -> tuple[dict[str, str], list[str]]:
    from robodyn_pin.robot.motor_table import motor_table

    text, lost = motor_table(robot)
    return {".csv": text}, lost


# Format -> of robot and name of its file: texts by suffix, the first one the robot itself, and what they do not hold.
FORMATS: dict[str, Callable[["Robot", str], tuple[dict[str, str], list[str]]]] = {
    "urdf": _urdf,
    "mjcf": _mjcf,
    "sdf": _sdf,
    "ros2_control": _ros2_control,
}


CODE = ("c", "casadi")  # functions for controllers and for optimisation, in a folder
FMU = "fmu"  # the robot's motion under torques, for programs that simulate systems
USUAL = "inverse_dynamics,gravity,mass_matrix"


def export_command(
    robot: RobotArg,
    to: Annotated[str, typer.Option(help=f"Format: {', '.join([*FORMATS, *CODE, FMU])}.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write; default: NAME with the suffix of the format, in this folder. Of c and casadi: the folder; default: NAME_FORMAT."
        ),
    ] = None,
    params: ParamsOption = None,
    functions: Annotated[
        str | None,
        typer.Option(
            help=f"Of c and casadi: functions, separated by commas; default: {USUAL}. There are forward_dynamics, strut_forces, reduced_forces and forward_kinematics, too."
        ),
    ] = None,
    real: Annotated[
        Literal["double", "float"] | None, typer.Option(help="Of c: numbers of the code; default: double.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a robot with its loops for other programs: MJCF for MuJoCo, SDF for Gazebo and Drake, URDF with a robot file, C for controllers, CasADi for optimisation, an FMU for simulation of systems, for ros2_control a table of joints and motors behind parallelograms.

    Says what of the robot the format does not hold. With --params the identified robot.

    Example: robodyn export irb360 --to mjcf --out irb360.xml
    """
    from robodyn_pin.files import write_text

    if to not in (*FORMATS, *CODE, FMU):
        raise UnknownName("format", to, "--to", [*FORMATS, *CODE, FMU])
    if (functions and to not in CODE) or (real and to != "c"):
        raise RobodynError(
            f"--functions concerns {' and '.join(CODE)}, --real c; leave them out, or ask for one of these instead of {to!r}"
        )
    found, _ = robot_of(robot, params)
    if to in CODE:
        _export_code(found, to, functions or USUAL, out or Path(f"{found.name}_{to}"), real or "double", as_json)
        return
    if to == FMU:
        _export_fmu(found, out or Path(f"{found.name}.fmu"), as_json)
        return
    texts, lost = FORMATS[to](found, out.stem if out else found.name)
    first = next(iter(texts))
    target = out or Path(found.name + first)
    files = [target if suffix == first else target.with_suffix(suffix) for suffix in texts]
    for file in files:
        not_an_input(file, found.urdf_path, found.urdf_path.with_suffix(".yaml"))
    for file, text in zip(files, texts.values(), strict=True):
        write_text(file, text)
    answer(as_json, {"files": [str(file) for file in files], "not held": lost}, _say, files, lost)


def _export_code(
    robot: "Robot", to: str, functions: str, out: Path, real: Literal["double", "float"], as_json: bool
) -> None:
    from robodyn_pin.exporting.needs import check_casadi

    check_casadi()
    from robodyn_pin.exporting.c_files import write_c
    from robodyn_pin.exporting.casadi_files import write_casadi

    named = [f.strip() for f in functions.split(",")]
    found = write_c(robot, named, out, real) if to == "c" else write_casadi(robot, named, out)
    lost = _colder(robot)
    answer(as_json, {"folder": str(out), "operations": found.operations, "not held": lost}, _say_code, to, found, lost)


def _export_fmu(robot: "Robot", out: Path, as_json: bool) -> None:
    from robodyn_pin.exporting.needs import check_casadi

    check_casadi()
    from robodyn_pin.simulation.fmu import write_fmu

    not_an_input(out, robot.urdf_path, robot.urdf_path.with_suffix(".yaml"))
    write_fmu(robot, out)
    lost = _colder(robot)
    answer(as_json, {"file": str(out), "not held": lost}, _say_fmu, out, lost)


def _colder(robot: "Robot") -> list[str]:
    """What programs do not hold, as they are told no temperature and no time."""
    named = [effort.name for effort in robot.efforts if effort.spec.warmth]
    return [f"'warmth' of {', '.join(named)}: the robot is warm and at the reference"] if named else []


def _say_fmu(out: Path, lost: list[str]) -> None:
    print(
        f"{out} written: FMI 2.0 for co-simulation, torques in, motion out, in steps as `robodyn simulate` takes them"
    )
    _say_lost(lost)


def _say_code(to: str, found: "Written", lost: list[str]) -> None:
    for function, count in found.operations.items():
        print(f"{function}: {count} operations")
    made = "`cmake -B build && cmake --build build && ctest --test-dir build` there compiles and tests it"
    print(f"{found.folder}: {made if to == 'c' else '`casadi.Function.load` reads the files there'}")
    _say_lost(lost)


def _say(files: list[Path], lost: list[str]) -> None:
    print(f"{' and '.join(str(file) for file in files)} written")
    _say_lost(lost)


def _say_lost(lost: list[str]) -> None:
    for line in lost:
        print(f"  not held: {line}")
