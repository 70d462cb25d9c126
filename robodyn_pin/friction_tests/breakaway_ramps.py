"""Static friction and stiffness before the break by place, from logs of ramps: effort that rises at standstill."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.friction_tests.free_motor import Progress, logs_of
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.result import FrictionQuantity
from robodyn_pin.friction_tests.strokes import Unit, check_motors, unit_of
from robodyn_pin.identification.breakaway import Break, breaks
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import tell

MORE = 2  # times as many ramps break away against their effort as along it
SIDES = {1: "breakaway +", -1: "breakaway -"}


@dataclass(frozen=True)
class Place:
    """What ramps at one place show."""

    at: float  # [rad or m]
    ramps: tuple[Break, ...]
    found: tuple[FrictionQuantity, ...]  # breakaway each way, static friction, load, stiffness


@dataclass(frozen=True)
class ShownRamp:
    """One ramp, for a picture."""

    t: np.ndarray  # (n,) [s] from its begin
    q: np.ndarray  # (n,) [rad or m] from where it stood
    tau: np.ndarray  # (n,) [N m or N]
    broken: Break


@dataclass(frozen=True)
class BreakawayResult:
    """Of several motors."""

    robot: str
    units: dict[str, Unit]
    places: dict[str, tuple[Place, ...]]
    shown: dict[str, ShownRamp]
    warnings: tuple[str, ...]
    slip: float  # [rad or m]
    simulated: bool

    def summary(self) -> dict[str, object]:
        """What `breakaway.json` holds."""
        motors = {
            name: {
                "unit": self.units[name].effort,
                "places": [
                    {"at": p.at, "unit of places": self.units[name].position, "ramps": len(p.ramps)}
                    | {q.name: q.summary() for q in p.found}
                    for p in places
                ],
            }
            for name, places in self.places.items()
        }
        about = {"robot": self.robot, "simulated": self.simulated, "slip": self.slip}
        return about | {"warnings": list(self.warnings), "motors": motors}

    def table(self) -> pl.DataFrame:
        """One row a ramp."""
        rows = [
            {"motor": name, "at": p.at, "stood_at": b.place, "sign": b.sign, "breakaway": b.effort, "error": b.effort_error}
            | {"stiffness": b.stiffness, "stiffness_error": b.stiffness_error, "displacement": b.yielding}
            for name, places in self.places.items()
            for p in places
            for b in p.ramps
        ]  # fmt: skip
        return pl.DataFrame(rows)


def measure_breakaway(run: FrictionFile, folder: Path, robot: Robot, progress: Progress = tell) -> BreakawayResult:
    """Every place of every motor of a friction file; paths start from `folder`.

    Raises:
        BadFile: the file names no 'breakaway'. UnknownName: no such motor.
        BadLog: a motor whose effort nowhere rises at standstill until it moves, or that moves against it.
    """
    spec = run.breakaway
    if spec is None:
        raise BadFile("the friction file names no 'breakaway'")
    check_motors(robot, list(spec.at))
    found: dict[str, list[Break]] = {name: [] for name in spec.at}
    shown: dict[str, ShownRamp] = {}
    against, simulated = Counter[str](), False
    for log, grain in logs_of(run, folder, robot, progress):
        simulated |= log.simulated
        for name in spec.at:
            k = robot.motors.names.index(name)
            new = breaks(log.q[:, k], log.efforts[:, k], log.rate, float(grain[k]), spec.slip)
            found[name] += new
            against[name] += len(breaks(log.q[:, k], -log.efforts[:, k], log.rate, float(grain[k]), spec.slip))
            if new and name not in shown:
                one = new[0]
                part = slice(one.begin, min(log.size, one.at + (one.at - one.begin) // 8 + 2))
                t = (np.arange(part.start, part.stop) - one.begin) / log.rate
                shown[name] = ShownRamp(t, log.q[part, k] - one.place, log.efforts[part, k].copy(), one)
    files, warnings = ", ".join(str(named.file) for named in run.logs), []
    units = {name: unit_of(robot, name) for name in spec.at}
    places: dict[str, tuple[Place, ...]] = {}
    for name, listed in spec.at.items():
        if against[name] > MORE * len(found[name]):
            raise BadLog(
                f"{files}: motor {name!r} breaks away against its effort, {against[name]} times, and along it {len(found[name])} times: "
                f"the sign of tau_{name}, or of q_{name}, is wrong"
            )
        if not found[name]:
            raise BadLog(
                f"{files}: the effort of motor {name!r} nowhere rises for 0.3 s and longer at standstill until it moves by "
                f"{spec.slip:g} {units[name].position} ('breakaway: slip'); raise it slowly from rest, to both sides"
            )
        near = [int(np.argmin([abs(b.place - x) for x in listed])) for b in found[name]]
        far = [b for b, i in zip(found[name], near, strict=True) if abs(b.place - listed[i]) > spec.within]
        kept = [(b, i) for b, i in zip(found[name], near, strict=True) if b not in far]
        if far:
            at = ", ".join(f"{b.place:.4g}" for b in far[:4]) + (", ..." if len(far) > 4 else "")
            warnings.append(
                f"{name}: {len(far)} of {len(found[name])} ramps are at no place of 'breakaway: at' and are left out: {at} "
                f"{units[name].position} ('within: {spec.within:g}')"
            )
        if not kept:
            raise BadLog(f"{files}: {warnings[-1]}; list these places")
        by_place = [tuple(b for b, i in kept if i == k) for k in range(len(listed))]
        missing = [f"{x:g}" for x, ramps in zip(listed, by_place, strict=True) if not ramps]
        if missing:
            warnings.append(f"{name}: the logs hold no ramp at {', '.join(missing)} {units[name].position}")
        places[name] = tuple(
            Place(x, ramps, tuple(_quantities(ramps, units[name])))
            for x, ramps in zip(listed, by_place, strict=True)
            if ramps
        )
        warnings += [
            f"{name} at {p.at:g} {units[name].position}: {said}" for p in places[name] for said in _doubts(p.ramps)
        ]
    return BreakawayResult(robot.name, units, places, shown, tuple(warnings), spec.slip, simulated)


def _quantities(ramps: Sequence[Break], unit: Unit) -> list[FrictionQuantity]:
    """Means over ramps; friction is half the difference of both ways, the load half the sum."""
    sides = {
        sign: _mean(SIDES[sign], [(b.effort, b.effort_error) for b in ramps if b.sign == sign], unit.effort)
        for sign in SIDES
    }
    up, down = sides[1], sides[-1]
    deviation, reach = float(np.hypot(up.deviation, down.deviation)) / 2, float(np.hypot(up.reach, down.reach)) / 2
    both = up.shown and down.shown
    half = {"static friction": (up.value - down.value) / 2, "load": (up.value + down.value) / 2}
    derived = [FrictionQuantity(name, x, deviation, reach, unit.effort, both) for name, x in half.items()]
    stiff = [(b.stiffness, b.stiffness_error) for b in ramps if np.isfinite(b.stiffness_error)]
    return [up, down, *derived, _mean("stiffness", stiff, unit.stiffness)]


def _mean(name: str, values: Sequence[tuple[float, float]], unit: str) -> FrictionQuantity:
    """The mean of several ramps: as sure as they agree, and no surer than each is by itself."""
    if not values:
        return FrictionQuantity(name, np.nan, np.inf, np.inf, unit, shown=False)
    x, error = np.array(values).T
    n = len(x)
    own = float(np.sqrt(np.mean(error**2) / n))
    apart = float(x.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    reach = max(quantile() * own, quantile(n - 1) * apart if n > 1 else 0.0)
    return FrictionQuantity(name, float(x.mean()), max(own, apart), reach, unit, bool(reach < abs(x.mean())))


def _doubts(ramps: Sequence[Break]) -> list[str]:
    said = []
    counts = {sign: sum(b.sign == sign for b in ramps) for sign in SIDES}
    for sign, text in ((1, "positive"), (-1, "negative")):
        if not counts[sign]:
            said.append(
                f"no ramp breaks in the {text} direction, so that static friction cannot be told from a constant load"
            )
        elif counts[sign] == 1:
            said.append(
                f"one ramp in the {text} direction only: its interval does not say how far one break is from the next"
            )
    if not any(np.isfinite(b.stiffness_error) for b in ramps):
        said.append("the motor yields by less than three steps of its encoder before it breaks: stiffness is not seen")
    return said
