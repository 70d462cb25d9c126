"""The table of a data frame in memory: pandas, polars, or a mapping of names to arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_pin.errors import BadLog

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class FrameTable:
    """Columns with names, as of a file."""

    path: Path  # what messages call it
    cells: "pl.DataFrame"
    notes: str = ""
    has_header = True

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.cells.columns)

    @staticmethod
    def line(row: int) -> int:
        """What a message calls a row, counted from 0: data frames count like this."""
        return row

    def read(self, headers: Sequence[str]) -> "pl.DataFrame":
        """All rows of some columns."""
        return self.cells.select(list(headers))


def frame_table(frame: Any, name: str, simulated: bool) -> FrameTable:
    """The table of a frame.

    Raises:
        BadLog: no data frame, or columns that do not fit together.
    """
    import polars as pl

    try:
        if isinstance(frame, pl.DataFrame):
            cells = frame
        elif isinstance(frame, Mapping):
            cells = pl.DataFrame({str(key): np.asarray(values) for key, values in frame.items()})
        elif type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "columns"):
            cells = pl.from_pandas(frame)
        else:
            raise BadLog(
                f"{name} is of type {type(frame).__name__}; expected a data frame of pandas or polars, or a mapping of "
                "column names to arrays"
            )
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise BadLog(
            f"{name} is no table: {error}; expected columns of one length, each of one kind of numbers"
        ) from None
    return FrameTable(Path(name), cells, "simulated" if simulated else "")
