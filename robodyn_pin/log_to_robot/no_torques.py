"""Columns of torques that cannot be torques: constant, or a motor's position; and those without a sign."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.log_to_robot.instruments import LOOKED_AT
from robodyn_pin.log_to_robot.picked_samples import Picked
from robodyn_pin.logs.stored_log import AnyLog

SAME = 1e-9  # relative; a torque that varies less is no measurement
MOVES = 1e-3  # [rad or m]
NEAR_ZERO = 0.05  # of a torque's rms
OFTEN, TIMES = 0.002, 5  # share of the samples, and how often: a torque that comes so near also crosses zero
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


def without_sign(logs: Sequence[AnyLog]) -> list[int]:
    """Motors whose torque comes near zero time and again, and never below. Zeros are no sign of it: a drive may have been off."""
    efforts = (log.section(0, min(log.size, LOOKED_AT)).efforts for log in logs)
    found = np.array([_near_zero(effort) for effort in efforts])  # (logs, 3, n)
    share, times, lowest = found[:, 0].mean(axis=0), found[:, 1].sum(axis=0), found[:, 2].min(axis=0)
    return np.flatnonzero((lowest >= 0) & (share > OFTEN) & (times >= TIMES)).tolist()


def _near_zero(effort: np.ndarray) -> np.ndarray:
    """Of torques (N, n): the share of samples just above zero, how often they come there, and the lowest (3, n)."""
    close = (effort > 0) & (effort < NEAR_ZERO * np.sqrt(np.mean(effort**2, axis=0)))
    return np.array([close.mean(axis=0), (close[1:] & ~close[:-1]).sum(axis=0), effort.min(axis=0)])
