"""Pictures of planned motions."""

import numpy as np

from robodyn_pin.robot.limits import AxisLimits, Limits
from robodyn_pin.viz.planning import phase_figure, quantities_figure

LIMITS = Limits(
    tuple(AxisLimits(kind, ("m1",), np.eye(1), np.zeros(1), np.ones(1)) for kind in ("position", "velocity", "torque"))
)
UNITS = {("position", "m1"): "rad", ("velocity", "m1"): "rad/s", ("torque", "m1"): "N m"}


def test_every_kind_of_limit_is_drawn_over_time_but_for_positions_which_the_path_decides():
    figure = quantities_figure(np.linspace(0, 1, 5), np.zeros((5, 3)), LIMITS, UNITS, "title")
    assert [ax.get_ylabel().split("\n")[0] for ax in figure.axes] == ["velocity", "torque"]


def test_a_motion_that_is_held_by_the_end_of_a_range_is_drawn():
    active = [[("position", "m1")], [], [("torque", "m1")]]
    figure = phase_figure(np.linspace(0, 1, 3), np.ones(3), np.full(3, 2.0), active, "title")
    assert [text.get_text() for text in figure.axes[1].get_yticklabels()] == ["torque m1", "position m1"]
