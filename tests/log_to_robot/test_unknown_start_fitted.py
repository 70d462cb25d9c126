"""Strengths from a simulated log that begins in motion, its stops stretched by known amounts that the fit does not know."""

from dataclasses import replace

import numpy as np
import pytest
from test_friction_shapes import with_friction
from test_stops_used import MOTION, NAMES, RUN, STOPS, STRENGTHS
from test_unknown_start import followed

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot import rows, turned_rows
from robodyn_pin.log_to_robot.fit_data import all_rows
from robodyn_pin.logs.log import Log
from robodyn_pin.simulation.simulated_log import Noise, simulate

BEGAN = (-0.9, -0.7, -1.0, -0.3)  # of the radii
ASKED = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": STOPS})


@pytest.fixture(scope="module")
def log() -> Log:
    """Two seconds: rigid bodies by the package, stops by the loop of `followed`, and no noise."""
    smooth = with_friction("irb360_arms", {"of": "phi1", "model": "viscous", "initial": 0.0})
    log = simulate(smooth, MOTION.model_copy(update={"duration": 2.0}), Noise(np.zeros(4), None, 0))
    x, tau = log.q[:, NAMES.index("phi1")], log.efforts.copy()
    for radius, strength, start in zip(STOPS, STRENGTHS, BEGAN, strict=True):
        tau[:, NAMES.index("phi1")] += strength * followed(x, radius, start)
    return replace(log, tau=tau)


def strengths(groups: list) -> np.ndarray:
    """Of least squares over folded rows whose bodies are the true ones."""
    pi, k = columns(ASKED).values, columns(ASKED).layout.first_scalar
    W, y = (np.concatenate(x) for x in zip(*((f.R[:, :-1], f.R[:, -1]) for f in groups), strict=True))
    return np.linalg.lstsq(W[:, k:], y - W[:, :k] @ pi[:k], rcond=None)[0][-len(STOPS) :]


def test_an_unknown_start_biases_strengths_unless_it_is_among_the_unknowns(log, monkeypatch):
    free = strengths(all_rows(ASKED, RUN, [log.window(0, log.size)]))
    monkeypatch.setattr(rows, "unknown_start", lambda robot, log: None)
    relaxed = strengths(all_rows(ASKED, RUN, [log.window(0, log.size)]))
    np.testing.assert_allclose(free, STRENGTHS, rtol=0.005)
    assert np.abs(relaxed / STRENGTHS - 1).max() > 0.1


def test_rows_for_every_direction_of_gravity_leave_the_start_free_too(log):
    turned = turned_rows.turned_rows(ASKED, RUN, [log.window(0, log.size)])
    groups = turned.at(pooled(turned.fitted), turned.gravity)
    expected = all_rows(ASKED, RUN, [log.window(0, log.size)])
    for one, other in zip(groups, expected, strict=True):
        np.testing.assert_allclose(one.R.T @ one.R, other.R.T @ other.R, atol=1e-9 * np.abs(other.R).max() ** 2)
