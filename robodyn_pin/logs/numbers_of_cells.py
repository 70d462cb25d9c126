"""Cells of one column as numbers, and times of any kind in seconds."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import BadLog, quoted
from robodyn_pin.numbers import LARGEST

if TYPE_CHECKING:
    import polars as pl

PER_DAY = 86400.0  # [s]
EMPTY = ("", "nan", "na", "n/a", "null", "none", "-")  # what a cell says that has no number
DATE, ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"), r"\s*(Z|[+-]\d\d:?\d\d)$"
TICKS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}  # [s]


def column(
    cells: "pl.Series", where: str, line: Callable[[int], int], begin: int = 0, gaps: bool = False, clock: bool = False,
    first: int | None = None, unit: float = 1.0,
) -> np.ndarray:  # fmt: skip
    """Numbers (N,) of a column, NaN where there is none and `gaps` are allowed.

    Args:
        where: the file, for messages. line: what they call a row. begin: the row of the file that comes first here.
        clock: whether stamps are times; dates, and whole numbers beyond 1e15, count from `first`, without any loss.
        first: what `first_tick` finds in the file's first row; default: in the first one here.
        unit: of numbers [s, or any other SI unit]; stamps have one of their own.

    Raises:
        BadLog: a cell that is no number, or a column of another kind.
    """
    import polars as pl

    written, cells = cells, dates(cells) if clock else cells
    name, kind = cells.name, cells.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Boolean, pl.Object) or (kind.is_temporal() and not clock):
        raise BadLog(f"{where}: column {name!r} holds {str(kind)[:40]}, expected numbers; write it as Float64")
    if kind.is_temporal():  # in ticks
        unit = PER_DAY if kind == pl.Date else TICKS[getattr(kind, "time_unit", "ns") or "us"]
    if clock and first is None:
        first = first_tick(cells)
    if clock and first is not None:
        values = _since(cells, first)
    else:
        numbers = cells.to_physical() if kind.is_temporal() else cells
        numbers = numbers.cast(pl.String) if kind in (pl.Categorical, pl.Enum) else numbers
        values = numbers.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(
        (np.abs(values) > LARGEST) | (np.isnan(values) & ~_empty(cells)) if gaps else ~(np.abs(values) <= LARGEST)
    )
    if len(bad) and not (clock and kind.is_temporal() and np.isfinite(values[bad]).all()):
        expected = "seconds, or times as 2026-11-29T10:00:00.004, all in one zone" if clock else ""
        expected = expected if np.isnan(values[bad[0]]) else f"one from {-LARGEST:g} to {LARGEST:g}"
        size = f"; expected {expected}" if expected else ""
        found = written[int(bad[0])]
        raise BadLog(
            f"{where}: column {name!r} is not a number in {len(bad)} rows, first in row {line(begin + int(bad[0]))} "
            f"({'empty' if found is None else quoted(found)}){size}"
        )
    return np.asarray(values * unit, float)


def dates(cells: "pl.Series") -> "pl.Series":
    """Texts of dates and times of day (ISO 8601), one zone in all of them, as times in ticks; null where one is none; other columns as they are."""
    import polars as pl

    if cells.dtype != pl.String or not len(cells) or not DATE.match(cells[0] or ""):
        return cells
    texts = cells.str.strip_chars()
    zones = texts.str.extract(ZONE).fill_null("")
    texts = texts.str.replace(ZONE, "").str.replace(",", ".", literal=True)
    same = texts.str.contains(f"^{DATE.pattern}(:\\d\\d(\\.\\d{{1,9}})?)?$") & (zones == zones[0])
    kept = texts.to_frame().select(pl.when(same).then(pl.col(cells.name))).to_series()
    try:
        return pl.Series(cells.name, kept.to_numpy().astype("datetime64[ns]"))
    except ValueError:  # a day or an hour that there is not
        return cells


def _empty(cells: "pl.Series") -> np.ndarray:
    """Which cells (N,) say that there is no number; text that is none says nothing of the kind."""
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return np.ones(len(cells), bool)
    return cells.str.strip_chars().str.to_lowercase().fill_null("").is_in(EMPTY).to_numpy()


def first_tick(cells: "pl.Series") -> int | None:
    """The first time of a column of dates or of whole numbers beyond 1e15, from which all of them count; else none."""
    import polars as pl

    cells = dates(cells)
    ticks, known = _ticks(cells)
    if not known.any():
        return None
    first = int(ticks[known][0])
    return first if cells.dtype in (pl.Datetime, pl.Date) or abs(first) > LARGEST else None


def _ticks(cells: "pl.Series") -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers (N,) of 64 bits, with or without sign, and which of them (N,) are there."""
    import polars as pl

    if cells.dtype.is_temporal():
        cells = (cells.cast(pl.Duration("ns")) if cells.dtype == pl.Time else cells).to_physical()
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        cells = cells.cast(
            pl.UInt64 if (cells.cast(pl.UInt64, strict=False) >= 2**63).any() else pl.Int64, strict=False
        )
    if not cells.dtype.is_integer():
        return np.zeros(len(cells), np.int64), np.zeros(len(cells), bool)
    if cells.dtype != pl.UInt64:
        cells = cells.cast(pl.Int64, strict=False)
    return cells.fill_null(0).to_numpy(), cells.is_not_null().to_numpy()


def _since(cells: "pl.Series", first: int) -> np.ndarray:
    """Whole numbers (N,) less the first of the file, exact although neither is as a float; NaN where there is none."""
    ticks, known = _ticks(cells)
    away = (ticks.view(np.uint64) - np.uint64(first % 2**64)).view(np.int64).astype(float)
    wrapped = np.abs(away - (ticks.astype(float) - float(first))) > 2.0**62  # further than 64 bits hold
    return np.where(known, np.where(wrapped, np.inf, away), np.nan)
