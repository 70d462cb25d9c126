"""Bad input gets one sentence and exit code 1; never a traceback, never a half-written result."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from robodyn_pin.files import write_json

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.04"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="5"/></joint>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="5"/></joint>
</robot>"""

ROBOT = """urdf: arm.urdf
efforts:
  - {of: shoulder, model: viscous, initial: 0.5}
  - {of: elbow, model: viscous, initial: 0.3}
"""

RUN = """robot: arm.yaml
fit: [{file: log.csv}]
preparation: {filter: {order: 4, cutoff: 10}}
rows: {filter: {order: 4, cutoff: 10}, cut: 20}
"""

MOTION = """rate: 200
duration: 10
period: 10
centre: {shoulder: 0.3, elbow: -0.4}
sin: {shoulder: [0.3, 0.2, 0.1, 0.1], elbow: [0.1, -0.3, 0.2, 0.1]}
cos: {shoulder: [0.1, -0.2, 0.1, 0.1], elbow: [0.2, 0.1, 0.3, -0.1]}
"""


@pytest.fixture(scope="module")
def good(tmp_path_factory, robodyn) -> Path:
    """A folder in which everything is right."""
    folder = tmp_path_factory.mktemp("good")
    for name, text in (("arm.urdf", ARM), ("arm.yaml", ROBOT), ("run.yaml", RUN), ("motion.yaml", MOTION)):
        (folder / name).write_text(text)
    done = robodyn(
        "simulate",
        folder / "arm.yaml",
        "--motion",
        folder / "motion.yaml",
        "--out",
        folder / "log.csv",
        "--noise",
        "0.05,0.05",
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(good, tmp_path) -> Path:
    for path in good.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def add(folder: Path, line: str) -> None:
    edit(folder / "run.yaml", "rows:", f"{line}\nrows:")


def change_log(folder: Path, change) -> None:
    table = pl.read_csv(folder / "log.csv", comment_prefix="#")
    change(table).write_csv(folder / "log.csv")


def identify(robodyn, folder: Path):
    return robodyn("identify", folder / "run.yaml", "--out", folder / "out")


def test_good_input_is_accepted(robodyn, folder):
    done = identify(robodyn, folder)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert {p.name for p in (folder / "out").iterdir()} == {
        "arm_identified.urdf", "arm_identified.yaml", "parameters.npz", "report.html", "report_figures", "result.json", "run.yaml",
    }  # fmt: skip


def set_cell(row: int, column: str, value: float):
    return lambda table: table.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(pl.col(column)).alias(column)
    )


