"""Columns of torques that cannot be torques: constant, or a motor's position."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.log_to_robot.picked_samples import Picked

SAME = 1e-9  # relative; a torque that varies less is no measurement
MOVES = 1e-3  # [rad or m]
COPIED = 1e-3  # relative distance of two columns that are called copies


def no_torques(names: Sequence[str], samples: Picked) -> list[tuple[str, int]]:
    """A sentence on each such column, and its motor's index; `names` of the motors."""
    found = list[tuple[str, int]]()
    for k, m in enumerate(names):
        tau = samples.tau[:, k] - samples.tau[:, k].mean()
        if np.abs(tau).max() <= SAME * np.abs(samples.tau[:, k]).max() and np.ptp(samples.q[:, k]) > MOVES:
            found.append((f"tau_{m} is constant although the motor moves: it is no measured torque", k))
            continue
        for i, other in enumerate(names):
            q = samples.q[:, i] - samples.q[:, i].mean()
            factor = float(tau @ q / max(float(q @ q), 1e-300))
            same = np.linalg.norm(tau - factor * q) < COPIED * np.linalg.norm(tau)
            if same and any(abs(abs(factor) / unit - 1) < COPIED for unit in (1.0, 180 / np.pi)):
                found.append((f"tau_{m} looks like a copy of q_{other}: it is a position, no torque", k))
    return found
