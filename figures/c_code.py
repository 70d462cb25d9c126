"""Exported C code of every robot of the catalogue against the package, compiled strictly, under sanitizers, out of reach; its size and time."""

import re
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from c_code_times import timed
from make import Row, Section
from test_c_code import STRICT, Code, motion

import robodyn_pin as rp
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.exporting.c_files import identifier, write_c
from robodyn_pin.exporting.c_templates import Real
from robodyn_pin.exporting.closed_twin import twin_of
from robodyn_pin.exporting.functions import FUNCTIONS, function_of
from robodyn_pin.robot.robot import Robot
from robodyn_pin.urdf import catalogue

HERE = Path(__file__).parent
STATES, PROCESSES = 10_000, 2
REALS: tuple[Real, ...] = ("double", "float")
MATHS = {"atan2", "copysign", "cos", "exp", "fabs", "fmax", "fmin", "pow", "sin", "sincos", "sqrt", "tanh"}
SANITIZERS = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FAR = (3.0, 1.0)  # [rad, m] of swings out of reach


def study() -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row for f in ("inverse_dynamics", "strut_forces", "reduced_forces") for row in timed(f, Path(scratch))]
        names = catalogue()
        with ProcessPoolExecutor(PROCESSES) as pool:
            tasks = [pool.submit(job, name, Path(scratch)) for job in (agreement, sanitized) for name in names]
            rows += [row for task in tasks for row in task.result()]
    return Section(
        "C code", "python figures/make.py c_code", tuple(rows),
        f"{STATES} states a robot along a smooth motion from home at 1 kHz, loops closed by the code itself; compiled with gcc {' '.join(STRICT)}. "
        "Errors over the largest torque of the motion. Times are of single calls, on one processor: on the wall, and in processor time, whose "
        "clock takes about 0.3 µs of each.",
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


def sanitized(name: str, scratch: Path) -> list[Row]:
    """All functions that a robot has, in double and float: test program and swings under the sanitizers, and what the object files call."""
    robot, code, failed, calls, swept = rp.load(name), identifier(rp.load(name).name), [], set(), []
    functions = functions_of(robot)
    for real in REALS:
        folder = scratch / f"{name}_all_{real}"
        write_c(robot, functions, folder, real)
        built(["-O0", "-c", f"{code}.c"], folder)
        symbols = subprocess.run(["nm", "-u", f"{code}.o"], cwd=folder, capture_output=True, text=True, check=True)
        calls |= {symbol.removesuffix("f") for symbol in re.findall(r" U (\w+)", symbols.stdout)}
        built([*SANITIZERS, "-c", "-o", "watched.o", f"{code}.c"], folder)
        built([*SANITIZERS, "-o", "test", f"test_{code}.c", "watched.o", "-lm"], folder)
        done = subprocess.run([folder / "test"], capture_output=True, text=True, check=False)
        if (done.returncode, done.stdout, done.stderr) != (0, "all functions agree\n", ""):
            failed.append(real)
        swept.append(swings(robot, code, folder))
    without = ", ".join(f for f in FUNCTIONS if f not in functions)
    total = np.sum(swept, axis=0)
    return [
        Row(
            f"{name}, its {len(functions)} functions, double and float, under ASan and UBSan; what their object files call" + (f" (it has no {without})" if without else ""),
            "all pass; math.h alone", f"{', '.join(failed) + ' fail' if failed else 'all pass'}; {', '.join(sorted(calls))}",
            not failed and calls <= MATHS,
        ),
        Row(
            f"{name}, out of reach or through singular poses, {total[0]} swings by {FAR[0]:g} rad or {FAR[1]:g} m at 1 kHz, and inputs that are no numbers, under both: "
            "calls flagged 1 and 2; numbers that are none, numbers under a flag, wrong inputs without one, swings that end in another pose without one",
            "flags; 0, 0, 0, 0", f"{total[2]} and {total[3]} of {total[1]}; {total[4]}, {total[5]}, {total[6]}, {total[7]}", not total[4:].any(),
        ),
    ]  # fmt: skip


def functions_of(robot: Robot) -> list[str]:
    """The functions that a robot has."""
    twin, found = twin_of(robot), []
    for name in FUNCTIONS:
        try:
            function_of(twin, name)
            found.append(name)
        except RobodynError:
            pass
    return found


def swings(robot: Robot, code: str, folder: Path) -> np.ndarray:
    """What c_code_sweep.c counts (8,), under the sanitizers."""
    d, n = len(robot.coordinates.names), len(robot.motors.names)
    about = [f'-DHEADER="{code}.h"', f"-DROBOT={code}", f"-DCOORDINATES={d}", f"-DMOTORS={n}", "-I."]
    built([*SANITIZERS, *about, "-o", "sweep", str(HERE / "c_code_sweep.c"), "watched.o", "-lm"], folder)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    far = np.where(robot.slides(robot.coordinates.S), FAR[1], FAR[0]) * np.abs(robot.coordinates.S).max(axis=1)
    command = [folder / "sweep", *map(repr, [*far.tolist(), *home.tolist()])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), int)


def built(options: list[str], folder: Path) -> None:
    subprocess.run(["gcc", *STRICT, *options], cwd=folder, check=True)


def within_reach(robot: rp.Robot) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """A motion as wide as the robot can follow, halved from 0.05 rad or m, and the package's torques."""
    far = 0.05
    while True:
        given = motion(robot, STATES, far=far)
        try:
            return given, rp.inverse_dynamics(robot, *given)
        except ClosureFailed:
            far /= 2
