"""The fit's own cones against the same fit written down for cvxpy."""

from types import SimpleNamespace

import clarabel
import numpy as np
import pytest

from robodyn_pin.identification import feasible
from robodyn_pin.identification.bounds import Bounds, equalities
from robodyn_pin.identification.cones import Rows, least
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior

LAYOUT = Layout(("a", "b"), ("viscous(m1)", "offset(m1)", "coulomb(m1)"), (True, False, True))


def _rows(seed: int) -> list:
    """Two coordinates of random rows; the truth of body a can hardly exist and viscous friction is negative, so constraints hold."""
    rng = np.random.default_rng(seed)
    body = [2.0, 0.1, 0.05, -0.1, 0.02, 0.001, 0.03, -0.002, 0.003, 0.035]
    thin = [1.0, 0.2, 0.0, 0.0, 0.0001, 0.0, 0.0401, 0.0, 0.0, 0.0401]
    truth = np.array([*thin, *body, -0.3, 0.5, 0.7])
    groups = []
    for _ in range(2):
        W = rng.normal(size=(200, 23))
        groups.append(fold_rows(empty(23), W, W @ truth + 0.05 * rng.normal(size=200)))
    return groups


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("mass", "tied", "more"),
    [
        ([[0.01, 5.0]] * 2, (), {}),
        ([[1.0, 1.0], [0.01, 1.5]], ("Iyy = Izz", "my = 0"), {}),
        ([[0.01, 5.0]] * 2, (), {"total_mass": (2.0, 2.5), "copies": np.array([2.0, 1.0])}),
        ([[0.01, 5.0]] * 2, (), {"boxes": {1: np.array([[0.0, 0.03], [-0.1, 0.1], [-0.02, 0.1]])}}),
        ([[0.01, 5.0]] * 2, (), {"ellipsoids": {1: np.array([[0.01, 0.0, -0.03], [0.03, 0.02, 0.01]])}}),
    ],
    ids=["free", "weighed, at a bound and symmetric", "total mass", "box", "ellipsoid"],
)
def test_bodies_are_those_that_cvxpy_finds(monkeypatch, seed, mass, tied, more):
    written = tuple(e for text in tied for e in equalities(0, text))
    prior = Prior(np.array([[1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01]] * 2), weight=0.01)
    given = _rows(seed), np.full(2, 0.05), LAYOUT, Bounds(np.array(mass), equalities=written, **more), prior

    def never(*_: object, **__: object) -> str:
        raise AssertionError("the fit's own cones were not enough")

    with monkeypatch.context() as alone:
        alone.setattr(feasible, "solve", never)
        ours = fit_feasible(*given)
    monkeypatch.setattr(feasible, "nearest_bodies", lambda *given: None)
    theirs = fit_feasible(*given)
    assert ours.free == theirs.free
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-6, atol=1e-8)
    assert ours.values[20] == pytest.approx(0.0, abs=1e-4)  # the constraint holds it


@pytest.mark.parametrize(("bound", "optimal"), [(2.0 - 1e-7, True), (2.0 - 5e-7, False)])
def test_where_digits_end_the_gap_tells_whether_the_least_is_one(monkeypatch, bound, optimal):
    """Clarabel calls it almost solved from 5e-5 on; two is the least here, so 1e-7 of it is allowed."""
    status = clarabel.SolverStatus.AlmostSolved
    found = SimpleNamespace(status=status, x=[2.0], z=[1.0], obj_val=2.0, obj_val_dual=bound)
    monkeypatch.setattr(clarabel, "DefaultSolver", lambda *given: SimpleNamespace(solve=lambda: found))
    [end] = least([Rows(np.array([[-1.0]]), np.array([-2.0]), "Nonnegative", 1)], np.array([[1.0]]))
    assert end.optimal == optimal
    assert end.v == [2.0]
