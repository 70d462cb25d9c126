"""Data that no fit sees: which samples they are, and what they say of the estimates, found in one pass over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from robodyn_pin.dynamics.regressor import friction_columns, known_efforts
from robodyn_pin.errors import BadLog
from robodyn_pin.identification.accuracy import Accuracy, accuracy
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.uncertainty import prediction_deviations
from robodyn_pin.log_to_robot.fit_data import Settings
from robodyn_pin.log_to_robot.rows import STILL, Folded, Job, add_rows, filtered, nothing, observe, smoothed
from robodyn_pin.logs.ends import motion_of
from robodyn_pin.logs.late_torques import paired
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.friction_models import RUBBING

SHARE = 0.3  # of a log that is held out where the run file names none
DRAWN = 3000  # samples of a held-out log that are kept for pictures
SERIES = 20_000  # samples of a held-out log whose residuals are looked at one after the other


@dataclass(frozen=True)
class Selected:
    """A log on a uniform clock, and which of its samples are meant."""

    log: AnyLog
    begin: int
    end: int
    sha256: str = ""
    ends: str = ""  # what is left out at the log's ends because it is no motion


def stretch_of(name: str, loaded: bool, begin: int, end: int) -> str:
    """Samples of a log, in words."""
    return f"{name}{' (loaded)' if loaded else ''}, samples {begin} to {end - 1}"


def in_motion(selected: Selected) -> Selected:
    """A log without a jump or a standstill at its ends; samples count from the first that is left."""
    begin, end, text = motion_of(selected.log)
    if not text:
        return selected
    left = max(0, selected.begin - begin), min(end, selected.end) - begin
    return replace(selected, log=selected.log.window(begin, end), begin=left[0], end=left[1], ends=text)


def windows(chosen: Sequence[Selected]) -> list[AnyLog]:
    """The chosen samples as logs of their own: filters do not look beyond them, what lies there may be held out."""
    return [s.log.window(s.begin, s.end) for s in chosen]


def split_last(fit: list[Selected], cut: int) -> tuple[list[Selected], list[Selected]]:
    """Split every log: its first part is fitted, its last part is held out."""
    cuts = [s.begin + int((1 - SHARE) * (s.end - s.begin)) for s in fit]
    return (
        [replace(s, end=c) for s, c in zip(fit, cuts, strict=True)],
        [clear(replace(s, begin=c), cut) for s, c in zip(fit, cuts, strict=True)],
    )


def within_torques(selected: Selected, delay: float) -> Selected:
    """Without the samples at an end of a log that have no torque of their own, where torques come `delay` [s] late.

    Raises:
        BadLog: none is left.
    """
    own = paired(selected.log.name, selected.log.size, selected.log.rate, delay)
    return replace(selected, begin=max(selected.begin, own.start), end=min(selected.end, own.stop))


def clear(held_out: Selected, cut: int) -> Selected:
    """Leave out held-out samples at the ends of their log, where filters have not settled.

    Raises:
        BadLog: none is left.
    """
    begin, end = max(held_out.begin, cut), min(held_out.end, held_out.log.size - cut)
    if end <= begin:
        raise BadLog(
            f"{held_out.log.name}: of the held-out samples {held_out.begin} to {held_out.end - 1} none is left after {cut} are "
            "cut at both ends of the log; hold out more, or lower 'rows: {cut: ...}'"
        )
    return replace(held_out, begin=begin, end=end)


@dataclass(frozen=True)
class Sample:
    """Torques of one held-out log along the coordinates, thinned for pictures."""

    log: str  # its name, what it carries, its samples
    t: np.ndarray  # (n,) [s]
    q: np.ndarray  # (n, nv) joint positions [rad or m]
    measured: np.ndarray  # (n, d)
    predicted: dict[str, np.ndarray]  # estimate -> (n, d)
    deviations: np.ndarray  # (n, d) of measured about predicted torques: uncertainty of the parameters, and noise
    rates: np.ndarray  # (n, d) of the coordinates [rad/s or m/s]
    friction: np.ndarray  # (n, d) part of the feasible prediction, through its filter


@dataclass(frozen=True)
class Unseen:
    """What a held-out log says of the estimates."""

    scored: Folded  # rows as scored, [moving or still][coordinate]
    whole: Folded  # the same, torques at full bandwidth
    accuracy: Accuracy  # of the feasible fit
    sample: Sample


def look_at(
    settings: Settings, vectors: Mapping[str, np.ndarray], wls: BaseEstimate, noise: np.ndarray, held_out: Selected
) -> Unseen:
    """Read held-out samples once, filtered as a part of their whole log.

    Args:
        vectors: parameters (p,) by estimate, "feasible" among them. noise: (d,) of torques as scored.
    """
    log, robot, run, begin = held_out.log, settings.robot, settings.run, held_out.begin
    dropped = left_out(robot, log, run.score.filter, run.rows.saturated == "drop")
    every = max(1, (held_out.end - begin) // DRAWN)

    def still(index: np.ndarray, rates: np.ndarray) -> np.ndarray:
        label = np.where(np.abs(rates) < run.score.still, STILL, 1 - STILL)
        return np.where(dropped(index)[:, None], -1, label)

    jobs = [Job(lowpass, still, 2) for lowpass in ([run.score.filter, None] if run.score.filter else [None])]
    folded = [nothing(robot, job) for job in jobs]
    rubs = friction_columns(robot)
    given = replace(robot, efforts=tuple(e for e in robot.efforts if e.spec.known and e.spec.model in RUBBING))
    parts, predicted, off = [], [], []
    for block in observe(robot, log, run.preparation, [job.filter for job in jobs], begin, held_out.end):
        of_jobs = [filtered(block, job.filter, log) for job in jobs]
        for job, rows, factors in zip(jobs, of_jobs, folded, strict=True):
            add_rows(factors, job, block, rows)
        W, known, y = of_jobs[0]
        index = block.begin + np.arange(len(W))
        counted, drawn = ~dropped(index), (index - begin) % every == 0
        off.append(accuracy(y[counted], (W @ vectors["feasible"] + known)[counted]))
        deviations = prediction_deviations(wls, W[drawn], noise)
        friction = W[drawn][:, :, rubs] @ vectors["feasible"][rubs]
        if given.efforts:
            friction += smoothed(known_efforts(given, block.state), jobs[0].filter, log)[block.keep][drawn]
        moved = block.state.q[block.keep][drawn], block.rates[block.keep][drawn]
        parts.append((index[drawn] / log.rate, *moved, y[drawn], deviations, friction))
        predicted.append([W[drawn] @ x + known[drawn] for x in vectors.values()])
    t, q, rates, measured, deviations, friction = (np.concatenate(x) for x in zip(*parts, strict=True))
    stacked = dict(zip(vectors, (np.concatenate(x) for x in zip(*predicted, strict=True)), strict=True))
    sample = Sample(
        stretch_of(log.name, log.loaded, begin, held_out.end), t, q, measured, stacked, deviations, rates, friction
    )
    return Unseen(folded[0], folded[-1], reduce(Accuracy.__add__, off), sample)


def left_of(settings: Settings, held_out: Selected, x: np.ndarray) -> np.ndarray:
    """Residuals (n, d) of parameters x (p,) over the first held-out samples, one after the other, not filtered.

    They need a pass of their own: the rates of a block depend on its margins in the last digits, and the margins of
    `look_at` include those of the filter that scores the torques.
    """
    end = min(held_out.end, held_out.begin + SERIES)
    seen = observe(settings.robot, held_out.log, settings.run.preparation, [], held_out.begin, end)
    return np.concatenate([(block.measured - block.known - block.W @ x)[block.keep] for block in seen])
