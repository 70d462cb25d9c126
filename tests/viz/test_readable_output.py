"""Small things that readers stumble over: a coefficient of one, limits that are none."""

import re
from types import SimpleNamespace

import numpy as np

from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.online.summary import directions_of
from robodyn_pin.output.console import print_table


def test_a_coefficient_of_one_is_not_printed():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    columns = np.stack([a, b, a - 0.25 * b], axis=1)  # the third follows from the others
    base = base_set(columns, np.arange(3))
    assert base.labels(["x", "y", "z"]) == ["x + z", "y - 0.25 z"]


def test_the_directions_that_move_are_as_many_as_the_rows_that_say_so():
    """Right after samples that excite nothing new, information lies a little above what the estimate moves along."""
    rng = np.random.default_rng(0)
    estimator = DampedLeastSquares(np.ones(4), np.ones(4))
    for _ in range(500):
        W = np.zeros((1, 4))
        W[0, :2] = 30 * rng.normal(size=2)
        estimator.step(W, W @ np.ones(4))
    estimator.step(np.array([[0.0, 0.0, 5.0, 0.0]]), np.ones(1))
    tracker = SimpleNamespace(estimator=estimator, tracked=SimpleNamespace(labels=list("abcd")))
    rows = directions_of(tracker)
    assert sum(row["excited"] for row in rows) == estimator.excited.shape[1]


def test_a_narrow_terminal_folds_names_and_numbers_and_cuts_none(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "24")
    print_table("Robots", [{"name": "irb2400_spindle", "torque [N m]": 123456.789}])
    said = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)  # no bold type
    assert max(map(len, said.splitlines())) <= 24
    parts = [line.strip("│ ").split("│") for line in said.splitlines() if line.startswith("│")]
    assert ["".join(part.strip() for part in column) for column in zip(*parts, strict=True)] == [
        "irb2400_spindle",
        "123456.789",
    ]
