"""The table in a log's file, text or Parquet, and columns of it by name."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.logs.bag_table import BagTable, is_bag
from robodyn_pin.logs.frame_table import FrameTable
from robodyn_pin.logs.numbers_of_cells import column
from robodyn_pin.logs.parquet_table import ParquetTable
from robodyn_pin.logs.text_table import TextTable
from robodyn_pin.storage.remote import RemotePath, opened, placed, state_of
from robodyn_pin.storage.staging import reads

Table = TextTable | ParquetTable | BagTable
SUFFIXES = (".csv", ".tsv", ".gz", ".zst", ".parquet", ".mcap", ".bag")


def open_table(path: Path) -> Table:
    """The table in a file, of another machine where its path starts like s3://; its cells are not read yet.

    Raises:
        BadLog: neither text, Parquet nor a bag by its name; a bag of another machine.
    """
    path = placed(path)
    if is_bag(path):
        if isinstance(path, RemotePath):
            raise BadLog(f"{path}: bags are read on this machine only; copy it, or write it as .parquet")
        return BagTable(reads(path))
    if path.suffix not in SUFFIXES:
        raise BadLog(f"{path}: found {path.suffix or 'no suffix'}, expected a log ({', '.join(SUFFIXES)})")
    reads(path)
    return ParquetTable(path) if path.suffix == ".parquet" else TextTable(path)


def log_name(path: Path) -> str:
    """What a log is called: the name of its file, after those of the partitions that it is in (robot=7/day=2026-11-03)."""
    partitions = list(takewhile(lambda name: "=" in name, reversed(path.parts[:-1])))
    return "/".join([*reversed(partitions), path.name])


def content_hash(path: Path) -> str:
    """SHA-256 of a log's file; of a folder, that of the hashes of its files in the order of their names."""
    path = placed(path)
    if not isinstance(path, RemotePath) and path.is_dir():
        return hashlib.sha256("".join(content_hash(part) for part in sorted(path.iterdir())).encode()).hexdigest()
    return _file_hash(path, state_of(path))


@lru_cache(maxsize=1000)
def _file_hash(path: Path, state: str) -> str:
    """Of a file as it is now: one of gigabytes is read once."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_header(table: Table | FrameTable, header: str, where: str = "") -> None:
    """See that a column is there, once.

    Raises:
        UnknownName: it is not. BadLog: it is there twice, or no column has a name.
    """
    if not table.has_header and header not in table.headers:
        raise BadLog(
            f"{table.path} has no header, its first row is numbers; expected column {header!r}: write the names of the columns "
            f"as the first line, or, in files that take 'columns', its number: 'columns: {{{header}: 2}}'"
        )
    if header not in table.headers:
        raise UnknownName("column", header, where or str(table.path), table.headers)
    if f"{header}_duplicated_0" in table.headers:
        raise BadLog(f"{table.path}: column {header!r} stands there twice; rename one of them")


def read_columns(path: Path, headers: Sequence[str]) -> list[np.ndarray]:
    """Columns (N,) of a text or Parquet file; raises as `open_table` and `columns_of`."""
    return columns_of(open_table(path), headers)


def columns_of(table: Table, headers: Sequence[str]) -> list[np.ndarray]:
    """Columns (N,) of a table by name, `t` in seconds where it is stamps.

    Raises:
        BadLog: not readable, or a cell that is no number. UnknownName: a column that is not there.
    """
    for header in headers:
        check_header(table, header)
    cells = table.read(headers)
    return [column(cells[header], str(table.path), table.line, clock=header == "t") for header in headers]
