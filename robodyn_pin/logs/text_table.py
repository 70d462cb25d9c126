"""A table in a text: cells between commas, semicolons or tabs, packed or not, with a line of names or without."""

import io
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from robodyn_pin.errors import BadLog
from robodyn_pin.storage.remote import RemotePath, opened

if TYPE_CHECKING:
    import polars as pl

PIECE = 100_000  # lines that are read at once
HEAD = 1_000_000  # [bytes] within which the first row is expected
MOST_COLUMNS = 10_000
LOOKED_AT = 64  # places of a file where it must be text
BYTE_ORDER = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class TextTable:
    """Cells as texts, so that a bad one is named with its line instead of failing the whole file."""

    path: Path

    @cached_property
    def _head(self) -> list[str]:
        """The first lines."""
        with _readable(self.path), self._opened() as file:
            start = file.read(HEAD)
        if b"\0" in start or (len(start) >= HEAD and b"\n" not in start[:HEAD]) or self._has_holes():
            raise BadLog(
                f"{self.path} is no table: expected lines of text, found bytes that are no text or a line of {HEAD} bytes and more"
            )
        lines = start.removeprefix(BYTE_ORDER).decode("utf-8", errors="replace").split("\n")
        if any("\r" in line.rstrip("\r") for line in lines):
            raise BadLog(
                f"{self.path}: a line ends with a carriage return alone; expected line feeds, write them instead"
            )
        return [line + "\n" for line in lines]

    @cached_property
    def notes(self) -> str:
        """The comments that it starts with."""
        return "".join(takewhile(lambda line: line.startswith("#"), self._head))

    @cached_property
    def _before(self) -> int:
        """Lines before the first one that is neither blank nor a comment."""
        return sum(1 for _ in takewhile(lambda line: line.startswith("#") or not line.strip(), self._head))

    @property
    def _first(self) -> str:
        """That line."""
        return self._head[self._before] if self._before < len(self._head) else ""

    @property
    def _mark(self) -> str:
        """What stands between the cells; blanks, where a row is nothing but numbers between single ones."""
        mark, cells = max(",;\t", key=self._first.count), self._first.rstrip("\r\n").split(" ")
        return " " if not self._first.count(mark) and len(cells) > 1 and all(map(_is_number, cells)) else mark

    @cached_property
    def has_header(self) -> bool:
        """Whether the first row names the columns; if all of its cells are numbers it is a sample."""
        cells = [cell.strip(' "\r\n') for cell in self._first.split(self._mark)]
        if self._mark != ",":
            cells = [cell.replace(",", ".") for cell in cells]
        return not any(cells) or not all(_is_number(cell) for cell in cells if cell)

    @cached_property
    def headers(self) -> tuple[str, ...]:
        """Names of the columns; of a file without them their numbers, from 1."""
        if self._first.count(self._mark) >= MOST_COLUMNS:
            raise BadLog(f"{self.path}: more than {MOST_COLUMNS} columns in its first row; is it a log?")
        with _readable(self.path):
            return tuple(self._cells(self._first.encode()).columns)

    def read(self, headers: Sequence[str]) -> "pl.DataFrame":
        """All rows of some columns.

        Raises:
            BadLog: not readable.
        """
        import polars as pl

        return self._with_points(pl.concat(list(self._parts(headers, PIECE))))

    def pieces(self, headers: Sequence[str], size: int) -> Iterator["pl.DataFrame"]:
        """At most `size` rows after the other, at least one piece; what may have decimal commas is read as a whole first."""
        if self._mark == ",":
            yield from self._parts(headers, size)
            return
        table = self.read(headers)
        yield from (table[begin : begin + size] for begin in range(0, max(len(table), 1), size))

    def _parts(self, headers: Sequence[str], size: int) -> Iterator["pl.DataFrame"]:
        """At most `size` rows after the other, with the commas that they have."""
        with _readable(self.path), self._opened() as file:
            names = next((line for line in file if not self._is_skipped(line)), b"")
            lines, full = file if self.has_header else chain([names], file), True
            while full:
                taken = list(islice(lines, size))
                full = len(taken) == size
                found = self._cells((names if self.has_header else b"") + b"".join(taken), headers)
                if full and not len(found):
                    raise BadLog(f"{self.path}: {size} lines one after the other hold no sample; is it a log?")
                yield found

    def line(self, row: int) -> int:
        """The line of the file, from 1, that holds a row, counted from 0."""
        return row + 1 + bisect_right(self._skipped, row)

    @cached_property
    def _skipped(self) -> list[int]:
        """Lines that are no samples: how many samples stand before each."""
        found: list[int] = []
        header = self.has_header
        with _readable(self.path), self._opened() as file:
            for number, line in enumerate(file):
                skipped = self._is_skipped(line)
                if skipped or header:
                    found.append(number - len(found))
                header &= skipped
        return found

    def _is_skipped(self, line: bytes) -> bool:
        return line.startswith(b"#") or not line.strip(b"\r\n").strip(self._mark.encode())

    def _opened(self) -> BinaryIO:
        """Its bytes, unpacked, after a byte order mark."""
        file: Any = opened(self.path)
        if packed := _packing(file.peek(4)):
            import pyarrow as pa

            file = io.BufferedReader(pa.input_stream(file, compression=packed))
        if file.peek(3).startswith(BYTE_ORDER):
            file.read(len(BYTE_ORDER))
        return file

    def _has_holes(self) -> bool:
        """Whether bytes that are no text stand at one of some places all over the file, as in one of this machine that was never filled."""
        if isinstance(self.path, RemotePath):
            return False
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if _packing(file.read(4)) or size <= HEAD:
                return False
            for k in range(LOOKED_AT):
                file.seek(size * (k + 1) // LOOKED_AT - 1)
                if file.read(1) == b"\0":
                    return True
        return False

    def _cells(self, source: bytes, headers: Sequence[str] | None = None) -> "pl.DataFrame":
        """Cells as texts, without blank lines."""
        import polars as pl

        wanted = None if headers is None else sorted({self.headers.index(header) for header in headers})
        table = pl.read_csv(
            source, infer_schema=False, comment_prefix="#", separator=self._mark, has_header=self.has_header, columns=wanted,
        )  # fmt: skip
        if not self.has_header:
            table.columns = [str(k + 1) for k in (range(table.width) if wanted is None else wanted)]
        blank = table.select(pl.all_horizontal(pl.all().is_null())).to_series()
        if not blank.any():
            return table
        if headers is not None:  # other columns tell a blank line from one where these cells are empty
            return self._cells(source).select(table.columns)
        return table.filter(~blank)

    def _with_points(self, table: "pl.DataFrame") -> "pl.DataFrame":
        """Decimal points instead of decimal commas, which stand between semicolons or tabs where no point does."""
        import polars as pl

        if self._mark == "," or not len(table):
            return table
        points = table.select(pl.any_horizontal((pl.all().str.contains(".", literal=True)).any())).item()
        return table if points else table.with_columns(pl.all().str.replace(",", ".", literal=True))


def _packing(start: bytes) -> str:
    """What packed a file of this start; nothing did if it is empty."""
    return "gzip" if start[:2] == b"\x1f\x8b" else "zstd" if start[:4] == b"\x28\xb5\x2f\xfd" else ""


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what reading a text can raise into one sentence."""
    import polars as pl

    try:
        yield
    except FileNotFoundError:
        raise BadLog(f"cannot read {path}: no such file") from None
    except (OSError, EOFError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if "truncate_ragged_lines" not in str(error):
            raise BadLog(f"{path} is not a readable table: {' '.join(str(error).split())[:120]}") from None
        raise BadLog(
            f"{path}: a row has more cells than there are columns; are commas both decimal and between the cells? Write decimal "
            "points, or semicolons between the cells"
        ) from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
