"""The folder of C files: header, source, a test with numbers of the package, CMake file."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from robodyn_pin.exporting.functions import FUNCTIONS, function_of, twin_of
from robodyn_pin.exporting.straight_line import lines_of
from robodyn_pin.exporting.vectors import Vectors, vectors_of
from robodyn_pin.files import prepare_folder, versions, write_text
from robodyn_pin.robot.robot import Robot

Real = Literal["double", "float"]
CLOSED = {"double": 1e-9, "float": 1e-4}  # [rad or m] largest error of a pose that counts as closed
AGREES = {"double": 1e-9, "float": 1e-3}  # of the largest number of a function's output

HEADER = """/* {title}
 *
 * {provenance}
 * Inputs are the coordinates {coordinates} [rad or m], their rates and accelerations; units are SI.
 * Loops are closed inside, by {newton} Newton steps from the joint positions of the call before, which the state keeps: call along a
 * trajectory, at least as densely as a controller does. No memory is allocated, nothing loops or recurses.
 *
 * A call returns 0. It returns 1 where the loops do not close (out of reach, or too far from the call before), 2 where a number is not
 * finite (a singular pose): its output is then zero, the state is as before, `residual` says how far the loops are from closed [rad or m].
 */
#ifndef {NAME}_H
#define {NAME}_H

typedef {real} {name}_real;

enum {{
  {NAME}_COORDINATES = {d}, /* {coordinates} */
  {NAME}_MOTORS = {motors}, /* {motor_names} */
  {NAME}_JOINTS = {nv}
}};

typedef struct {{
  {name}_real q[{NAME}_JOINTS]; /* where the joints were at the last call that closed */
}} {name}_state;

/* The pose of the robot's file, to begin with. */
void {name}_home({name}_state *state);
{declarations}
#endif
"""

SOURCE = """/* {title}; see {name}.h. */
#include "{name}.h"

#include <math.h>

typedef {name}_real real;
#define C(x) ((real)x)
#define ONE ((real)1)
#define FN(name) {fn}

static const real CLOSED = C({closed!r});

static int finite_all(const real *x, int n) {{
  int i;
  for (i = 0; i < n; ++i)
    if (!(x[i] - x[i] == 0)) return 0;
  return 1;
}}

static int kept(real *q, const real *next, real residual, real *out, int n) {{
  int i, flag = 0;
  if (!(residual <= CLOSED)) flag = 1;
  else if (!finite_all(next, {NAME}_JOINTS) || !finite_all(out, n)) flag = 2;
  for (i = 0; i < n && flag; ++i) out[i] = 0;
  for (i = 0; i < {NAME}_JOINTS && !flag; ++i) q[i] = next[i];
  return flag;
}}

void {name}_home({name}_state *state) {{
  static const real home[{NAME}_JOINTS] = {{{home}}};
  int i;
  for (i = 0; i < {NAME}_JOINTS; ++i) state->q[i] = home[i];
}}
"""

FUNCTION = """
static void lines_of_{function}(const real *start, {arguments}, real *q, real *residual, real {output}[{size}]) {{
  {unused}
  {lines}
}}

