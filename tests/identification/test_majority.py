"""Parameters on which most logs agree, against a plain minimiser of the sum of the logs' rms errors."""

import numpy as np
import pytest
from scipy.optimize import minimize

from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.majority import by_majority


@pytest.mark.parametrize("odd", [9.0, 1000.0, -1.0])
def test_the_sum_of_the_logs_errors_is_least(odd):
    rng, x = np.random.default_rng(3), np.array([1.0, -2.0, 0.5])
    rows = []
    for k in range(6):
        W = rng.normal(size=(200, 3))
        y = W @ ((odd if k == 4 else 1.0) * x) + 0.1 * rng.normal(size=200)
        rows.append((W, y))
    factors = [[fold_rows(empty(3), W, y)] for W, y in rows]
    start = np.linalg.lstsq(*(np.concatenate(part) for part in zip(*rows, strict=True)), rcond=None)[0]

    def total(x: np.ndarray) -> float:
        return sum(np.sqrt(np.mean((W @ x - y) ** 2)) for W, y in rows)

    expected = minimize(total, x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9, "maxiter": 5000})
    found = by_majority(factors, start)
    assert total(found) <= expected.fun * (1 + 1e-4)
    assert found == pytest.approx(x, abs=0.03)
