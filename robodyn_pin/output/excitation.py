"""The files of an exciting motion: to simulate, to identify with, to play on a controller, to look at."""

from pathlib import Path

import numpy as np
import polars as pl
import yaml

from robodyn_pin.excitation.result import Excitation
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import fourier


def write_excitation(found: Excitation, folder: Path) -> None:
    """Write motion.yaml, motion.csv, controller.csv, excitation.svg, excitation.json and, of a platform, workspace.html.

    Raises:
        BadFile: the folder cannot be written.
    """
    from robodyn_pin.viz.excitation import excitation_figure, workspace_scene
    from robodyn_pin.viz.plots import svg_file

    texts = {
        "motion.yaml": yaml.safe_dump(found.motion.model_dump(exclude_none=True), sort_keys=False),
        "controller.csv": _table(found),
        "excitation.svg": svg_file(excitation_figure(found), "excitation"),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    dense, motors, run = found.dense, found.robot.motors, found.run
    note = (
        f"SIMULATED by robodyn_pin, not measured: planned motion of {found.robot.name}, torques of the robot's files; "
        f"{run.period:g} s, {run.harmonics} harmonics, seed {run.seed}; SI units"
    )
    q = dense.q @ motors.S.T + motors.offset
    log = Log("planned", dense.t, q, dense.tau, dense.v @ motors.S.T, dense.a @ motors.S.T, simulated=True)
    write_log(folder / "motion.csv", log, found.robot, note)
    if found.region is not None:
        with workspace_scene(found) as scene:
            scene.write_html(folder / "workspace.html")
    write_json(folder / "excitation.json", found.summary())


def _table(found: Excitation) -> str:
    """Motor positions at the controller's rate, both ends of the period included."""
    spec, robot, motors = found.run.controller, found.moved, found.robot.motors
    whole = {"rate": spec.rate, "duration": found.run.period + 1 / spec.rate}
    t, c, cd, cdd = fourier(found.motion.model_copy(update=whole), robot.coordinates.names)
    q = robot.close(c, cd, cdd).q @ motors.S.T + motors.offset
    slides = robot.slides(motors.S)
    if spec.angle == "deg":
        q *= [1.0 if s else 180 / np.pi for s in slides]
    units = ["m" if s else spec.angle for s in slides]
    listed = ", ".join(f"q_{m} [{u}]" for m, u in zip(motors.names, units, strict=True))
    head = f"# planned motion of {found.robot.name}, {spec.rate:g} Hz: t [s], {listed}; starts and ends at rest\n"
    named = {"t": t} | {f"q_{m}": q[:, k] for k, m in enumerate(motors.names)}
    return head + pl.DataFrame(named).write_csv(float_precision=9)
