"""Mistakes that people make with a log or a robot file: which of the usual ones explains the torques clearly better?

Each guess changes some samples of the logs, or the robot file's bodies, and the torques are explained once more: by all
parameters, and by the bodies of the robot's files with friction fitted. On a log that is explained badly, a guess is told where
the product over the motors of their errors falls to half; on one that is explained well, where it falls by a fifth with all
parameters fitted and the bodies of the robot's files, if they mean anything, gain as well (`clear_gain`). Columns that are no
torques at all are told before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.log_to_robot.clear_gain import (
    AS_GOOD,
    CLEARLY,
    SURELY,
    WELL,
    Judgement,
    TriedErrors,
    errors_of,
    gain_of,
    judge_gain,
    typical_error,
)
from robodyn_pin.log_to_robot.constant_offsets import constant_offsets
from robodyn_pin.log_to_robot.encoder_zeros import conventions, encoder_zeros
from robodyn_pin.log_to_robot.explained import Explained, Trials, closed_with, undone
from robodyn_pin.log_to_robot.instruments import band, fills_band
from robodyn_pin.log_to_robot.no_torques import no_torques, without_sign
from robodyn_pin.log_to_robot.picked_samples import STRETCHES, Picked, picked, picked_rows
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.scales import common_scale, gear_scales, torque_scales
from robodyn_pin.log_to_robot.usual_guesses import GRAMS, Guess, guesses, mountings, other_orders, others
from robodyn_pin.log_to_robot.wrong_rates import REMEDY, wrong_rates
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.friction_models import WIDTH
from robodyn_pin.robot.other_units import too_long
from robodyn_pin.robot.robot import Robot

ENOUGH = 10.0  # samples in the shortest period of a motion from which accelerations are found
FEWEST = 5 * STRETCHES  # samples by which a guess is judged
SUSPICIOUS = 0.1  # error of a motor from which guesses are tried at all
TRIED = (4, 5)  # stretches on which guesses about the motion are tried first


@dataclass(frozen=True)
class Mistake:
    """A mistake whose correction explains the torques clearly better."""

    said: str
    names: tuple[str, ...]  # motors or bodies that it concerns
    before: float  # rms residual over rms torque, of the motor that gains most
    after: float
    motor: str  # the motor that gains most
    of_files: bool  # with the bodies of the robot's files; else with all parameters fitted
    of_log: bool  # the log shows it independently of the bodies in the robot's files
    probability: float  # of such a gain by chance, times the number of guesses
    no_torque: bool = False  # the column itself shows it, no fit is needed

    @property
    def text(self) -> str:
        """A sentence."""
        if self.no_torque:
            return self.said
        how = "with the bodies of the robot's files " if self.of_files else ""
        doubt = "" if self.of_log else "; unless those bodies are far from the real ones"
        return (
            f"{self.said}: {how}the error of {self.motor} would then be {100 * self.after:.3g} instead of {100 * self.before:.3g} % "
            f"(rms error over rms torque){doubt}"
        )


def likely_mistakes(
    robot: Robot, logs: Sequence[AnyLog], run: RunFile, suspicious: bool = False, known: bool = False
) -> tuple[Mistake, ...]:
    """Guesses that explain the fit logs clearly better than they are, the best and those that are as good; none for good logs.

    `suspicious`: a fit shows signs of a mistake, so that scales and other robots are tried although the log is explained well.
    `known`: the robot's bodies are those that other logs show, so that they tell a scale of all torques.

    Raises:
        BadLog, ClosureFailed: as reading and closing the logs.
    """
    rates = _wrong_rates(robot, logs) if run.preparation.rates == "measured" else ()
    if any(m.of_log for m in rates):
        return rates
    return (*rates, *_guessed(robot, logs, run, suspicious, known, delays=not rates))


def mistakes_of_log(robot: Robot, log: AnyLog, run: RunFile, known: bool) -> tuple[Mistake, ...]:
    """The same of one log that a fit is at odds with; none also where it is too short, or does not close, to look for any."""
    try:
        return likely_mistakes(robot, [log], run, True, known)
    except RobodynError:
        return ()


def _guessed(
    robot: Robot, logs: Sequence[AnyLog], run: RunFile, suspicious: bool, known: bool, delays: bool
) -> tuple[Mistake, ...]:
    """The same but for measured rates. `delays`: of torques, for which late rates would pass."""
    samples = picked(robot, logs, run)
    if len(samples.q) < FEWEST:
        return ()
    if not samples.tau.any(axis=0).all():
        return ()  # a coordinate without torque is explained by bodies without mass, whatever the others show
    if copied := _no_torques(robot, samples):
        return copied
    plain = Explained(robot, samples, picked_rows(robot, samples))
    badly = np.flatnonzero((errors_of(plain.asis.free) > SUSPICIOUS) | (errors_of(plain.asis.own) > WELL)).tolist()
    if badly and (said := too_long(robot)):
        return (_by_itself(said, robot.motors.names),)
    if badly and (slow := _too_slow(robot, logs, plain.asis)):
        return slow
    if badly and (lost := _without_sign(robot, logs)):
        return lost
    usual = [
        *(g for g in guesses(robot, samples, logs[0].rate) if delays or g.delay is None),
        *constant_offsets(robot, plain, run),
        *encoder_zeros(robot, samples, plain, run),
    ]

    def further() -> list[Guess]:
        common = common_scale(robot, plain) if known else ()
        return [*common, *torque_scales(robot, samples, plain), *others(robot)]

    if not badly:
        found = _best(robot, samples, plain, usual, calm=True)
        return found if found or not suspicious else _best(robot, samples, plain, further())
    usual += [*other_orders(robot), *conventions(robot, run), *mountings(robot)]
    found = _best(robot, samples, plain, [*usual, *further()])
    return found if found or not plain.open else _best(robot, samples, plain, list(gear_scales(robot, samples, badly)))


def _best(
    robot: Robot, samples: Picked, plain: "Explained", offered: Sequence[Guess], calm: bool = False
) -> tuple[Mistake, ...]:
    """Those of the guesses that are clearly better than the plain log and as good as the best of them; `calm`: the log is
    explained well, so that only fits of all parameters count."""
    kept = [
        g
        for g in offered
        if (plain.open or not g.moves or g.time != 1 or g.fitted or g.gravity) and (not calm or g.body is None)
    ]
    few, all_samples = Trials(robot, samples.of(TRIED)), Trials(robot, samples)
    start = closed_with(robot, few.samples)
    hopeful = [
        g
        for g in kept
        if (g.body is None or plain.looks_weightless(g.body))
        and (start is None or not g.moves or g.fitted or _hopeful(few, start.asis, g))
    ]
    found = [(guess, tried) for guess in hopeful if (tried := _try(all_samples, plain, guess)) is not None]
    judged = [(guess, _judged(plain, tried, len(kept), guess, calm), tried) for guess, tried in found]
    least = min((judgement.gain for _, judgement, _ in judged), default=0.0)
    return tuple(
        _mistake(robot, guess, plain.asis, tried, judgement)
        for guess, judgement, tried in judged
        if judgement.gain < (SURELY if calm else CLEARLY) and judgement.gain <= least + AS_GOOD
        if guess.time == 1 or _only_there(all_samples, plain, guess, judgement.of_files)
        if (guess.time == 1 and not guess.gear)
        or _not_by_friction(robot, samples, guess, tried, SURELY if calm else CLEARLY)
    )


def _judged(plain: Explained, tried: TriedErrors, count: int, guess: Guess, calm: bool) -> Judgement:
    """As `judge_gain`. A single body that is another one than in the files, as one turned about a motor's axis, may pass for a zero that is off."""
    judgement = judge_gain(plain.asis, tried, count, guess, calm)
    if guess.zeros is None or not judgement.of_files or not judgement.of_log:
        return judgement
    return replace(judgement, of_log=not plain.one_body_explains(tried.own))


