"""A corrected path as a file, sentences and JSON."""

from pathlib import Path

import numpy as np

from robodyn_pin.calibration.correction import PLACE, TURN, CorrectedPath
from robodyn_pin.logs.writing import write_table
from robodyn_pin.robot.robot import Robot


def write_corrected(found: CorrectedPath, robot: Robot, path: Path, note: str) -> None:
    """Write corrected.csv: what to command, what was planned, and where the tool is without and with correction.

    Motors beyond the coordinates have columns, too: they have to follow.

    Raises:
        BadFile: it cannot be written.
    """
    names = robot.coordinates.names
    columns = {} if found.path.t is None else {"t": found.path.t}
    columns |= dict(zip(names, found.c.T, strict=True))
    motors = found.q @ robot.motors.S.T + robot.motors.offset
    columns |= {name: x for name, x in zip(robot.motors.names, motors.T, strict=True) if name not in names}
    columns |= {f"planned_{name}": x for name, x in zip(names, found.path.c.T, strict=True)}
    columns |= {f"wanted_{axis}": found.path.places[:, k, 3] for k, axis in enumerate(PLACE)}
    for what, off in (("uncorrected", found.uncorrected), ("left", found.left)):
        columns |= {f"{what}_d{axis}": off[:, k] for k, axis in enumerate((*PLACE, *TURN))}
    about = (
        f"{note}; corrected path of {robot.name}: its columns {', '.join(names)} are to be commanded by a controller that keeps the drawn geometry, "
        "planned_: what it would have commanded; wanted_: the tool in the base; uncorrected_d, left_d: where the tool is minus where it should"
    )
    write_table(path, columns, about)


def correction_sentence(found: CorrectedPath) -> str:
    """How far the tool would be off, and what is left."""
    (far, turn), (left, left_turn) = (
        [1e3 * float(np.linalg.norm(x[:, part], axis=1).max()) for part in (slice(3), slice(3, 6))]
        for x in (found.uncorrected, found.left)
    )
    return (
        f"Corrected path of {len(found.c)} points: where its controller knows the drawn geometry only, the tool would be up to {far:.3g} mm and {turn:.3g} mrad "
        f"off; with the positions of corrected.csv, by the calibrated geometry, up to {left:.2g} mm and {left_turn:.2g} mrad are left, in directions that the motors cannot move it."
    )


def correction_summary(found: CorrectedPath) -> dict[str, object]:
    """The entry of result.json."""
    largest = {
        f"{what}_{kind}": float(np.linalg.norm(off[:, part], axis=1).max())
        for what, off in (("uncorrected", found.uncorrected), ("left", found.left))
        for kind, part in (("length", slice(3)), ("angle", slice(3, 6)))
    }
    return {"points": len(found.c), "frame": found.tool.frame, "at": found.tool.at.tolist(), "largest": largest}
