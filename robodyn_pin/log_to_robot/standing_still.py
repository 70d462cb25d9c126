"""Held-out logs that stand still far more often than the fitted ones: stops of friction then hold back what is not there."""

import numpy as np

from robodyn_pin.log_to_robot.rows import STILL, Folded
from robodyn_pin.robot.robot import Robot

FAR_MORE, CLEARLY = 2.0, 0.2  # times as often, and that much of all samples more


def more_standstill(robot: Robot, fitted: np.ndarray, unseen: Folded) -> str:
    """A caution about axes with stops that stand still far more often in held-out samples than in fitted ones; else empty.

    Args:
        fitted: shares (d,) of fitted samples in which coordinates stand still. unseen: held-out rows, [moving or still][coordinate].
    """
    rows = np.array([[factor.rows for factor in some] for some in unseen])
    share = rows[STILL] / np.maximum(rows.sum(axis=0), 1)
    with_stops = [row for effort in robot.efforts if effort.memory for row in effort.rows]
    told = [
        f"{name} stands still in {100 * share[j]:.0f} % of the held-out samples, in {100 * fitted[j]:.0f} % of the fitted ones"
        for j, (name, own) in enumerate(zip(robot.coordinates.names, robot.coordinates.S, strict=True))
        if share[j] > max(FAR_MORE * fitted[j], fitted[j] + CLEARLY) and any((row * own).any() for row in with_stops)
    ]
    if not told:
        return ""
    return (
        "; ".join(told)
        + ": stops of 'maxwell_slip' may hold back there what is not there; fit logs that stand still as often, or leave "
        "maxwell_slip out where standstill counts"
    )
