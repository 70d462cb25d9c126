"""Optimal experiments: rules kept, exact slopes, better than chance; criteria by their definitions; bad input."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from robodyn_pin.elastic.design import Design, optimal_design, simulate_design
from robodyn_pin.elastic.design_file import DesignFile, ExperimentsSpec
from robodyn_pin.elastic.design_problem import MeasurementPlan, design_inputs, design_problem, design_setting
from robodyn_pin.elastic.inference import InferenceSettings, estimate_stiffness, stiffness_prior
from robodyn_pin.elastic.measurements import simulate_measurements
from robodyn_pin.elastic.pose_rules import random_orientations
from robodyn_pin.elastic.random_designs import draw_designs, random_plan
from robodyn_pin.elastic.springs import pose_kinematics, springs_in
from robodyn_pin.elastic.stiffness import identify_stiffness
from robodyn_pin.elastic.stiffness_file import StiffnessFile
from robodyn_pin.errors import RobodynError
from robodyn_pin.files import parse_yaml, read_yaml
from robodyn_pin.identification.experiment_design import DesignProblem, design_posterior, objective, search, size
from robodyn_pin.output.stiffness import stiffness_summary
from robodyn_pin.robot.robot import load

RUN = Path(__file__).parents[2] / "examples" / "irb6660_design.yaml"
SMALL = {"random": 40, "starts": 3, "steps": 40}


def run_with(**changes: object) -> DesignFile:
    return DesignFile.model_validate(yaml.safe_load(RUN.read_text()) | SMALL | changes)


def found(**changes: object) -> Design:
    return optimal_design(run_with(**changes), RUN.parent)


@pytest.fixture(scope="module")
def example() -> Design:
    return found()


def test_design_keeps_place_cone_limits_forces_and_sharing(example):
    at = pose_kinematics(example.springs, example.c)
    assert np.abs(at.point - [1.3, 0.2, 1.0]).max() < 1e-6
    axis = at.rotation @ np.array([0.2, 0, 0.3]) / np.hypot(0.2, 0.3)
    level = np.array([1.3, 0.2, 0]) / np.hypot(1.3, 0.2)
    assert (axis @ level >= np.cos(np.radians(80)) - 1e-6).all()
    limits = {name: x.position for name, x in example.springs.robot.file.limits.items() if x.position}
    for k, name in enumerate(example.springs.robot.motors.names):
        assert (example.q[:, k] >= limits[name][0]).all()
        assert (example.q[:, k] <= limits[name][1]).all()
    assert (np.abs(example.q[:, 2] - example.q[:, 1]) <= limits["j3"][1]).all()
    assert np.count_nonzero(example.force, axis=0).tolist() == [2, 3, 0]
    assert np.abs(example.force).max() <= 300 + 1e-9
    assert len(np.unique(example.q.round(9), axis=0)) == 4


def test_design_is_surer_than_any_drawn_by_chance_and_each_direction_alone_is_worse(example):
    assert example.size < example.full_force_sizes.min()
    assert example.size < np.median(example.random_sizes) / 3
    assert set(example.direction_sizes) == {"x", "y"}
    assert min(example.direction_sizes.values()) > 1.8 * example.size


@pytest.mark.parametrize("form", ["stiffness", "compliance"])
@pytest.mark.parametrize(("robot", "layout", "names"), [("irb6660", "motors", "m"), ("irb6660", "joints", "j")])
def test_expected_posterior_is_what_inference_reports_for_such_measurements(robot, layout, names, form):
    k = dict(zip([f"{names}{i}" for i in range(1, 7)], [2e6, 3e6, 2.5e6, 0.8e6, 0.6e6, 0.4e6], strict=True))
    gamma = 4.0
    plan = found(springs=layout, form=form, prior={"stiffness": k}, gamma=gamma, simulate=None, starts=1, steps=10)
    values = np.array(list(k.values()))
    m = simulate_measurements(
        plan.springs, "m", plan.q, plan.force, values, 1e-12, 1
    )  # exact: the estimate stays at the prior
    m = replace(m, sigma=np.full(5, 5e-6))
    settings = InferenceSettings(stiffness_prior(plan.run.prior, plan.springs, form), form, gamma, "linear")
    after = estimate_stiffness(plan.springs, m, settings).posterior
    assert np.allclose(after.deviations, plan.posterior.deviations, rtol=2e-3)  # linear against loaded model: 0.1 %


@pytest.mark.parametrize("criterion", ["A", "D", "E"])
@pytest.mark.parametrize("layout", ["motors", "joints"])
def test_slopes_of_criterion_and_rules_are_exact(layout, criterion):
    names = "m" if layout == "motors" else "j"
    k = {f"{names}{i}": 1e6 * x for i, x in enumerate([2, 3, 2.5, 0.8, 0.6, 0.4], 1)}
    run = run_with(springs=layout, prior={"stiffness": k}, experiments={"forces": {"any": 1, "y": 1}}, position=None,
                   region=[[1.0, 1.6], [-0.3, 0.3], [0.7, 1.3]], cone={"angle": 80, "towards": [1, 0, 0]})  # fmt: skip
    springs = springs_in(load("irb6660"), run.tool, layout)
    setting = design_setting(run, springs, stiffness_prior(run.prior, springs, run.form))
    drawn = draw_designs(setting, run.experiments.directions, 2, 2, np.random.default_rng(1))
    task, u, h = design_problem(setting, drawn.plans[0]), drawn.u[0], 1e-6
    steps = [h * e for e in np.eye(len(u))]
    slope = [(objective(task, u + e, criterion)[0] - objective(task, u - e, criterion)[0]) / (2 * h) for e in steps]
    assert np.abs(slope - objective(task, u, criterion)[1]).max() < 1e-7
    assert task.above is not None
    slopes = np.array([(task.above(u + e)[0] - task.above(u - e)[0]) / (2 * h) for e in steps]).T
    assert np.abs(slopes - task.above(u)[1]).max() < 1e-7


def test_slopes_hold_on_a_robot_with_curved_loops_and_motors_to_spare():
    run = run_with(robot="dualv", tool={"frame": "platform", "at": [0.05, 0.02, 0]}, position=None, cone=None,
                   prior={"stiffness": {f"m{i}": 1e4 * i for i in (1, 2, 3, 4)}}, simulate=None,
                   experiments={"forces": {"any": 2}})  # fmt: skip
    springs = springs_in(load("dualv"), run.tool)
    setting = design_setting(run, springs, stiffness_prior(run.prior, springs, run.form))
    task, h = design_problem(setting, MeasurementPlan(("any", "any"), (0, 1))), 1e-6
    u = design_inputs(np.array([[0.02, 0.03, 0.1], [-0.04, 0.01, -0.2]]), np.array([0.5, 0.7, 0.1, -0.6, 0.9, 0.2]))
    steps = [h * e for e in np.eye(len(u))]
    slope = [(objective(task, u + e, "A")[0] - objective(task, u - e, "A")[0]) / (2 * h) for e in steps]
    assert np.abs(slope - objective(task, u, "A")[1]).max() < 1e-7


@pytest.mark.parametrize("criterion", ["D", "E"])
def test_other_criteria_beat_chance_in_their_own_sense(criterion):
    got = found(criterion=criterion, simulate=None)
    assert got.size < got.full_force_sizes.min()
    assert got.size == pytest.approx(float(size(got.posterior.covariance / 1e12, criterion)))


def test_a_region_and_a_robot_without_closed_form_are_searched_as_well():
    arm = found(position=None, region=[[1.0, 1.6], [-0.3, 0.3], [0.8, 1.2]], cone=None, experiments={"forces": {"any": 2}},
                simulate=None)  # fmt: skip
    point = pose_kinematics(arm.springs, arm.c).point
    assert (np.abs(point - [1.3, 0, 1.0]) <= [0.3 + 1e-6, 0.3 + 1e-6, 0.2 + 1e-6]).all()
    k = {"phi1": 2e4, "phi2": 2e4, "phi3": 2e4, "psi": 1e3}
    delta = found(robot="irb360", tool={"frame": "platform", "at": [0.05, 0, 0]}, prior={"stiffness": k}, position=None, cone=None,
                  experiments={"forces": {"any": 2}, "largest": 20}, simulate=None, random=12, starts=1)  # fmt: skip
    assert delta.size < delta.random_sizes.min()
    assert np.abs(delta.q[:, 3]).max() <= np.pi


def test_criteria_are_trace_determinant_and_largest_eigenvalue():
    C = np.diag([4.0, 1, 0.5])
    assert [float(size(C, name)) for name in "ADE"] == pytest.approx([5.5, 2.0, 4.0])


def test_each_criterion_finds_the_known_optimum_of_two_weighings():
    """Two masses, a balance whose pans hold parts u of either: (1, 1) and (1, -1) is the known optimum for all three."""

    def rows(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = np.zeros((2, 2, 4))
        slopes[0, 0, 0] = slopes[0, 1, 1] = slopes[1, 0, 2] = slopes[1, 1, 3] = 1
        return u.reshape(2, 2), slopes

    task = DesignProblem(rows, 1e-6 * np.eye(2), -np.ones(4), np.ones(4))
    for criterion, best in (("A", 1.0), ("D", 0.25), ("E", 0.5)):
        _, got = search([(task, np.array([0.3, 0.5, 0.6, -0.1]))], criterion)
        assert got.size == pytest.approx(best, rel=1e-4)
        assert np.allclose(got.covariance, design_posterior(got.u.reshape(2, 2), 1e-6 * np.eye(2)))


def test_the_same_seed_gives_the_same_design(example):
    again = found()
    assert np.array_equal(again.q, example.q)


def test_one_more_measurement_takes_the_best_direction_from_where_a_run_stands(tmp_path):
    settings = RUN.parent / "irb6660_stiffness.yaml"
    measured = identify_stiffness(read_yaml(settings, StiffnessFile), settings.parent)
    (tmp_path / "result.json").write_text(json.dumps(stiffness_summary(measured)))
    settings = {"mode": "next", "given": str(tmp_path), "form": "compliance", "simulate": None}
    one = {name: found(**settings, experiments={"forces": {name: 1}}) for name in ("x", "y")}
    both = found(**settings, experiments={"forces": {"x": 1, "y": 1}})
    assert len(both.q) == 1
    assert both.prior_size == pytest.approx(np.trace(measured.estimate.posterior.covariance) * 1e12)
    assert both.size < both.prior_size
    assert not both.undetermined  # one more measurement need not tell every spring
    assert both.size <= 1.02 * min(x.size for x in one.values())  # other starts: the seed goes on from one to the next


def test_orientations_are_uniform_within_the_cone():
    run = run_with()
    springs = springs_in(load("irb6660"), run.tool)
    cone = design_setting(run, springs, stiffness_prior(run.prior, springs, run.form)).rules.cone
    assert cone is not None
    R = random_orientations(cone, 20000, np.random.default_rng(0))
    assert np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max() < 1e-12
    cosine = (R @ cone.axis) @ cone.towards
    assert cosine.min() >= cone.cosine - 1e-12
    assert cosine.mean() == pytest.approx((1 + cone.cosine) / 2, abs=0.01)  # heights on a sphere are uniform


def test_shared_orientations_differ_in_direction():
    rng = np.random.default_rng(0)
    for _ in range(50):
        plan = random_plan(["y", "y", "y", "x", "x"], 3, rng)
        assert set(plan.pose) == {0, 1, 2}
        for g in range(3):
            directions = [d for d, at in zip(plan.directions, plan.pose, strict=True) if at == g]
            assert len(directions) == len(set(directions))
    with pytest.raises(ValueError, match="3 to 5"):
        ExperimentsSpec(forces={"y": 3, "x": 2}, orientations=2)


def test_a_tool_on_axis_6_is_told_and_ends_with_exit_code_3(robodyn, tmp_path):
    text = RUN.read_text().replace("at: [0.20, 0, 0.30]", "at: [0, 0, 0.35]") + "random: 20\nstarts: 1\nsteps: 5\n"
    (tmp_path / "run.yaml").write_text(text)
    done = robodyn("design", tmp_path / "run.yaml", "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    assert "m6 cannot be observed" in done.stdout
    assert (tmp_path / "out" / "design.csv").exists()


BAD = [
    ({"position": [4.0, 0, 1.0]}, "the arm reaches from"),
    ({"position": [0.6, 0, 0.3], "cone": {"angle": 30}}, "m3 would be at"),
    ({"position": None}, "'cone' needs 'towards'"),
    ({"cone": {"axis": [0, 0, 0]}}, "'cone.axis' has no direction"),
    ({"given": "irb6660_design.yaml"}, "expects the result.json"),
    ({"simulate": {"stiffness": {"m1": 1e6}}}, "simulate.stiffness says nothing of m2"),
    ({"simulate": {"stiffness": {"j1": 1e6}}}, "no spring 'j1'"),
]


@pytest.mark.parametrize(("changes", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_settings_are_told_in_a_sentence(changes, words):
    with pytest.raises(RobodynError) as error:
        simulate_design(found(**changes, steps=1))
    assert words in str(error.value)


def test_too_few_orientations_are_told_in_a_sentence():
    text = RUN.read_text().replace("orientations: 4", "orientations: 2")
    with pytest.raises(RobodynError, match="'orientations' is 2, but 5 measurements have 3 to 5"):
        parse_yaml(text, DesignFile, "run.yaml")
