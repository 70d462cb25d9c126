"""Simulated logs of the catalogue, folded once with the torque noise of many seeds beside each other."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.dynamics.regressor import known_efforts, state_regressor
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.fold import Factor, absorb
from robodyn_pin.log_to_robot.rows import filtered, observe
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.motions.motion_file import Motion, read_motion
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.simulated_log import Noise, simulate

SIGMA = np.array([1.5, 1.5, 1.6, 0.16])  # [N m] noise of the IRB 360's torques, as published
EXAMPLES = Path(__file__).parents[1] / "examples"
MOTION = read_yaml(EXAMPLES / "irb360_motion.yaml", FourierMotion)
CHUNK = 2000

_names = ("phi1", "phi2", "phi3", "psi")
_rng = np.random.default_rng(0)
SHORT = FourierMotion(
    rate=200, duration=5, period=5, centre=dict.fromkeys(_names, 0.3),
    sin={name: (0.12 * _rng.normal(size=5)).tolist() for name in _names},
    cos={name: (0.12 * _rng.normal(size=5)).tolist() for name in _names},
)  # fmt: skip

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # samples (n,), W (n, d, p), torques without noise (n, d)


def noisy_log(robot: Robot, motion: Motion | str, share: float = 0.02, seed: int = 0, bits: int = 18) -> Log:
    """A log of a motion, or of one of the examples, with white noise of a share of each torque's rms; limits may be passed."""
    moved = read_motion(EXAMPLES / f"{motion}.yaml") if isinstance(motion, str) else motion
    log = simulate(robot, moved, Noise(np.zeros(len(robot.motors.names)), bits), ignore_limits=True)
    noise = share * np.sqrt(np.mean(log.efforts**2, axis=0)) * np.random.default_rng(seed).normal(size=log.q.shape)
    return uniform(replace(log, tau=log.efforts + noise))


def random_swings(robot: Robot, seed: int, seconds: float) -> FourierMotion:
    """Five harmonics of 0.1 rad about 0.3 rad for each motor, again every five seconds."""
    names, rng = robot.motors.names, np.random.default_rng(seed)
    terms = {part: {m: (0.1 * rng.normal(size=5)).tolist() for m in names} for part in ("sin", "cos")}
    return FourierMotion(rate=200, duration=seconds, period=5, centre=dict.fromkeys(names, 0.3), **terms)


def exact_rows(robot: Robot, motion: FourierMotion = MOTION, begin: float = 0.0, end: float = 1.0) -> Iterator[Rows]:
    """Rows of a part of the motion, its rates known exactly."""
    t, *rates = fourier(motion, robot.coordinates.names)
    return rows_of(robot, *rates, begin=round(begin * len(t)), end=round(end * len(t)))


def rows_of(
    robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, begin: int = 0, end: int | None = None
) -> Iterator[Rows]:
    """Rows of coordinates and rates (N, d); the torques by recursive Newton-Euler, not by W."""
    stop = len(c) if end is None else end
    for low in range(begin, stop, CHUNK):
        index = np.arange(low, min(low + CHUNK, stop))
        state = robot.close(c[index], cd[index], cdd[index])
        yield index, state_regressor(robot, state), coordinate_efforts(robot, state) - known_efforts(robot, state)


def measured_rows(
    robot: Robot, bits: int | None, preparation: Preparation, lowpass: Lowpass | None, every: int, cut: int = 0,
    begin: float = 0.0, end: float = 1.0,
) -> Iterator[Rows]:  # fmt: skip
    """The same from angles alone, as encoders of so many bits before the gear read them, prepared as a run file says."""
    log = simulate(robot, MOTION, Noise(np.zeros(len(robot.motors.names)), bits))
    start, stop = round(begin * log.size), round(end * log.size)
    part = log.window(0, stop) if lowpass else log  # fitted rows must not see beyond; held-out ones are not filtered
    for block in observe(robot, part, preparation, [lowpass], start, min(stop, log.size - cut)):
        W, known, y = filtered(block, lowpass, part)
        index = block.begin + np.arange(len(W))
        kept = (index % every == 0) & (index >= cut) & (index < stop - cut)
        yield index[kept], W[kept], (y - known)[kept]


def noise_of(seeds: Iterable[int], samples: int, sigma: np.ndarray = SIGMA) -> np.ndarray:
    """White noise (samples, d, seeds)."""
    drawn = [np.random.default_rng(seed).normal(size=(samples, len(sigma))) * sigma for seed in seeds]
    return np.stack(drawn, axis=2)


def fold_seeds(rows: Iterable[Rows], noise: np.ndarray) -> list[list[Factor]]:
    """Factors [seed][motor] of the same rows with the noise (N, d, seeds) of each seed: W is folded once for all."""
    R: list[np.ndarray] = []
    count = 0
    for index, W, y in rows:
        seen = np.concatenate([W, y[:, :, None] + noise[index]], axis=2)
        R = R or [np.zeros((seen.shape[2], seen.shape[2]))] * seen.shape[1]
        R = [absorb(R[j], seen[:, j]) for j in range(seen.shape[1])]
        count += len(index)
    p = len(R[0]) - noise.shape[2]
    return [[of_seed(r, p, k, count) for r in R] for k in range(noise.shape[2])]


def of_seed(R: np.ndarray, p: int, k: int, rows: int) -> Factor:
    """[W, y_k] out of the factor of [W, y_1, y_2, ...]: what no parameter explains shrinks to one number."""
    y = R[:, p + k]
    left = np.linalg.norm(y[p:])
    return Factor(np.block([[R[:p, :p], y[:p, None]], [np.zeros((1, p)), left]]), rows, float(y @ y))
