"""The test that stands beside exported code: its functions against numbers of the package."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.exporting.c_templates import Real
from robodyn_pin.exporting.vectors import Vectors

AGREES = {"double": 1e-10, "float": 1e-4}  # of the largest number of a function's output
LIGHT = (
    20.0  # times that for accelerations in single precision: the lightest mass is a small difference of larger numbers
)


def program_of(name: str, vectors: Sequence[Vectors], real: Real) -> str:
    """A program that compares the functions with the package's numbers along a short motion; exit code 1 where they differ.

    Args:
        name: of the robot, as C takes it.
    """
    blocks, calls = [], []
    for given in vectors:
        agrees = AGREES[real] * (LIGHT if given.function == "forward_dynamics" and real == "float" else 1.0)
        data = np.concatenate([*given.inputs, given.output], axis=1)
        rows = ",\n".join("  {" + ", ".join(repr(x) for x in row) + "}" for row in data.tolist())
        blocks.append(f"static const double {given.function}[{len(data)}][{data.shape[1]}] = {{\n{rows}\n}};\n")
        widths, size = [x.shape[1] for x in given.inputs], given.output.shape[1]
        given_numbers = sum(widths)
        arguments = ", ".join(f"x + {sum(widths[:k])}" for k in range(len(widths)))
        calls.append(
            f"""  {name}_home(&state);
  for (i = 0; i < {len(data)}; ++i) {{
    {name}_real x[{given_numbers}], y[{size}], residual;
    double largest = 0, worst = 0;
    for (k = 0; k < {given_numbers}; ++k) x[k] = ({name}_real){given.function}[i][k];
    flag = {name}_{given.function}(&state, {arguments}, y, &residual);
    for (k = 0; k < {size}; ++k) {{
      const double wanted = {given.function}[i][{given_numbers} + k], error = fabs((double)y[k] - wanted);
      if (fabs(wanted) > largest) largest = fabs(wanted);
      if (!(error <= worst)) worst = error;
    }}
    if (flag || !(worst <= {agrees!r} * (largest + 1e-3))) {{
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
