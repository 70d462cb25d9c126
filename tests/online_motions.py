"""Motions of the small Delta's platform that online identification is tried on, and the rows of its sixteen parameters."""

from pathlib import Path

import numpy as np

from robodyn_pin.files import read_yaml
from robodyn_pin.online.causal_rates import CausalRates
from robodyn_pin.online.stream import Stream
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import Tracked, tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.robot import load

RATE = 500.0  # [Hz]
NOISE = 0.05  # [N m]
HEIGHT = -0.36 + 0.2645751  # [m] of the platform joint at 0.36 below the base frame
BOX = (0.07, 0.07, 0.05)  # [m] that the rich motion stays in
AWAY = np.array([2.5, -0.2, -0.2])  # [rad] from the middle of the rich motion: out of reach
SETTINGS = Path(__file__).parents[1] / "examples" / "delta3_track.yaml"


def delta() -> Tracked:
    """The small Delta with its sixteen parameters."""
    return tracked(load("delta3"), read_yaml(SETTINGS, TrackFile))


def hold(samples: int) -> np.ndarray:
    """Platform x, x', x'' (3, N, 3) standing still."""
    x = np.zeros((3, samples, 3))
    x[0, :, 2] = HEIGHT
    return x


def sine(samples: int, first: int = 0) -> np.ndarray:
    """Up and down by 60 mm once a second."""
    t, w = (first + np.arange(samples)) / RATE, 2 * np.pi
    x = hold(samples)
    x[:, :, 2] += 0.06 * np.array([np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)])
    return x


def rich(samples: int, first: int = 0, seed: int = 0) -> np.ndarray:
    """Five harmonics of 0.5 Hz, phases and amplitudes drawn, inside a box of +-70, 70, 50 mm."""
    rng, w = np.random.default_rng(seed), np.pi * np.arange(1, 6)
    amplitude, phase = rng.normal(size=(2, 3, 5))
    turn = np.exp(1j * np.outer(np.arange(1000) / RATE, w))
    size = np.abs((turn @ (amplitude * np.exp(1j * phase)).T).imag).max(axis=0)
    series = (amplitude * np.exp(1j * phase)).T * (np.array(BOX) / size)
    turn = np.exp(1j * np.outer((first + np.arange(samples)) / RATE, w))
    x = hold(samples)
    return x + np.array([(turn @ ((1j * w[:, None]) ** k * series)).imag for k in range(3)])


def set_off(x: np.ndarray) -> np.ndarray:
    """A motion x (3, N, 3) begun from rest: it grows from nothing to its size within the first second."""
    s = np.minimum(np.arange(x.shape[1]) / RATE, 1.0)
    grown = s**3 * (10 - 15 * s + 6 * s**2)
    rate, bend = 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
    grown, rate, bend = grown[:, None], rate[:, None], bend[:, None]
    away = x - hold(x.shape[1])
    moved = [grown * away[0], rate * away[0] + grown * away[1], bend * away[0] + 2 * rate * away[1] + grown * away[2]]
    return hold(x.shape[1]) + np.array(moved)


def motor_motion(model: Tracked, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Motor positions, rates, accelerations (N, 3) of a platform motion x (3, N, 3)."""
    robot = model.robot
    state = robot.with_coordinates(["x", "y", "z"]).close(*x)
    S = robot.motors.S
    return state.q @ S.T, state.v @ S.T, state.a @ S.T


def rows_of(model: Tracked, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (N, 3, 16) and known torques (N, 3) of a platform motion x (3, N, 3)."""
    return model.rows(model.robot.close(*motor_motion(model, x)))


def wrong(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Parameters with errors of 5 %, signs drawn."""
    return values * (1 + 0.05 * rng.choice([-1.0, 1.0], size=len(values)))


def drift(values: np.ndarray, start: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """|p - p(0)| / |p(0)| of estimates (..., n), Euclidean, parameters divided by their nominal values."""
    return np.linalg.norm((values - start) / nominal, axis=-1) / np.linalg.norm(start / nominal)


def new_tracker(model: Tracked, seed: int) -> Tracker:
    """From the truth with errors of 5 %."""
    tracker = Tracker(model, np.full(3, NOISE), RATE, read_yaml(SETTINGS, TrackFile))
    tracker.estimator.values = tracker.start = wrong(model.values, np.random.default_rng(seed))
    return tracker


def signals(model, n, rate=RATE, kilograms=0.0, seed=0):
    """Time, motor positions and torques (simulated) of the rich motion."""
    every = round(RATE / rate)
    motion = [x[::every] for x in motor_motion(model, rich(n * every))]
    rows, known = model.rows(model.robot.close(*motion))
    torque = rows @ (model.values + kilograms * model.payload) + known
    return np.arange(n) / rate, motion[0], torque + NOISE * np.random.default_rng(seed).normal(size=torque.shape)


def new_stream(model, rate=RATE):
    settings = read_yaml(SETTINGS, TrackFile)
    return Stream(Tracker(model, np.full(3, NOISE), rate, settings), CausalRates(rate, 3, settings.causal))


def feed(stream, t, q, tau):
    return list(stream.push(t, q, tau))
