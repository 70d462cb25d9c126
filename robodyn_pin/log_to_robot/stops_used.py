"""Shapes of friction that the fit logs give: stops with memory that slide in every part of them, places over their travel."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.memory import CHUNK, chunks_of, trace_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import PLACES
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.stops import LADDER

SLIDING = 1 - 1e-9  # of its radius, where a stop slides


def with_used_stops(robot: Robot, logs: Sequence[AnyLog], segments: int) -> tuple[Robot, tuple[str, ...]]:
    """The robot with the stops that its unknown friction can have, and a sentence on those left out.

    Radii that the robot file does not give are parts of the axis' spread of position. A stop that does not slide in
    every segment of the logs is a spring there, whose force depends on how the log began; it is left out.
    """
    asked = [k for k, e in enumerate(robot.efforts) if e.memory and not e.spec.known]
    if not asked:
        return robot, ()
    efforts = list(robot.efforts)
    spreads = _spreads(robot, logs, [efforts[k] for k in asked])
    for k, spread in zip(asked, spreads, strict=True):
        if efforts[k].spec.stops is None:
            efforts[k] = _with_stops(efforts[k], [float(f"{part * spread:.4g}") for part in LADDER if spread > 0])
    slide = _sliding(robot, logs, [efforts[k] for k in asked], segments)
    left_out, gone = [], []
    for k, slides in zip(asked, slide, strict=True):
        effort = efforts[k]
        lost = [f"{radius:.3g}" for radius, kept in zip(effort.radii, slides, strict=True) if not kept]
        if lost:
            left_out.append(f"{effort.name} {' '.join(lost)}")
        efforts[k] = _with_stops(effort, effort.radii[slides].tolist(), slides)
        gone += [k] if not slides.any() else []
    return replace(robot, efforts=tuple(e for k, e in enumerate(efforts) if k not in gone)), _left_out(left_out)


def with_places(robot: Robot, logs: Sequence[AnyLog]) -> Robot:
    """The robot whose friction over position has places, evenly over the travel of its axes in the logs, where its file names none."""
    open_ones = [e for e in robot.efforts if e.spec.model == "position" and not e.spec.places and not e.spec.waves]
    if not open_ones:
        return robot
    ends = _travel(robot, logs, np.concatenate([e.rows for e in open_ones]))
    found, first = {}, 0
    for effort in open_ones:
        x = (ends[:, first : first + len(effort.rows)] + effort.shifts).ravel()
        first += len(effort.rows)
        places = sorted({float(f"{x:.4g}") for x in np.linspace(x.min(), x.max(), PLACES)})
        if len(places) > 1:  # an axis that rests has no friction over its position
            found[id(effort)] = replace(effort, spec=effort.spec.model_copy(update={"places": places}))
    resting = [id(e) for e in open_ones if id(e) not in found]
    kept = [found.get(id(e), e) for e in robot.efforts if id(e) not in resting]
    return replace(robot, efforts=tuple(kept))


def _travel(robot: Robot, logs: Sequence[AnyLog], rows: np.ndarray) -> np.ndarray:
    """Lowest and highest position (2, k) of axes (k, nv) in the logs, without their shifts [rad or m]."""
    ends = np.array([[np.inf], [-np.inf]]) * np.ones(len(rows))
    for log in logs:
        for q in chunks_of(robot, log):
            x = q @ rows.T
            ends = np.array([np.minimum(ends[0], x.min(axis=0)), np.maximum(ends[1], x.max(axis=0))])
    return ends


def _left_out(lost: Sequence[str]) -> tuple[str, ...]:
    return (
        ()
        if not lost
        else (
            f"stops left out of 'maxwell_slip': {'; '.join(lost)} rad (or m); the fit logs do not make them slide in each of "
            "their parts: a stop that does not slide is a spring, whose force depends on how the log began",
        )
    )


def _with_stops(effort: Effort, stops: list[float], kept: np.ndarray | None = None) -> Effort:
    """The effort with other stops; its initial values are those that are `kept`."""
    given = effort.spec.initial
    initial = [x for x, stays in zip(given, kept, strict=True) if stays] if isinstance(given, list) and kept is not None else given  # fmt: skip
    return replace(effort, spec=effort.spec.model_copy(update={"stops": stops, "initial": initial}))


def _spreads(robot: Robot, logs: Sequence[AnyLog], efforts: Sequence[Effort]) -> list[float]:
    """Standard deviation of position of each effort's axes about its mean in each log [rad or m]."""
    rows = np.concatenate([e.rows for e in efforts])
    variance, count = np.zeros(len(rows)), 0
    for log in logs:
        total, squares, first = np.zeros(len(rows)), np.zeros(len(rows)), None
        for q in chunks_of(robot, log):
            x = q @ rows.T
            first = x[0] if first is None else first  # squares of differences keep their digits
            total, squares = total + (x - first).sum(axis=0), squares + ((x - first) ** 2).sum(axis=0)
        variance, count = variance + squares - total**2 / log.size, count + log.size
    ends = np.cumsum([len(e.rows) for e in efforts])[:-1]
    return [float(np.sqrt(max(part.mean(), 0.0) / count)) for part in np.split(variance, ends)]


def _sliding(robot: Robot, logs: Sequence[AnyLog], efforts: Sequence[Effort], segments: int) -> list[np.ndarray]:
    """Whether each stop (k,) of each effort slides in every segment, along one of the effort's axes and in one of the logs."""
    counts = [(len(e.rows), len(e.radii)) for e in efforts]
    seen = np.zeros((segments, sum(r * k for r, k in counts)), bool)
    for log in logs:
        trace = trace_of(robot, log, efforts)
        for segment in range(segments):
            for begin in range(segment * log.size // segments, (segment + 1) * log.size // segments, CHUNK):
                end = min(begin + CHUNK, (segment + 1) * log.size // segments)
                seen[segment] |= (np.abs(trace.outputs(begin, end)) >= SLIDING).any(axis=0)
    ends = np.cumsum([r * k for r, k in counts])[:-1]
    parts = np.split(np.asarray(seen.all(axis=0)), ends)
    return [np.asarray(part.reshape(shape).any(axis=0)) for part, shape in zip(parts, counts, strict=True)]
