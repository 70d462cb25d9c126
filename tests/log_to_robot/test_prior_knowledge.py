"""What a run file says of bodies and noise, against hand calculation; and one identification with all of it."""

from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadFile, RobodynError, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.identification.bounds import reduction
from robodyn_pin.log_to_robot.prior_knowledge import body, bounds_of, prior_of, weighting
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import BodySpec, RunFile
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

# The assumptions of Gnad et al. (IRB 360), sections 2.3.1 and 6.3.3, the tool known.
GNAD = """
robot: irb360
fit: [{file: log.csv}]
prior:
  distance: relative
  friction: 0.5
  bodies:
    arm_1: {mass: 1.0, radius: 0.3, values: {mx: 0.15, mz: 0.005, Iyy: 0.23}}
    strut_1a: {mass: 0.15, radius: 0.008, inner: 0.007, length: 1.106, axis: x, at: [0.553, 0, 0], weight: 3}
    platform: {mass: 1.12, radius: 0.08, length: 0.03}
    bar_upper: {mass: 0.684, radius: 0.006, length: 0.76, at: [0, 0, -0.38]}
    bar_lower: {mass: 0.456, radius: 0.016, inner: 0.006, length: 0.8, at: [0, 0, 0.4]}
bounds: {total_mass: [5, 9], centre: {bar_lower: {shape: ellipsoid, at: [0, 0, 0.4], half: [0.1, 0.1, 0.4]}}}
symmetry:
  arm_2: [my Ixx Ixy Ixz Iyz Izz = prior]
  strut_1a: [my mz Ixy Ixz Iyz = 0, Iyy = Izz]
  bar_upper: [mx my Ixy Ixz Iyz = 0, Ixx = Iyy]
  bar_lower: [mx my Ixy Ixz Iyz = 0, Ixx = Iyy]
  platform: [mx my mz Ixx Ixy Iyy Ixz Iyz Izz = prior]
  shaft: [m mx my mz Ixx Ixy Iyy Ixz Iyz = prior]
  end_effector: [all = prior]
"""


def run_file(text: str) -> RunFile:
    return parse_yaml(text, RunFile, "run.yaml")


def changed(**update: object) -> RunFile:
    return RunFile.model_validate(run_file(GNAD).model_dump() | update)


def test_the_published_assumptions_leave_the_published_number_of_variables():
    """18 of the bodies and 8 of linear friction as published; drive 4 has linear friction here, 2 for their 3."""
    run, robot = run_file(GNAD), load("irb360")
    layout, bounds = columns(robot).layout, bounds_of(run, robot)
    reduced = reduction(bounds.equalities, layout.bodies, np.ones(layout.size))
    assert reduced is not None
    assert reduced[1].shape == (80, 18 + 8 + 2)
    x = reduced[0] + reduced[1] @ np.random.default_rng(0).normal(size=28)
    names = layout.labels
    strut = next(b for b in layout.bodies if b.startswith("strut"))
    assert x[names.index(f"Iyy({strut})")] == pytest.approx(x[names.index(f"Izz({strut})")])
    assert x[names.index("m(end_effector)")] == pytest.approx(1.0)  # the common ball's


def test_two_bounds_of_bodies_that_share_parameters_contradict():
    run = changed(bounds={"bodies": {"arm_1": [0.5, 1], "arm_3": [2, 3]}})
    with pytest.raises(BadFile, match=r"'arm_1' and 'arm_3', which share one parameter set.*separate: true"):
        bounds_of(run, load("irb360"))
    assert bounds_of(run, load("irb360").separated()).mass[:1].tolist() == [[0.5, 1]]


def test_copies_bounds_and_prior_stand_in_the_order_of_the_groups():
    run, robot = run_file(GNAD), load("irb360")
    bounds, prior, named = bounds_of(run, robot), prior_of(run, robot), columns(robot)
    short = [group[0] for group in robot.body_groups]
    assert bounds.copies is not None
    assert bounds.copies[short.index("strut_1a")] == 6
    assert bounds.total_mass == (5, 9)
    (i,) = bounds.ellipsoids
    assert short[i] == "bar_lower"
    assert prior.of_body(short.index("strut_1a")) == pytest.approx(3 * prior.weight)
    np.testing.assert_array_equal(prior.scalars, named.values[named.layout.first_scalar :])
    assert prior.bodies[short.index("arm_1")][[1, 3, 6]].tolist() == [0.15, 0.005, 0.23]


