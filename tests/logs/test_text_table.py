"""Logs without a header or a clock, exact times, lines in messages, and files that are no table at all."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard
from slowness import slowness

from robodyn_pin.errors import RobodynError
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.stored_log import log_pieces
from robodyn_pin.logs.table import open_table, read_columns
from robodyn_pin.logs.units import LogKeys, Units
from robodyn_pin.robot.robot import load

NAMES = [f"{what}_phi{k}" for what in ("q", "tau") for k in (1, 2, 3)]
ROWS = [[0.01 * k + 0.1 * j for j in range(6)] for k in range(40)]
NUMBERS = dict(zip(NAMES, range(2, 8), strict=True))
PROCESSOR, MEMORY = 2.0, 500_000  # [s] of a quiet machine, [kB] for a refusal


@pytest.fixture(scope="module")
def robot():
    return load("delta3")


def _text(clock: bool = True, header: bool = False, mark: str = ",") -> str:
    lines = [mark.join([*([f"{k / 100}"] if clock else []), *map(str, row)]) for k, row in enumerate(ROWS)]
    names = [mark.join([*(["t"] if clock else []), *NAMES])] if header else []
    return "# SIMULATED\n" + "\n".join([*names, *lines]) + "\n"


def _both(path: Path, robot, columns, rate=None):
    """A log as a whole, and in pieces as tracking reads it."""
    whole = read_log(path, robot, columns, rate=rate)
    (piece,) = log_pieces(LogKeys(columns=columns or {}, rate=rate), path, robot)
    np.testing.assert_array_equal(whole.tau, piece.tau)
    np.testing.assert_array_equal(whole.t, piece.t)
    assert whole.simulated
    assert piece.simulated
    return whole


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_without_a_header_is_read_by_number(tmp_path: Path, robot, mark: str, packed: bool):
    content = _text(mark=mark).encode()
    (tmp_path / "log.csv").write_bytes(zstandard.compress(content) if packed else content)
    found = _both(tmp_path / "log.csv", robot, {"t": 1} | NUMBERS)
    np.testing.assert_allclose(np.hstack([found.q, found.tau]), ROWS)
    np.testing.assert_allclose(found.t, np.arange(40) / 100)
    assert found.quality.unused == ()


def test_numbers_count_columns_where_there_is_a_header_too(tmp_path: Path, robot):
    (tmp_path / "log.csv").write_text(_text(header=True))
    swapped = _both(tmp_path / "log.csv", robot, {"tau_phi1": 6, "tau_phi2": 5})
    np.testing.assert_allclose(swapped.tau[:, :2], np.array(ROWS)[:, [4, 3]])


def test_a_log_without_a_clock_has_a_rate(tmp_path: Path, robot):
    (tmp_path / "log.csv").write_text(_text(clock=False))
    found = _both(tmp_path / "log.csv", robot, {name: k - 1 for name, k in NUMBERS.items()}, rate=100.0)
    np.testing.assert_allclose(found.t, np.arange(40) / 100)


@pytest.mark.parametrize(
    ("text", "columns", "rate", "said"),
    [
        (_text(), {}, None, "has no header"),
        (_text(), {"t": 1} | NUMBERS | {"q_phi1": 9}, None, "expected 1 to 7"),
        (_text(header=True), {}, 100.0, "leave 'rate' out"),
        (_text(), {"t": 1} | NUMBERS, 100.0, "leave 'rate' out"),
        (_text(clock=False, header=True), {}, None, "'rate: HZ'"),
        (_text(header=True).replace("q_phi2", "q_phi1"), {"q_phi2": "q_phi1"}, None, "stands there twice"),
        (_text(header=True).replace("\n", "\r"), {}, None, "carriage return"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path: Path, robot, text, columns, rate, said):
    (tmp_path / "log.csv").write_bytes(text.encode())
    for read in (lambda: read_log(tmp_path / "log.csv", robot, columns, rate=rate),
                 lambda: next(log_pieces(LogKeys(columns=columns or {}, rate=rate), tmp_path / "log.csv", robot))):  # fmt: skip
        with pytest.raises(RobodynError) as error:
            read()
        assert said in str(error.value)
        assert len(str(error.value)) < 400


FIRST = 1_700_000_000_123_456_789


@pytest.mark.parametrize("first", [FIRST, 2**63 + 5, -FIRST])
def test_ticks_of_nanoseconds_lose_nothing(tmp_path: Path, robot, first: int):
    text = _text(header=True)
    for k in reversed(range(40)):
        text = text.replace(f"\n{k / 100},", f"\n{first + 125_001 * k},")
    (tmp_path / "log.csv").write_text(text)
    expected = 125_001e-9 * np.arange(40)
    np.testing.assert_allclose(read_log(tmp_path / "log.csv", robot, units=Units(time="ns")).t, expected, rtol=1e-15)
    (piece,) = log_pieces(LogKeys(units=Units(time="ns")), tmp_path / "log.csv", robot)
    np.testing.assert_allclose(piece.t, expected, rtol=1e-15)


@pytest.mark.parametrize("step", ["e-320", "e-12"])
def test_times_closer_than_any_controller_are_refused(tmp_path: Path, robot, step: str):
    text = _text(header=True)
    for k in reversed(range(1, 40)):
        text = text.replace(f"\n{k / 100},", f"\n{k}{step},")
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(RobodynError, match=r"units: \{time: ms\}"):
        read_log(tmp_path / "log.csv", robot)


STRAY = "# a\n\n# b\nt,q\n# c\n0,1\n\n1,2\n,\n# d\n2,x\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_rows_in_messages_are_lines_of_the_file(tmp_path: Path, pack):
    (tmp_path / "log.csv").write_bytes(pack(STRAY.encode()))
    line = 1 + STRAY.splitlines().index("2,x")
    with pytest.raises(RobodynError, match=rf"first in row {line} \('x'\)"):
        read_columns(tmp_path / "log.csv", ["t", "q"])
    assert [open_table(tmp_path / "log.csv").line(k) for k in range(3)] == [6, 8, 11]


def test_lines_after_comments_in_a_log_in_pieces(tmp_path: Path, robot, monkeypatch):
    monkeypatch.setattr("robodyn_pin.logs.stored_log.PIECE", 7)
    lines = _text(header=True).splitlines()
    for k in (30, 12, 12, 5):
        lines.insert(k, "# a remark" if k != 12 else "")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    pieces = list(log_pieces(LogKeys(), tmp_path / "log.csv", robot))
    for piece in pieces:
        if piece.size:
            assert float(lines[piece.line(piece.begin) - 1].split(",")[0]) == piece.t[0]
    assert sum(piece.size for piece in pieces) == 40


CHILD = """import json, re, sys, time
from pathlib import Path
from robodyn_pin.errors import RobodynError
from robodyn_pin.logs.table import read_columns
start = time.process_time()
try:
    read_columns(Path(sys.argv[1]), ["t", "q"])
    said = ""
