"""Exported C code of every robot of the catalogue against the package, compiled strictly; its size, stack and time."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from make import Row, Section

import robodyn_pin as rp
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.exporting.c_files import identifier, write_c
from robodyn_pin.exporting.c_templates import Real
from robodyn_pin.exporting.functions import FUNCTIONS
from robodyn_pin.urdf import catalogue

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/exporting"))
from test_c_code import STRICT, Code, motion

STATES = 10_000
MATHS = {"atan2", "copysign", "cos", "exp", "fabs", "fmax", "fmin", "pow", "sin", "sincos", "sqrt", "tanh"}
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TIMED = """#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <time.h>
#include "irb360.h"
#define CALLS 1000000
static double took[CALLS];
int main(void) {
  irb360_state state;
  double c[4], cd[4], cdd[4], out[12], residual, worst = 0;
  int i, k, bad = 0;
  irb360_home(&state);
  for (i = 0; i < CALLS; ++i) {
    struct timespec a, b;
    const double t = 0.001 * i, w = 6.28;
    for (k = 0; k < 4; ++k) {
      const double far = 0.1 * (1 + 0.1 * k);
      c[k] = HOME[k] + far * (1 - cos(w * t)), cd[k] = far * w * sin(w * t), cdd[k] = far * w * w * cos(w * t);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    bad += irb360_FUNCTION(&state, c, cd, cdd, out, &residual) != 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    took[i] = 1e6 * (b.tv_sec - a.tv_sec) + 1e-3 * (b.tv_nsec - a.tv_nsec);
    if (residual > worst) worst = residual;
  }
  for (i = 0; i < CALLS; ++i) printf("%.3f\\n", took[i]);
  fprintf(stderr, "%d %.3g", bad, worst);
  return 0;
}
"""


def study() -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row for name in catalogue() for row in agreement(name, Path(scratch))]
        rows += [sanitized(name, Path(scratch)) for name in catalogue()]
        rows += [
            row
            for function in ("inverse_dynamics", "strut_forces", "reduced_forces")
            for row in timed(function, Path(scratch))
        ]
    return Section(
        "C code", "python figures/make.py c_code", tuple(rows),
        f"{STATES} states a robot along a smooth motion from home at 1 kHz, loops closed by the code itself; compiled with gcc {' '.join(STRICT)}. "
        "Errors over the largest torque of the motion. Times in processor time, of single calls with the clock that takes about 0.2 µs of each.",
    )  # fmt: skip


def agreement(name: str, scratch: Path) -> list[Row]:
    robot = rp.load(name)
    (c, cd, cdd), expected = within_reach(robot)
    rows = []
    for real, asked in (("double", 1e-12), ("float", 1e-5)):
        code = Code(robot, scratch / f"{name}_{real}", ["inverse_dynamics"], real)
        flags, off = 0, 0.0
        for sample, tau in zip(zip(c, cd, cdd, strict=True), expected, strict=True):
            flag, found, _ = code("inverse_dynamics", tau.size, *sample)
            flags, off = flags + (flag != 0), max(off, float(np.abs(found - tau).max()))
        relative = off / np.abs(expected).max()
        rows.append(
            Row(f"{name}, inverse dynamics, {real}: largest error, flags", f"<= {asked:g}, 0", f"{relative:.1e}, {flags}",
                relative <= asked and flags == 0)
        )  # fmt: skip
    return rows


def sanitized(name: str, scratch: Path) -> Row:
    """All functions that a robot has, in double and float: their test programs under the sanitizers, and what their object files call."""
    robot, tested, failed, calls = rp.load(name), set(), [], set()
    reals: tuple[Real, ...] = ("double", "float")
    for function, real in ((f, r) for f in FUNCTIONS for r in reals):
        folder, code = scratch / f"{name}_{function}_{real}", identifier(name)
        try:
            write_c(robot, [function], folder, real)
        except RobodynError:  # the robot has not what the function is about
            continue
        tested.add(function)
        build = ["gcc", *STRICT, *SANITIZERS, "-o", "test", f"{code}.c", f"test_{code}.c", "-lm"]
        subprocess.run(build, cwd=folder, check=True)
        done = subprocess.run([folder / "test"], capture_output=True, text=True, check=False)
        if (done.returncode, done.stdout, done.stderr) != (0, "all functions agree\n", ""):
            failed.append(f"{function}, {real}")
        subprocess.run(["gcc", *STRICT, "-c", f"{code}.c"], cwd=folder, check=True)
        symbols = subprocess.run(["nm", "-u", f"{code}.o"], cwd=folder, capture_output=True, text=True, check=True)
        calls |= {symbol.removesuffix("f") for symbol in re.findall(r" U (\w+)", symbols.stdout)}
    without = ", ".join(f for f in FUNCTIONS if f not in tested)
    return Row(
        f"{name}, its {len(tested)} functions, double and float, under ASan and UBSan; what their object files call" + (f" (it has no {without})" if without else ""),
        "all pass; math.h alone", f"{', '.join(failed) + ' fail' if failed else 'all pass'}; {', '.join(sorted(calls))}",
        not failed and calls <= MATHS,
    )  # fmt: skip


def within_reach(robot: rp.Robot) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """A motion as wide as the robot can follow, halved from 0.05 rad or m, and the package's torques."""
    far = 0.05
    while True:
        given = motion(robot, STATES, far=far)
        try:
            return given, rp.inverse_dynamics(robot, *given)
        except ClosureFailed:
            far /= 2


def timed(function: str, scratch: Path) -> list[Row]:
    robot, folder = rp.load("irb360"), scratch / function
    written = write_c(robot, [function], folder)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    text = TIMED.replace("FUNCTION", function).replace(
        "static double", f"static const double HOME[4] = {{{', '.join(map(repr, home.tolist()))}}};\nstatic double", 1
    )
    (folder / "timed.c").write_text(text)
    build = ["gcc", *STRICT, "-O2", "-fstack-usage"]
    subprocess.run([*build, "-c", "irb360.c"], cwd=folder, check=True)
    subprocess.run([*build, "-o", "timed", "timed.c", "irb360.o", "-lm"], cwd=folder, check=True)
    stack = max(int(x) for x in re.findall(r"\t(\d+)\t", (folder / "irb360.su").read_text()))
    size = int(
        subprocess.run(["size", "irb360.o"], cwd=folder, capture_output=True, text=True, check=True).stdout.split()[6]
    )
    done = subprocess.run([folder / "timed"], capture_output=True, text=True, check=True)
    took = np.array(done.stdout.split(), float)
    median, worst = float(np.median(took)), float(took.max())
    bad, residual = done.stderr.split()
    asked = 8 if function == "inverse_dynamics" else 10
    return [
        Row(f"irb360 {function} from motor angles, closing included, median", f"<= {asked} µs", f"{median:.1f} µs", median <= asked),
        Row(f"the same, worst of {len(took)} calls on a machine in use", "reported", f"{worst:.0f} µs; 99.9 % below {np.quantile(took, 0.999):.1f} µs"),
        Row("the same, flags and largest residual of the closures", "0, <= 1e-12", f"{bad}, {residual}", bad == "0" and float(residual) <= 1e-12),
        Row("the same, operations, code, stack", "reported", f"{written.operations[function]}, {size / 1000:.0f} kB, {stack / 1000:.1f} kB"),
    ]  # fmt: skip
