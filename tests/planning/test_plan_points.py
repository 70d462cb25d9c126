"""Limits at places of intervals: what the solver adds up, and how much a motion uses."""

import numpy as np
import pytest

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.grid import used_shares
from robodyn_pin.planning.limit_rows import ENTRIES, ConstraintSet, LimitRows
from robodyn_pin.planning.limits import symmetric
from robodyn_pin.planning.parabolas import ALL, SplineSpace
from robodyn_pin.planning.path import lines
from robodyn_pin.planning.path_dynamics import CallbackDynamics
from robodyn_pin.planning.problem import CLOSE, Problem
from robodyn_pin.planning.profile import Profile
from robodyn_pin.robot.limits import Limits

K = 12
NOTHING = LimitRows(np.zeros((K, 0, 2)), np.zeros((K, 0)), np.zeros((K, 0)), np.zeros((K, 0, 3)), np.ones(K))


@pytest.mark.parametrize("smoothness", [0, 1])
@pytest.mark.parametrize(
    ("intervals", "place"),
    [(ALL, 0.5), (slice(3, 7), 1.0), (np.array([0, 4, 4, 11]), np.array([0.0, 0.2, 0.7, 1.0]))],
)
def test_what_is_added_at_places_is_the_transpose_of_what_is_read_there(smoothness, intervals, place):
    space, rng = SplineSpace(K, smoothness), np.random.default_rng(0)
    part, x = ConstraintSet(space, intervals, place, NOTHING), rng.uniform(1, 2, space.size)
    k = np.arange(K)[intervals]
    p, here = space.monomials(x)[k], np.broadcast_to(place, k.shape)
    y, u, w = p[:, 0] + p[:, 1] * here + p[:, 2] * here**2, K * (p[:, 1] / 2 + p[:, 2] * here), K**2 * p[:, 2]
    assert part.motion(x) == pytest.approx(np.stack([y, u, w], axis=1))

    local, total = rng.normal(size=(len(k), 3)), np.zeros(space.size)
    part.scatter(total, local)
    assert total @ x == pytest.approx((local * part.motion(x)).sum())

    bands = np.zeros((3, space.size))
    part.scatter_bands(bands, np.stack([local[:, i] * local[:, j] for i, j in ENTRIES]))
    H = sum(np.diag(bands[i, : space.size - i], -i) for i in range(3))
    H = H + np.tril(H, -1).T
    assert x @ H @ x == pytest.approx(((local * part.motion(x)).sum(axis=1) ** 2).sum())


def rubbed(friction: float) -> Problem:
    """Two masses of 1 kg; the second one turns in the middle and rubs."""
    way = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    path = lines(("a", "b"), way, np.zeros(2, bool), 0.4)
    limits = Limits(
        (symmetric("torque", ("a", "b"), np.array([3.0, 2.0])), symmetric("velocity", ("a", "b"), np.full(2, 4.0)))
    )
    model = CallbackDynamics(lambda q, v, a: a + [0, friction] * np.tanh(v / 0.01), 2)
    return Problem(model, path, limits, Grading(("free", "free")), SplineSpace(40, 0))


def test_the_shares_that_a_motion_uses_are_those_of_the_model():
    problem = rubbed(0.0)
    x = np.random.default_rng(1).uniform(1, 1.2, problem.space.size)
    quantities, _, speeds = used_shares(problem.grid(problem.terms).constraints, x, problem.terms)
    shares = problem.check(Profile(problem.grading, problem.space, x), 2).in_intervals
    beside = np.vstack([shares[:1], np.maximum(shares[1:], shares[:-1]), shares[-1:]])
    assert quantities == pytest.approx(
        beside[:, :2], rel=0.03
    )  # in the middle the limits are means of those at the knots
    assert speeds == pytest.approx(beside[:, 2:].max(axis=1), rel=0.03)


def test_where_friction_turns_a_motion_is_looked_at_closely_and_held_on_both_sides():
    problem = rubbed(0.5)
    assert problem.terms.reversals.tolist() == [19, 20]  # the path's corner is a knot: tanh has not saturated beside it
    steps = problem.steps(10)
    assert steps[[0, 19, 20, 39]].tolist() == [CLOSE] * 4
    assert set(steps[1:19]) == {10}
    inner = problem.reversal_limits
    b = inner.terms.c[:, 1]  # of the limit of 2 N m
    assert (b.min(), b.max()) == pytest.approx((-0.25, 0.25), abs=0.01)
    assert np.all((inner.places > 0) & (inner.places < 1))


@pytest.mark.parametrize(
    ("friction", "exact"), [(lambda v: np.tanh(v / 1e-3) / 2 + v / 5, True), (lambda v: v**3, False)]
)
def test_terms_are_exact_for_dry_and_viscous_friction_only(friction, exact):
    path = lines(("a",), np.array([[0.0], [1.0]]), np.zeros(1, bool), 0.0)
    limits = Limits((symmetric("torque", ("a",), np.array([1.0])),))
    model = CallbackDynamics(lambda q, v, a: a + friction(v), 1)
    assert Problem(model, path, limits, Grading(("free", "free")), SplineSpace(20, 0)).exact == exact
