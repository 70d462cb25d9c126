"""Numbers as readers see them, curves with fewer points, choices and their remarks."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from robodyn_pin.log_to_robot.fit_data import Choice
from robodyn_pin.viz.plot_data import plot_data, six_digits
from robodyn_pin.viz.plots import choice_figure, thinned
from robodyn_pin.viz.report import shown_number


def test_the_chosen_candidate_is_the_marked_one():
    figure = choice_figure([20.0, 5.0, 10.0], [8.0, 9.0, 7.0], 10.0, "cutoff [Hz]")
    curve, mark = figure.axes[0].lines
    assert curve.get_xydata().tolist() == [[5, 9], [10, 7], [20, 8]]
    assert mark.get_xydata().tolist() == [[10, 7]]


def test_thinning_keeps_every_peak():
    t = np.arange(10_000.0)
    x = np.random.default_rng(0).normal(size=10_000)
    x[7777], x[1234] = 9.0, -9.0
    kept, values = thinned(t, x, bins=100)
    assert len(kept) <= 200
    assert (np.diff(kept) > 0).all()
    np.testing.assert_array_equal(values, x[kept.astype(int)])
    assert values.max() == 9.0
    assert values.min() == -9.0
    for low in range(0, 10_000, 100):
        assert x[low : low + 100].max() in values


def test_numbers_behind_a_picture_have_six_digits():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=1000) * 10.0 ** rng.integers(-12, 10, 1000), [0.0, np.nan])
    np.testing.assert_array_equal(six_digits(x), [float(f"{value:.6g}") for value in x])
    figure = Figure()
    figure.subplots().plot([1.0, 2.0, 3.0], [np.pi, np.nan, np.inf])
    (line,) = json.loads(plot_data(figure))["panels"][0]["lines"]
    assert line["y"] == [3.14159, None, None]


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (0.0, "0"), (-0.0, "0"), (2.0, "2"), (0.1234, "0.123"), (-12.34, "−12.3"), (1001.4, "1001"), (98765.4, "98765"),
        (2.5e-10, "2.5·10<sup>−10</sup>"), (-3e12, "−3·10<sup>12</sup>"), (np.nan, "—"),
    ],
)  # fmt: skip
def test_numbers_read_well(x, shown):
    assert shown_number(x) == shown


def test_trailing_zeros_stay_in_columns():
    assert [shown_number(x, zeros=True) for x in (1.5, 12.0, 0.05, 120.0)] == ["1.50", "12.0", "0.0500", "120"]


def test_choice_at_the_end_of_its_candidates_is_said():
    last = Choice("cutoff", (5.0, 10.0, 20.0), (9.0, 8.0, 7.0), 20.0)
    assert "cutoff 20 is the largest of its candidates" in last.remark
    assert "cutoff 5 is the smallest of its candidates" in replace(last, chosen=5.0).remark
    assert not replace(last, chosen=10.0).remark
    assert not Choice("cutoff", (5.0,), (9.0,), 5.0).remark  # nothing was chosen from