except RobodynError as error:
    said = f"{type(error).__name__}: {error}"
# The peak of this program alone; that of getrusage has the process that started it in it.
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([said, time.process_time() - start, peak]))
"""


def _sparse(path: Path, start: str) -> None:
    path.write_text(start)
    os.truncate(path, 10 << 30)


HUGE = {
    "10 GB of nothing": lambda path: _sparse(path, ""),
    "10 GB after a wrong header": lambda path: _sparse(path, "a,b\n0,1\n"),
    "10 GB after a good header": lambda path: _sparse(path, "t,q\n" + "0,1\n" * 300_000),
    "a million columns": lambda path: path.write_text(",".join(f"c{k}" for k in range(1_000_000)) + "\n"),
    "a million short columns": lambda path: path.write_text("," * 999_000 + "\n"),
    "names of 5000 characters": lambda path: path.write_text(",".join(c * 5000 for c in "abc") + "\n1,2,3\n"),
    "a line of 50 MB": lambda path: path.write_text("x" * 50_000_000),
    "a second line of 50 MB": lambda path: path.write_text("t,q\n" + "1," * 25_000_000),
    "a gigabyte of blank lines, packed": lambda path: path.with_name("log.csv.gz").write_bytes(
        gzip.compress(b"t,q\n0,1\n" + b"\n" * 10_000_000, compresslevel=1)
        + gzip.compress(b"\n" * 10_000_000, compresslevel=1) * 99
    ),
    "a pipe": lambda path: os.mkfifo(path),
    "10 GB of Parquet": lambda path: _sparse(path.with_suffix(".parquet"), "PAR1"),
}


@pytest.mark.parametrize("what", HUGE)
def test_files_that_are_no_table_are_refused_at_once(tmp_path: Path, what: str):
    HUGE[what](tmp_path / "log.csv")
    (path,) = tmp_path.iterdir()
    done = subprocess.run([sys.executable, "-P", "-c", CHILD, path], capture_output=True, text=True, check=True)
    said, seconds, memory = json.loads(done.stdout)
    assert said.partition(":")[0] in ("BadFile", "BadLog", "UnknownName"), said
    assert len(said) < 450
    assert seconds < PROCESSOR * slowness()
    assert memory < MEMORY