SPOILED = {
    "missing column": (lambda f: change_log(f, lambda t: t.drop("tau_elbow")), ["tau_elbow", "log.csv"]),
    "misspelt column": (lambda f: change_log(f, lambda t: t.rename({"tau_elbow": "torque_elbow"})), ["'tau_elbow'", "torque_elbow"]),
    "NaN": (lambda f: change_log(f, set_cell(100, "q_elbow", float("nan"))), ["q_elbow", "row 102"]),
    "time backwards": (lambda f: change_log(f, set_cell(100, "t", 0.1)), ["time does not increase", "row 102"]),
    "degrees as radians": (
        lambda f: change_log(f, lambda t: t.with_columns(pl.col("q_shoulder", "q_elbow") * 57.2957795)),
        ["angle: deg", "limit"],
    ),
    "filter too fast": (lambda f: edit(f / "run.yaml", "cutoff: 10}}\nrows", "cutoff: 150}}\nrows"), ["150 Hz", "200"]),
    "log shorter than filter": (
        lambda f: (change_log(f, lambda t: t.head(12)), edit(f / "run.yaml", "cut: 20", "cut: 0")), ["too few for a filter"],
    ),
    "log shorter than the cut": (lambda f: change_log(f, lambda t: t.head(60)), ["20 are cut"]),
    "two parents": (
        lambda f: edit(f / "arm.urdf", "</robot>", '<joint name="loop" type="revolute"><parent link="base"/><child link="lower"/></joint></robot>'),
        ["'lower' has 2 parents", "closures"],
    ),
    "unknown key in robot file": (lambda f: edit(f / "arm.yaml", "model: viscous", "modell: viscous"), ["modell", "'model'"]),
    "unknown key in run file": (lambda f: edit(f / "run.yaml", "preparation", "preperation"), ["preperation", "'preparation'"]),
    "a motion file as run file": (
        lambda f: (f / "run.yaml").write_text("duration: 2\nrate: 100\nperiod: 2\ncentre: [0, 0]\nsin: [[1], [1]]\ncos: [[0], [0]]\n"),
        ["run.yaml has the keys of another kind of file (Motion file)", "--help"],
    ),
    "closure that cannot close": (
        lambda f: edit(f / "arm.yaml", "efforts:", "closures:\n  - {name: far, kind: rod, between: [base, lower], length: 3}\nefforts:"),
        ["'far'", "does not close", "residual"],
    ),
    "unknown joint": (lambda f: edit(f / "arm.yaml", "of: elbow", "of: elbw"), ["elbw", "'elbow'"]),
    "missing log": (lambda f: (f / "log.csv").unlink(), ["log.csv", "no such file"]),
    "not YAML": (lambda f: (f / "run.yaml").write_text("robot: [arm"), ["not YAML"]),
    "prior that cannot exist": (
        lambda f: add(f, "prior: {bodies: {lower: {mass: 1, values: {mx: 3}}}}"),
        ["'lower' is none that can exist", "eigenvalue", "nearest one that can has {m: "],
    ),
    "bounds the wrong way round": (lambda f: add(f, "bounds: {bodies: {lower: [2, 1]}}"), ["mass bounds of lower", "contradict"]),
    "bounds that clash": (
        lambda f: add(f, "bounds: {mass: [0.01, 1], total_mass: [3, 4]}"),
        ["CLARABEL: infeasible; SCS: infeasible", "mass of 'upper' at most 1 kg; mass of 'lower' at most 1 kg; total mass at least 3 kg"],
    ),
    "equality that clashes": (
        lambda f: add(f, "bounds: {centre: {lower: {at: [0.1, 0, 0], half: [0.01, 0.01, 0.01]}}}\nsymmetry: {lower: [mx=0]}"),
        ["centre of mass of 'lower' in its box, lower side; mx=0 of 'lower'"],
    ),
    "nothing to separate": (lambda f: add(f, "separate: true"), ["'arm' has no identical bodies", "'identical'"]),
    "a log without its key": (lambda f: edit(f / "run.yaml", "{file: log.csv}", "log.csv"), ["'fit.0'", "keys of its own (file,", "'log.csv'"]),
    "not a number": (lambda f: edit(f / "run.yaml", "cut: 20", "cut: many"), ["rows.cut", "many"]),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILED)
def test_bad_input_is_one_clear_sentence(robodyn, folder, case):
    spoil, expected = SPOILED[case]
    spoil(folder)
    done = identify(robodyn, folder)
    assert done.returncode == 1
    assert done.stderr.startswith("robodyn: ")
    assert len(done.stderr.strip().splitlines()) == 1
    for part in expected:
        assert part in done.stderr
    assert not (folder / "out" / "result.json").exists()


def test_output_folder_that_cannot_be_written(robodyn, folder):
    (folder / "out").write_text("a file is in the way")
    done = identify(robodyn, folder)
    assert done.returncode == 1
    assert "cannot write" in done.stderr


TABLES = {
    "predict": ["irb360", "missing.csv"],
    "forces": ["irb360", "missing.csv"],
    "joints": ["irb360", "missing.csv"],
    "simulate": ["irb360", "--motion", "missing.yaml"],
    "record": ["irb2400", "--egm", "--duration", "0.1", "--wait", "0.1", "--units", "angle=deg,torque=N m"],
}


