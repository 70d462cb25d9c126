"""Columns of torques that cannot be torques: constant, a motor's position, or a size without a sign."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.log_to_robot.picked_samples import Picked

SAME = 1e-9  # relative; a torque that varies less is no measurement
MOVES = 1e-3  # [rad or m]
NEAR_ZERO = 0.05  # of a torque's rms
OFTEN, TIMES = 0.002, 5  # share of the samples, and how often: a torque that comes so near also crosses zero
COPIED = 1e-3  # relative distance of two columns that are called copies


def no_torques(names: Sequence[str], samples: Picked, efforts: np.ndarray) -> list[tuple[str, tuple[int, ...]]]:
    """A sentence on such columns, and their motors' indices; `names` of the motors, `efforts` (N, n) as logged."""
    found = list[tuple[str, tuple[int, ...]]]()
    for k, m in enumerate(names):
        tau = samples.tau[:, k] - samples.tau[:, k].mean()
        if np.abs(tau).max() <= SAME * np.abs(samples.tau[:, k]).max() and np.ptp(samples.q[:, k]) > MOVES:
            found.append((f"tau_{m} is constant although the motor moves: it is no measured torque", (k,)))
            continue
        for i, other in enumerate(names):
            q = samples.q[:, i] - samples.q[:, i].mean()
            factor = float(tau @ q / max(float(q @ q), 1e-300))
            same = np.linalg.norm(tau - factor * q) < COPIED * np.linalg.norm(tau)
            if same and any(abs(abs(factor) / unit - 1) < COPIED for unit in (1.0, 180 / np.pi)):
                found.append((f"tau_{m} looks like a copy of q_{other}: it is a position, no torque", (k,)))
    if unsigned := tuple(k for k, effort in enumerate(efforts.T) if _unsigned(effort)):
        columns = ", ".join(f"tau_{names[k]}" for k in unsigned)
        found.append(
            (f"the torques in {columns} come near zero and never below it: they have lost their sign", unsigned)
        )
    return found


def _unsigned(effort: np.ndarray) -> bool:
    """Whether a torque (N,) comes near zero time and again, and never below. Zeros are no sign of it: a drive may have been off."""
    near = (effort > 0) & (effort < NEAR_ZERO * np.sqrt(np.mean(effort**2)))
    times = np.count_nonzero(near[1:] & ~near[:-1])
    return bool((effort >= 0).all() and near.mean() > OFTEN and times >= TIMES)
