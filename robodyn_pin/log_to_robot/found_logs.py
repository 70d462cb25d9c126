"""The logs that a run file means by a pattern or a folder, and which of them cannot be used."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.files import resolve
from robodyn_pin.log_to_robot.held_out import Selected
from robodyn_pin.logs.bag_table import is_bag
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.table import SUFFIXES
from robodyn_pin.storage.remote import RemotePath, files_below, is_folder, matching
from robodyn_pin.workers import tried


@dataclass(frozen=True)
class Meant:
    """A log that a run file means."""

    spec: LogSpec
    named: bool  # by itself, not by a pattern or a folder


@dataclass(frozen=True)
class Usable:
    """Logs that can be used, and sentences about those that a pattern or folder brought and that cannot."""

    specs: list[LogSpec]
    logs: list[Selected]
    left_out: list[str]


def read_found(
    read: Callable[[LogSpec], Selected], specs: Sequence[LogSpec], folder: Path, strict: bool,
    judging: Sequence[LogSpec] = (),
) -> tuple[Usable, Usable | None]:  # fmt: skip
    """Read all logs that are meant, and those that judge the result if there are such. One that a pattern or folder brought is
    left out where it cannot be read, where its samples are those of a log before it, and where they judge the result.

    Args:
        read: opens a log. strict: one that cannot be read ends all, as one does that is named. judging: held-out logs.

    Raises:
        as `read`. BadFile: a pattern or folder without any log; none can be used.
    """
    judges, meant = meant_logs(judging, folder), meant_logs(specs, folder)
    logs = tried(read, [one.spec for one in (*judges, *meant)])
    held_out = _usable(judges, logs, strict, {}) if judges else None
    seen = {log.sha256: f"{log.log.name} judges the result" for log in held_out.logs} if held_out else {}
    return _usable(meant, logs, strict, seen), held_out


def _usable(
    meant: Sequence[Meant], logs: Iterator[Selected | RobodynError], strict: bool, seen: dict[str, str]
) -> Usable:
    """As many of the logs as are meant, without those that cannot be used; `seen`: what is said of samples seen before."""
    usable, left_out = Usable([], [], []), []
    for one, log in zip(meant, logs, strict=False):
        if isinstance(log, RobodynError):
            if one.named or strict:
                raise log
            left_out.append(str(log))
        elif not one.named and log.sha256 in seen:
            left_out.append(f"{one.spec.file}: {seen[log.sha256]} and has the same samples")
        else:
            seen.setdefault(log.sha256, f"{log.log.name} is there already")
            usable.specs.append(one.spec)
            usable.logs.append(log)
    if not usable.logs:
        raise BadFile(f"none of {len(meant)} logs can be used; the first: {left_out[0]}")
    if left_out:
        usable.left_out.extend([f"{len(left_out)} of {len(meant)} logs that were found are left out", *left_out])
    return usable


def meant_logs(specs: Sequence[LogSpec], folder: Path) -> list[Meant]:
    """Every log that is meant, those of a pattern or folder in the order of the numbers and words in their names.

    Raises:
        BadFile: a pattern or folder without any log.
    """
    found: list[Meant] = []
    for spec in specs:
        path = resolve(folder, spec.file)
        if not is_bag(path) and is_folder(path):
            paths = list(_logs_in(path))
            expected = f"logs ({', '.join(SUFFIXES)}) in that folder"
        elif has_magic(str(path)) and not path.exists():
            paths = [log for found_path in matching(path) for log in _logs_at(found_path)]
            expected = "files that fit the pattern"
        else:
            found.append(
                Meant(spec.model_copy(update={"file": path}) if isinstance(path, RemotePath) else spec, named=True)
            )
            continue
        if not paths:
            raise BadFile(f"{path}: found no log, expected {expected}")
        ordered = sorted((p.absolute() for p in paths), key=natural_order)
        found += [Meant(spec.model_copy(update={"file": p}), named=False) for p in ordered]
    return found


def _logs_in(folder: Path) -> Iterator[Path]:
    """The logs of a folder, and those of the partitions in it (`robot=7/day=2026-11-03/...`)."""
    if isinstance(folder, RemotePath):
        for path in files_below(folder):
            if path.suffix in SUFFIXES and all("=" in name for name in path.relative_to(folder).parts[:-1]):
                yield path
        return
    for path in folder.iterdir():
        if is_bag(path) or (path.suffix in SUFFIXES and path.is_file()):
            yield path
        elif "=" in path.name and path.is_dir():
            yield from _logs_in(path)


def _logs_at(path: Path) -> Iterator[Path]:
    """What a pattern found: a log, or a partition of a dataset with logs in it."""
    yield from _logs_in(path) if "=" in path.name and is_folder(path) else [path]


def natural_order(path: Path) -> list[tuple[int, str]]:
    """Numbers by their size: log2 comes before log10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(path)) if part]