@pytest.mark.parametrize("command", TABLES)
@pytest.mark.parametrize(("out", "expected"), [("log.xls", "not .xls"), ("file/log.csv", "cannot write")])
def test_a_table_that_cannot_be_written_is_told_before_anything_is_read(robodyn, tmp_path, command, out, expected):
    (tmp_path / "file").write_text("in the way")
    done = robodyn(command, *TABLES[command], "--out", tmp_path / out)
    assert done.returncode == 1
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_page_that_cannot_be_written(robodyn, folder):
    (folder / "out").write_text("a file is in the way")
    for name, expected in (("out/page.html", "cannot write"), ("page.csv", "not .csv")):
        done = robodyn("show", folder / "arm.yaml", "--export", folder / name)
        assert done.returncode == 1
        assert expected in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "page.csv").exists()


def test_wrong_usage_has_its_own_exit_code(robodyn):
    assert robodyn("identify").returncode == 2
    assert robodyn("no_such_command").returncode == 2


def test_poor_result_has_its_own_exit_code(robodyn, folder):
    """Torques of another motion explain nothing."""
    rng = np.random.default_rng(0)
    change_log(
        folder,
        lambda t: t.with_columns(*(pl.Series(f"tau_{m}", rng.normal(size=len(t))) for m in ("shoulder", "elbow"))),
    )
    done = identify(robodyn, folder)
    assert done.returncode == 3
    assert "NOT ACCEPTED" in done.stdout


def test_interrupted_run_leaves_no_half_result(folder):
    command = [Path(sys.executable).with_name("robodyn"), "identify", folder / "run.yaml", "--out", folder / "out"]
    for seconds in (1.0, 2.0, 3.0):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGINT)
        process.wait()
        found = {p.name for p in (folder / "out").glob("*")} if (folder / "out").exists() else set()
        assert found == set() or "result.json" in found
        assert not [p for p in folder.iterdir() if p.name.startswith(".out")]


def test_numbers_that_are_not_finite_are_null_in_json(tmp_path):
    write_json(tmp_path / "a.json", {"largest": np.inf, "rms": (np.nan, np.float64(-np.inf), 0.5), "count": 3})
    read = json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)
    assert read == {"largest": None, "rms": [None, None, 0.5], "count": 3}


def test_the_cut_reaches_held_out_logs(robodyn, folder):
    """Torques that swing in the first and last 20 rows of a held-out log count no more than those of a fit log."""
    swing = np.zeros(2000)
    swing[:20] = swing[-20:] = 500.0
    table = pl.read_csv(folder / "log.csv", comment_prefix="#")
    table.with_columns(tau_elbow=table["tau_elbow"] + swing[: len(table)]).write_csv(folder / "swinging.csv")
    table.write_csv(folder / "held.csv")
    found = {}
    for name in ("held", "swinging"):
        (folder / f"{name}.yaml").write_text(
            f"robot: arm.yaml\nfit: [{{file: log.csv}}]\nheld_out: [{{file: {name}.csv}}]\nrows: {{cut: 20}}\n"
        )
        done = robodyn("identify", folder / f"{name}.yaml", "--out", folder / name)
        found[name] = json.loads((folder / name / "result.json").read_text())
        assert done.returncode == 0, done.stdout
    used = [log for log in found["swinging"]["logs"] if log["use"] == "held out"]
    assert [(log["begin"], log["end"]) for log in used] == [(20, len(table) - 20)]
    assert found["swinging"]["errors"] == found["held"]["errors"]
    (folder / "none.yaml").write_text(
        "robot: arm.yaml\nfit: [{file: log.csv}]\nheld_out: [{file: held.csv, rows: [0, 15]}]\nrows: {cut: 20}\n"
    )
    done = robodyn("identify", folder / "none.yaml", "--out", folder / "none")
    assert done.returncode == 1
    assert "of the held-out samples 0 to 14 none is left after 20 are cut" in done.stderr
