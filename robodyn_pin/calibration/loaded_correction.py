"""A corrected path under loads: motors stand where springs, loads and weight pull the tool onto the plan.

The loaded robot shall stand where the correction for geometry puts it, so what its motors carry there is known, and so is by how much
their springs yield: no iteration.
"""

from dataclasses import replace

import numpy as np

from robodyn_pin.calibration.correction import CorrectedPath, away_from
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.loads_at_rest import motors_carry
from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.calibration.yielding_drives import compliances
from robodyn_pin.robot.robot import Robot

TOOL = "tool"


def correct_for_load(
    found: CorrectedPath, robot: ErringRobot, e: np.ndarray, calibrated: Robot, wrench: np.ndarray
) -> CorrectedPath:
    """The path that was corrected for geometry, corrected for loads (N, 6) [N, N m], axes of the robot's base, too.

    Where the tool is without and with correction comes from the balance of springs and loads, not from how the correction was made.

    Args:
        robot: with errors e and drives that yield. calibrated: the same robot as its files have it.

    Raises:
        ClosureFailed, RobodynError: as `ErringRobot.settled`.
    """
    assert robot.drives is not None
    names, places = robot.robot.coordinates.names, [error.place for error in robot.errors]
    true, _ = robot.coordinates(e, found.c)
    gear = robot.coordinates(e, found.c + 1)[0] - true
    carried = motors_carry(calibrated, robot.drives, found.c, wrench)
    c = found.c + compliances(robot.drives, names, places, e) * carried / gear**2
    own = np.array([error.group not in ("base", "tool") for error in robot.errors])
    target = {TOOL: TargetSpec(kind="pose", frame=found.tool.frame, at=tuple(found.tool.at.tolist()))}
    kept = [error for error, there in zip(robot.errors, own, strict=True) if there]
    at_zero = ErringRobot(robot.robot, kept, target, drives=robot.drives)

    def off(commanded: np.ndarray) -> np.ndarray:
        start = at_zero.nominal(commanded, lambda i: f"corrected point {i + 1}")
        there = at_zero.predict(e[own], commanded, start, slopes=False, wrench=wrench)
        return away_from(there.places[TOOL], found.path.places)

    return replace(found, c=c, uncorrected=off(found.path.c), left=off(c))
