"""Stops: hysteresis in closed form, and the compiled path against the plain one."""

import numpy as np
import pytest

from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.effort_checks import check_effort, check_efforts
from robodyn_pin.robot.friction_models import EffortSpec, coefficient_names
from robodyn_pin.robot.stops import run_stops

RADIUS = 0.2
REST = np.zeros(1)


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_a_stop_makes_the_known_hysteresis_loop_and_loses_its_area_each_turn(path):
    """Back and forth by A > r: it slides 2 (2 A - 2 r) a turn, so the loop's area is 4 r (A - r)."""
    A = 0.7
    x = A * np.sin(np.linspace(0, 4 * np.pi, 8001))[:, None]
    with forced(path):
        z = run_stops(x, np.array([RADIUS]), REST, REST)[:, 0]
    turn = slice(4000, 8001)
    middles, steps = (z[turn][1:] + z[turn][:-1]) / 2, np.diff(x[turn, 0])
    assert middles @ steps == pytest.approx(4 * RADIUS * (A - RADIUS), rel=1e-4)
    falling = slice(1001, 1400)  # from the first turning point the spring gives back: z = r - (A - x)
    expected = np.maximum(RADIUS - (A - x[falling, 0]), -RADIUS)
    np.testing.assert_allclose(z[falling], expected, atol=1e-12)


def test_compiled_and_plain_stops_are_equal_and_chunks_give_the_same_bits():
    rng = np.random.default_rng(0)
    x, radii = rng.normal(size=(500, 6)).cumsum(axis=0), rng.uniform(0.1, 5, 6)
    with forced("kernel"):
        compiled = run_stops(x, radii, np.zeros(6), x[0])
        first = run_stops(x[:137], radii, np.zeros(6), x[0])
        second = run_stops(x[137:], radii, first[-1], x[136])
    with forced("pinocchio"):
        plain = run_stops(x, radii, np.zeros(6), x[0])
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(np.concatenate([first, second]), compiled)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"model": "coulomb", "stops": [0.1]}, "'stops' goes with the model 'maxwell_slip'"),
        ({"model": "maxwell_slip", "initial": 1.0}, "needs the radii of its stops"),
        ({"model": "maxwell_slip", "stops": [0.1, 0.2], "initial": [1.0]}, "has 2 coefficients, 'initial' gives 1"),
    ],
)
def test_a_robot_file_that_contradicts_itself_about_stops_is_refused(said, sentence):
    with pytest.raises(BadFile, match=sentence):
        check_effort(EffortSpec.model_validate({"of": "j", **said}), "robot.yaml")


def test_stops_twice_on_an_axis_and_stops_that_drive_themselves_are_refused():
    twice = EffortSpec(of="j", model="maxwell_slip", stops=[0.1])
    with pytest.raises(ValueError, match="'maxwell_slip' part twice"):
        check_efforts([twice, twice])
    with pytest.raises(ValueError, match="it would drive itself"):
        check_efforts([twice.model_copy(update={"initial": [-1.0]})])
    assert coefficient_names(twice) == ["stop_1"]
