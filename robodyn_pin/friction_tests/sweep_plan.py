"""The motion that shows friction: sweeps of one motor at a time, the others posed so that gravity loads it least.

Source: Obal & Gierlak (IRB 2400), section 7.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from robodyn_pin.closures.closing import reachable
from robodyn_pin.dynamics.equations import gravity
from robodyn_pin.dynamics.loads import check_motion, positions_allowed
from robodyn_pin.errors import BeyondLimits, ClosureFailed, RobodynError, UnknownName
from robodyn_pin.files import write_json, write_text
from robodyn_pin.friction_tests.friction_file import FrictionFile, SweepsSpec
from robodyn_pin.friction_tests.strokes import check_motors, unit_of
from robodyn_pin.motions.sweeps import Sweep, SweepMotion, polynomial
from robodyn_pin.robot.limits import MOTION, limits_of, speed_limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import Milestone, tell

Course = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
TRIED = 49  # places of each waiting coordinate
AS_GOOD = 0.02  # of the range of loads that is found: nearer to where it waits beats less gravity by less than that
AS_LOW = 0.01  # likewise, of the least load
SLIGHT = 0.01  # [N m or N] likewise
HEAVY = 1.0  # [N m or N] less is no load
DENSE = 8  # times between two knots at which limits are looked at


@dataclass(frozen=True)
class Posed:
    """A sweep, and the gravity that is left."""

    sweep: Sweep
    unit: str
    load: float  # rms gravity over the sweep's travel, signless
    range: tuple[float, float]  # least and greatest that places of the others give


@dataclass(frozen=True)
class Protocol:
    """A motion to be recorded."""

    robot: str
    motion: SweepMotion
    posed: tuple[Posed, ...]
    duration: float  # [s]

    @property
    def heavy(self) -> list[str]:
        """Motors that gravity loads wherever the others are."""
        return [p.sweep.of for p in self.posed if p.range[0] > max(HEAVY, p.range[1] / 2)]

    def summary(self) -> dict[str, object]:
        """What `protocol.json` holds."""
        rows = [
            {"motor": p.sweep.of, "reference": p.sweep.at, "others": p.sweep.others, "unit": p.unit}
            | {"gravity left": p.load, "gravity, least and most by the others": list(p.range)}
            for p in self.posed
        ]
        speeds = self.motion.sweeps[0].speeds
        about = {"robot": self.robot, "speeds": len(speeds), "slowest": speeds[0], "fastest": speeds[-1]}
        return about | {"duration [s]": self.duration, "sweeps": rows}

    def write(self, folder: Path) -> None:
        """Write `sweeps.yaml` (for `robodyn simulate`), `passages.csv` (for a controller) and, last, `protocol.json`."""
        text = yaml.safe_dump(self.motion.model_dump(), sort_keys=False, width=120, default_flow_style=None)
        write_text(folder / "sweeps.yaml", text)
        write_text(folder / "passages.csv", self._passages().write_csv(float_precision=8))
        write_json(folder / "protocol.json", self.summary())

    def _passages(self) -> pl.DataFrame:
        """One row a passage: from where to where at which constant speed."""
        rows = []
        for sweep in self.motion.sweeps:
            for w in sweep.speeds:
                half = max(w * self.motion.hold, self.motion.travel) / 2
                ends = sweep.at - half, sweep.at + half
                rows += [(sweep.of, begin, end, w, 2 * half / w) for begin, end in (ends, ends[::-1])]
        return pl.DataFrame(rows, ["motor", "from", "to", "speed", "seconds"], orient="row")


def plan_sweeps(run: FrictionFile, robot: Robot, progress: Callable[[str], None] = tell) -> Protocol:
    """The sweeps that a friction file asks for, posed and checked against the robot's limits.

    Raises:
        UnknownName: no such motor or coordinate.
        RobodynError: speeds beyond a limit; a pose out of reach, and which limit stops it.
    """
    spec = run.sweeps
    if spec is None:
        raise RobodynError(
            "a protocol is planned for 'sweeps: {at: {MOTOR: ANGLE}}'; for a motor that turns freely list 'speeds:' in a motion "
            "file (see `robodyn simulate`)"
        )
    names = robot.coordinates.names
    check_motors(robot, list(spec.at))
    for name in (*spec.at, *spec.pose):
        if name not in names:
            raise UnknownName("coordinate", name, "the robot's coordinates, along which sweeps go", names)
    _check_speeds(robot, spec)
    posed = []
    for done, name in enumerate(spec.at):
        progress(Milestone(f"poses for the sweep of {name}", "poses", done / len(spec.at)))
        posed.append(_posed(robot, spec, name))
    settings = {key: getattr(spec, key) for key in ("rate", "hold", "travel", "ramp", "approach")}
    note = f"sweeps of {robot.name} past reference angles, one motor at a time, the others where gravity loads it least"
    motion = SweepMotion(sweeps=[p.sweep for p in posed], note=note, **settings)
    for p in posed:
        alone = motion.model_copy(update={"sweeps": [p.sweep]})
        _check_limits(robot, alone, f"the sweep of {p.sweep.of!r} at {p.sweep.at:g}")
    _check_limits(robot, motion, "the way between the sweeps")
    return Protocol(robot.name, motion, tuple(posed), float(polynomial(motion, names).x[-1]))


def _check_speeds(robot: Robot, spec: SweepsSpec) -> None:
    limits = dict(zip(robot.motors.names, speed_limits(robot), strict=True))
    for name in spec.at:
        beyond = [w for w in spec.in_order if w > limits[name]]
        if beyond:
            raise RobodynError(
                f"the sweep of {name!r} has {len(beyond)} speeds beyond the motor's limit of {limits[name]:g} per second, up to "
                f"{beyond[-1]:g}; leave them out of 'sweeps: speeds'"
            )


def _posed(robot: Robot, spec: SweepsSpec, name: str) -> Posed:
    """Places of the others where gravity loads a motor least, from home or as the file says."""
    names = robot.coordinates.names
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset
    for other, value in spec.pose.items():
        c[names.index(other)] = value
    k, fastest = names.index(name), spec.in_order[-1]
    c[k] = spec.at[name]
    turning = fastest * spec.ramp  # [rad or m], more than it takes
    travel = spec.at[name] + (max(fastest * spec.hold, spec.travel) / 2 + turning) * np.array([-1.0, 0.0, 1.0])
    waiting = [j for j in range(len(names)) if j != k]
    extremes: list[float] = []
    for _ in waiting:  # each time the one that takes most off
        best = []
        for j in waiting:
            places = np.append(_places(robot, names[j]), c[j])
            loads = _loads(robot, c, k, travel, j, places)
            if np.isfinite(loads).any():  # else nothing is in reach: the check of limits says why
                low, high = float(np.nanmin(loads)), float(np.nanmax(loads))
                fine = np.flatnonzero(loads <= (1 + AS_LOW) * low + AS_GOOD * (high - low) + SLIGHT)
                best.append((low, j, places[fine[np.abs(places[fine] - c[j]).argmin()]]))
                extremes += [low, high]
        least = min(best, default=None)
        if least is None or c[least[1]] == least[2]:
            break
        c[least[1]] = least[2]
    load = float(_loads(robot, c, k, travel, k, c[k : k + 1])[0])
    others = {other: round(float(x), 4) for other, x in zip(names, c, strict=True) if other != name}
    sweep = Sweep(of=name, at=spec.at[name], speeds=spec.in_order, others=others)
    return Posed(sweep, unit_of(robot, name).effort, load, (min(extremes, default=load), max(extremes, default=load)))


def _places(robot: Robot, name: str) -> np.ndarray:
    """Where a waiting coordinate may be."""
    for bounds in limits_of(robot, {}, 0.05).bounds:
        if bounds.kind == "position" and name in bounds.names:
            i = bounds.names.index(name)
            return np.linspace(bounds.centre[i] - bounds.half[i], bounds.centre[i] + bounds.half[i], TRIED)
    return np.linspace(-np.pi, np.pi, TRIED)


def _loads(robot: Robot, c: np.ndarray, k: int, travel: np.ndarray, j: int, places: np.ndarray) -> np.ndarray:
    """Rms gravity on coordinate k over its travel with coordinate j at each of the places (n,); nan where out of reach."""
    tried = np.tile(c, (len(places), len(travel), 1))
    tried[:, :, j] = places[:, None]
    tried[:, :, k] = travel
    flat = tried.reshape(-1, len(c))
    q, closed = reachable(robot.loops, robot.coordinates.S, robot.coordinates.offset, flat, robot.home)
    closed &= positions_allowed(robot, q)
    inside = closed.reshape(len(places), -1).all(axis=1)
    found = np.full(len(places), np.nan)
    if inside.any():
        efforts = gravity(robot, tried[inside].reshape(-1, len(c)))[:, k].reshape(inside.sum(), -1)
        found[inside] = np.sqrt((efforts**2).mean(axis=1))
    return found


def _check_limits(robot: Robot, motion: SweepMotion, what: str) -> None:
    """Raise RobodynError where a motion leaves the robot's limits, and which."""
    profile = polynomial(motion, robot.coordinates.names)
    t = np.unique(np.linspace(profile.x[:-1], profile.x[1:], DENSE))
    check_course(robot, (t, profile(t), profile(t, 1), profile(t, 2)), what, "'sweeps: at'")


def check_course(robot: Robot, course: Course, what: str, key: str) -> None:
    """Raise RobodynError where time (N,) and coordinates, rates, accelerations (N, d) leave the robot's limits, and which."""
    t, c, cd, cdd = course
    try:
        state = robot.close(c, cd, cdd, label=lambda i: f"{what}, t = {t[i]:.4g} s")
    except ClosureFailed as error:
        raise RobodynError(f"{what} is out of reach: {error}; choose another {key} or 'pose'") from None
    moving = limits_of(robot, {}, 0.0).of(MOTION)
    try:
        check_motion(robot, moving, state, {}, lambda i: f"{what}, t = {t[i]:.4g} s")
    except BeyondLimits as error:
        more = (
            ", 'pose' or 'speeds', or a longer 'ramp'" if key == "'sweeps: at'" else " or 'pose', or a longer 'seconds'"
        )
        raise BeyondLimits(f"{error}; choose another {key}{more}") from None
