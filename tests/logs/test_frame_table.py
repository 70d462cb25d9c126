"""Logs from data frames."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.logs.units import Units

ROBOT = rp.load("dualv")
T = np.arange(200) / 100
COLUMNS = {"t": T} | {
    f"{what}_{motor}": (k + 1) * np.sin(3 * T)
    for what in ("q", "tau")
    for k, motor in enumerate(ROBOT.motors.names)
}  # fmt: skip


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_a_frame_gives_its_columns_by_motor(kind):
    log = rp.Log.from_frame(kind(COLUMNS), ROBOT)
    np.testing.assert_allclose(log.t, T, atol=1e-12)
    np.testing.assert_allclose(log.q[:, 2], 3 * np.sin(3 * T), atol=1e-12)
    np.testing.assert_allclose(log.tau[:, 3], 4 * np.sin(3 * T), atol=1e-12)
    assert "200 samples of 4 motors at 100 Hz" in repr(log)
    assert len(repr(log)) < 120
    assert not log.simulated
    assert rp.Log.from_frame(kind(COLUMNS), ROBOT, simulated=True).simulated


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_times_may_be_datetimes(kind):
    stamps = [datetime(2026, 11, 23) + timedelta(milliseconds=10 * k) for k in range(200)]
    moments = stamps if kind is pl.DataFrame else np.array(stamps, "datetime64[us]")
    log = rp.Log.from_frame(kind(COLUMNS | {"t": moments}), ROBOT)
    np.testing.assert_allclose(log.t - log.t[0], T, atol=1e-9)


def test_units_and_columns_are_those_of_a_file():
    degrees = {key.replace("q_", "angle_"): np.degrees(x) if key[0] == "q" else x for key, x in COLUMNS.items()}
    names = {f"q_{motor}": f"angle_{motor}" for motor in ROBOT.motors.names}
    log = rp.Log.from_frame(degrees, ROBOT, columns=names, units=Units(angle="deg"))
    np.testing.assert_allclose(log.q[:, 0], np.sin(3 * T), atol=1e-12)


def test_what_is_no_log_is_told_in_a_sentence():
    with pytest.raises(BadLog, match="of type list; expected a data frame"):
        rp.Log.from_frame([1, 2], ROBOT)
    with pytest.raises(BadLog, match="is no table"):
        rp.Log.from_frame(COLUMNS | {"t": T[:5]}, ROBOT)
    with pytest.raises(UnknownName, match="tau_"):
        rp.Log.from_frame({key: x for key, x in COLUMNS.items() if key[:3] != "tau"}, ROBOT)


def test_the_package_says_its_version():
    from importlib.metadata import version

    assert rp.__version__ == version("robodyn_pin")


def test_a_log_becomes_the_frame_that_it_came_from():
    frame = rp.Log.from_frame(COLUMNS, ROBOT).to_frame(ROBOT)
    assert frame.columns == list(COLUMNS)
    for key, x in COLUMNS.items():
        np.testing.assert_array_equal(frame[key], x)
