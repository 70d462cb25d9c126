"""What of a command line is not understood, and what may not be written over."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_UNDERSTOOD = {
    "identify": "Missing argument",
    "nothing": "'nothing'",
    "identify --bogus 3": "--bogus",
    "--bogus": "--bogus",
    "robots extra": "extra",
    "simulate delta3 --motion m.yaml --out x.csv --seed nan": "'nan' is no number",
    "simulate delta3 --motion m.yaml --out x.csv --seed -4": "--seed",
    "forces a b --out c --bar Q": "'U2', 'platform'",
    f"forces a b --out c --bar {'Q' * 5000}": "--bar",
    f"{'x' * 5000}": "xxx",
}


@pytest.mark.parametrize("line", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_one_line_that_says_where_to_read_more(robodyn, line: str):
    done = robodyn(*line.split())
    assert done.returncode == 2
    assert done.stdout == ""
    (said,) = done.stderr.splitlines()
    command = line.split()[0]
    known = command in ("identify", "robots", "simulate", "forces")
    assert said.startswith("robodyn: ")
    assert said.endswith(f"see 'robodyn {command} --help'" if known else "see 'robodyn --help'")
    assert NOT_UNDERSTOOD[line] in said
    assert len(said) < 300


def test_without_words_there_is_the_help(robodyn):
    done = robodyn()
    assert "Usage: robodyn" in done.stdout
    assert done.stderr == ""
    assert robodyn("identify", "--help").returncode == 0


MOTION = """rate: 200
duration: 1
period: 1
coordinates: [x, y, z]
centre: {x: 0, y: 0, z: -0.0954}
sin: {x: [0.05], z: [0.03, 0.01]}
"""
SWEEPS = """robot: delta3.yaml
sweeps:
  at: {phi1: 0, phi2: 0, phi3: 0}
  speeds: {slowest: 1.0e-2, fastest: 0.5, count: 5}
  rate: 100
  travel: 0.01
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, robodyn) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("delta3.yaml", "delta3.urdf"):
        shutil.copy(ROOT / "urdf" / name, folder)
    for name, text in (("motion.yaml", MOTION), ("friction.yaml", SWEEPS), ("run.yaml", "robot: delta3.yaml\nfit: [{file: log.csv}]\n")):  # fmt: skip
        (folder / name).write_text(text)
    done = robodyn("simulate", folder / "delta3.yaml", "--motion", folder / "motion.yaml", "--out", folder / "log.csv")
    assert done.returncode == 0, done.stderr
    return folder


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# {} is the input that is written over, by the name that the command gives it.
OVER = {
    "simulate delta3.yaml --motion motion.yaml --out {}": ("motion.yaml", "out.csv"),
    "predict delta3.yaml log.csv --out {}": ("log.csv", "out.csv"),
    "forces delta3.yaml log.csv --out {}": ("log.csv", "out.csv"),
    "joints delta3.yaml log.csv --out {}": ("log.csv", "out.csv"),
    "joints delta3.yaml log.csv --out out.csv #{}": ("delta3.yaml", "out.json"),
    "show delta3.yaml --motion log.csv --export {}": ("log.csv", "out.html"),
    "identify run.yaml --out out #{}": ("run.yaml", "out/run.yaml"),
    "friction friction.yaml --protocol --out out #{}": ("friction.yaml", "out/sweeps.yaml"),
    "track delta3.yaml log.csv --out out #{}": ("log.csv", "out/history.csv"),
}


@pytest.mark.parametrize("link", ["hard", "symbolic"])
@pytest.mark.parametrize("line", OVER)
def test_nothing_that_is_read_is_written_over_under_another_name(
    robodyn, inputs, tmp_path, monkeypatch, line: str, link: str
):
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    source, target = OVER[line]
    (tmp_path / target).parent.mkdir(exist_ok=True)
    (os.link if link == "hard" else os.symlink)(tmp_path / source, tmp_path / target)
    before = _contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = robodyn(*line.format(f"./{target}").split(" #")[0].split())
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is one of the files that are read" in done.stderr
    assert _contents(tmp_path) == before
