"""Logs made of arrays in memory: what is wrong with them is one sentence, and what is right gives what the file of it gives."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadLog, ShapeMismatch
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.made_by_hand import known_log
from robodyn_pin.logs.writing import write_log


@pytest.fixture(scope="module")
def robot():
    return rp.load("delta3")


@pytest.fixture(scope="module")
def log():
    """Three seconds of three motors, torques of no robot."""
    t, rng = np.arange(600) / 200, np.random.default_rng(0)
    q = 0.3 + 0.1 * np.sin(np.outer(t, [3, 4, 5.0]))
    return Log("by hand", t, q, rng.normal(size=q.shape))


def test_lists_and_arrays_are_as_the_file_of_them(robot, log, tmp_path: Path):
    write_log(tmp_path / "log.csv", log, robot)
    read = rp.read_log(tmp_path / "log.csv", robot)
    made = known_log(replace(log, q=log.q.tolist(), tau=log.tau.tolist(), t=log.t.tolist()), robot)
    for key in ("t", "q", "tau"):
        np.testing.assert_array_equal(getattr(made, key), getattr(read, key))
    assert made.quality == read.quality
    assert known_log(read, robot) is read


WRONG = {
    "a motor too few": (lambda x: replace(x, q=x.q[:, :2]), ShapeMismatch, r"q has shape \(600, 2\), expected \(600, 3\): .*phi1, phi2, phi3"),
    "a row too few": (lambda x: replace(x, tau=x.tau[1:]), ShapeMismatch, r"tau has shape \(599, 3\), expected \(600, 3\)"),
    "lying": (lambda x: replace(x, dq=x.q.T), ShapeMismatch, r"dq has shape \(3, 600\)"),
    "words": (lambda x: replace(x, q=[["a", "b", "c"]] * 600), ShapeMismatch, "q is no array of numbers"),
    "no number": (lambda x: replace(x, tau=np.where(np.arange(600)[:, None] == 7, np.nan, x.tau)), BadLog, "tau is nan at sample 7; it must be finite"),
    "backwards": (lambda x: replace(x, t=x.t[::-1]), BadLog, "time does not increase in 599 rows"),
    "milliseconds": (lambda x: replace(x, t=x.t * 1e-6), BadLog, "declare the unit of its times"),
    "tenths of degrees": (lambda x: replace(x, q=10 * np.rad2deg(x.q)), BadLog, "in another unit than 'rad'"),
}  # fmt: skip


ASKED = {
    "identify": rp.identify,
    "fold": lambda robot, log: rp.fold(robot, {}, log),
    "struts": lambda robot, log: rp.strut_history(robot, log, rp.Preparation()),
}


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_one_sentence(robot, log, ask, what):
    change, kind, said = WRONG[what]
    with pytest.raises(kind, match=f"^by hand: .*{said}"):
        ASKED[ask](robot, change(log))
