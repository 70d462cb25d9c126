"""Torques that move nothing, for simulation: smooth, random, as a controller that leaves the overconstraint open makes them."""

import numpy as np

FASTEST = 2.0  # [Hz]
TERMS = 12


def smooth_torque(t: np.ndarray, motors: int, rms: float, rng: np.random.Generator) -> np.ndarray:
    """Torques (N, motors) whose rms along any one direction is about `rms` [N m]: sums of cosines of random phase."""
    frequency = rng.uniform(0, FASTEST, (TERMS, motors))
    phase = rng.uniform(0, 2 * np.pi, (TERMS, motors))
    waves = sum(np.cos(2 * np.pi * np.outer(t, f) + p) for f, p in zip(frequency, phase, strict=True))
    return rms * np.sqrt(2 / TERMS) * np.asarray(waves)
