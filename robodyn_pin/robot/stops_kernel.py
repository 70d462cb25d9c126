"""Stop operators compiled: what stops.py does with NumPy."""

from numba import njit


@njit(cache=True)
def run(x, radii, before, x_before, z):
    """Stretches z (N, m) of stops along positions x (N, m), from the sample before."""
    for j in range(x.shape[1]):
        now, last, radius = before[j], x_before[j], radii[j]
        for k in range(x.shape[0]):
            now = min(max(now + (x[k, j] - last), -radius), radius)
            last = x[k, j]
            z[k, j] = now
