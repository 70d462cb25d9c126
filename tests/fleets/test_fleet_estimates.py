"""The arrays behind a fleet: closed forms, other formulas for the same, and how often chance is taken for a difference."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from robodyn_pin.errors import BadLog
from robodyn_pin.fleets.members import MemberLogs
from robodyn_pin.fleets.strangers import without_strangers
from robodyn_pin.identification.departures import alike_causes, departures, false_discoveries
from robodyn_pin.identification.hierarchy import ShownByLogs, marginal, posterior_covariance, type_of, within, without
from robodyn_pin.identification.shared_colour import RowPieces, colour_of, shown_by
from robodyn_pin.identification.wear import AlongLogs, log_by_log, scatter_of_logs, wear_of
from robodyn_pin.log_to_robot.evidence import Evidence


def _members(rng, n=20, r=6, spread=2.0, noise=1.0, changed=()):
    """SIMULATED members whose logs have motions of their own."""
    found = []
    for i in range(n):
        A = rng.normal(size=(4 * r, r)) / noise
        x = 10.0 + spread * rng.normal(size=r)
        for k, size in dict(changed).get(i, {}).items():
            x[k] += size
        J = A.T @ A
        found.append(ShownByLogs(np.linalg.solve(J, A.T @ (A @ x + rng.normal(size=len(A)))), J))
    return found


def test_spread_of_balanced_members_is_that_of_the_analysis_of_variance():
    """One number each, equally sure: REML is the variance between members less that of the noise (Searle et al. 1992)."""
    rng, noise = np.random.default_rng(0), 0.7
    x = 3.0 + rng.normal(0, 1.5, 30)
    found = type_of([ShownByLogs(np.array([v]), np.array([[1 / noise**2]])) for v in x])
    assert found.spread[0] ** 2 == pytest.approx(x.var(ddof=1) - noise**2, rel=2e-3)
    assert found.mean[0] == pytest.approx(x.mean(), rel=1e-9)
    assert found.covariance[0, 0] == pytest.approx(x.var(ddof=1) / 30, rel=2e-3)


def test_members_that_do_not_differ_have_next_to_no_spread():
    members = _members(np.random.default_rng(1), n=40, spread=0.0)
    noise = np.mean([np.diag(np.linalg.inv(m.information)) for m in members], axis=0)
    # Of 40 members the variance between them is known to a share of sqrt(2 / 40) of the noise: three of these.
    assert (type_of(members).spread ** 2 < 3 * np.sqrt(2 / 40) * noise).all()


def test_posterior_and_marginal_are_the_textbook_formulas_and_stand_singular_logs():
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 8, 5))
    J, C = A.T @ A, B.T @ B
    np.testing.assert_allclose(posterior_covariance(J, C), np.linalg.inv(J + np.linalg.inv(C)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(marginal(J, C), np.linalg.inv(np.linalg.inv(J) + C), rtol=1e-7, atol=1e-10)
    spread = np.array([0.0, 1.0, 2.0, 0.5, 3.0])
    np.testing.assert_allclose(
        posterior_covariance(J, spread**2), posterior_covariance(J, np.diag(spread**2)), atol=1e-12
    )
    assert posterior_covariance(J, spread**2)[0, 0] == 0.0
    unseen = J.copy()
    unseen[:, 2] = unseen[2] = 0.0
    assert posterior_covariance(unseen, spread**2)[2, 2] == pytest.approx(4.0)


def test_a_type_without_one_of_its_members_is_that_of_the_others():
    members = _members(np.random.default_rng(3))
    whole = type_of(members)
    found = without(whole, members[4])
    W = [marginal(m.information, whole.spread**2) for k, m in enumerate(members) if k != 4]
    x = [m.values for k, m in enumerate(members) if k != 4]
    covariance = np.linalg.inv(np.sum(W, axis=0))
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(
        found.mean, covariance @ np.sum([w @ v for w, v in zip(W, x, strict=True)], axis=0), rtol=1e-8
    )


def test_a_member_whose_logs_show_nothing_is_like_its_type():
    members = _members(np.random.default_rng(4))
    others = type_of(members)
    values, covariance = within(ShownByLogs(np.zeros(6), np.zeros((6, 6))), others)
    np.testing.assert_allclose(values, others.mean)
    np.testing.assert_allclose(covariance, np.diag(others.spread**2) + others.covariance, rtol=1e-9)


def test_members_that_differ_are_named_with_their_cause_and_others_are_not():
    causes, named, false = np.eye(6), 0, 0
    for seed in range(10):
        changed = {3: {1: 12.0}, 8: {4: -12.0}}
        _, found = departures(_members(np.random.default_rng(seed), changed=changed), [causes] * 20)
        named += sum(found[i].named and found[i].cause == k for i, k in ((3, 1), (8, 4)))
        false += sum(x.named for i, x in enumerate(found) if i not in changed)
        assert found[3].size == pytest.approx(12.0, abs=4 * found[3].deviation)
    assert named >= 18
    assert false <= 3  # 1 of 20 that are named, on the mean


def test_causes_that_are_said_to_be_alike_hold_the_true_one_in_99_of_100():
    """A cause of seven standard deviations, and twelve whose looks go with it by 0.6 to 0.98; z is what is looked at."""
    rng, along = np.random.default_rng(6), np.linspace(0.6, 0.98, 12)
    aside = rng.normal(size=(12, 4))
    unit = np.column_stack([along, np.sqrt(1 - along**2)[:, None] * aside / np.linalg.norm(aside, axis=1)[:, None]])
    looks = np.vstack([np.eye(5)[0], unit])
    hits = 0
    for _ in range(4000):
        squares = (looks @ (7 * np.eye(5)[0] + rng.normal(size=5))) ** 2
        best = int(squares.argmax())
        hits += 0 in (best, *alike_causes(squares, best))
    assert hits >= 0.98 * 4000


@pytest.mark.parametrize("n", [8, 20])
def test_chance_names_a_member_in_few_fleets(n):
    alarms = sum(
        any(x.named for x in departures(_members(np.random.default_rng(100 + seed), n), [np.eye(6)] * n)[1])
        for seed in range(40)
    )
    assert alarms <= 6  # 5 % of 40 are 2; more than 6 have a chance of 1 %


def test_in_a_small_fleet_others_that_differ_a_little_do_not_hide_one_that_differs_much():
    aside = np.random.default_rng(0).normal(size=(24, 6))  # causes that each member is looked at for, too
    causes = np.vstack([np.eye(6), aside / np.linalg.norm(aside, axis=1)[:, None]])
    changed = {0: {2: 3.0}, 3: {3: 3.0}, 5: {4: 3.0}, 7: {1: 6.0}}
    fleets = (_members(np.random.default_rng(seed), 8, spread=0.3, changed=changed) for seed in range(12))
    named = sum(departures(members, [causes] * 8)[1][7].named for members in fleets)
    assert named >= 9


def test_false_discoveries_are_those_of_scipy():
    rng = np.random.default_rng(5)
    for _ in range(20):
        p = np.r_[rng.uniform(size=30), rng.uniform(0, 0.004, 5)]
        np.testing.assert_array_equal(false_discoveries(p, 0.05), false_discovery_control(p) <= 0.05)


def _pieces(rng, rho, r=4, pieces=10, rows=200):
    """SIMULATED rows with residuals that remember the last row by rho, variance one."""
    A = np.cumsum(rng.normal(size=(pieces * rows, r)), axis=0) / 10
    e = rng.normal(size=pieces * rows)
    for k in range(1, len(e)):
        e[k] = rho * e[k - 1] + np.sqrt(1 - rho**2) * e[k]
    a, y = A.reshape(pieces, rows, r), (A @ np.ones(r) + e).reshape(pieces, rows)
    return RowPieces(np.einsum("kni,knj->kij", a, a), np.einsum("kni,kn->ki", a, y))


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_coloured_residuals_make_a_member_as_unsure_as_it_is(rho):
    rng = np.random.default_rng(6)
    members = [_pieces(rng, rho) for _ in range(60)]
    colour = colour_of(members)
    shown = [shown_by(m, colour) for m in members]
    z = [np.linalg.cholesky(s.information).T @ (s.values - 1.0) for s in shown]
    assert np.mean(np.square(z)) == pytest.approx(1.0, abs=0.25)  # 240 squares scatter by 0.09
    white = [np.linalg.cholesky(m.whole).T @ (m.values - 1.0) for m in members]
    assert np.mean(np.square(white)) > (5.0 if rho else 0.7)


def test_a_slope_is_that_of_least_squares_with_a_column_more():
    rng = np.random.default_rng(7)
    A, when = rng.normal(size=(9, 30, 3)), np.arange(9.0)
    direction = np.array([0.0, 1.0, 0.5])
    y = A @ np.array([1.0, 2.0, 3.0]) + when[:, None] * (A @ direction) * 0.2 + 0.1 * rng.normal(size=(9, 30))
    both = np.concatenate([A, (when[:, None] * (A @ direction))[:, :, None]], axis=2).reshape(-1, 4)
    expected = np.linalg.lstsq(both, y.ravel(), rcond=None)[0][3]
    logs = [ShownByLogs(np.linalg.lstsq(a, b, rcond=None)[0], a.T @ a) for a, b in zip(A, y, strict=True)]
    found = wear_of([log_by_log(when, logs, np.zeros(3)).along(direction)])
    assert found.slope[0] == pytest.approx(expected, rel=1e-9)
    assert found.probability[0] < 1e-4
    assert wear_of([log_by_log(when[:3], logs[:3], np.zeros(3)).along(direction)]).probability[0] == 1.0


def _daily(rng, grows=0.0, members=30, days=10):
    """SIMULATED logs: the first parameter is another one each day, by 1; the second grows; logs show mostly their sum."""
    found, growing = [], np.array([0.0, grows])
    J = np.linalg.inv([[1.0, -0.99], [-0.99, 1.0]]) * 100
    for _ in range(members):
        x = rng.normal(5.0, 2.0, 2)
        true = [x + day * growing + [rng.normal(), 0.0] for day in range(days)]
        found.append([ShownByLogs(rng.multivariate_normal(v, np.linalg.inv(J)), J) for v in true])
    return found


def test_scatter_from_log_to_log_is_found_and_does_not_count_as_sureness():
    rng, days = np.random.default_rng(9), np.arange(10.0)
    two = scatter_of_logs(_daily(rng, members=100, days=2))  # half of their squares are taken by the means
    assert two[0] == pytest.approx(1.0, rel=0.2)  # 100 free squares: 7 %
    scatter = scatter_of_logs(_daily(rng))
    assert scatter[0] == pytest.approx(1.0, rel=0.15)  # 180 free squares: 5 %
    assert scatter[1] < 0.1
    chances = [
        wear_of([log_by_log(days, x, scatter).along(np.eye(2)[1]) for x in _daily(rng)]).probability for _ in range(10)
    ]
    assert np.mean(np.array(chances) < 0.05) == pytest.approx(0.05, abs=0.04)


def test_what_grows_is_seen_beside_what_scatters_from_day_to_day():
    """By hand: with the first parameter free each day, the second is known to 0.1 a log; a slope over ten days to 0.1 / sqrt(82.5)."""
    rng, days = np.random.default_rng(10), np.arange(10.0)
    logs = _daily(rng, grows=0.05)
    found = wear_of([log_by_log(days, x, scatter_of_logs(_daily(rng))).along(np.eye(2)[1]) for x in logs])
    assert np.mean(found.slope) == pytest.approx(0.05, abs=4 * 0.011 / np.sqrt(30))
    assert np.mean(found.deviation) == pytest.approx(0.1 / np.sqrt(82.5), rel=0.15)


def test_days_that_differ_are_no_wear():
    """Logs whose level is another one each day, more than their noise: the slope's chance stays uniform."""
    rng, found = np.random.default_rng(8), []
    for _ in range(300):
        level = rng.normal(size=10)
        pull = level - level.mean()
        cross = np.ones((10, 1))
        found += wear_of(
            [AlongLogs(np.arange(10.0), pull, np.ones(10), cross, np.array([[10.0]]))]
        ).probability.tolist()
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.03)


