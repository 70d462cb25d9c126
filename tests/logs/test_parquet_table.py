"""Parquet files of other programs, damaged ones and long ones."""

import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.append(str(Path(__file__).parents[1] / "commands"))  # when run as a script, too
from mutations import of_bytes

from robodyn_pin.errors import RobodynError
from robodyn_pin.logs.parquet_table import ParquetTable
from robodyn_pin.logs.table import read_columns
from robodyn_pin.logs.writing import write_table

FLIPS = 2400
GOOD = {"t": np.arange(300) * 0.01, "q": np.sin(np.arange(300.0)), "tau": np.round(np.cos(np.arange(300.0)), 1)}


def _files(folder: Path) -> list[Path]:
    """The same table, ours and as other programs write it."""
    table = pl.DataFrame(GOOD)
    write_table(folder / "ours.parquet", GOOD, "SIMULATED")
    for packing in ("zstd", "snappy", "uncompressed"):
        table.write_parquet(folder / f"polars_{packing}.parquet", compression=packing, row_group_size=100)
    pq.write_table(table.to_arrow(), folder / "arrow.parquet", data_page_version="2.0", compression="none")
    return sorted(folder.glob("*.parquet"))


def damage(folder: Path) -> None:
    """Read FLIPS damaged files in this process; what is read of ours is right, what is not read ends in a short sentence."""
    files, said = _files(folder), []
    contents = {path.name: path.read_bytes() for path in files}
    for k in range(FLIPS):
        name, rng = files[k % len(files)].name, random.Random(k)
        content, begin = contents[name], 0
        if rng.random() < 0.5:  # the names, places and sizes of everything stand at the end
            begin = max(0, len(content) - rng.choice((200, 2500)))
        (folder / "damaged.parquet").write_bytes(content[:begin] + of_bytes(content[begin:], rng))
        try:
            found = read_columns(folder / "damaged.parquet", list(GOOD))
        except RobodynError as error:
            said.append(str(error))
            continue
        if name == "ours.parquet":
            np.testing.assert_array_equal(found, list(GOOD.values()))
    assert max(map(len, said)) < 300
    assert not [text for text in said if "\n" in text]
    print(len(said))


def test_damage_ends_in_a_sentence_and_never_in_wrong_numbers_of_ours(tmp_path: Path):
    done = subprocess.run([sys.executable, __file__, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert FLIPS / 4 < int(done.stdout) <= FLIPS


KINDS = {
    "category": pl.Series(["1.5", "-2.5"]).cast(pl.Categorical),
    "text": pl.Series(["1.5", "-2.5"]),
    "decimal": pl.Series([Decimal("1.5"), Decimal("-2.5")]),
    "single": pl.Series([1.5, -2.5], dtype=pl.Float32),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_any_kind_are_read(tmp_path: Path, kind: str):
    pl.DataFrame({"q": KINDS[kind]}).write_parquet(tmp_path / "log.parquet")
    np.testing.assert_array_equal(read_columns(tmp_path / "log.parquet", ["q"]), [[1.5, -2.5]])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([b"1.5", b"2.5"], "Binary"), ([True, False], "Boolean"), ([[1.5], [2.5]], "List"), ([{"x": 1.5}, {"x": 2.5}], "Struct"),
        (pl.Series([1, 2], dtype=pl.Duration("ms")), "Duration"), (["1.5", "x"], "row 2 ('x')"), (["1_5", "2"], "row 1 ('1_5')"),
        ([2**60, 1], "expected one from -1e+15 to 1e+15"), ([None, None], "is not a number in 2 rows, first in row 1 (empty)"),
    ],
)  # fmt: skip
def test_what_would_need_a_guess_is_refused_by_name_and_kind(tmp_path: Path, values, said: str):
    pl.DataFrame({"q": values, "fine": [1.0, 2.0]}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(RobodynError) as error:
        read_columns(tmp_path / "log.parquet", ["q"])
    assert "'q'" in str(error.value)
    assert said in str(error.value)
    np.testing.assert_array_equal(read_columns(tmp_path / "log.parquet", ["fine"]), [[1.0, 2.0]])


def test_parts_across_row_groups_are_the_rows(tmp_path: Path):
    path, rng = tmp_path / "log.parquet", np.random.default_rng(0)
    pl.DataFrame(GOOD).write_parquet(path, row_group_size=70)
    table = ParquetTable(path)
    for begin, end in [(0, 300), (0, 1), (299, 300), (69, 71), (70, 140), *np.sort(rng.integers(0, 301, (40, 2)))]:
        np.testing.assert_array_equal(table.part(int(begin), int(end), ["q"])["q"], GOOD["q"][begin:end])
    assert table.part(300, 300, ["q"]).shape == (0, 1)


def test_a_file_of_no_rows_and_one_of_no_row_groups(tmp_path: Path):
    empty = pa.table({"t": pa.array([], pa.float64())})
    pq.write_table(empty, tmp_path / "rows.parquet")
    pq.ParquetWriter(tmp_path / "groups.parquet", empty.schema).close()
    for name in ("rows", "groups"):
        table = ParquetTable(tmp_path / f"{name}.parquet")
        assert [len(piece) for piece in table.pieces(["t"], 10)] == [0]


if __name__ == "__main__":
    damage(Path(sys.argv[1]))
