"""Identical bodies estimated separately: symmetric base sets as Briot et al. (DualV) ask for them, and how equal copies are."""

import json

import numpy as np
import pytest
from simulated import SHORT

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import columns, regressor
from robodyn_pin.errors import BadFile
from robodyn_pin.files import parse_yaml
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.fold import empty, fold_rows, weighted
from robodyn_pin.identification.identical_bodies import compare_copies
from robodyn_pin.identification.least_squares import BaseEstimate, weighted_least_squares
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

PUBLISHED_LEGS = [0.0445, 0.0481, 0.0481, 0.0507]  # [kg m^2] Briot et al. (DualV), table 2, case 1


def base_of(name: str, group: int) -> list[str]:
    """Base parameters of a leg's bodies, with the group's number `_k` left out."""
    labels = check(load(name).separated()).base_labels
    return [label.replace(f"_{group}", "") for label in labels if f"_{group}" in label.split(" ")[0]]


def test_dualv_regroups_every_leg_as_point_masses_at_its_ends_and_as_published():
    """A distal link's mass at B moves as the proximal link (zz_1R = zz_1 + d2^2 m_2, printed), at C as the platform.

    A mass M at C (x = L) is M of m, M L of mx and M L^2 of Izz, so Izz goes over -1/L to mx and -1 to zz_1R.
    """
    legs = [base_of("dualv", k) for k in (1, 2, 3, 4)]
    assert legs[0] == [
        "Izz(proximal) + 0.0784 m(distal) - Izz(distal)",
        "mx(distal) - 3.57143 Izz(distal)",
        "my(distal)",
    ]
    assert legs[1:] == legs[:-1]
    platform = [label.split(" ")[0] for label in check(load("dualv")).base_labels if "platform" in label.split(" ")[0]]
    assert platform == ["m(platform)", "mx(platform)", "my(platform)", "Izz(platform)"]


def test_dualv_keeps_the_parameters_of_the_published_table():
    """zz_11R to zz_14R, m_4 and zz_4 of case 1 are base parameters as they stand; all others of the bodies vanish there."""
    robot = load("dualv")
    base, named = check(robot).base, columns(robot)
    values = dict(zip(base.labels(named.layout.labels), base.of(named.values), strict=True))
    found = {label.split(" ")[0]: x for label, x in values.items() if "(m" not in label.split(" ")[0]}
    legs = [found.pop(f"Izz(proximal_{k})") for k in (1, 2, 3, 4)]
    assert legs == pytest.approx(PUBLISHED_LEGS, abs=1e-9)
    assert (found.pop("m(platform)"), found.pop("Izz(platform)")) == pytest.approx((1.92, 0.0206), abs=1e-9)
    assert list(found.values()) == pytest.approx([0.0] * 10, abs=1e-9)


def test_dualv_legs_differ_where_their_published_parameters_do():
    """zz_1R of 0.0445 to 0.0507 with deviations of about 1.5 % each; the distal links are assumed equal."""
    robot, rng = load("dualv"), np.random.default_rng(4)
    c = rng.uniform(-1, 1, (300, 3)) * [0.1, 0.1, 0.5]
    W = regressor(robot, c, rng.normal(size=c.shape) * [2, 2, 8], rng.normal(size=c.shape) * [50, 50, 200])
    layout, values = columns(robot).layout, columns(robot).values
    y = W @ values + rng.normal(size=c.shape) * [3.0, 3.0, 0.3]  # simulated [N, N, N m]
    factors = [fold_rows(empty(layout.size), W[:, j], y[:, j]) for j in range(3)]
    base = base_set(weighted(factors, np.ones(3))[:, :-1], layout.order)
    found = {c.label.split("(")[0]: c for c in compare_copies(layout, weighted_least_squares(factors, base))}
    assert {kind: c.significant for kind, c in found.items()} == {"Izz": True, "mx": False, "my": False}
    assert (np.abs(found["Izz"].values - PUBLISHED_LEGS) < 4 * found["Izz"].deviations).all()


def test_limbs_of_both_delta_files_keep_the_same_parameters():
    assert base_of("irb360_arms", 1) == base_of("irb360_arms", 2) == base_of("irb360_arms", 3)
    assert base_of("irb360_arms", 1) == ["mx(arm)", "mz(arm)", "Iyy(arm)"]
    kinds = [[label.split(" ")[0].replace(f"_{k}", "") for label in base_of("irb360", k)] for k in (1, 2, 3)]
    assert kinds[0] == kinds[1] == kinds[2]
    # The two struts of a limb move alike: only their sums can be told apart from zero.
    assert not any("strutb" in kind for kind in kinds[0])