def test_parts_of_a_body_add_up():
    """A dumbbell: two balls of 1 kg at ±0.5 m, masses add, m d^2 on top of both balls' own 2/5 m r^2."""
    spec = BodySpec.model_validate({"radius": 0.1, "at": [0.5, 0, 0], "parts": [{"radius": 0.1, "at": [-0.5, 0, 0]}]})
    x = body(spec)
    np.testing.assert_allclose(x, [2, 0, 0, 0, 0.008, 0, 0.508, 0, 0, 0.508], atol=1e-12)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("{bodies: {arm_1: {radius: 0.01, inner: 0.02, length: 1}}}", "inner radius 0.02 m and outer 0.01 m; swap"),
        ("{bodies: {arm_1: {inner: 0.02}}}", "needs a length"),
        ("{bodies: {arm_1: {values: {Iyx: 1}}}}", "no entry 'Iyx'"),
        ("{bodies: {arm_1: {lenght: 1}}}", "did you mean 'length'"),
    ],
)
def test_shapes_that_make_no_sense_are_said(prior, message):
    with pytest.raises(BadFile, match=message):
        run_file(f"robot: irb360\nfit: [{{file: log.csv}}]\nprior: {prior}")


def test_mass_bounds_that_contradict_are_named_on_reading():
    with pytest.raises(BadFile, match="mass bounds of arm_1: at least 5 kg and at most 1 kg"):
        run_file("robot: irb360\nfit: [{file: log.csv}]\nbounds: {bodies: {arm_1: [5, 1]}}")


def test_symmetry_of_an_unknown_body_or_in_an_unknown_form_is_said():
    robot = load("irb360")
    with pytest.raises(UnknownName, match=r"no body 'strut_1' .* did you mean 'strut_1"):
        bounds_of(changed(symmetry={"strut_1": ["my = 0"]}), robot)
    with pytest.raises(RobodynError, match="cannot read the equality 'my < 0'"):
        bounds_of(changed(symmetry={"strut_1a": ["my < 0"]}), robot)


ARMS = load("irb360_arms")
SIGMA = {"phi1": 1.5, "phi2": 1.5, "phi3": 1.6, "psi": 0.16}


def test_noise_of_some_coordinates_only_is_said():
    with pytest.raises(BadFile, match="not of phi3, psi"):
        weighting(changed(noise={"phi1": 1.5, "phi2": 1.5}), ARMS, 1000.0)
    with pytest.raises(UnknownName, match="no coordinate 'phi'"):
        weighting(changed(noise={"phi": 1.5}), ARMS, 1000.0)


def arms_result(**update: object):
    motion = FourierMotion(
        rate=500, duration=8, period=8, centre={"phi1": 0.3, "phi2": 0.3, "phi3": 0.3, "psi": 0},
        sin={"phi1": [0.2, -0.1, 0.05, 0.05], "phi2": [0.1, 0.2, -0.1, 0.02], "phi3": [-0.2, 0.1, 0.1, -0.05], "psi": [3, -2, 1, 1]},
        cos={"phi1": [0.1, 0.1], "phi2": [-0.1, 0.1], "phi3": [0.1, -0.2], "psi": [1, -2]},
    )  # fmt: skip
    log = uniform(simulate(ARMS, motion, Noise(np.array(list(SIGMA.values())), seed=3)))
    run = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}]} | update)
    cut = int(0.7 * log.size)
    return estimate(ARMS, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size)])


def test_given_noise_and_torque_limits_weigh_the_lone_axes_alike():
    """Each axis stands alone: weights from noise and from the largest torques give the same estimates, as published."""
    by_noise, by_limit = arms_result(noise=SIGMA), arms_result(noise="limits")
    np.testing.assert_allclose(by_noise.wls.sigma, list(SIGMA.values()), rtol=1e-12)
    assert by_noise.wls.base.columns.tolist() == by_limit.wls.base.columns.tolist()
    np.testing.assert_allclose(by_noise.wls.values, by_limit.wls.values, rtol=1e-9)


def test_noise_passes_the_filter_of_the_rows_as_white_noise_does():
    lowpass = {"order": 4, "cutoff": 20}
    result = arms_result(noise=SIGMA, rows={"filter": lowpass, "cut": 100})
    white = np.random.default_rng(5).normal(size=100_000)
    left = Lowpass(order=4, cutoff=20).apply(white, 500.0, "test").std()
    np.testing.assert_allclose(result.wls.sigma, left * np.array(list(SIGMA.values())), rtol=0.03)


def test_essential_parameters_and_the_second_opinion_are_scored_beside_the_others():
    result = arms_result(essential=30, second_opinion=True)
    assert {"essential", "log-Cholesky"} <= set(result.scored)
    noise = np.array(list(SIGMA.values()))
    feasible, second = (result.scored[name].held_out.rmse for name in ("feasible", "log-Cholesky"))
    assert (np.abs(second - feasible) < 0.01 * noise).all()
    assert (result.scored["essential"].held_out.rmse < 1.1 * noise).all()
    assert result.summary()["feasible"]["variables"] == result.layout.size
    assert Path(result.run.robot).name == "irb360_arms"
