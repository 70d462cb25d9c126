"""Friction of motors that carry a load, from sweeps past a reference angle in both directions: gravity falls out of pairs.

Source: Obal & Gierlak (IRB 2400), section 7: eqs. (70)-(73), Table 5, Figs. 8 and 9.
"""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, RobodynError
from robodyn_pin.friction_tests.free_motor import Progress, logs_of
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.result import FrictionResult, fit_curves, simplest
from robodyn_pin.friction_tests.strokes import (
    Strokes,
    check_motors,
    even_motion,
    even_text,
    strokes,
    told,
    unit_of,
    width_of,
)
from robodyn_pin.friction_tests.wrong_columns import Stretch, wrong_columns
from robodyn_pin.identification.steady_motion import EvenMotion
from robodyn_pin.identification.sweep_passages import Passage, PassageSample, pair_up, passages
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import Milestone, tell


@dataclass(frozen=True)
class Shown:
    """A passage and the one after it, for a picture."""

    t: np.ndarray  # (n,) [s] from the first crossing
    q: np.ndarray  # (n,) [rad or m]
    tau: np.ndarray  # (n,) [N m or N]
    parts: tuple[slice, ...]  # at constant speed
    crossings: tuple[float, ...]  # [s]
    speeds: tuple[float, ...]  # signed [rad/s or m/s]


@dataclass(frozen=True)
class SweepResult:
    """Friction of several motors, each past its reference angle."""

    robot: Robot
    at: dict[str, float]  # [rad or m]
    motors: dict[str, FrictionResult]
    shown: dict[str, Shown]  # of motors that pass more than once in a log
    simulated: bool

    @property
    def efforts(self) -> list[dict[str, object]]:
        """Entries for the robot file's `efforts:`."""
        return [entry for result in self.motors.values() for entry in result.efforts]

    @property
    def known(self) -> bool:
        """Whether the logs show any friction."""
        return any(entry["known"] for entry in self.efforts)

    @property
    def mistaken(self) -> bool:
        """Whether columns of the logs look wrong."""
        return any(result.mistakes for result in self.motors.values())

    def summary(self) -> dict[str, object]:
        """What `friction.json` holds."""
        found = {name: result.summary() | {"reference": self.at[name]} for name, result in self.motors.items()}
        return {"robot": self.robot.name, "simulated": self.simulated, "motors": found, "efforts": self.efforts}


def measure_sweeps(run: FrictionFile, folder: Path, robot: Robot, progress: Progress = tell) -> SweepResult:
    """Points and curves of every motor that sweeps; paths start from `folder`.

    Raises:
        BadFile: the file names no 'sweeps'. UnknownName: no such motor.
        BadLog: a motor that nowhere passes its reference at constant speed, or in one direction only.
        RobodynError: too few speeds for the model.
    """
    if run.sweeps is None:
        raise BadFile("the friction file names no 'sweeps'")
    at, names, even = run.sweeps.at, robot.motors.names, even_motion(run)
    check_motors(robot, list(at))
    samples: dict[str, list[PassageSample]] = {name: [] for name in at}
    stretches: dict[str, list[Stretch]] = {name: [] for name in at}
    said, beside = {name: Counter[str]() for name in at}, dict.fromkeys(at, 0)
    shown: dict[str, Shown] = {}
    simulated = False
    for log, grain in logs_of(run, folder, robot, progress):
        simulated |= log.simulated
        for name, angle in at.items():
            k = names.index(name)
            seen = strokes(log, grain, k, even, names)
            said[name] += seen.left_out
            found = passages(log.q[:, k], log.rate, angle, seen.even, even)
            beside[name] += len(seen.even) - len(found)
            samples[name] += [_sample(log, p, k, seen, float(grain[k])) for p in found]
            stretches[name] += [(p.speed, log.efforts[p.part].mean(axis=0)) for p in found]
            if name not in shown and len(found) > 1:
                shown[name] = _shown(log, found, k)
    for name, angle in at.items():
        if not samples[name]:
            said[name][f"because they do not pass the reference angle {angle:g}, as far to both sides"] = beside[name]
    results = {}
    for done, name in enumerate(at):
        progress(Milestone(f"curves of {name}", "curves", done / len(at)))
        result = _result(run, robot, name, samples[name], even, told(said[name]), simulated)
        results[name] = replace(result, mistakes=wrong_columns(robot, name, stretches[name]))
    return SweepResult(robot, at, results, shown, simulated)


