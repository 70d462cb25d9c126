"""Stop operators (Maxwell slip, Prandtl-Ishlinskii): springs that slide at their radius, and so remember the motion before.

Source: Al-Bender, Lampaert & Swevers 2005, without the lag of the generalised model: z_k = clip(z_(k-1) + x_k - x_(k-1), -r, r).
"""

import numpy as np

from robodyn_pin.closures import kernel_choice

LADDER = (0.01, 0.03, 0.1, 0.3, 1.0)  # radii, in parts of an axis' own spread of position


def run_stops(x: np.ndarray, radii: np.ndarray, before: np.ndarray, x_before: np.ndarray) -> np.ndarray:
    """Stretches z (N, m) of m stops along positions x (N, m) [rad or m].

    Args:
        radii: (m,). before, x_before: stretches and positions (m,) one sample earlier.
    """
    if kernel_choice.chosen(len(x)):
        z = np.empty(x.shape)
        run = kernel_choice.kernel("robodyn_pin.robot.stops_kernel").run
        run(*kernel_choice.ready(x, radii, before, x_before), z)
        return z
    steps, z, now = np.diff(x, axis=0, prepend=x_before[None]), np.empty(x.shape), before
    for k, step in enumerate(steps):
        now = z[k] = np.clip(now + step, -radii, radii)
    return z
