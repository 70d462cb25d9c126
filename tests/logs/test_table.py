"""Tables as other programs write them."""

import gzip
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard

from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.logs.stored_log import log_pieces
from robodyn_pin.logs.table import open_table, read_columns
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.robot import load

PLAIN = "# SIMULATED\nt,q\n0,1.5\n1,-2.5\n"
WRITTEN = ("plain", "bom", "crlf", "gzip", "zstd", "semicolons", "tabs", "blank lines", "decimal commas")


def _written(text: str, how: str) -> bytes:
    """A text with commas as another program would write it."""
    other = {
        "crlf": text.replace("\n", "\r\n"), "semicolons": text.replace(",", ";"), "tabs": text.replace(",", "\t"),
        "blank lines": text + "\n\n", "decimal commas": text.replace(",", ";").replace(".", ","),
    }.get(how, text)  # fmt: skip
    content = {"bom": b"\xef\xbb\xbf"}.get(how, b"") + other.encode()
    return gzip.compress(content) if how == "gzip" else zstandard.compress(content) if how == "zstd" else content


@pytest.mark.parametrize("how", WRITTEN)
def test_the_same_table_however_it_is_written(tmp_path: Path, how: str):
    path = tmp_path / "log.csv"
    path.write_bytes(_written(PLAIN, how))
    np.testing.assert_array_equal(read_columns(path, ["t", "q"]), [[0, 1], [1.5, -2.5]])
    assert "SIMULATED" in open_table(path).notes


@pytest.mark.parametrize("how", WRITTEN)
def test_tracking_reads_the_same_tables(tmp_path: Path, how: str):
    """Tracking reads logs piece by piece, everything else as a whole."""
    names = [f"{what}_phi{k}" for what in ("q", "tau") for k in (1, 2, 3)]
    rows = "".join(f"{k / 2},{','.join(f'{0.01 * k + 0.1 * j:.3f}' for j in range(6))}\n" for k in range(4))
    text = f"# SIMULATED\nt,{','.join(names)}\n{rows}"
    path = tmp_path / "log.csv"
    path.write_bytes(_written(text, how))
    (piece,) = log_pieces(LogKeys(), path, load("delta3"))
    np.testing.assert_array_equal(piece.t, [0, 0.5, 1, 1.5])
    np.testing.assert_allclose(piece.tau[:, 2], [0.5, 0.51, 0.52, 0.53])
    assert piece.simulated


@pytest.mark.parametrize("text", ["t,q\n0,1,5\n", "x," * 20_000 + "\n", "x" * 2_000_000])
def test_what_is_no_table_is_said_in_our_words(tmp_path: Path, text: str):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(BadLog) as found:
        read_columns(path, ["t", "q"])
    assert "truncate" not in str(found.value)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_stamps_are_seconds(tmp_path: Path, unit: str):
    start = datetime(1970, 1, 1)
    stamps = pl.Series("t", [start, start + timedelta(milliseconds=4)]).cast(pl.Datetime(unit))
    for k, t in enumerate((stamps, stamps.diff().fill_null(timedelta(0)), stamps.dt.time())):
        path = tmp_path / f"{k}.parquet"
        pl.DataFrame({"t": t}).write_parquet(path)
        np.testing.assert_allclose(read_columns(path, ["t"])[0], [0, 0.004])


def test_an_output_is_no_input(tmp_path: Path):
    from robodyn_pin.commands.options import not_an_input

    with pytest.raises(RobodynError, match="one of the files that are read"):
        not_an_input(tmp_path / "x" / ".." / "a.csv", tmp_path / "a.csv")
