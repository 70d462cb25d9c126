"""A robot as an FMU, FMI 2.0 for co-simulation: motor torques in, motion out, its loops closed inside.

exported C code of the forward dynamics + Runge-Kutta and the functions of the standard ─► library ─► zip with modelDescription.xml
"""

import hashlib
import sys
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.exporting.c_compiler import build_library, c_compiler
from robodyn_pin.exporting.c_files import c_texts, identifier
from robodyn_pin.exporting.symbolic_efforts import check_forms
from robodyn_pin.files import write_whole
from robodyn_pin.robot.masses import check_known
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.fmu_description import description
from robodyn_pin.simulation.fmu_source import SOURCE
from robodyn_pin.simulation.schemes import MOST_STEPS, RESOLVED, STIFFEST, decay, oscillation

LONGEST = 1e-3  # [s] of one step of integration
FUNCTION = "forward_dynamics"
LIBRARIES = {"linux": ("linux64", ".so"), "darwin": ("darwin64", ".dylib"), "win32": ("win64", ".dll")}
WRITTEN = (1980, 1, 1, 0, 0, 0)  # dates in the zip, so that the same robot makes the same file


def write_fmu(robot: Robot, out: Path) -> float:
    """Write the robot as OUT.fmu for this machine's platform; return its longest step of integration [s].

    Raises:
        RobodynError: no C compiler; friction or springs too steep for Runge-Kutta; something of the robot has no form in C.
        BadFile: unknown masses; the file cannot be written.
    """
    check_known(robot)
    check_forms(robot)
    compiler, (platform, suffix) = c_compiler("an FMU"), LIBRARIES.get(sys.platform, ("", ""))
    if not platform:
        raise RobodynError(f"FMUs hold libraries of Linux, macOS or Windows, and this platform is {sys.platform!r}")
    step, name = longest_step(robot), identifier(robot.name)
    said = f"{numbers_hash(robot)} {step!r} {robot.coordinates.names} {robot.motors.names} {SOURCE}"
    guid = f"{{{hashlib.sha256(said.encode()).hexdigest()[:32]}}}"
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    source = SOURCE.format(
        name=name, NAME=name.upper(), robot=name, guid=guid, step=step, home=", ".join(map(repr, home.tolist()))
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder, sources = Path(scratch), [f"{name}_fmi2.c", f"{name}.c"]
        for file, text in ({sources[0]: source} | c_texts(robot, [FUNCTION])[0]).items():
            (folder / file).write_text(text)
        build_library(compiler, folder, sources, f"{name}{suffix}")
        held = {"modelDescription.xml": description(robot, name, guid, step).encode()}
        held |= {f"sources/{file}": (folder / file).read_bytes() for file in [*sources, f"{name}.h"]}
        held[f"binaries/{platform}/{name}{suffix}"] = (folder / f"{name}{suffix}").read_bytes()
        write_whole(out, partial(_zipped, held))
    return step


def _zipped(held: dict[str, bytes], path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in held.items():
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.external_attr = 0o755 << 16
            out.writestr(entry, data, zipfile.ZIP_DEFLATED)


def longest_step(robot: Robot) -> float:
    """Longest step [s] that Runge-Kutta of order 4 may take about home.

    Raises:
        RobodynError: it is too short to be of use.
    """
    home = (robot.coordinates.S @ robot.home + robot.coordinates.offset)[None]
    still = robot.at_rest(home)
    rate, swings = decay(robot, still), oscillation(robot, still)
    step = float(np.min([LONGEST, STIFFEST / max(rate, 1e-9), RESOLVED / max(swings, 1e-9)]))
    if step < LONGEST / MOST_STEPS:
        what = "friction ends a slow motion" if STIFFEST / max(rate, 1e-9) <= step else "a spring swings"
        raise RobodynError(
            f"robot {robot.name!r}: {what} within {step:.2g} s, and an FMU integrates by Runge-Kutta, which would take more than {MOST_STEPS} "
            "steps a millisecond; give friction a wider change of sign ('width'), or leave stiff springs out"
        )
    return step
