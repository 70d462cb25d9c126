"""Shapes against sums over points, distances against their definitions, bounds against what they must keep out."""

import numpy as np
import pytest

from robodyn_pin.errors import NotPhysical, RobodynError, SolverFailed, UnknownName
from robodyn_pin.identification import feasible
from robodyn_pin.identification.bounds import Bounds, equalities
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.parameters import Layout, pseudo_inertia
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball, cylinder, moved, nearest_body


def second_moments(m, r):
    """Ten parameters of points m (n,), r (n, 3)."""
    I = np.einsum(
        "n,nij->ij", m, np.einsum("nk,nk->n", r, r)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :]
    )
    return np.array([m.sum(), *(m @ r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def test_hollow_cylinder_is_the_sum_of_its_points():
    rng, n = np.random.default_rng(0), 400_000
    r = np.sqrt(rng.uniform(0.02**2, 0.05**2, n))  # even over the ring
    a = rng.uniform(0, 2 * np.pi, n)
    points = np.column_stack([0.4 + rng.uniform(-0.3, 0.3, n), r * np.cos(a) - 0.1, r * np.sin(a) + 0.2])
    found = moved(cylinder(2.0, 0.05, 0.6, "x", inner=0.02), [0.4, -0.1, 0.2])
    np.testing.assert_allclose(found, second_moments(np.full(n, 2.0 / n), points), atol=2e-3)  # 1 / sqrt(n)


def test_moving_a_body_moves_its_points():
    rng = np.random.default_rng(1)
    m, r, by = rng.uniform(0.1, 1, 9), rng.normal(size=(9, 3)), np.array([0.3, -0.7, 0.2])
    np.testing.assert_allclose(moved(second_moments(m, r), by), second_moments(m, r + by), rtol=1e-12, atol=1e-12)


def test_published_strut_has_the_inertia_of_the_formulas():
    """1106 mm, radii 8 and 7 mm, 0.150 kg, centre in its middle: m L^2 / 3 about the ball, but for the thickness."""
    strut = moved(cylinder(0.150, 0.008, 1.106, "x", inner=0.007), [0.553, 0, 0])
    assert strut[1] == pytest.approx(0.150 * 0.553)
    assert strut[4] == pytest.approx(0.150 * (0.008**2 + 0.007**2) / 2)
    assert strut[6] == strut[9] == pytest.approx(0.150 * 1.106**2 / 3, rel=1e-4)


LAYOUT = Layout(("a", "b"), ("viscous(j)",), (True,))
WIDE = Bounds(np.array([[0.01, 50.0], [0.01, 50.0]]))
TRUTH = np.concatenate(
    [moved(ball(2.0, 0.1), [0.05, 0.02, -0.1]), moved(cylinder(3.0, 0.05, 0.3), [0, 0, 0.15]), [0.7]]
)


def rows(rank=21, noise=1e-3, n=1000):
    rng = np.random.default_rng(2)
    W = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 21)) * 10
    return [fold_rows(empty(21), W, W @ TRUTH + noise * rng.normal(size=n))]


NOTHING = [fold_rows(empty(21), np.zeros((1, 21)), np.zeros(1))]
PRIOR = np.array([moved(ball(4.0, 0.2), [0.1, 0, 0]), cylinder(1.0, 0.05, 0.3)])


@pytest.mark.parametrize("distance", ["euclidean", "entropic"])
def test_a_coefficient_that_neither_rows_nor_prior_show_is_zero(distance):
    """As the friction of a motor that stands still; a solver leaves it anywhere."""
    W = np.random.default_rng(0).normal(size=(1000, 21)) * 10
    W[:, 20] = 0.0
    y = W @ TRUTH + 1e-3 * np.random.default_rng(1).normal(size=1000)
    bodies, groups = np.array([ball(1.0, 0.1)] * 2), [fold_rows(empty(21), W, y)]
    assert fit_feasible(groups, np.array([1e-3]), LAYOUT, WIDE, Prior(bodies, 0.01, distance)).values[20] == 0
    known = Prior(bodies, 0.01, distance, scalars=np.array([0.4]), scalar_weight=0.1)
    assert fit_feasible(groups, np.array([1e-3]), LAYOUT, WIDE, known).values[20] == pytest.approx(0.4, rel=1e-3)


@pytest.mark.parametrize("noise", [1e-4, 1e-6, 1e-8])
def test_rows_without_noise_leave_the_truth(noise):
    """Rows of size 171: coefficients of friction are 1e5 to 1e10 times the noise, bodies of size one."""
    found = fit_feasible(rows(noise=noise), np.array([noise]), LAYOUT, WIDE, Prior(np.array([ball(1.0, 0.1)] * 2), 0.1))
    np.testing.assert_allclose(found.values, TRUTH, rtol=0, atol=1e-5)


@pytest.mark.parametrize("distance", ["euclidean", "relative", "entropic"])
def test_without_rows_the_prior_is_found(distance):
    prior = Prior(PRIOR, 1.0, distance, scalars=np.array([0.3]), scalar_weight=1.0)
    found = fit_feasible(NOTHING, np.ones(1), LAYOUT, WIDE, prior).values
    # The entropic cost is flat there: the solver's 1e-8 of the cost are 1e-4 of the parameters.
    np.testing.assert_allclose(found[:20].reshape(2, 10), PRIOR, atol=3e-4 if distance == "entropic" else 2e-5)
    assert found[20] == pytest.approx(0.3, rel=1e-3)


def two_entries(distance, weights=None):
    """The fit where one row says m(a) = 2, against a prior of 4."""
    W = np.zeros((1, 21))
    W[0, 0] = 1.0
    prior = Prior(np.array([ball(4.0, 0.2), PRIOR[1]]), 1.0, distance, factors=weights)
    return fit_feasible([fold_rows(empty(21), W, np.array([2.0]))], np.ones(1), LAYOUT, WIDE, prior).values


def test_relative_distance_is_equation_11():
    """min (m - 2)^2 + ((m - 4) / 4)^2, all else at its prior."""
    m = two_entries("relative")[0]
    assert m == pytest.approx((2 + 4 / 16) / (1 + 1 / 16), rel=1e-5)


def test_relative_distance_where_the_prior_is_zero_takes_the_floor():
    """my of a ball is zero; its unit is mass times radius of gyration: 0.1 of that is the floor."""
    W, radius = np.zeros((1, 21)), np.sqrt(0.6) * 0.2  # r^2 = 3/5 R^2
    W[0, 2] = 1.0
    bodies = np.array([ball(4.0, 0.2), PRIOR[1]])
    groups = [fold_rows(empty(21), W, np.array([0.02]))]
    found = fit_feasible(groups, np.ones(1), LAYOUT, WIDE, Prior(bodies, 1.0, "relative", floor=0.1)).values
    u = 0.1 * 4.0 * radius
    assert found[2] == pytest.approx(0.02 / (1 + 1 / u**2), rel=1e-4)


def test_weights_of_bodies_count_on_top_of_the_common_one():
    m = two_entries("relative", np.array([3.0, 1.0]))[0]
    assert m == pytest.approx((2 + 9 * 4 / 16) / (1 + 9 / 16), rel=1e-5)


def test_entropic_fit_is_a_stationary_point_of_its_definition():
    """Moved towards any other body, the cost grows: written out once more, with inverses instead of square roots."""
    groups, rng = rows(rank=6, noise=0.1), np.random.default_rng(3)
    found = fit_feasible(groups, np.ones(1), LAYOUT, WIDE, Prior(PRIOR, 0.3, "entropic")).values

    def P(x):
        I = np.array([[x[4], x[5], x[7]], [x[5], x[6], x[8]], [x[7], x[8], x[9]]])
        return np.block([[np.trace(I) / 2 * np.eye(3) - I, x[1:4, None]], [x[None, 1:4], x[:1, None]]])

    def cost(x):
        pairs = zip(x[:20].reshape(2, 10), PRIOR, strict=True)
        far = sum(
            np.trace(np.linalg.solve(P(p), P(b))) - np.linalg.slogdet(P(b))[1] + np.linalg.slogdet(P(p))[1] - 4
            for b, p in pairs
        )
        return groups[0].residual(x) / groups[0].rows + 0.09 * far

    least = cost(found)
    for _ in range(300):
        other = np.concatenate(
            [second_moments(rng.uniform(0.1, 1, 9), rng.normal(size=(9, 3)) * 0.1) for _ in "ab"] + [[0.5]]
        )
        assert cost(found + 1e-3 * (other - found)) >= least - 1e-9 * abs(least)


def test_total_mass_counts_identical_bodies_as_often_as_they_are_there():
    bounds = Bounds(WIDE.mass, total_mass=(20.0, 20.5), copies=np.array([6.0, 1.0]))
    found = fit_feasible(rows(), np.ones(1), LAYOUT, bounds, Prior(PRIOR, 1e-3)).values
    assert 20.0 * (1 - 1e-6) <= 6 * found[0] + found[10] <= 20.5 * (1 + 1e-6)


def test_centres_of_mass_stay_in_box_and_ellipsoid():
    box = np.array([[-0.01, 0.01], [-0.3, 0.3], [-0.3, 0.3]])  # the true x is 0.05
    ellipsoid = np.array([[0, 0, 0.05], [0.02, 0.02, 0.04]])  # the true z is 0.15
    bounds = Bounds(WIDE.mass, boxes={0: box}, ellipsoids={1: ellipsoid})
    found = fit_feasible(rows(), np.ones(1), LAYOUT, bounds, Prior(PRIOR, 1e-3)).values
    assert found[1] / found[0] == pytest.approx(0.01, abs=1e-5)
    away = (found[11:14] / found[10] - ellipsoid[0]) / ellipsoid[1]
    assert np.linalg.norm(away) == pytest.approx(1.0, abs=1e-3)


def test_equalities_hold_exactly_and_are_counted():
    texts = ("my=0", "mx=0.02*m", "Iyy=Izz", "m=2.5", "Ixy=-Ixz")
    bounds = Bounds(WIDE.mass, equalities=tuple(e for text in texts for e in equalities(0, text)))
    found = fit_feasible(rows(), np.ones(1), LAYOUT, bounds, Prior(PRIOR, 1e-3))
    m, mx, my, _, _, Ixy, Iyy, Ixz, _, Izz = found.values[:10]
    np.testing.assert_allclose([my, mx - 0.02 * m, Iyy - Izz, m - 2.5, Ixy + Ixz], 0, atol=1e-12)
    assert found.free == 21 - 5


def test_a_body_that_is_known_stays_at_its_prior():
    bounds = Bounds(WIDE.mass, equalities=equalities(1, "all = prior", PRIOR[1]))
    found = fit_feasible(rows(), np.ones(1), LAYOUT, bounds, Prior(PRIOR, 1e-3))
    np.testing.assert_allclose(found.values[10:20], PRIOR[1], atol=1e-12)
    assert found.free == 11


def test_equalities_that_cannot_be_read_or_met_are_said():
    with pytest.raises(UnknownName, match=r"'Iyx'.*did you mean"):
        equalities(0, "Iyx=0")
    with pytest.raises(RobodynError, match="cannot read the equality 'my'"):
        equalities(0, "my")
    both = Bounds(WIDE.mass, equalities=equalities(1, "m=1") + equalities(1, "m=2"))
    with pytest.raises(RobodynError, match="'b' contradict each other: m=1, m=2"):
        fit_feasible(rows(), np.ones(1), LAYOUT, both, Prior(PRIOR, 1e-3))


def test_a_prior_that_cannot_exist_is_named_with_the_nearest_that_can():
    bad = PRIOR.copy()
    bad[1, 9] = bad[1, 4] + bad[1, 6] + 0.01
    with pytest.raises(NotPhysical, match=r"prior of body 'b' .* triangle .* nearest one that can has \{Ixx: 0.0131"):
        fit_feasible(rows(), np.ones(1), LAYOUT, WIDE, Prior(bad, 1.0))


def test_nearest_body_is_the_projection_on_the_cone():
    """Of the cone's points, none is nearer: the way to the projection makes no acute angle with any other way."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=10)
    near = nearest_body(x, 0.0)
    for _ in range(200):
        other = second_moments(rng.uniform(0.1, 1, 9), rng.normal(size=(9, 3)))
        assert np.sum(pseudo_inertia(x - near) * pseudo_inertia(other - near)) <= 1e-9


def test_bounds_that_contradict_are_named_and_no_others():
    bounds = Bounds(np.array([[5.0, 1.0], [0.1, 50.0]]), total_mass=(1.0, 2.0))
    with pytest.raises(SolverFailed) as caught:
        fit_feasible(rows(), np.ones(1), LAYOUT, bounds, Prior(PRIOR, 1e-3))
    assert "infeasible" in caught.value.status
    named = str(caught.value).split("together: ")[1].split("; ")
    assert len(named) == 2
    assert "mass of 'a' at least 5 kg" in named
    assert named[1 - named.index("mass of 'a' at least 5 kg")] in (
        "mass of 'a' at most 1 kg",
        "total mass at most 2 kg",
    )


def test_an_equality_that_clashes_with_a_bound_is_named():
    bounds = Bounds(WIDE.mass, equalities=equalities(0, "m=60") + equalities(1, "my mz = 0"))
    with pytest.raises(SolverFailed, match=r"together: mass of 'a' at most 50 kg; m=60 of 'a'$"):
        fit_feasible(rows(), np.ones(1), LAYOUT, bounds, Prior(PRIOR, 1e-3))


def test_a_body_that_was_weighed_has_that_mass_and_one_variable_less():
    found = fit_feasible(rows(), np.ones(1), LAYOUT, Bounds(np.array([[2.5, 2.5], [0.01, 50.0]])), Prior(PRIOR, 1e-3))
    assert found.values[0] == pytest.approx(2.5, rel=1e-12)
    assert found.free == 21 - 1


def test_a_second_solver_takes_over_and_agrees(monkeypatch):
    """The first one breaks off: the second, of another method, finds the same bodies."""
    groups, prior = rows(), Prior(PRIOR, 0.1)
    first = fit_feasible(groups, np.ones(1), LAYOUT, WIDE, prior)
    solve = feasible.solve
    monkeypatch.setattr(feasible, "nearest_bodies", lambda *given: None)
    monkeypatch.setattr(feasible, "solve", lambda p, s, **more: "broken" if s == "CLARABEL" else solve(p, s, **more))
    second = fit_feasible(groups, np.ones(1), LAYOUT, WIDE, prior)
    assert (first.solver, second.solver) == ("CLARABEL", "SCS")
    np.testing.assert_allclose(second.values, first.values, atol=1e-4)


def test_when_every_solver_breaks_off_all_are_named_and_no_constraint_is_blamed(monkeypatch):
    monkeypatch.setattr(feasible, "nearest_bodies", lambda *given: None)
    monkeypatch.setattr(feasible, "solve", lambda problem, solver, **options: "broken")
    with pytest.raises(SolverFailed, match=r"CLARABEL: broken; SCS: broken\); give the prior more weight"):
        fit_feasible(rows(), np.ones(1), LAYOUT, WIDE, Prior(PRIOR, 0.1))
