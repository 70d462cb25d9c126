"""`robodyn forces`: table, summary and plot of strut forces, and a load cell beside them."""

import json
import re

import numpy as np
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.forces.load_cell import compare_cell
from robodyn_pin.forces.strut_history import StrutHistory, extremes
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log


def up_and_down(n: int = 400) -> Log:
    """Both directions of the centre line, 1 Hz."""
    t = np.arange(n) / 200
    q = np.stack([*[0.3 + 0.15 * np.sin(2 * np.pi * t)] * 3, 0 * t], axis=1)
    return Log("up_and_down", t, q, None, simulated=True)


@pytest.fixture
def log(tmp_path):
    write_log(tmp_path / "log.csv", up_and_down(), rp.load("irb360"), "SIMULATED")
    return tmp_path / "log.csv"


def test_on_the_centre_line_all_struts_carry_the_same(robodyn, log, tmp_path):
    run = robodyn("forces", "irb360", log, "--out", tmp_path / "struts.csv", "--reduced", "--limit", 30, "--json")
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)
    assert summary == json.loads((tmp_path / "struts.json").read_text())
    table = pl.read_csv(tmp_path / "struts.csv", comment_prefix="#")
    upper = table.select(pl.selectors.starts_with("upper_")).to_numpy()
    np.testing.assert_allclose(upper, upper[:, :1] * np.ones(6), atol=1e-8)
    worst = summary["struts"][0]
    row = int(np.abs(upper[:, 0]).argmax())
    assert worst["greatest [N]"] == pytest.approx(upper[row, 0])
    assert worst["worst at [s]"] == pytest.approx(table["t"][row])
    assert worst["margin [N]"] == pytest.approx(30 - upper[row, 0])
    assert "limit ±30 N" in (tmp_path / "struts.svg").read_text()
    assert "SIMULATED" in (tmp_path / "struts.csv").read_text()[:200]


def test_the_worst_of_a_strut_is_its_largest_size_at_either_end():
    t, still = np.arange(6) / 10, np.zeros(6)
    pushed, pulled = np.array([90.0, 2, -7, 3, 4, 90]), np.array([90.0, 1, 2, 8, -3, 90])  # 90: swing of the filter
    lower, upper = np.stack([pushed, still + 1], axis=1), np.stack([still, pulled], axis=1)
    history = StrutHistory("full", t, ("a", "b"), lower, upper, edge=1)
    first, second = extremes(history, 10.0)
    assert (first.least, first.greatest, first.worst_at, first.end, first.margin) == (-7, 4, t[2], "lower", 3)
    assert (second.least, second.greatest, second.worst_at, second.end, second.margin) == (-3, 8, t[3], "upper", 2)
    assert extremes(history)[0].margin is None
    for limit in (-1.0, np.nan, np.inf):
        with pytest.raises(RobodynError, match=f"the limit of strut forces is {limit:g} N"):
            extremes(history, limit)
    frame = history.to_frame()
    assert frame["lower_a"].to_list() == pushed.tolist()
    assert frame["upper_b"].to_list() == pulled.tolist()


@pytest.mark.parametrize("command", ["forces", "joints"])
def test_what_is_an_edge_is_in_no_table_picture_or_extreme(robodyn, tmp_path, command):
    """A log that begins and ends in motion: the largest force of the file is that of the summary, and lies in the picture."""
    robot, t = rp.load("irb360"), np.arange(1500) / 250
    angle = np.stack(
        [0.3 + 0.1 * np.sin(9 * t + 1), 0.3 + 0.1 * np.sin(7.3 * t + 2), 0.3 + 0.1 * np.sin(8.1 * t), 0 * t]
    )
    noise = 2e-5 * np.random.default_rng(0).normal(size=(1500, 4))
    write_log(tmp_path / "log.csv", Log("log", t, angle.T + noise, None, simulated=True), robot)
    out = tmp_path / "out.csv"
    done = robodyn(command, "irb360", tmp_path / "log.csv", "--out", out)
    assert done.returncode == 0, done.stderr
    found, table = json.loads(out.with_suffix(".json").read_text()), pl.read_csv(out, comment_prefix="#")
    edge = found["edge rows"]
    assert 10 < edge < 200
    assert f"the {edge} rows at each end of the log are left out" in " ".join(done.stdout.split())
    np.testing.assert_allclose(table["t"], t[edge:-edge], atol=1e-12)
    if command == "joints":
        for row in found["joints"]:
            parts = table.select([f"{part}_{row['joint']}" for part in ("fx", "fy", "fz")]).to_numpy()
            assert np.linalg.norm(parts, axis=1).max() == pytest.approx(row["largest force [N]"])
    else:
        for row in found["struts"]:
            both = table.select([f"{end}_{row['strut']}" for end in ("lower", "upper")]).to_numpy()
            assert (both.min(), both.max()) == pytest.approx((row["least [N]"], row["greatest [N]"]))


