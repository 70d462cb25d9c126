"""What stays in memory of logs in their files is bounded, however many logs there are."""

import polars as pl
import pyarrow.parquet as pq

from robodyn_pin.logs.parquet_table import GROUP, ParquetTable, write_parquet
from robodyn_pin.logs.recent import Recent


def test_the_latest_stay_up_to_so_many_rows_and_the_last_one_in_any_case():
    recent, read = Recent(300), []

    def asked(key, rows=100):
        return recent.get(key, rows, lambda: read.append(key) or len(read))

    first = [asked(key) for key in "abc"]
    assert [asked(key) for key in "abc"] == first
    assert read == ["a", "b", "c"]
    asked("d")  # and "a", the oldest, goes
    assert asked("b") == first[1]
    asked("a")
    assert read == ["a", "b", "c", "d", "a"]
    asked("large", 1000)
    asked("large", 1000)
    asked("d")
    assert read == ["a", "b", "c", "d", "a", "large", "d"]


def test_logs_are_written_in_groups_that_are_read_one_by_one(tmp_path):
    table = pl.DataFrame({"t": range(GROUP + 10)})
    write_parquet(tmp_path / "log.parquet", table, "")
    assert pq.ParquetFile(tmp_path / "log.parquet").metadata.num_row_groups == 2
    stored = ParquetTable(tmp_path / "log.parquet")
    assert stored.part(GROUP - 5, GROUP + 5, ["t"])["t"].to_list() == list(range(GROUP - 5, GROUP + 5))
