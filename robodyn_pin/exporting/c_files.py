"""The folder of C files: header, source, a test with numbers of the package, CMake file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.exporting.c_templates import CMAKE, FUNCTION, HEADER, SOURCE, Real
from robodyn_pin.exporting.c_test_program import program_of
from robodyn_pin.exporting.closed_twin import NEWTON, Twin, twin_of
from robodyn_pin.exporting.functions import FUNCTIONS, Offered, function_of, sizes_of
from robodyn_pin.exporting.straight_line import lines_of
from robodyn_pin.exporting.vectors import vectors_of
from robodyn_pin.files import prepare_folder, versions, write_text
from robodyn_pin.robot.kinematics import told_frames
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot

PRECISE = "#define DOUBLE(name) name /* where the last Newton step begins: single precision there would limit how well loops close */\n"
CLOSED = {"double": 1e-9, "float": 1e-4}  # [rad or m] largest error of a pose that counts as closed
SINGULAR = 0.01  # clearance below which a pose counts as singular


@dataclass(frozen=True)
class Written:
    """What an export wrote."""

    folder: Path
    functions: tuple[str, ...]
    operations: dict[str, int]  # of each function


def write_c(robot: Robot, functions: Sequence[str], folder: Path, real: Real = "double") -> Written:
    """Write functions of a robot as C99 into a folder: NAME.h, NAME.c, test_NAME.c and CMakeLists.txt.

    Raises:
        BadFile: unknown masses; the folder cannot be written. Others: as `c_texts`.
    """
    name, (texts, operations) = identifier(robot.name), c_texts(robot, functions, real)
    vectors = [vectors_of(robot, f, int(np.prod(FUNCTIONS[f].shape(robot)))) for f in functions]
    prepare_folder(folder)
    for file, text in texts.items():
        write_text(folder / file, text)
    write_text(folder / f"test_{name}.c", program_of(name, vectors, real))
    write_text(folder / "CMakeLists.txt", CMAKE.format(name=name))
    return Written(folder, tuple(functions), operations)


def c_texts(
    robot: Robot, functions: Sequence[str], real: Real = "double", offered: Mapping[str, Offered] = FUNCTIONS, twin: Twin | None = None,
) -> tuple[dict[str, str], dict[str, int]]:  # fmt: skip
    """Return NAME.h and NAME.c of some functions, and the operations of each function.

    Args:
        offered: functions by name. twin: what they are built of, where that is not all of the robot.

    Raises:
        UnknownName: no such function. BadFile: unknown masses.
        RobodynError: a joint, a closure or an effort has no form in C.
    """
    twin, name = twin or twin_of(robot), identifier(robot.name)
    found = {f: function_of(twin, f, real == "float", offered) for f in functions}
    of_home = ", ".join(f"C({x!r})" for x in robot.home.tolist())
    about = {
        "title": _told([f"Dynamics of {robot.name}"]), "name": name, "NAME": name.upper(), "real": real, "nv": robot.model.nv,
        "d": len(robot.coordinates.names), "motors": len(robot.motors.names), "home": of_home, "closed": CLOSED[real], "singular": SINGULAR,
        "coordinates": _told(robot.coordinates.names), "motor_names": _told(robot.motors.names),
        "fn": "name" if real == "double" else "name##f", "precise": "" if real == "double" else PRECISE, "newton": NEWTON if robot.loops.size else "no",
        "provenance": _provenance(robot),
    }  # fmt: skip
    source, declarations = [SOURCE.format(**about)], []
    said = {"frames": _told(told_frames(robot)), "struts": _told(list(robot.file.struts))}
    for function, expression in found.items():
        one = offered[function]
        sizes = sizes_of(robot, one)
        named = list(sizes)
        lines = lines_of(expression, ["start", *named], ["q", "residual", one.output, "clearance"])
        filled = about | {
            "function": function, "output": one.output, "size": expression.size1_out(2), "lines": "\n  ".join(lines),
            "arguments": ", ".join(f"const real {x}[{n}]" for x, n in sizes.items()), "passed": ", ".join(named),
            "unused": " ".join(f"(void){x};" for x in ["start", *named]),
        }  # fmt: skip
        source.append(FUNCTION.format(**filled))
        arguments = ", ".join(f"const {name}_real {x}[{n}]" for x, n in sizes.items())
        declarations.append(
            f"\n/* {one.output}: {one.meaning.format(**said)}. */\nint {name}_{function}({name}_state *state, {arguments}, "
            f"{name}_real {one.output}[{expression.size1_out(2)}], {name}_real *residual);"
        )
    texts = {f"{name}.h": HEADER.format(**about, declarations="\n".join(declarations)), f"{name}.c": "".join(source)}
    return texts, {f: x.n_instructions() for f, x in found.items()}


def _told(names: Sequence[str]) -> str:
    """Names in a comment, which none of them ends."""
    return ", ".join(names).replace("*/", "* /")


def _provenance(robot: Robot) -> str:
    """Which parameters these are, and what wrote them."""
    tools = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"SHA-256 of the robot's numbers {numbers_hash(robot)};\n * written by {tools}."


def identifier(name: str) -> str:
    """A robot's name as C takes it."""
    text = "".join(x if x.isascii() and x.isalnum() else "_" for x in name)
    return text if text[:1].isalpha() else f"robot_{text}"
