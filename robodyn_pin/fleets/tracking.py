"""Robots of one type at work, each tracked along its own logs; a log that was tracked once is never tracked again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from robodyn_pin.errors import BadFile, BadLog, RobodynError
from robodyn_pin.files import json_text, resolve
from robodyn_pin.fleets.members import HAS_IT_TOO
from robodyn_pin.fleets.states import SeenLog, States
from robodyn_pin.log_to_robot.found_logs import meant_logs
from robodyn_pin.log_to_robot.mispredicted import mistakes_of_tracked
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.table import content_hash
from robodyn_pin.online.saved_state import state_bytes
from robodyn_pin.online.session import start_session
from robodyn_pin.online.summary import tracking_summary
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot
from robodyn_pin.storage.remote import state_of
from robodyn_pin.workers import tried


@dataclass(frozen=True)
class Turn:
    """A robot's next log."""

    robot: str
    log: Path
    state: bytes | None  # of the robot before; None: the parameters of its file


@dataclass(frozen=True)
class TrackedRobots:
    """What came of all robots."""

    logs: tuple[SeenLog, ...]  # now and before, in the order in which they were tracked
    new: int  # how many of them now
    left_out: tuple[str, ...]  # sentences about logs that could not be used


def states_made_with(robot: Robot, settings: TrackFile) -> str:
    """All that decides what a state means."""
    return json_text({"robot": numbers_hash(robot), "settings": settings.model_dump(mode="json")}, None)


def track_robots(
    robot: Robot, settings: TrackFile, robots: Mapping[str, Sequence[LogSpec]], folder: Path, states: States,
    progress: Callable[[float], None] = lambda share: None,
) -> TrackedRobots:  # fmt: skip
    """Track each robot along those of its logs that it has not seen, and keep its state after each.

    Args:
        robots: name: its logs, in the order in which they are tracked; paths from `folder`.
        progress: is told the share of the new logs that is done.

    Raises:
        BadFile: rows of a log; no log can be used.
    """
    waiting, left_out = _new_logs(robots, folder, states)
    many, done = sum(map(len, waiting.values())), 0
    while any(waiting.values()):
        turns = [Turn(name, logs.pop(0), states.state(name)) for name, logs in waiting.items() if logs]
        for turn, found in zip(turns, tried(partial(_tracked_along, robot, settings), turns), strict=True):
            if isinstance(found, RobodynError):
                left_out.append(f"{turn.robot}: {found}")
            elif before := states.with_content(found[-1]):
                left_out.append(f"{turn.robot}: {turn.log}: {_told_twice(turn.robot, *before)}")
            else:
                states.keep(*found)
                done += 1
            progress((done + len(left_out)) / (many + len(left_out)))
    if not (logs := states.logs()):
        raise BadFile(f"none of {len(left_out)} logs can be used; the first: {left_out[0]}")
    return TrackedRobots(tuple(logs), done, tuple(left_out))


def _new_logs(
    robots: Mapping[str, Sequence[LogSpec]], folder: Path, states: States
) -> tuple[dict[str, list[Path]], list[str]]:
    """Logs that each robot has not seen, and sentences about robots without logs and logs that have changed since they were seen."""
    seen = {(log.robot, log.file): log.as_read for log in states.logs()}
    waiting: dict[str, list[Path]] = {}
    said = []
    for name, specs in robots.items():
        if cut := [spec for spec in specs if spec.rows or spec.loaded]:
            raise BadFile(
                f"robot {name}: {cut[0].file} has 'rows' or 'loaded', but robots are tracked along whole logs; leave it out"
            )
        try:
            paths = [resolve(folder, one.spec.file).absolute() for one in meant_logs(specs, folder)]
        except BadFile as error:
            said.append(f"{name}: {error}")
            continue
        waiting[name] = [path for path in dict.fromkeys(paths) if (name, str(path)) not in seen]
        said += [
            f"{name}: {path} has changed since it was tracked, and is not tracked again"
            for path in paths
            if seen.get((name, str(path)), state_of(path)) != state_of(path)
        ]
    return waiting, said


def _told_twice(robot: str, other: str, file: str) -> str:
    """What is said of a log whose samples a robot, this one or another, was tracked along before."""
    if robot == other:
        return f"{file} is there already and has the same samples"
    return f"{other} {HAS_IT_TOO}"


def _tracked_along(robot: Robot, settings: TrackFile, turn: Turn) -> tuple[SeenLog, bytes, str]:
    """What a log has shown, the robot's state after it, and the SHA-256 of its file; raises as `start_session` and `tracking_summary`, BadLog: it looks mistaken."""
    as_read = state_of(turn.log)
    with TemporaryDirectory() as place:
        before = Path(place) / "state.npz"
        if turn.state is not None:
            before.write_bytes(turn.state)
        session = start_session(robot, [turn.log], settings, [before] if turn.state is not None else [])
    rows = list(session.history_rows())
    summary = tracking_summary(session.stream, rows, session.simulated)
    if said := mistakes_of_tracked(robot, [turn.log], settings, summary):
        raise BadLog(f"{said[0]}; the robot's state stays as it was before this log")
    return SeenLog(turn.robot, str(turn.log), as_read, summary), state_bytes(session.stream), content_hash(turn.log)
