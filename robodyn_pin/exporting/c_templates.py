"""The texts of exported C files, with gaps."""

from typing import Literal

Real = Literal["double", "float"]

HEADER = """/* {title}
 *
 * {provenance}
 * Inputs are the coordinates {coordinates} [rad or m], their rates and accelerations; units are SI.
 * Loops are closed inside, by {newton} Newton steps from the joint positions of the call before, which the state keeps: call along a
 * trajectory, at least as densely as a controller does. No memory is allocated, nothing loops or recurses.
 *
 * A call returns 0. It returns 1 where the loops do not close (out of reach, or too far from the call before), 2 in a singular
 * pose (where what determines the joints is less than {singular!r} of that at home) or where a number is not finite: its output is then zero,
 * the state is as before, `residual` says how far the loops are from closed [rad or m].
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
{precise}
static const real CLOSED = C({closed!r}), SINGULAR = C({singular!r});

static int finite_all(const real *x, int n) {{
  int i;
  for (i = 0; i < n; ++i)
    if (!(x[i] - x[i] == 0)) return 0;
  return 1;
}}

static int kept(real *q, const real *next, real residual, real clearance, real *out, int n) {{
  int i, flag = 0;
  if (!(residual <= CLOSED)) flag = 1;
  else if (!(clearance >= SINGULAR) || !finite_all(next, {NAME}_JOINTS) || !finite_all(out, n)) flag = 2;
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
static void lines_of_{function}(const real *start, {arguments}, real *q, real *residual, real {output}[{size}], real *clearance) {{
  {unused}
  {lines}
}}

int {name}_{function}({name}_state *state, {arguments}, real {output}[{size}], real *residual) {{
  real next[{NAME}_JOINTS], clearance;
  lines_of_{function}(state->q, {passed}, next, residual, {output}, &clearance);
  return kept(state->q, next, *residual, clearance, {output}, {size});
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