def test_a_log_is_strange_by_both_of_its_errors_and_beyond_the_usual_scatter():
    """Errors in N m and in percent: a small motion has the larger percentage, a fast one the larger error."""
    rng, names = np.random.default_rng(11), ("usual", "also", "small", "fast", "strange", "third")
    own = np.array([[1.0, 10.0], [1.02, 9.9], [1.0, 30.0], [3.0, 11.0], [3.0, 30.0], [0.98, 10.1]])
    robots = [np.array([1.0, 10.0]) * np.exp(0.02 * rng.normal(size=(4, 1))) for _ in range(5)]

    def member(name, logs):
        return MemberLogs(
            name, Evidence("irb360", "", tuple(SimpleNamespace(log=x) for x in logs)), np.arange(len(logs))
        )

    logs = [*(member(f"r{k}", "abcd") for k in range(5)), member("odd", names)]
    found = without_strangers(logs, [*robots, own])
    assert all(one is other for one, other in zip(found[:5], logs[:5], strict=True))
    assert [leaf.log for leaf in found[5].evidence.leaves] == ["usual", "also", "small", "fast", "third"]
    assert found[5].when.tolist() == [0, 1, 2, 3, 5]
    assert (
        found[5].strange[0].startswith("strange: what the fleet has in common explains its torques 2.8")
    )  # 30 over 10.55, the median
    with pytest.raises(BadLog, match="strange"):
        without_strangers(logs, [*robots, own], strict=True)
    scattered = [np.array([1.0, 10.0]) * np.exp(0.3 * rng.normal(size=(4, 1))) for _ in range(5)]
    assert not without_strangers(logs, [*scattered, own])[5].strange  # three times is nothing among such logs
    assert not without_strangers([member("two", "ab"), *logs[:5]], [np.array([[1.0, 10.0], [9.0, 90.0]]), *robots])[
        0
    ].strange  # which of them?
