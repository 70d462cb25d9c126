"""Where the work of the motors goes, on every robot of the catalogue with all its friction. Simulated."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from make import Row, Section

from robodyn_pin.errors import ClosureFailed, Diverged, NotPhysical
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.balance import Balance, balance
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile

CATALOGUE = sorted(path.stem for path in (Path(__file__).parents[1] / "urdf").glob("*.yaml"))
SECONDS, PERIOD, WIDEST, SEED = 10.0, 2.0, 0.4, 1  # [s], [s], [rad or m] of a coordinate
HELD = 1e-4  # of the motors' work


def study() -> Section:
    return Section(
        "Balance of energies", "python figures/make.py balance", tuple(rows()),
        f"SIMULATED: every robot of the catalogue with all its friction, {SECONDS:g} s at 1 kHz about home, PD with feedforward (10 Hz, damping 1), three harmonics of {PERIOD:g} s a "
        f"coordinate, drawn with seed {SEED}, of {WIDEST:g} rad or m in sum, halved until the robot stays where its loops close. Work: of the motors, both ways counted. Open: the largest that the balance of energies leaves at any sample. Given back: the sum of samples in which friction of all axes together gave energy, in parts of all that it took: "
        "in a step in which an axis turns round its friction has the sign of the rate after the step (1e-12 is round-off).",
    )  # fmt: skip


def rows(names: list[str] = CATALOGUE) -> Iterator[Row]:
    for name in names:
        try:
            found, spent, widest = moved(load(name))
        except NotPhysical as told_so:
            yield Row(f"{name}", "reported", f"refused: {told_so}")
            continue
        work, open_part, given, turns = told(found, spent)
        yield Row(
            f"{name}, {widest:.3g} rad or m: work of the motors; friction took [J]; changes between sticking and sliding; open; given back",
            f"open <= {HELD:g} of the work; nothing given back",
            f"{work:.4g}; {spent.friction[-1]:.4g}; {turns}; {open_part:.1e}; {given:.1e} ({found.scheme.split(':')[0]})",
            bool(open_part <= HELD and given <= 1e-12),
        )  # fmt: skip


def told(found: Tracking, spent: Balance) -> tuple[float, float, float, int]:
    """Work of the motors both ways [J], what is open of it at most, what friction gave back in parts of all that it took, changes of who sticks."""
    work = float(np.abs(np.diff(spent.motors)).sum())
    given = float(np.maximum(-np.diff(spent.friction), 0).sum() / max(spent.friction[-1], 1e-300))
    turns = int((spent.stuck[1:] != spent.stuck[:-1]).sum())
    return work, float(np.abs(spent.missing).max()) / work, given, turns


def moved(robot: Robot, rate: float = 1000, seconds: float = SECONDS) -> tuple[Tracking, Balance, float]:
    """The robot about its home, under a controller, and how wide its coordinates go [rad or m]."""
    spec = ControllerFile(law="feedforward", rate=rate, bandwidth=10, damping=1, torque_limits=False)
    names = robot.coordinates.names
    home = np.round(robot.coordinates.S @ robot.home + robot.coordinates.offset, 12)
    shares = np.random.default_rng(SEED).uniform(-1, 1, (2, len(names), 3))
    shares /= np.abs(shares).sum(axis=(0, 2), keepdims=True)
    widest = WIDEST
    while True:
        sin, cos = (dict(zip(names, (widest * x).tolist(), strict=True)) for x in shares)
        centre = dict(zip(names, home.tolist(), strict=True))
        motion = FourierMotion(rate=rate, duration=seconds, period=PERIOD, centre=centre, sin=sin, cos=cos)
        try:
            found = track_motion(*prepare(robot, robot, motion, spec))
        except (ClosureFailed, Diverged):  # the reference, or the robot that overshoots it, leaves the workspace
            widest /= 2
            continue
        return found, balance(found), widest
