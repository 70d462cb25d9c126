"""When the axes of a robot stand still, under a law that is continuous in time, whatever the step."""

from dataclasses import replace

import numpy as np

import robodyn_pin as rp
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.sticking import SLOWEST

Stops = list[list[tuple[float, float]]]  # of each coordinate: from when until when it stands still [s]
BANDWIDTH, PERIOD = 2 * np.pi * 4, 1.0  # [rad/s], [s]


def stops(robot: Robot, wide: float, step: float, seconds: float) -> Stops:
    """Of a robot whose motors, its coordinates, pull it along sines [rad or m], each with a phase of its own, without a model of friction."""
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    bare = replace(robot, efforts=tuple(e for e in robot.efforts if e.spec.model == "armature"))
    inertia, zero = np.diag(rp.mass_matrix(bare, home[None])[0]), 0 * home[None]
    hold = rp.inverse_dynamics(bare, home[None], zero, zero)[0]
    phase, w = np.arange(len(home)), 2 * np.pi / PERIOD

    def pull(t: float, c: np.ndarray, cd: np.ndarray) -> np.ndarray:
        wanted, rate = home + wide * (np.sin(w * t + phase) - np.sin(phase)), wide * w * np.cos(w * t + phase)
        return hold + inertia * (BANDWIDTH**2 * (wanted - c) + 2 * BANDWIDTH * (rate - cd))

    t = np.arange(round(seconds / step) + 1) * step
    found = rp.roll_out(robot, pull, home, 0 * home, t)
    assert "sticks" in found.scheme
    return [spans(t, np.abs(rates) <= SLOWEST) for rates in found.cd.T]


def spans(t: np.ndarray, still: np.ndarray) -> list[tuple[float, float]]:
    """From when until when (N,) `still` holds."""
    change = np.diff(np.r_[False, still, False].astype(int))
    ends = zip(np.flatnonzero(change > 0), np.flatnonzero(change < 0), strict=True)
    return [(float(t[a]), float(t[b - 1])) for a, b in ends]


def apart(some: Stops, others: Stops, step: float) -> tuple[int, float]:
    """How many stops of two steps [s] and more there are, and how far they lie at most from a stand of the other run [s].

    What is shorter is a turn that a coarse step may pass over.
    """
    count, off = 0, 0.0
    for one, two in (*zip(some, others, strict=True), *zip(others, some, strict=True)):
        for begin, end in one:
            if end - begin >= 2 * step * (1 - 1e-9):
                count += 1
                off = max(off, min((max(abs(begin - a), abs(end - b)) for a, b in two), default=np.inf))
    return count, off
