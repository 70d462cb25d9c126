"""The table in a log's file, CSV or Parquet: its columns as numbers, and the notes in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName, shortened
from robodyn_pin.yaml_text import HUGE

if TYPE_CHECKING:
    import polars as pl

NOTE = "robodyn_pin"  # key of our note in a Parquet file


def read_columns(path: Path, headers: Sequence[str]) -> list[np.ndarray]:
    """Columns (N,) of a CSV or Parquet file.

    Raises:
        BadLog: not readable, or a cell that is no number. UnknownName: a column that is not there.
    """
    table, notes = read_table(path)
    return [column(table, header, path, notes.count("\n") + 2) for header in headers]


def read_table(path: Path) -> tuple["pl.DataFrame", str]:
    """A log's table, and the notes in it."""
    import polars as pl

    notes = notes_of(path)
    with readable(path):
        # infer_schema=False keeps text: a bad cell is then named with its row instead of failing the whole file.
        table = (
            pl.read_parquet(path)
            if path.suffix == ".parquet"
            else pl.read_csv(path, infer_schema=False, comment_prefix="#")
        )
    return table, notes


def notes_of(path: Path) -> str:
    """The notes in a log: comment lines at the head of a CSV, metadata of a Parquet file.

    Raises:
        BadLog: neither, or not readable.
    """
    import polars as pl

    if path.suffix not in (".csv", ".parquet"):
        raise BadLog(f"{path}: expected a .csv or .parquet log, found {path.suffix or 'no suffix'}")
    with readable(path):
        return pl.read_parquet_metadata(path).get(NOTE, "") if path.suffix == ".parquet" else _comments(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what reading a file can raise into one sentence."""
    import polars as pl

    try:
        yield
    except FileNotFoundError:
        raise BadLog(f"cannot read {path}: no such file") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadLog(f"{path} is not a readable {path.suffix[1:]} file: {' '.join(str(error).split())[:200]}") from None


def _comments(path: Path) -> str:
    lines = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith("#"):
                break
            lines.append(line)
    return "".join(lines)


def column(table: "pl.DataFrame", header: str, path: Path, first_row: int, gaps: bool = False) -> np.ndarray:
    """A column (N,) of numbers, NaN where there is none and `gaps` are allowed; raises as `read_columns`."""
    import polars as pl

    if header not in table.columns:
        raise UnknownName("column", header, str(path), table.columns)
    values = table[header].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(np.abs(values) > HUGE if gaps else ~(np.abs(values) < HUGE))
    if len(bad):
        shown = table[header][int(bad[0])]
        raise BadLog(
            f"{path}: column {header!r} is not a number in {len(bad)} rows, first in row {bad[0] + first_row} ({shortened(shown)})"
        )
    return np.asarray(values, float)
