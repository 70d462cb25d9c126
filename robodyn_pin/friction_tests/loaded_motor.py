"""Friction of motors that carry a load, from sweeps past a reference angle in both directions: gravity falls out of pairs.

Source: Obal & Gierlak (IRB 2400), section 7: eqs. (70)-(73), Table 5, Figs. 8 and 9.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, RobodynError
from robodyn_pin.friction_tests.free_motor import check_motors, logs_of, unit_of, width_of
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.result import FrictionResult, bend_warning, fit_curves
from robodyn_pin.identification.steady_motion import resolution
from robodyn_pin.identification.sweep_passages import JITTER, Passage, PassageSample, pair_up, passages
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import Robot

ASIDE = 0.05  # of a passage's travel: others that move more do not stand still


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

    def summary(self) -> dict[str, object]:
        """What `friction.json` holds."""
        found = {name: result.summary() | {"reference": self.at[name]} for name, result in self.motors.items()}
        return {"robot": self.robot.name, "simulated": self.simulated, "motors": found, "efforts": self.efforts}


def measure_sweeps(run: FrictionFile, folder: Path, robot: Robot) -> SweepResult:
    """Points and curves of every motor that sweeps; paths start from `folder`.

    Raises:
        BadFile: the file names no 'sweeps'. UnknownName: no such motor.
        BadLog: a motor that nowhere passes its reference at constant speed, or in one direction only.
        RobodynError: too few speeds for the model.
    """
    if run.sweeps is None:
        raise BadFile("the friction file names a 'motor' that turns freely, no 'sweeps'; see free.measure")
    at, names = run.sweeps.at, robot.motors.names
    check_motors(robot, list(at))
    samples: dict[str, list[PassageSample]] = {name: [] for name in at}
    shown: dict[str, Shown] = {}
    simulated = False
    for log in logs_of(run, folder, robot):
        simulated |= log.simulated
        trembling = JITTER * resolution(log.q)
        for name, angle in at.items():
            k = names.index(name)
            found = passages(log.q[:, k], log.rate, angle, run.steady.shortest, run.steady.tolerance)
            found = [p for p in found if _alone(log.q[p.part], k, trembling)]
            samples[name] += [_sample(log, p, k) for p in found]
            if name not in shown and len(found) > 1:
                shown[name] = _shown(log, found, k)
    results = {name: _result(run, robot, name, angle, samples[name], simulated) for name, angle in at.items()}
    return SweepResult(robot, at, results, shown, simulated)


def _result(
    run: FrictionFile, robot: Robot, motor: str, angle: float, samples: list[PassageSample], simulated: bool
) -> FrictionResult:
    files = ", ".join(str(named.file) for named in run.logs)
    if not samples:
        raise BadLog(
            f"{files}: motor {motor!r} nowhere passes its reference angle {angle:g} at constant speed for "
            f"{run.steady.shortest:g} s, the others standing still; look at 'sweeps: at' and 'steady: {{shortest, tolerance}}'"
        )
    pairs, alone = pair_up(samples)
    if len(pairs.load) == 0:
        side = "the positive" if samples[0].speed > 0 else "the negative"
        way = f"in {side} direction only" if len({s.speed > 0 for s in samples}) == 1 else "at no speed both ways"
        raise BadLog(
            f"{files}: motor {motor!r} passes its reference angle {angle:g} {way}; gravity falls out of the "
            "difference of both directions, so sweep each speed back and forth"
        )
    width = width_of(run, robot, motor)
    try:
        fits, left_out = fit_curves(run.model, pairs.friction, width, relative=True)
    except RobodynError as error:
        raise RobodynError(f"{files}: motor {motor!r}: {error}") from None
    warnings = bend_warning(fits[run.model])
    if alone:
        listed = ", ".join(f"{w:.4g}" for w in alone[:5]) + (", ..." if len(alone) > 5 else "")
        warnings.append(
            f"{len(alone)} passages have no partner in the other direction and are left out: {listed} per second"
        )
    unit, said = unit_of(robot, motor), tuple(warnings)
    return FrictionResult(
        robot.name, motor, unit, run.model, width, pairs.friction, fits, left_out, said, simulated, pairs.load
    )


def _alone(q: np.ndarray, k: int, trembling: np.ndarray) -> bool:
    """Whether all motors but k stand still in q (N, n), but for how much their encoders tremble (n,)."""
    moved = np.ptp(q, axis=0)
    return bool(np.delete(moved <= np.maximum(ASIDE * moved[k], trembling), k).all())


def _sample(log: Log, passage: Passage, k: int) -> PassageSample:
    index = np.arange(passage.part.start, passage.part.stop)
    # A copy: what is kept of a log must not keep the log.
    tau = log.efforts[passage.part, k].copy()
    return PassageSample(passage.speed, passage.speed * (index - passage.crossing) / log.rate, tau)


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
