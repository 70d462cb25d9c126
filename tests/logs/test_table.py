"""Tables as other programs write them."""

import gzip
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.logs.table import read_columns, read_table

PLAIN = "# SIMULATED\nt,q\n0,1.5\n1,-2.5\n"
WRITTEN = {
    "bom": b"\xef\xbb\xbf" + PLAIN.encode(), "crlf": PLAIN.replace("\n", "\r\n").encode(), "gzip": gzip.compress(PLAIN.encode()),
    "semicolons": PLAIN.replace(",", ";").encode(), "tabs": PLAIN.replace(",", "\t").encode(), "blank lines": (PLAIN + "\n\n").encode(),
    "decimal commas": PLAIN.replace(",", ";").replace(".", ",").encode(),
}  # fmt: skip


@pytest.mark.parametrize("how", WRITTEN)
def test_the_same_table_however_it_is_written(tmp_path: Path, how: str):
    path = tmp_path / "log.csv"
    path.write_bytes(WRITTEN[how])
    np.testing.assert_array_equal(read_columns(path, ["t", "q"]), [[0, 1], [1.5, -2.5]])
    assert "SIMULATED" in read_table(path)[1]


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
