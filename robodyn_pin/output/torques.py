"""A model beside a log: predicted and measured torques as a table, figures and a file."""

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.files import write_json, write_text
from robodyn_pin.identification.accuracy import accuracy
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import motor_units


def verify(
    robot: Robot, log: Log, predicted: np.ndarray, preparation: Preparation, edge: int, out: Path
) -> dict[str, Any]:
    """Compare predicted torques (N, n) with those of a log, and write OUT_torques.svg, OUT_motion.svg, OUT_accuracy.json.

    Args:
        edge: rows left out at both ends, where rates miss samples.
        out: file of the predicted torques; the others go beside it.

    Returns:
        What the JSON file holds: accuracy of each motor, as Obal & Gierlak (IRB 2400), Table 6.
    """
    from robodyn_pin.viz.plots import svg
    from robodyn_pin.viz.torques import motion_figure, verification_figure

    inside, measured = slice(edge, log.size - edge), log.efforts
    found = accuracy(measured[inside], predicted[inside])
    names = robot.motors.names
    by_motor = motor_units(robot)
    units = list(by_motor.values())
    simulated = " (SIMULATED log)" if log.simulated else ""
    title = f"{robot.name} and {log.name}{simulated}"
    even = uniform(log)
    q, dq, _ = (x[inside] for x in rates_of(even, preparation).motion(even))
    torques = verification_figure(log.t[inside], measured[inside], predicted[inside], found, names, units, title)
    motion = motion_figure(even.t[inside], q, dq, names, units, title)
    files = [f"{out.stem}_{what}" for what in ("torques.svg", "motion.svg", "accuracy.json")]
    summary = {"robot": robot.name, "log": log.name, "simulated": log.simulated, "samples": found.samples}
    summary |= {"edge rows": edge, "units": by_motor}
    summary |= {"accuracy": found.table(list(names)), "files": files}
    for name, figure in zip(files, (torques, motion), strict=False):
        write_text(out.with_name(name), svg(figure, Path(name).stem))
    write_json(out.with_name(files[2]), summary)
    return summary
