"""Times written as dates and times of day, against Python's own reading of them."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.numbers_of_cells import column


def read(*texts: str) -> np.ndarray:
    return column(pl.Series("t", texts), "log.csv", (2).__add__, clock=True)


@pytest.mark.parametrize(
    "texts",
    [
        ("2026-11-29T10:00:00", "2026-11-29T10:00:00.004000", "2026-11-29T10:00:01.5"),
        ("2026-11-29 23:59:59.999", "2026-11-30 00:00:00.003"),
        ("2026-03-29T01:59:59+01:00", "2026-03-29T02:00:01+01:00"),
        ("2026-11-29T10:00Z", "2026-11-29T10:01Z"),
    ],
)
def test_dates_are_seconds_from_the_first(texts):
    moments = [datetime.fromisoformat(text) for text in texts]
    expected = [(moment - moments[0]).total_seconds() for moment in moments]
    np.testing.assert_allclose(read(*texts), expected, rtol=0, atol=1e-9)


def test_decimal_commas_and_blanks_before_the_zone():
    np.testing.assert_allclose(read("2026-11-29 10:00:00,000 +01:00", "2026-11-29 10:00:00,004 +01:00"), [0, 0.004])


@pytest.mark.parametrize(
    "second", ["2026-02-30T10:00:00", "2026-11-29T10:00:00+01:00", "29.11.2026 10:00", "soon", "2026-11-29T25:00"]
)
def test_what_is_no_date_or_of_another_zone_is_refused(second):
    with pytest.raises(BadLog, match=r"column 't' is not a number in \d rows, .*; expected seconds, or times as 2026"):
        read("2026-11-29T10:00:00", second)