def _result(
    run: FrictionFile,
    robot: Robot,
    motor: str,
    samples: list[PassageSample],
    even: EvenMotion,
    said: list[str],
    simulated: bool,
) -> FrictionResult:
    assert run.sweeps is not None
    files, angle, unit = ", ".join(str(named.file) for named in run.logs), run.sweeps.at[motor], unit_of(robot, motor)
    if not samples:
        raise BadLog(
            f"{files}: motor {motor!r} nowhere passes its reference angle {angle:g} at constant speed, the others standing still: "
            f"{even_text(even, unit)}{''.join(f'; {s}' for s in said)}"
        )
    pairs, alone = pair_up(samples)
    if len(pairs.load) == 0:
        side = "the positive" if samples[0].speed > 0 else "the negative"
        way = f"in {side} direction only" if len({s.speed > 0 for s in samples}) == 1 else "at no speed both ways"
        raise BadLog(
            f"{files}: motor {motor!r} passes its reference angle {angle:g} {way}; gravity falls out of the "
            "difference of both directions, so sweep each speed back and forth"
        )
    width = width_of(run, robot, motor, float(pairs.friction.speed.min()))
    try:
        fits, left_out = fit_curves(run.model, pairs.friction, width, swept=True)
    except RobodynError as error:
        raise RobodynError(f"{files}: motor {motor!r}: {'; '.join([str(error), *said])}") from None
    model, warnings = simplest(run.model, fits, pairs.friction)
    if alone:
        listed = ", ".join(f"{w:.4g}" for w in alone[:5]) + (", ..." if len(alone) > 5 else "")
        warnings.append(
            f"passages without a partner in the other direction are left out, {len(alone)} of them: {listed} {unit.speed}"
        )
    about = (*warnings, *said)
    return FrictionResult(
        robot.name, motor, unit, model, width, pairs.friction, fits, left_out, about, even, simulated, pairs.load
    )


def _sample(log: Log, passage: Passage, k: int, seen: Strokes, grain: float) -> PassageSample:
    index = np.arange(passage.part.start, passage.part.stop)
    # A copy: what is kept of a log must not keep the log.
    tau = log.efforts[passage.part, k].copy()
    spread = seen.spread(log.q[passage.part, k], log.rate, grain)
    return PassageSample(passage.speed, passage.speed * (index - passage.crossing) / log.rate, tau, spread)


def _shown(log: Log, found: list[Passage], k: int) -> Shown:
    """The passage of middle speed and the next, with what lies between and as much again about them."""
    middle = np.exp(np.median(np.log([abs(p.speed) for p in found])))
    i = min(range(len(found) - 1), key=lambda i: (found[i].speed < 0, abs(np.log(abs(found[i].speed) / middle))))
    pair = found[i : i + 2]
    margin = max(1, (pair[1].part.stop - pair[0].part.start) // 5)
    begin = max(0, pair[0].part.start - margin)
    end = min(log.size, pair[1].part.stop + margin)
    zero = pair[0].crossing
    t = (np.arange(begin, end) - zero) / log.rate
    parts = tuple(slice(p.part.start - begin, p.part.stop - begin) for p in pair)
    crossings, speeds = tuple((p.crossing - zero) / log.rate for p in pair), tuple(p.speed for p in pair)
    return Shown(t, log.q[begin:end, k].copy(), log.efforts[begin:end, k].copy(), parts, crossings, speeds)
