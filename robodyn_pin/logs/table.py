"""The table in a log's file, CSV or Parquet: its columns as numbers, and the notes in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.numbers import LARGEST

if TYPE_CHECKING:
    import polars as pl

HEAD = 1_000_000  # [bytes] within which names of columns are expected
MOST_COLUMNS = 10_000
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
        table = pl.read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    return table, notes


def _read_csv(path: Path) -> "pl.DataFrame":
    """The cells of a CSV as texts; separated by commas, semicolons or tabs, these two also with decimal commas."""
    import polars as pl

    header = _header(path)
    mark = _mark(header)
    if header.count(mark) >= MOST_COLUMNS:
        raise BadLog(f"{path}: more than {MOST_COLUMNS} columns in its first row; is it a log?")
    table = cells(path, mark)
    if mark == ",":
        return table
    points = (
        table.select(pl.any_horizontal((pl.all().str.contains(".", literal=True)).any())).item() if len(table) else True
    )
    return table if points else table.with_columns(pl.all().str.replace(",", ".", literal=True))


def cells(source: Path | bytes, mark: str = ",") -> "pl.DataFrame":
    """The cells of a CSV as texts, without blank lines."""
    import polars as pl

    table = pl.read_csv(source, infer_schema=False, comment_prefix="#", separator=mark)
    return table.filter(~pl.all_horizontal(pl.all().is_null()))


def is_plain(path: Path) -> bool:
    """Whether a text is a table with commas, not packed, that starts with its notes or its header."""
    with path.open("rb") as file:
        start = file.read(4)
    return (
        not _packed(start)
        and not start.startswith(b"\xef\xbb\xbf")
        and start.strip() != b""
        and _mark(_header(path)) == ","
    )


def _header(path: Path) -> str:
    """The line that names the columns."""
    return next((line for line in _head(path) if line.strip() and not line.startswith("#")), "")


def _mark(header: str) -> str:
    """What stands between the cells."""
    return max(",;\t", key=header.count)


def _packed(start: bytes) -> bool:
    """Whether a file of this start is packed by gzip or zstd."""
    return start[:2] == b"\x1f\x8b" or start[:4] == b"\x28\xb5\x2f\xfd"


def _head(path: Path) -> list[str]:
    """The first lines of a text, also of one packed by gzip or zstd."""
    import polars as pl

    with path.open("rb") as file:
        start = file.read(HEAD)
    if _packed(start):
        lines = pl.read_csv(path, has_header=False, separator="\x01", quote_char=None, infer_schema=False, n_rows=1000)
        return [str(line or "").removeprefix("\ufeff") + "\n" for line in lines.to_series()]
    if b"\0" in start or (len(start) == HEAD and b"\n" not in start):
        raise BadLog(f"{path} is no table: expected a row of column names, found no text or no end of the first line")
    return start.decode("utf-8", errors="replace").removeprefix("\ufeff").splitlines(keepends=True)


def notes_of(path: Path) -> str:
    """The notes in a log: comment lines at the head of a CSV, metadata of a Parquet file.

    Raises:
        BadLog: neither, or not readable.
    """
    import polars as pl

    if path.suffix not in (".csv", ".tsv", ".gz", ".zst", ".parquet"):
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
    except pl.exceptions.ComputeError as error:
        if "truncate_ragged_lines" not in str(error):
            raise BadLog(f"{path} is not a readable table: {' '.join(str(error).split())[:150]}") from None
        raise BadLog(
            f"{path}: a row has more cells than there are columns; are commas both decimal and between the cells? Write decimal "
            "points, or semicolons between the cells"
        ) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadLog(f"{path} is not a readable {path.suffix[1:]} file: {' '.join(str(error).split())[:200]}") from None


def _comments(path: Path) -> str:
    return "".join(takewhile(lambda line: line.startswith("#"), _head(path)))


def _tick(kind: "pl.DataType") -> float:
    """Of a column of times [s]."""
    import polars as pl

    if kind == pl.Date:
        return 86400.0
    return {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[getattr(kind, "time_unit", "ns") or "us"]


def column(table: "pl.DataFrame", header: str, path: Path, first_row: int, gaps: bool = False) -> np.ndarray:
    """A column (N,) of numbers, NaN where there is none and `gaps` are allowed; raises as `read_columns`."""
    import polars as pl

    if header not in table.columns:
        raise UnknownName("column", header, str(path), table.columns)
    cells, kind = table[header], table[header].dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Boolean):
        raise BadLog(f"{path}: column {header!r} holds {kind}, expected numbers")
    if kind in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if kind.is_temporal():  # in seconds
        cells = cells.cast(pl.Duration("ns") if kind == pl.Time else kind).to_physical().cast(pl.Float64) * _tick(kind)
    values = cells.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(np.abs(values) > LARGEST if gaps else ~(np.abs(values) <= LARGEST))
    if len(bad):
        shown = table[header][int(bad[0])]
        raise BadLog(
            f"{path}: column {header!r} is not a number in {len(bad)} rows, first in row {bad[0] + first_row} ({shown!r})"
        )
    return np.asarray(values, float)