def _hopeful(few: Trials, asis: TriedErrors, guess: Guess) -> bool:
    """Whether a guess about the motion closes the loops and gains anything on a few stretches; most do not."""
    closed = few.closed(guess)
    return closed is not None and (
        gain_of(asis.free, closed.asis.free) < 0 or gain_of(asis.own, closed.asis.own) < SURELY
    )


def _only_there(trials: Trials, plain: Explained, guess: Guess, of_files: bool) -> bool:
    """Whether a clock that is off as much again is clearly worse. If not, less of the inertial forces suits the log, whatever the clock: noise
    in the accelerations, or an effect that the model lacks."""
    here, further = (_try(trials, plain, g) for g in (guess, replace(guess, time=guess.time**2)))
    if here is None or further is None:
        return here is not None
    before, there, beyond = (x.own if of_files else x.free for x in (plain.asis, here, further))
    return gain_of(before, beyond) > gain_of(before, there) + AS_GOOD


def _not_by_friction(robot: Robot, samples: Picked, guess: Guess, tried: TriedErrors, enough: float) -> bool:
    """Whether a gear or a clock is clearly better than friction that changes its sign as much slower: a filtered log likes that, whatever they are.

    Other inertias make up for another time, so that bodies of the robot's files that explain the torques well may show it alone.
    """
    slower = guess.time * float(np.diag(guess.torques).max())
    efforts = [
        replace(e, spec=e.spec.model_copy(update={"width": slower * (e.spec.width or WIDTH)})) for e in robot.efforts
    ]
    wide = closed_with(replace(robot, efforts=tuple(efforts)), samples)
    if wide is None or gain_of(wide.asis.free, tried.free) < enough:
        return True
    return typical_error(tried.own) < WELL and gain_of(wide.asis.own, tried.own) < enough


