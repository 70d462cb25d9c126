"""A robot for controllers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from robodyn_pin.commands.options import JsonOption, RobotArg, answer, not_an_input

if TYPE_CHECKING:
    from robodyn_pin.exporting.c_files import Written


def export_command(
    robot: RobotArg,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    to: Annotated[
        Literal["c"], typer.Option(help="Format: C99 without memory, loops or dependencies but math.h.")
    ] = "c",
    functions: Annotated[
        str,
        typer.Option(help="Functions, separated by commas: inverse_dynamics, gravity, mass_matrix."),
    ] = "inverse_dynamics,gravity,mass_matrix",
    real: Annotated[Literal["double", "float"], typer.Option(help="Numbers of the code.")] = "double",
    as_json: JsonOption = False,
) -> None:
    """Write the dynamics of a robot as C code for its controller, loops closed inside. Needs the extra 'export'.

    The folder holds a header with units, the source, a test with numbers of the package, and a CMake file.

    Example: robodyn export irb360 --to c --functions inverse_dynamics,gravity --out results/irb360_c
    """
    from robodyn_pin.exporting.needs import check_casadi
    from robodyn_pin.robot.robot import load

    check_casadi()
    from robodyn_pin.exporting.c_files import write_c

    not_an_input(out, Path(robot))
    found = write_c(load(robot), [f.strip() for f in functions.split(",")], out, real)
    summary = {"folder": str(out), "operations": found.operations}
    answer(as_json, summary, _print_written, found)


def _print_written(found: "Written") -> None:
    for function, count in found.operations.items():
        print(f"{function}: {count} operations")
    print(
        f"{found.folder}: `cmake -B build && cmake --build build && ctest --test-dir build` there compiles and tests it"
    )
