"""Shape functions of friction over position: splines by the recursion of de Boor, written out here, and their sums of powers."""

import numpy as np
import pytest

from robodyn_pin.robot.effort_checks import check_efforts
from robodyn_pin.robot.friction_models import EffortSpec, basis, coefficient_names, not_negative
from robodyn_pin.robot.over_position import OverPosition

PLACES = (-0.5, 0.1, 0.3, 0.9)
X = np.linspace(-0.7, 1.1, 181)


def by_recursion(x: float, degree: int) -> list[float]:
    """Cox and de Boor; beyond the outer places as there."""
    t = [PLACES[0]] * degree + list(PLACES) + [PLACES[-1]] * degree
    x, last = min(max(x, PLACES[0]), PLACES[-1]), x >= PLACES[-1]
    values = [float(t[k] <= x < t[k + 1] or (last and t[k] < t[k + 1] == PLACES[-1])) for k in range(len(t) - 1)]
    for d in range(1, degree + 1):
        values = [
            (values[k] * (x - t[k]) / (t[k + d] - t[k]) if t[k + d] > t[k] else 0.0)
            + (values[k + 1] * (t[k + d + 1] - x) / (t[k + d + 1] - t[k + 1]) if t[k + d + 1] > t[k + 1] else 0.0)
            for k in range(len(values) - 1)
        ]
    return values


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_are_those_of_the_recursion_and_of_their_powers(degree):
    over = OverPosition(PLACES, degree)
    expected = np.array([by_recursion(x, degree) for x in X])
    assert expected.shape == (len(X), len(PLACES) + degree - 1) == (len(X), len(over.names))
    np.testing.assert_allclose(over.at(X), expected, atol=1e-14)
    np.testing.assert_allclose(over.at(X).sum(axis=1), 1.0, atol=1e-14)
    inner = np.clip(X, PLACES[0], PLACES[-1])
    powers = [(inner - PLACES[0]) ** k for k in range(degree + 1)]
    powers += [np.maximum(inner - place, 0) ** degree for place in PLACES[1:-1]]
    np.testing.assert_allclose(np.stack(powers, axis=1) @ over.in_powers.T, expected, atol=1e-13)
    far = 1e-6
    between = X[np.abs(X[:, None] - PLACES).min(axis=1) > 2 * far]
    differences = (over.at(between + far) - over.at(between - far)) / (2 * far)
    np.testing.assert_allclose(over.slopes(between), differences, atol=1e-7)
    assert over.middles[[0, -1]] == pytest.approx([PLACES[0], PLACES[-1]])
    np.testing.assert_allclose(over.at(X) @ over.middles, inner, atol=1e-14)  # splines hold straight lines exactly


def test_waves_are_coulomb_friction_that_goes_up_and_down_with_the_angle():
    spec = EffortSpec(of="j", model="position", waves=[3.0], width=0.2, initial=[1.0, 0.3, -0.4], each_way=False)
    xd = np.linspace(-1, 1, len(X))
    expected = np.tanh(xd / 0.2) * (1.0 + 0.3 * np.sin(3 * X) - 0.4 * np.cos(3 * X))
    np.testing.assert_allclose(basis(spec, X, xd, 0 * X) @ spec.initial, expected, atol=1e-14)
    assert list(coefficient_names(spec)) == ["coulomb_mean", "coulomb_sin_3", "coulomb_cos_3"]
    assert not_negative(spec) == [True, False, False]
    check_efforts([spec])
    with pytest.raises(ValueError, match="'coulomb_mean' of -1"):
        check_efforts([spec.model_copy(update={"initial": [-1.0, 0.3, 0.4]})])


def test_splines_each_way_have_names_of_their_own():
    spec = EffortSpec(of="j", model="position", places=[0.0, 1.0], degree=3, each_way=True)
    ways = [f"{way}_{k}" for way in ("forward", "back") for k in (1, 2, 3, 4)]
    assert list(coefficient_names(spec)) == ways
    assert not_negative(spec) == [True] * 8