def _too_slow(robot: Robot, logs: Sequence[AnyLog], asis: TriedErrors) -> tuple[Mistake, ...]:
    """That a log is sampled too slowly for its motion: then no guess about it can be judged. A caution where it is explained all the same."""
    motion, rate = max(band(log) for log in logs), logs[0].rate
    if not fills_band(motion, rate):
        return ()
    said = (
        f"the log is sampled too slowly for its motion: its positions change at up to {motion:.3g} Hz and have {rate:.4g} samples a "
        f"second, too few for accelerations; log at {ENOUGH * motion:.0f} Hz and more, or move more slowly"
    )
    return (_by_itself(said, robot.motors.names, typical_error(asis.free) > WELL),)


def _wrong_rates(robot: Robot, logs: Sequence[AnyLog]) -> tuple[Mistake, ...]:
    """Measured rates that contradict the positions: with the first log that has such, a reason if results are wrong by it."""
    names, late = robot.motors.names, list[str]()
    for log in logs:
        found = wrong_rates(log, names)
        late = late or [f"{log.name}: {text}" for text in found.late]
        if found.wrong:
            return (_by_itself("; ".join([*(f"{log.name}: {text}" for text in found.wrong), REMEDY]), names),)
    return (_by_itself("; ".join([*late, REMEDY]), names, of_log=False),) if late else ()


def _no_torques(robot: Robot, samples: Picked) -> tuple[Mistake, ...]:
    names = robot.motors.names
    return tuple(_by_itself(said, [names[k]]) for said, k in no_torques(names, samples))


def _without_sign(robot: Robot, logs: Sequence[AnyLog]) -> tuple[Mistake, ...]:
    names = tuple(robot.motors.names[k] for k in without_sign(logs))
    if not names:
        return ()
    columns = ", ".join(f"tau_{name}" for name in names)
    said = f"the torques in {columns} come near zero and never below it: they have lost their sign"
    return (_by_itself(said, names),)


def _by_itself(said: str, names: Sequence[str], of_log: bool = True) -> Mistake:
    """One that the log shows without a fit."""
    return Mistake(said, tuple(names), 1.0, 0.0, names[0], False, of_log, 0.0, True)


def _try(trials: Trials, plain: Explained, guess: Guess) -> TriedErrors | None:
    """The errors after a guess is undone; None where the loops do not close."""
    samples = trials.samples
    if guess.body is not None:
        values = plain.fits.values.copy()
        values[10 * guess.body : 10 * guess.body + 10] /= GRAMS
        return plain.tried(samples.tau, values)
    if guess.offset is not None:
        return plain.without(guess.offset)
    if not guess.moves:
        return plain.tried(undone(samples, guess).tau)
    closed = trials.closed(guess)
    return None if closed is None else closed.asis


def _mistake(robot: Robot, guess: Guess, asis: TriedErrors, tried: TriedErrors, judged: Judgement) -> Mistake:
    before, after = (errors_of(x.own if judged.of_files else x.free) for x in (asis, tried))
    most = int(np.argmin(after / before))
    names = tuple(robot.motors.names[k] for k in guess.motors) or robot.motors.names
    if guess.body is not None:
        names = robot.body_groups[guess.body]
    of_log = judged.of_log and guess.body is None
    motor = robot.coordinates.names[most]
    return Mistake(
        guess.said, names, float(before[most]), float(after[most]), motor, judged.of_files, of_log, judged.probability
    )
