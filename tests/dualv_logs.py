"""SIMULATED logs of the DualV, and the bits of what they say."""

import numpy as np

import robodyn_pin as rp

RATE = 200.0
SETTINGS = {
    "preparation": {"filter": {"order": 4, "cutoff": 20}},
    "rows": {"filter": {"order": 4, "cutoff": 20}, "cut": 40, "every": 5},
    "bounds": {"mass": [0.01, 50.0]},
}


def dualv_log(robot, seed, seconds=6.0):
    """SIMULATED: a motion of its own, torques by the model with noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * seconds)) / RATE
    turns = 2 * np.pi * np.outer(t, np.arange(1, 4)) / seconds * 2
    c = np.zeros((len(t), 3))
    rates = np.zeros((2, *c.shape))
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    for k in range(3):
        a, b = rng.uniform(-0.05, 0.05, (2, 3)) * (0.3 if k == 2 else 1.0)
        w = np.arange(1, 4) * 4 * np.pi / seconds
        c[:, k] = home[k] + np.sin(turns) @ a + np.cos(turns) @ b
        rates[0, :, k] = np.cos(turns) @ (w * a) - np.sin(turns) @ (w * b)
        rates[1, :, k] = -np.sin(turns) @ (w**2 * a) - np.cos(turns) @ (w**2 * b)
    state = robot.close(c, *rates)
    tau = rp.inverse_dynamics(robot, c, *rates)
    q = state.q @ robot.motors.S.T + robot.motors.offset
    return rp.Log(f"motion {seed}", t, q, tau + rng.normal(0, 0.2, tau.shape), simulated=True)


def bits_of(evidence):
    """Rows as fitted and as scored."""
    return b"".join(f.R.tobytes() for part in (evidence.rows, evidence.scored) for each_ in part for f in each_)