def test_a_load_cell_is_compared_where_it_sits(robodyn, log, tmp_path):
    robodyn("forces", "irb360", log, "--out", tmp_path / "struts.csv")
    computed = pl.read_csv(tmp_path / "struts.csv", comment_prefix="#")
    cell = pl.DataFrame({"t": computed["t"], "force": computed["lower_strut_2b"] + 0.7})
    cell.write_csv(tmp_path / "cell.csv")
    arguments = ("forces", "irb360", log, "--out", tmp_path / "again.csv", "--compare", tmp_path / "cell.csv")
    run = robodyn(*arguments, "--cell", "strut_2b:lower", "--json")
    found = json.loads(run.stdout)["load cell"]
    assert found["bias [N]"] == pytest.approx(0.7)
    assert found["RMSE [N]"] == pytest.approx(0.7)
    assert "load cell" in (tmp_path / "again.svg").read_text()
    run = robodyn(*arguments, "--cell", "strut_2c")
    assert run.returncode == 1
    assert "no strut 'strut_2c'" in run.stderr
    assert "did you mean 'strut_2" in run.stderr


def test_delay_and_bias_of_a_cell_are_found():
    t = np.arange(0, 4, 0.002)
    force = 20 * np.sin(2 * np.pi * t) + 3 * np.cos(6 * np.pi * t)
    cell_t = np.arange(0.1, 3.9, 0.005)
    late = 20 * np.sin(2 * np.pi * (cell_t - 0.0123)) + 3 * np.cos(6 * np.pi * (cell_t - 0.0123)) - 1.5
    found = compare_cell(t, force, cell_t, late)
    assert found.delay == pytest.approx(0.0123, abs=2e-4)
    assert found.bias == pytest.approx(-1.5, abs=0.05)
    assert found.rmse > 1.7  # the delay alone leaves 1.2 N
    assert found.rmse_aligned == pytest.approx(1.5, abs=0.02)


def test_a_cell_with_another_clock_is_refused():
    t = np.arange(0, 4, 0.002)
    with pytest.raises(BadLog, match="fewer than ten samples in common"):
        compare_cell(t, np.sin(t), t + 100, np.sin(t))


@pytest.mark.parametrize(
    ("robot", "options", "sentence"),
    [
        ("irb2400", (), "robot 'irb2400' has no struts; name them in its file"),
        ("irb2400", ("--reduced",), "robot 'irb2400' has no struts"),
    ],
)
def test_what_cannot_be_computed_is_said(robodyn, tmp_path, robot, options, sentence):
    loaded = rp.load(robot)
    t = np.arange(50) / 100
    q = np.zeros((50, len(loaded.motors.names)))
    write_log(tmp_path / "log.csv", Log("still", t, q, None), loaded)
    run = robodyn("forces", robot, tmp_path / "log.csv", "--out", tmp_path / "out.csv", *options)
    assert run.returncode == 1
    assert sentence in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_a_motion_that_leaves_the_workspace_names_time_and_place(robodyn, tmp_path):
    log = up_and_down()
    q = log.q.copy()
    q[300:] += np.linspace(0, 1.4, 100)[:, None] * [1, 1, 1, 0]
    write_log(tmp_path / "log.csv", Log("far", log.t, q, None), rp.load("irb360"))
    run = robodyn("forces", "irb360", tmp_path / "log.csv", "--out", tmp_path / "out.csv")
    assert run.returncode == 1
    assert re.search(r"row \d+ of log.csv \(t = 1.7\d+ s\): the position of .ext. is 0.47", run.stderr)
    assert "outside its limits -0.1304 to 0.4696" in run.stderr
    q[300:] -= 2 * np.linspace(0, 1.4, 100)[:, None] * [1, 1, 1, 0]
    write_log(tmp_path / "log.csv", Log("high", log.t, q, None), rp.load("irb360"))
    run = robodyn("forces", "irb360", tmp_path / "log.csv", "--out", tmp_path / "out.csv")
    assert re.search(r"the position of 'ext' is -0\.13\d* m, outside its limits", run.stderr), run.stderr
