"""The logs that a run file means by a pattern or a folder, and which of them cannot be used."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import TypeVar

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.files import resolve
from robodyn_pin.logs.bag_table import is_bag
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.table import SUFFIXES
from robodyn_pin.workers import each

Read = TypeVar("Read")


def found_logs(specs: Sequence[LogSpec], folder: Path) -> list[tuple[LogSpec, bool]]:
    """Every log that is meant, those of a pattern or folder in the order of their names' numbers and words, and whether
    it was found so.

    Raises:
        BadFile: a pattern or folder without any.
    """
    found: list[tuple[LogSpec, bool]] = []
    for spec in specs:
        path = resolve(folder, spec.file)
        if path.is_dir() and not is_bag(path):
            paths = [p for p in path.iterdir() if p.suffix in SUFFIXES and p.is_file()]
            expected = f"logs ({', '.join(SUFFIXES)}) in that folder"
        elif has_magic(str(path)) and not path.exists():
            paths = [Path(p) for p in glob(str(path), recursive=True)]
            expected = "files that fit the pattern"
        else:
            found.append((spec, False))
            continue
        if not paths:
            raise BadFile(f"{path}: found no log, expected {expected}")
        found += [(spec.model_copy(update={"file": p.absolute()}), True) for p in sorted(paths, key=_natural)]
    return found


def read_found(
    read: Callable[[LogSpec], Read], specs: Sequence[LogSpec], folder: Path, strict: bool
) -> tuple[list[tuple[LogSpec, Read]], list[str]]:
    """The logs as `read` gives them, and sentences about those that a pattern or folder brought and that cannot be used.

    Args:
        strict: one that cannot be used ends all, as one does that is named.

    Raises:
        as `read` and `found_logs`. BadFile: none can be used.
    """
    found = found_logs(specs, folder)
    kept, wrong = [], []
    for (spec, by_pattern), (log, error) in zip(found, each(partial(_tried, read), [s for s, _ in found]), strict=True):
        if log is not None:
            kept.append((spec, log))
        elif error and by_pattern and not strict:
            wrong.append(str(error))
        elif error:
            raise error
    if not kept:
        raise BadFile(f"none of {len(found)} logs can be used; the first: {wrong[0]}")
    if not wrong:
        return kept, []
    return kept, [f"{len(wrong)} of {len(found)} logs that were found cannot be used and are left out", *wrong]


def _tried(read: Callable[[LogSpec], Read], spec: LogSpec) -> tuple[Read | None, RobodynError | None]:
    try:
        return read(spec), None
    except RobodynError as error:
        return None, error


def _natural(path: Path) -> list[tuple[int, str]]:
    """Numbers by their size: log2 comes before log10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(path)) if part]
