"""The logs of each robot of a fleet, folded, and when they were recorded."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, RobodynError
from robodyn_pin.files import resolve
from robodyn_pin.fleets.fleet_file import FleetFile
from robodyn_pin.log_to_robot.counted_once import check_counted_once, named_samples
from robodyn_pin.log_to_robot.evidence import Evidence, evidence_of
from robodyn_pin.log_to_robot.found_logs import natural_order, read_found
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.leaf import keeping, kept, kept_in, leaf_path
from robodyn_pin.log_to_robot.run import select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.robot.robot import Robot
from robodyn_pin.storage.remote import files_below, is_folder, matching
from robodyn_pin.workers import tried

DATE = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?:[T_ -]?([0-2]\d)[-:]?([0-5]\d)(?:[-:]?([0-5]\d))?)?(?!\d)")
HAS_IT_TOO = "has a log with the same samples; which of the two robots is it of?"


@dataclass(frozen=True)
class KeptEvidence:
    """Evidence whose leaves lie in a folder, and are read when they are asked for: a fleet need not fit into the memory."""

    robot: str
    made_with: str
    paths: tuple[Path, ...]  # of the leaves, in the order of their contents
    contents: tuple[str, ...]  # SHA-256 of the logs' samples
    simulated: bool

    def with_logs(self, numbers: Sequence[int]) -> "KeptEvidence":
        """Evidence of the logs of these numbers alone."""
        paths, contents = tuple(self.paths[k] for k in numbers), tuple(self.contents[k] for k in numbers)
        return replace(self, paths=paths, contents=contents)

    def read(self) -> Evidence:
        """The evidence; raises BadFile where a leaf is gone."""
        leaves = []
        for path in self.paths:
            if (leaf := kept(path)) is None:
                raise BadFile(f"{path} was there and is not, or cannot be read; run again")
            leaves.append(leaf)
        return Evidence(self.robot, self.made_with, tuple(leaves))


@dataclass(frozen=True)
class MemberLogs:
    """What the logs of one robot say."""

    name: str
    said: Evidence | KeptEvidence
    when: np.ndarray  # (logs,) days since the fleet's first log, or their number; in the order of the evidence's leaves
    left_out: tuple[str, ...] = ()  # sentences about logs that could not be used
    strange: tuple[str, ...] = ()  # and about logs that are unlike its others and the fleet's

    @property
    def evidence(self) -> Evidence:
        """What they say, from the folder where it is kept in one."""
        return self.said.read() if isinstance(self.said, KeptEvidence) else self.said

    @property
    def simulated(self) -> bool:
        """Whether a log says so."""
        return self.said.simulated

    @property
    def contents(self) -> tuple[str, ...]:
        """SHA-256 of the logs' samples, in the order of the evidence's leaves."""
        return self.said.contents

    def with_logs(self, numbers: Sequence[int]) -> "MemberLogs":
        """The robot with the logs of these numbers alone."""
        return replace(self, said=self.said.with_logs(numbers), when=self.when[list(numbers)])


@dataclass(frozen=True)
class Fold:
    """All robots of a fleet, folded."""

    members: tuple[MemberLogs, ...]
    unit: str  # of `when`: "day" where every log's name has a date, else "log"
    left_out: tuple[str, ...]  # sentences about robots none of whose logs could be used


def robots_of(file: FleetFile, folder: Path) -> dict[str, list[LogSpec]]:
    """Names and logs of the robots; a pattern's folders in the order of the numbers and words in their names.

    Folders of one name are one robot's (day=2026-11-03/robot=7, day=2026-11-04/robot=7), and robot=7 is robot 7.

    Raises:
        BadFile: a pattern that finds no folder.
    """
    if not isinstance(file.robots, str):
        return file.robots
    found = [path for path in matching(resolve(folder, Path(file.robots))) if is_folder(path)]
    if not found:
        raise BadFile(
            f"robots: {file.robots} in {folder}: found no folder, expected one with logs for each robot; or name robots and logs, "
            "'robots: {cell_1: [{file: logs/cell_1}]}'"
        )
    robots: dict[str, list[LogSpec]] = {}
    for path in sorted(found, key=natural_order):
        robots.setdefault(path.name.rpartition("=")[2], []).append(LogSpec(file=path.absolute()))
    return robots


def fold_fleet(
    robot: Robot, run: RunFile, robots: Mapping[str, Sequence[LogSpec]], folder: Path, strict: bool = False
) -> Fold:
    """Fold the logs of each robot; one that cannot be read, or that another robot has as well, is left out, unless `strict`.

    Raises:
        BadFile: no robot has a log that can be used. RobodynError: with `strict`, the first log that cannot.
    """
    members, left_out, dates, owners = [], [], {}, dict[str, str]()
    work = partial(_member, robot, run, folder, strict, kept_in())
    for name, found in zip(robots, tried(work, list(robots.items())), strict=True):
        if isinstance(found, RobodynError):
            if strict:
                raise found
            left_out.append(f"{name}: {found}")
            continue
        member, paths = _own_logs(*found, owners, strict)
        if not paths:
            left_out.append(f"{name}: none of its logs is its own alone; the last: {member.left_out[-1]}")
            continue
        members.append(member)
        dates[name] = [_date(path) for path in paths]
        owners |= dict.fromkeys(member.contents, name)
    if not members:
        raise BadFile(f"none of {len(robots)} robots has a log that can be used; the first: {left_out[0]}")
    days = [date for found_dates in dates.values() for date in found_dates]
    if None in days:
        return Fold(tuple(members), "log", tuple(left_out))
    first = min(date for date in days if date)
    dated = [
        replace(m, when=np.array([(d - first).total_seconds() / 86400 for d in dates[m.name] if d])) for m in members
    ]
    return Fold(tuple(dated), "day", tuple(left_out))


def _member(
    robot: Robot, run: RunFile, folder: Path, strict: bool, cache: Path | None, asked: tuple[str, Sequence[LogSpec]]
) -> tuple[MemberLogs, list[str]]:
    """The logs of one robot, folded and numbered, and their paths; raises as `fold_fleet` with `strict`."""
    name, specs = asked
    with keeping(cache):
        found, _ = read_found(partial(select, robot, run, folder), specs, folder, strict)
        check_counted_once(named_samples(found))
        logs = windows(found.logs)
        evidence = evidence_of(robot, run, logs)
    paths = {log.content: str(spec.file) for log, spec in zip(logs, found.specs, strict=True)}
    order = [log.content for log in logs]
    number = np.array([order.index(leaf.content) for leaf in evidence.leaves], float)
    said = kept_evidence(evidence, cache) if cache else evidence
    return MemberLogs(name, said, number, tuple(found.left_out)), [paths[x.content] for x in evidence.leaves]


def _own_logs(
    member: MemberLogs, paths: Sequence[str], owners: Mapping[str, str], strict: bool
) -> tuple[MemberLogs, list[str]]:
    """The robot with those of its logs that no robot before has, and their paths; `owners`: whose the contents of logs are.

    Raises:
        BadLog: with `strict`, the first log that another robot has as well.
    """
    own, twice = [], []
    for k, (path, content) in enumerate(zip(paths, member.contents, strict=True)):
        if content not in owners:
            own.append(k)
        else:
            twice.append(f"{path}: {owners[content]} {HAS_IT_TOO}")
    if twice and strict:
        raise BadLog(twice[0])
    return replace(member.with_logs(own), left_out=(*member.left_out, *twice)), [paths[k] for k in own]


def kept_evidence(evidence: Evidence, folder: Path) -> KeptEvidence:
    """The same evidence, of which the leaves lie in a folder."""
    paths = tuple(leaf_path(folder, evidence.made_with, leaf.content) for leaf in evidence.leaves)
    return KeptEvidence(evidence.robot, evidence.made_with, paths, evidence.contents, evidence.simulated)


def logs_there(file: FleetFile, folder: Path) -> set[tuple[str, str]]:
    """Names and states of the files of all robots: another set means new logs."""
    named = [resolve(folder, spec.file) for specs in robots_of(file, folder).values() for spec in specs]
    found = [item for path in named for item in (files_below(path) if is_folder(path) else matching(path)).items()]
    return {(str(path), state) for path, state in found}


def _date(path: str) -> datetime | None:
    """The last date in a path, with a time of the day if there is one."""
    for found in reversed(list(DATE.finditer(path))):
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
        try:
            return datetime(year, month, day, hour, minute, second)
        except ValueError:
            continue
    return None