int {name}_{function}({name}_state *state, {arguments}, real {output}[{size}], real *residual) {{
  real next[{NAME}_JOINTS];
  lines_of_{function}(state->q, {passed}, next, residual, {output});
  return kept(state->q, next, *residual, {output}, {size});
}}
"""

CMAKE = """cmake_minimum_required(VERSION 3.10)
project({name} C)
set(CMAKE_C_STANDARD 99)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library({name} {name}.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
enable_testing()
add_executable(test_{name} test_{name}.c)
target_link_libraries(test_{name} {name})
add_test(NAME {name} COMMAND test_{name})
"""


@dataclass(frozen=True)
class Written:
    """What an export wrote."""

    folder: Path
    functions: tuple[str, ...]
    operations: dict[str, int]  # of each function


def write_c(robot: Robot, functions: list[str], folder: Path, real: Real = "double") -> Written:
    """Write functions of a robot as C99 into a folder: NAME.h, NAME.c, test_NAME.c and CMakeLists.txt.

    Raises:
        UnknownName: no such function. BadFile: unknown masses; the folder cannot be written.
        RobodynError: a joint, a closure or an effort has no form in C.
    """
    twin, name = twin_of(robot), identifier(robot.name)
    found = {f: function_of(twin, f) for f in functions}
    of_home = ", ".join(f"C({x!r})" for x in robot.home.tolist())
    about = {
        "title": f"Dynamics of {robot.name}", "name": name, "NAME": name.upper(), "real": real, "nv": robot.model.nv,
        "d": len(robot.coordinates.names), "motors": len(robot.motors.names), "home": of_home, "closed": CLOSED[real],
        "coordinates": ", ".join(robot.coordinates.names), "motor_names": ", ".join(robot.motors.names),
        "fn": "name" if real == "double" else "name##f", "newton": 3 if robot.loops.size else "no",
        "provenance": _provenance(robot),
    }  # fmt: skip
    source, declarations = [SOURCE.format(**about)], []
    for function, expression in found.items():
        offered = FUNCTIONS[function]
        named = ["c", *offered.inputs]
        lines = lines_of(expression, ["start", *named], ["q", "residual", offered.output])
        filled = about | {
            "function": function, "output": offered.output, "size": expression.size1_out(2), "lines": "\n  ".join(lines),
            "arguments": ", ".join(f"const real {x}[{len(robot.coordinates.names)}]" for x in named), "passed": ", ".join(named),
            "unused": " ".join(f"(void){x};" for x in ["start", *named]),
        }  # fmt: skip
        source.append(FUNCTION.format(**filled))
        arguments = ", ".join(f"const {name}_real {x}[{len(robot.coordinates.names)}]" for x in named)
        declarations.append(
            f"\n/* {offered.output}: {offered.meaning}. */\nint {name}_{function}({name}_state *state, {arguments}, "
            f"{name}_real {offered.output}[{expression.size1_out(2)}], {name}_real *residual);"
        )
    vectors = [vectors_of(robot, f, expression.size1_out(2)) for f, expression in found.items()]
    prepare_folder(folder)
    write_text(folder / f"{name}.h", HEADER.format(**about, declarations="\n".join(declarations)))
    write_text(folder / f"{name}.c", "".join(source))
    write_text(folder / f"test_{name}.c", _test(name, robot, vectors, real))
    write_text(folder / "CMakeLists.txt", CMAKE.format(name=name))
    return Written(folder, tuple(functions), {f: x.n_instructions() for f, x in found.items()})


def _provenance(robot: Robot) -> str:
    """Which parameters these are, and what wrote them."""
    files = hashlib.sha256((robot.urdf_xml + robot.file.model_dump_json()).encode()).hexdigest()
    tools = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"Robot {robot.name}, SHA-256 of its URDF and settings {files};\n * written by {tools}."


def identifier(name: str) -> str:
    """A robot's name as C takes it."""
    text = "".join(x if x.isascii() and x.isalnum() else "_" for x in name)
    return text if text[:1].isalpha() else f"robot_{text}"


def _test(name: str, robot: Robot, vectors: list[Vectors], real: Real) -> str:
    """A program that compares the functions with the package's numbers along a short motion; exit code 1 where they differ."""
    d, blocks, calls = len(robot.coordinates.names), [], []
    for given in vectors:
        data = np.concatenate([*given.inputs, given.output], axis=1)
        rows = ",\n".join("  {" + ", ".join(repr(x) for x in row) + "}" for row in data.tolist())
        blocks.append(f"static const double {given.function}[{len(data)}][{data.shape[1]}] = {{\n{rows}\n}};\n")
        inputs, size = len(given.inputs), given.output.shape[1]
        arguments = ", ".join(f"x + {k * d}" for k in range(inputs))
        calls.append(
            f"""  {name}_home(&state);
  for (i = 0; i < {len(data)}; ++i) {{
    {name}_real x[{inputs * d}], y[{size}], residual;
    double largest = 0, worst = 0;
    for (k = 0; k < {inputs * d}; ++k) x[k] = ({name}_real){given.function}[i][k];
    flag = {name}_{given.function}(&state, {arguments}, y, &residual);
    for (k = 0; k < {size}; ++k) {{
      const double wanted = {given.function}[i][{inputs * d} + k], error = fabs((double)y[k] - wanted);
      if (fabs(wanted) > largest) largest = fabs(wanted);
      if (!(error <= worst)) worst = error;
    }}
    if (flag || !(worst <= {AGREES[real]!r} * (largest + 1e-3))) {{
      printf("{given.function}, sample %d: flag %d, off by %g of %g\\n", i, flag, worst, largest);
      failures = 1;
    }}
  }}
"""
        )
    return f"""/* Compares the functions of {name}.c with numbers of robodyn_pin, along a short motion from home. */
#include <math.h>
#include <stdio.h>

#include "{name}.h"

{"".join(blocks)}
int main(void) {{
  {name}_state state;
  int i, k, flag, failures = 0;
{"".join(calls)}  if (!failures) printf("all functions agree\\n");
  return failures;
}}
"""
