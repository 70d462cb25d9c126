"""A robot as an FMU, FMI 2.0 for co-simulation: motor torques in, motion out, its loops closed inside.

exported C code of the dynamics + steps in time as `simulate` takes them + the functions of the standard ─► library ─► zip with
modelDescription.xml
"""

import hashlib
import sys
import tempfile
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.exporting.c_compiler import build_library, c_compiler
from robodyn_pin.exporting.c_files import c_texts, identifier
from robodyn_pin.exporting.closed_twin import twin_of
from robodyn_pin.exporting.functions import FUNCTIONS
from robodyn_pin.exporting.symbolic_efforts import check_forms
from robodyn_pin.files import write_whole
from robodyn_pin.robot.masses import check_known
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.bounded import CHANGES, NOTHING, TWICE
from robodyn_pin.simulation.fmu_description import description
from robodyn_pin.simulation.fmu_source import SOURCE
from robodyn_pin.simulation.fmu_step import STEP
from robodyn_pin.simulation.fmu_terms import FUNCTION as TERMS
from robodyn_pin.simulation.fmu_terms import step_terms
from robodyn_pin.simulation.schemes import MOST_STEPS, RESOLVED, STIFFEST, decay, oscillation, scheme_of
from robodyn_pin.simulation.sticking import SLOWEST, Sticking, sticking

LONGEST = 1e-3  # [s] of a sample between two communication points, unless the user says otherwise
FUNCTION = "forward_dynamics"
LIBRARIES = {"linux": ("linux64", ".so"), "darwin": ("darwin64", ".dylib"), "win32": ("win64", ".dll")}
WRITTEN = (1980, 1, 1, 0, 0, 0)  # dates in the zip, so that the same robot makes the same file


def write_fmu(robot: Robot, out: Path) -> None:
    """Write the robot as OUT.fmu for this machine's platform.

    Raises:
        RobodynError: no C compiler; friction in balls and pins, or springs, too steep to be simulated; something of the robot has no form in C.
        BadFile: unknown masses; the file cannot be written.
    """
    check_known(robot)
    instant = replace(robot, efforts=tuple(e for e in robot.efforts if not e.memory))
    check_forms(instant, given=False)
    compiler, (platform, suffix) = c_compiler("an FMU"), LIBRARIES.get(sys.platform, ("", ""))
    if not platform:
        raise RobodynError(f"FMUs hold libraries of Linux, macOS or Windows, and this platform is {sys.platform!r}")
    name, apart = identifier(robot.name), sticking(robot)
    said = f"{numbers_hash(robot)} {LONGEST!r} {robot.coordinates.names} {robot.motors.names} {SOURCE} {STEP}"
    guid = f"{{{hashlib.sha256(said.encode()).hexdigest()[:32]}}}"
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    gaps = {"name": name, "NAME": name.upper(), "robot": name, "guid": guid, "step": LONGEST, "home": _numbers(home)}
    gaps |= _of_steps(robot, apart)
    source = SOURCE.format(**gaps, stepping=STEP.format(**gaps))
    offered = {FUNCTION: FUNCTIONS[FUNCTION], TERMS: step_terms(apart)}
    with tempfile.TemporaryDirectory() as scratch:
        folder, sources = Path(scratch), [f"{name}_fmi2.c", f"{name}.c"]
        texts, _ = c_texts(robot, list(offered), offered=offered, twin=twin_of(instant))
        for file, text in ({sources[0]: source} | texts).items():
            (folder / file).write_text(text)
        build_library(compiler, folder, sources, f"{name}{suffix}")
        held = {"modelDescription.xml": description(robot, name, guid, LONGEST).encode()}
        held |= {f"sources/{file}": (folder / file).read_bytes() for file in [*sources, f"{name}.h"]}
        held[f"binaries/{platform}/{name}{suffix}"] = (folder / f"{name}{suffix}").read_bytes()
        write_whole(out, partial(_zipped, held))


def _of_steps(robot: Robot, apart: Sticking) -> dict[str, object]:
    """What the text of the steps asks about the robot near home; raises as `scheme_of`."""
    still = robot.at_rest((robot.coordinates.S @ robot.home + robot.coordinates.offset)[None])
    scheme_of(robot, still, LONGEST)
    remembers, stops = bool(len(apart.stops.radius)), apart.stops
    slides = ", ".join(f"{{{_numbers(row)}}}" for row in stops.rows) or "{0}"
    return {
        "axes": len(apart.rows), "stops": len(stops.radius), "radius": _numbers(stops.radius), "stiffness": _numbers(stops.stiffness),
        "slides": slides, "changes": CHANGES, "twice": TWICE, "nothing": NOTHING, "slowest": SLOWEST, "most_steps": MOST_STEPS,
        "swings": oscillation(robot, still) / RESOLVED, "left": decay(apart.rest, still) / STIFFEST, "remembers": int(remembers),
        "steep": 0.0 if remembers else decay(robot, still) / STIFFEST,
    }  # fmt: skip


def _numbers(values: np.ndarray) -> str:
    return ", ".join(map(repr, values.tolist())) or "0"


def _zipped(held: dict[str, bytes], path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in held.items():
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.external_attr = 0o755 << 16
            out.writestr(entry, data, zipfile.ZIP_DEFLATED)
