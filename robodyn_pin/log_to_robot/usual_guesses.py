"""The usual mistakes with a log or a robot file, as guesses that can be tried."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from robodyn_pin.log_to_robot.picked_samples import DELAYS, Picked
from robodyn_pin.logs.units import LogKeys, in_si
from robodyn_pin.robot.limits import torque_limit
from robodyn_pin.robot.reading import describe
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.sources import find
from robodyn_pin.robot.units import POSITION_UNITS, motor_units
from robodyn_pin.urdf import catalogue

GRAMS = 1000.0
TURN = 2 * np.pi  # [rad] positions that stay smaller are hardly in degrees
SLOW, FAST = 20.0, 50_000.0  # [Hz] no controller samples a motion at a lower or a higher rate


@dataclass(frozen=True)
class Guess:
    """A mistake that may have been made, described by the correction that undoes it."""

    said: str  # what it looks like, for a sentence
    motors: tuple[int, ...]  # that it concerns; none: all
    positions: np.ndarray  # (n, n) true ones from those of the log
    torques: np.ndarray  # (n, n)
    time: float = 1.0
    body: int | None = None  # group of identical bodies whose values in the robot's files are divided by GRAMS
    robot: Robot | None = None  # another one, that the log may be of
    delay: int | None = None  # of the motors' torques, index into DELAYS
    gear: bool = False  # a gear that is off
    offset: np.ndarray | None = None  # (n,) constant torques [N m or N] that the log has too much
    zeros: np.ndarray | None = None  # (n,) positions [rad or m] that the log has too much
    fitted: bool = False  # to the samples on which it is tried
    gravity: tuple[float, float, float] | None = None  # [m/s^2] where it points instead

    @property
    def moves(self) -> bool:
        """Whether it changes the motion of the joints, or gravity along it."""
        changed = self.robot is not None or self.zeros is not None or self.gravity is not None or self.time != 1
        return changed or bool((self.positions != np.eye(len(self.positions))).any())


def guesses(robot: Robot, samples: Picked, rate: float) -> Iterator[Guess]:
    """Of a log at a sampling rate [Hz]: what could have happened to columns, units and signs, and to masses of a robot file."""
    names, n = robot.motors.names, len(robot.motors.names)
    one, far = np.eye(n), np.abs(samples.q).max(axis=0, initial=0.0) > TURN

    def with_(k: int, factor: float) -> np.ndarray:
        changed = one.copy()
        changed[k, k] = factor
        return changed

    for k, m in enumerate(names):
        yield Guess(f"tau_{m} looks like -tau_{m}", (k,), one, with_(k, -1))
        yield Guess(f"q_{m} looks like -q_{m}", (k,), with_(k, -1), one)
        yield Guess(
            f"motor {m} looks as if it turned the other way (-q_{m}, -tau_{m})", (k,), with_(k, -1), with_(k, -1)
        )
        if far[k]:
            yield Guess(f"q_{m} looks like degrees", (k,), with_(k, np.pi / 180), one)
    for i, j in combinations(range(n), 2):
        swap, a, b = one[[j if k == i else i if k == j else k for k in range(n)]], names[i], names[j]
        yield Guess(f"tau_{a} and tau_{b} look swapped", (i, j), one, swap)
        yield Guess(f"q_{a} and q_{b} look swapped", (i, j), swap, one)
        yield Guess(f"motors {a} and {b} look swapped (q and tau)", (i, j), swap, swap)
    yield Guess("all torques look as if their signs were wrong (-tau)", (), one, -one)
    for said, factor in (("twice too fast", 2.0), ("twice too slowly", 0.5)):
        yield Guess(f"the time column looks as if it ran {said}", (), one, one, factor)
    for k, delay in enumerate(DELAYS):
        late = f"{1e3 * abs(delay):g} ms {'late' if delay > 0 else 'early'}"
        yield Guess(f"all torques look {late} ('delay: fit' finds by how much)", (), one, one, delay=k)
        for motor, m in enumerate(names if n > 1 else ()):
            yield Guess(f"tau_{m} looks {late}", (motor,), one, one, delay=k)
    if far.any():
        yield Guess("all angles look like degrees", (), one * np.pi / 180, one)
    for said, factor, plausible in (
        ("like milliseconds", 1e-3, rate <= SLOW),
        ("like microseconds", 1e-6, rate <= 1e-3 * SLOW),
        ("1000 times too small", 1e3, rate >= FAST),
    ):
        if plausible:
            yield Guess(f"the time column looks {said}", (), one, one, factor)
    limits = [torque_limit(robot, m) for m in names]
    if all(limits):
        shares = np.diag(np.array(limits, float)) / 100
        yield Guess("the torques look like percent of the motors' rated torques", (), one, shares)
    for factor, unit in ((1e-3, "mN m (or mN)"), (1e3, "kN m (or kN)")):
        yield Guess(f"the torques look like {unit}", (), one, one * factor)
    joints = dict(zip(robot.bodies, robot.body_columns[0].tolist(), strict=True))
    for k, group in enumerate(robot.body_groups):
        mass = robot.model.inertias[joints[group[0]]].mass
        text = f"the body {group[0]!r} of the robot file, {mass:.4g} kg, looks {GRAMS:g} times too heavy (grams?)"
        yield Guess(text, (), one, one, body=k)


def other_orders(robot: Robot) -> Iterator[Guess]:
    """Columns counted from the wrong one, or from the last motor to the first."""
    names = robot.motors.names
    n, one = len(names), np.eye(len(names))
    right = np.roll(np.arange(n), 1)
    for order in [right, np.argsort(right)] * (n > 2) + [np.arange(n)[::-1]] * (n > 3):
        said = f"look as if their columns were those of {', '.join(names[k] for k in order)}"
        undo = one[:, order]
        yield Guess(f"the torques {said}", (), one, undo)
        yield Guess(f"the positions {said}", (), undo, one)
        yield Guess(f"positions and torques {said}", (), undo, undo)


def off_all_the_time(
    robot: Robot, keys: LogKeys, kind: Literal["torque", "position"], off: np.ndarray
) -> tuple[str, str]:
    """What is said of motors whose column has a constant `off` (n,) too much, and the key of the run file that takes it off."""
    names, units, si = robot.motors.names, motor_units(robot), in_si(robot, keys)
    column, zero, unit = (
        ("tau", si.zero_torque, si.torque) if kind == "torque" else ("q", si.zero_position, si.position)
    )
    motors, in_file = np.flatnonzero(off).tolist(), zero + off / unit
    said = ", ".join(
        f"{column}_{names[k]} looks too {'large' if off[k] > 0 else 'small'} by {abs(off[k]):.3g} "
        f"{units[names[k]] if kind == 'torque' else POSITION_UNITS.get(units[names[k]], 'rad or m')} all the time"
        for k in motors
    )
    asked = ", ".join(f"{names[k]}: {in_file[k]:.4g}" for k in motors)
    return said, f"'zero: {{{kind}: {{{asked}}}}}' in the run file"


def others(robot: Robot) -> Iterator[Guess]:
    """Robots of the catalogue whose motors have the same names."""
    one = np.eye(len(robot.motors.names))
    for name in catalogue():
        if describe(find(name))[0].motor_names not in (None, robot.motors.names):
            continue  # known without building the robot
        other = load(name)
        if other.motors.names == robot.motors.names and other.urdf_path != robot.urdf_path:
            yield Guess(f"the log looks like one of {name!r}, not of {robot.name!r}", (), one, one, robot=other)


def mountings(robot: Robot) -> Iterator[Guess]:
    """Other directions of gravity: a robot that hangs or stands on a wall; none, where a controller takes it off the torques."""
    one, drawn = np.eye(len(robot.motors.names)), np.array(robot.file.gravity)
    size = float(np.linalg.norm(drawn))
    for gravity in [*size * np.eye(3), *-size * np.eye(3), np.zeros(3)] if size else []:
        if np.allclose(gravity, drawn):
            continue
        x, y, z = (round(float(x), 3) + 0.0 for x in gravity)
        remedy = f"'gravity: [{x:g}, {y:g}, {z:g}]' in the run file"
        if not gravity.any():
            said = f"the torques look as if gravity had been taken off (by the controller?); {remedy} identifies what is left"
        elif np.allclose(gravity, -drawn):
            said = f"gravity looks as if it pointed the other way (does the robot hang?); {remedy} says so"
        else:
            said = f"gravity looks as if it pointed along [{x:g}, {y:g}, {z:g}] of the base (is the robot mounted on a wall?); {remedy} says so"
        yield Guess(said, (), one, one, gravity=(x, y, z))
