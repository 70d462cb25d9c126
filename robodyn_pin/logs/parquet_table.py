"""A table in a Parquet file, read by Arrow, which refuses damaged files where other readers end the process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_pin.errors import BadLog, RobodynError, quoted
from robodyn_pin.logs.recent import Recent
from robodyn_pin.storage.remote import RemotePath, opened_anywhere

if TYPE_CHECKING:
    import polars as pl

NOTE = b"robodyn_pin"  # key of our note
GROUP = 100_000  # rows of a row group that we write: they are read together

_groups = Recent(2 * GROUP)


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Columns with names; row groups are read when their rows are."""

    path: Path
    has_header = True

    def __reduce__(self) -> tuple[type["ParquetTable"], tuple[Path]]:  # an open file cannot go to another process
        return ParquetTable, (self.path,)

    @cached_property
    def _file(self) -> Any:
        import pyarrow.parquet as pq

        with _readable(self.path):
            source = opened_anywhere(self.path) if isinstance(self.path, RemotePath) else self.path
            return pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True)

    @cached_property
    def headers(self) -> tuple[str, ...]:
        """Names of the columns."""
        with _readable(self.path):
            return tuple(self._file.schema_arrow.names)

    @cached_property
    def notes(self) -> str:
        """Our notes in the metadata."""
        with _readable(self.path):
            return (self._file.metadata.metadata or {}).get(NOTE, b"").decode()

    @cached_property
    def _ends(self) -> np.ndarray:
        """Rows up to the end of each row group."""
        with _readable(self.path):
            known = self._file.metadata
            counts = [known.row_group(k).num_rows for k in range(known.num_row_groups)]
        if min(counts, default=0) < 0 or sum(counts) != known.num_rows:
            raise BadLog(f"{self.path} is not a readable parquet file: its parts have not as many rows as the whole")
        return np.cumsum([0, *counts])

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self._ends[-1])

    @staticmethod
    def line(row: int) -> int:
        """What a message calls a row, counted from 0: the first is row 1, since there is no line with a header."""
        return row + 1

    def read(self, headers: Sequence[str]) -> "pl.DataFrame":
        """All rows of some columns.

        Raises:
            BadLog: the file is damaged.
        """
        with _readable(self.path):
            return self._counted(self._file.read(list(headers), use_threads=True), self.rows)

    def part(self, begin: int, end: int, headers: Sequence[str]) -> "pl.DataFrame":
        """Rows begin..end; raises as `read`."""
        import polars as pl

        first = int(np.searchsorted(self._ends, begin, "right")) - 1
        last = int(np.searchsorted(self._ends, end, "left")) - 1
        groups = range(first, max(first, last) + 1)
        parts = [
            self._group(k, tuple(headers))[max(0, begin - int(self._ends[k])) : end - int(self._ends[k])]
            for k in groups
            if k < len(self._ends) - 1
        ]
        return pl.concat(parts) if parts else self.read(headers)[:0]

    def pieces(self, headers: Sequence[str], size: int) -> Iterator["pl.DataFrame"]:
        """At most `size` rows after the other, at least one piece; raises as `read`."""
        for begin in range(0, max(self.rows, 1), size):
            yield self.part(begin, min(begin + size, self.rows), headers)

    def _group(self, k: int, headers: tuple[str, ...]) -> "pl.DataFrame":
        rows = int(self._ends[k + 1] - self._ends[k])

        def read() -> "pl.DataFrame":
            with _readable(self.path):
                return self._counted(self._file.read_row_group(k, list(headers), use_threads=True), rows)

        return _groups.get((self, k, headers), rows, read)

    def _counted(self, found: Any, rows: int) -> "pl.DataFrame":
        import polars as pl

        found.validate()
        if found.num_rows != rows:
            raise BadLog(
                f"{self.path} is not a readable parquet file: it holds {found.num_rows} rows and says {rows}; write it again"
            )
        table = pl.from_arrow(found)
        assert isinstance(table, pl.DataFrame)
        return table


def write_parquet(path: Path, table: "pl.DataFrame", note: str) -> None:
    """Write a table with a note, and checksums that tell of damage."""
    import pyarrow.parquet as pq

    found = table.to_arrow()
    found = found.replace_schema_metadata((found.schema.metadata or {}) | {NOTE: note.encode()})
    pq.write_table(found, path, compression="zstd", write_page_checksum=True, row_group_size=GROUP)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn whatever reading damaged bytes raises, a panic of polars too, into one sentence."""
    import polars as pl

    try:
        yield
    except RobodynError:
        raise
    except FileNotFoundError:
        raise BadLog(f"cannot read {path}: no such file") from None
    except (Exception, pl.exceptions.PanicException) as error:
        why = " ".join(str(error).split())
        raise BadLog(f"{path} is not a readable parquet file: {why[:90] or quoted(error)}; write it again") from None
