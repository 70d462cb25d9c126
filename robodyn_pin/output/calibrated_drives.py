"""Of a calibration with loads: springs in the drives with their intervals, and what motors, struts and closures carry."""

from typing import Any

import numpy as np

from robodyn_pin.calibration.calibration import Calibration
from robodyn_pin.calibration.carried_loads import CarriedLoads
from robodyn_pin.calibration.geometry_fit import Z95


def drive_spring_table(found: Calibration) -> list[dict[str, Any]]:
    """One row for each spring that was sought [N m/rad, N/m where it slides]; the interval is that of the logarithm."""
    rows, robot = [], found.robot
    if robot.drives is None:
        return []
    names = robot.robot.coordinates.names
    for error, value, s, how in zip(robot.errors, found.fit.e, found.fit.deviations, found.shown.how, strict=True):
        if error.group == "stiffness":
            drawn = float(robot.drives.stiffness[names.index(error.place[1])])
            low, middle, high = (float(drawn * np.exp(value + z * s)) for z in (-Z95, 0.0, Z95))
            rows.append({
                "drive": error.place[1], "drawn": drawn, "stiffness": middle, "low": low, "high": high,
                "remaining": float(s / error.tolerance), "shown": how,
            })  # fmt: skip
    return rows


def drive_spring_rows(found: Calibration) -> list[dict[str, str]]:
    """The same as text."""
    slides = dict(
        zip(found.robot.robot.coordinates.names, found.robot.robot.slides(found.robot.robot.coordinates.S), strict=True)
    )
    return [
        {"drive": f"{row['drive']} [{'N/m' if slides[row['drive']] else 'N m/rad'}]", "drawn": f"{row['drawn']:.4g}",
         "stiffness": f"{row['stiffness']:.4g}", "95 % interval": f"{row['low']:.4g} to {row['high']:.4g}",
         "of its tolerance is left": f"{100 * row['remaining']:.0f} %", "the poses show it": row["shown"]}
        for row in drive_spring_table(found)
    ]  # fmt: skip


def carried_rows(carried: CarriedLoads) -> list[dict[str, str]]:
    """For each motor, strut or closure the pose at which the calibration changes most."""
    rows = []
    for k, (name, unit) in enumerate(zip(carried.names, carried.units, strict=True)):
        i = int(np.abs(carried.calibrated[:, k] - carried.drawn[:, k]).argmax())
        value, reach = carried.calibrated[i, k], Z95 * carried.deviations[i, k]
        rows.append({
            "of": f"{name} [{unit}]", "pose": str(carried.poses[i]), "drawn, rigid": f"{carried.drawn[i, k]:.4g}",
            "calibrated": f"{value:.4g}", "95 % interval": f"{value - reach:.4g} to {value + reach:.4g}",
        })  # fmt: skip
    return rows


def carried_columns(carried: CarriedLoads) -> dict[str, np.ndarray]:
    """All poses as columns [N m, N], in the order of the held-out ones."""
    columns: dict[str, np.ndarray] = {"pose": np.array(carried.poses)}
    for k, name in enumerate(carried.names):
        columns |= {
            f"{name}_drawn": carried.drawn[:, k],
            f"{name}_calibrated": carried.calibrated[:, k],
            f"{name}_standard_deviation": carried.deviations[:, k],
        }
    return columns
