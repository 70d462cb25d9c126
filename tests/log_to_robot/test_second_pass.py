"""The second pass through the fit logs: whatever its blocks are, and beside the motion that made the log."""

import numpy as np
import pytest
from simulated import SHORT, SIGMA

from robodyn_pin.dynamics.check import check
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.log_to_robot import rows
from robodyn_pin.log_to_robot.instruments import MARGIN, band
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.second_pass import SeenAgain, second_pass
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.motions.fourier import fourier
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

RUN = RunFile.model_validate({
    "robot": "irb360", "fit": [{"file": "in memory"}],
    "rows": {"filter": {"cutoff": 20}, "cut": 40, "every": 3},
})  # fmt: skip


def seen(noise: Noise, cutoff: float = 20.0) -> SeenAgain:
    robot, of_rates = load("irb360"), RUN.preparation.model_copy(update={"filter": Lowpass(order=4, cutoff=cutoff)})
    run = RUN.model_copy(update={"preparation": of_rates})
    base = check(robot).base
    fitted = BaseEstimate(base, np.zeros(base.size), np.eye(base.size), SIGMA)
    [found] = second_pass(robot, run, fitted, [simulate(robot, SHORT, noise)], [None]).logs
    return found


def test_blocks_do_not_matter(monkeypatch):
    one = seen(Noise(SIGMA, 15, seed=1))
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1.0)  # as small as the filters allow
    many = seen(Noise(SIGMA, 15, seed=1))
    for a, b in zip([*one.pieces.factors, *one.instruments], [*many.pieces.factors, *many.instruments], strict=True):
        assert a.rows == b.rows > 0
        np.testing.assert_allclose(a.R.T @ a.R, b.R.T @ b.R, atol=1e-7 * np.abs(a.R.T @ a.R).max())
    for name in ("sums", "count", "still"):
        np.testing.assert_allclose(getattr(one.pieces, name), getattr(many.pieces, name), rtol=1e-9)
    for name in ("fast", "sharp", "q", "cd", "cdd"):
        np.testing.assert_allclose(getattr(one.pace, name), getattr(many.pace, name), atol=1e-6)


def test_the_pace_is_that_of_the_motion_that_made_the_log():
    pace, (_, _, cd, cdd) = seen(Noise(0 * SIGMA)).pace, fourier(SHORT, load("irb360").coordinates.names)
    assert pace.fast == pytest.approx(np.quantile(np.abs(cd), 0.99, axis=0), rel=0.01)
    assert pace.sharp == pytest.approx(np.quantile(np.abs(cdd), 0.99, axis=0), rel=0.05)
    assert pace.beyond == ()


def test_instruments_are_the_regressor_where_rates_have_the_same_low_pass():
    motion = band(simulate(load("irb360"), SHORT, Noise(0 * SIGMA)))
    for factor in seen(Noise(0 * SIGMA), cutoff=MARGIN * motion).instruments:
        Z, W = np.split(factor.R[:, :-1], 2, axis=1)
        np.testing.assert_allclose(Z, W, atol=1e-9 * np.abs(W).max())
