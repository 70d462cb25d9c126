"""Samples that a run file means twice are refused: fitted twice they look surer than they are, held out as well they judge nothing."""

from functools import partial

import pytest
import yaml
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.errors import BadLog
from robodyn_pin.log_to_robot.counted_once import check_counted_once, named_samples
from robodyn_pin.log_to_robot.found_logs import read_found
from robodyn_pin.log_to_robot.run import select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.writing import write_log

TWICE, JUDGED = "they would count twice", "says nothing of other motion"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A SIMULATED log, and a copy of it."""
    folder, robot = tmp_path_factory.mktemp("desk"), rp.load("delta3")
    log = noisy_log(robot, "delta3_sine")
    for name in ("log", "copy"):
        write_log(folder / f"{name}.csv", log, robot, "SIMULATED")
    return folder


def meant(folder, fit, held_out):
    robot, run = rp.load("delta3"), RunFile.model_validate({"robot": "delta3", "fit": fit, "held_out": held_out})
    found = read_found(partial(select, robot, run, folder), run.fit, folder, True, run.held_out or ())
    return [named_samples(usable) if usable else () for usable in found]


@pytest.mark.parametrize(
    ("fit", "held_out", "why"),
    [
        ([{"file": "log.csv"}, {"file": "log.csv"}], None, TWICE),
        ([{"file": "log.csv"}, {"file": "copy.csv"}], None, TWICE),
        ([{"file": "log.csv", "rows": [0, 300]}, {"file": "log.csv", "rows": [299, 600]}], None, TWICE),
        ([{"file": "log.csv"}], [{"file": "log.csv"}], JUDGED),
        ([{"file": "log.csv", "rows": [0, 300]}], [{"file": "copy.csv", "rows": [200, 600]}], JUDGED),
    ],
)
def test_samples_that_are_meant_twice_are_refused(desk, fit, held_out, why):
    with pytest.raises(BadLog, match=why):
        check_counted_once(*meant(desk, fit, held_out))


def test_parts_of_a_log_that_touch_are_taken(desk):
    parts = [{"file": "log.csv", "rows": [0, 300]}], [{"file": "log.csv", "rows": [300, 600]}]
    check_counted_once(*meant(desk, *parts))


def test_the_sentence_names_files_and_rows(desk, robodyn_here):
    run = {
        "robot": "delta3",
        "fit": [{"file": "log.csv", "rows": [0, 300]}],
        "held_out": [{"file": "copy.csv", "rows": [200, 600]}],
    }
    (desk / "run.yaml").write_text(yaml.safe_dump(run))
    done = robodyn_here("identify", desk / "run.yaml", "--out", desk / "out")
    assert done.returncode == 1
    assert (
        "log.csv, samples 0 to 299 (fitted) and copy.csv, samples 200 to 599 (held out) have samples in common"
        in done.stderr
    )


def test_logs_in_memory_are_looked_at_as_well(desk):
    log = rp.read_log(desk / "log.csv", rp.load("delta3"))
    for logs, held_out, why in (([log, log], None, TWICE), (log, log, JUDGED)):
        with pytest.raises(BadLog, match=why):
            rp.identify(rp.load("delta3"), logs, held_out)
