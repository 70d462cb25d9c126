"""The motion of a Delta in closed form, from its arms alone."""

import numpy as np

from robodyn_pin.families.delta import Delta, DeltaMotion, platform_position


def arm_motion(delta: Delta, phi: np.ndarray, phid: np.ndarray, phidd: np.ndarray) -> DeltaMotion:
    """The moving parts from the arms' angles and rates (N, 3) alone, loops closed in closed form.

    Raises:
        ClosureFailed: the arms stand too far apart for the struts to meet; names the sample.
    """
    radius, tangent = delta.arms.at(np.cos(phi), np.sin(phi))
    x = platform_position(delta, phi)
    struts = x[:, None] - radius + delta.hanging[delta.first]
    rows = np.linalg.inv(struts)  # struts x' = struts . elbows'
    elbow_rate = tangent * phid[..., None]
    xd = (rows @ np.vecdot(struts, elbow_rate)[..., None]).transpose(0, 2, 1)
    rate = xd - elbow_rate
    elbow_pull = tangent * phidd[..., None] - radius * (phid * phid)[..., None]
    right = np.vecdot(struts, elbow_pull) - np.vecdot(rate, rate)
    return DeltaMotion(phi, phid, phidd, x, (rows @ right[..., None])[..., 0])