def test_order_decides_between_columns_and_not_how_many_stay():
    rng = np.random.default_rng(1)
    free, weak = rng.normal(size=(200, 3)), 1e-5 * rng.normal(size=200)
    W = np.column_stack([free, free[:, 0] + weak, free[:, 1] + free[:, 2], free[:, 0] - free[:, 1]])
    for order in (np.arange(6), np.arange(6)[::-1], np.array([4, 0, 5, 1, 2, 3])):
        base = base_set(W, order)
        assert base.size == base_set(W).size == np.linalg.matrix_rank(W) == 4
        x = rng.normal(size=6)
        assert W[:, base.columns] @ base.of(x) == pytest.approx(W @ x, abs=1e-12)
    assert list(base_set(W, np.arange(6)).columns) == [0, 1, 2, 3]
    assert list(base_set(W, np.arange(6)[::-1]).columns) == [2, 3, 4, 5]


def test_a_column_is_not_deleted_for_a_dependence_that_it_hardly_takes_part_in():
    """u = (b - a) / 1e-7: deleting u, the last, would give a and b weights of ten million."""
    rng = np.random.default_rng(2)
    a, u = rng.normal(size=(2, 200))
    base = base_set(np.column_stack([a, a + 1e-7 * u, u]), np.arange(3))
    assert list(base.columns) == [0, 2]
    assert np.abs(base.regroup).max() < 1.1


def test_chi_square_of_equal_deviations_is_that_about_the_mean():
    layout = Layout(("a", "b", "c"), copies=((0, 1, 2),))
    base = base_set(np.eye(30))
    x, deviation = np.arange(30.0), np.full(30, 2.0)
    x[[0, 10, 20]] = 1.0, 2.0, 6.0
    covariance = np.diag(deviation**2)
    first = compare_copies(layout, BaseEstimate(base, x, covariance, np.ones(1)))[0]
    assert (first.label, first.bodies) == ("m(a)", ("a", "b", "c"))
    assert first.chi_square == pytest.approx(((1 - 3) ** 2 + (2 - 3) ** 2 + (6 - 3) ** 2) / 4)
    assert first.probability == pytest.approx(np.exp(-first.chi_square / 2))  # two degrees of freedom


def test_bodies_that_are_regrouped_unlike_are_not_compared():
    """The mass of b is seen only together with that of a platform: equal bodies then differ in it."""
    layout = Layout(("a", "b", "platform"), copies=((0, 1),))
    W = np.eye(30)
    W[:, 20] = W[:, 10]
    found = {c.label: c for c in compare_copies(layout, BaseEstimate(base_set(W), np.ones(29), np.eye(29), np.ones(1)))}
    assert not found["m(a)"].tested
    assert not found["m(a)"].significant
    assert found["mx(a)"].tested


def test_what_is_said_of_one_copy_holds_for_those_that_are_not_named():
    robot = load("irb360_arms")
    text = "{robot: irb360_arms, fit: [{file: log.csv}], bounds: {mass: [0.1, 9], bodies: {arm_1: [0.5, 2], arm_3: [1, 3]}}}"
    bounds = bounds_of(parse_yaml(text, RunFile, "run.yaml"), robot)
    assert bounds.mass.tolist() == [[0.5, 2], [0.5, 2], [1, 3], [0.1, 9]]


def test_a_robot_without_identical_bodies_cannot_be_separated():
    with pytest.raises(BadFile, match="no identical bodies"):
        load("irb2400").separated()


def test_arms_separate_then_shared(tmp_path):
    """Arms that differ as Gnad et al. measured are told apart where the noise is small, and only then."""
    robot = load("irb360_arms")
    quiet, loud = (identify(robot, simulate(robot, SHORT, Noise(np.full(4, noise)))) for noise in (0.001, 0.5))
    assert [c.label for c in quiet.copies] == ["mx(arm_1)", "mz(arm_1)", "Iyy(arm_1)"]
    assert all(c.significant for c in quiet.copies)
    assert not any(c.significant for c in loud.copies)
    shared = identify(robot.separated(False), simulate(robot, SHORT, Noise(np.full(4, 0.5))))
    assert shared.copies == ()
    assert loud.wls.base.size - shared.wls.base.size == 6

    folder = quiet.write(tmp_path / "out")
    written = json.loads((folder / "result.json").read_text())["copies"]
    assert [c["differ"] for c in written] == [True] * 3
    assert "they differ" in (folder / "report.html").read_text(encoding="utf-8")
    assert load(folder).body_groups == robot.body_groups  # the identified robot keeps what was estimated separately


def test_equal_bodies_are_called_different_as_rarely_as_the_level_says():
    """Chi-squares of two degrees of freedom: mean 2, deviation 2, one in a hundred above the level."""
    layout, rng, found = Layout(("a", "b", "c"), copies=((0, 1, 2),)), np.random.default_rng(3), []
    for _ in range(40):
        W = rng.normal(size=(300, 30))
        factor = fold_rows(empty(30), W, W @ np.tile(np.arange(10.0), 3) + 0.3 * rng.normal(size=300))
        found += compare_copies(layout, weighted_least_squares([factor]))
    assert len(found) == 400
    assert np.mean([c.chi_square for c in found]) == pytest.approx(2.0, abs=3 * 2 / np.sqrt(len(found)))
    assert sum(c.significant for c in found) <= 4 + 3 * 2
