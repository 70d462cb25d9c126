"""The mass matrix of parameters that no body can have, and what a forward simulation makes of it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from workspaces import irb360

import robodyn_pin as rp
from robodyn_pin.dynamics.regressor import columns

sys.path.insert(0, str(Path(__file__).parents[2] / "figures"))
from consistency import forward, mass_matrices, models, smallest


@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400"])
def test_mass_matrix_of_a_parameter_vector_is_that_of_its_bodies(name):
    """Unit accelerations through the regressor against the composite bodies of the tree."""
    robot = rp.load(name)
    c = robot.home @ robot.coordinates.S.T + 0.05 * np.random.default_rng(1).normal(
        size=(5, len(robot.coordinates.names))
    )
    by_bodies = rp.mass_matrix(robot, c)
    np.testing.assert_allclose(
        mass_matrices(robot, columns(robot).values, c), by_bodies, rtol=1e-9, atol=1e-9 * np.abs(by_bodies).max()
    )


def test_base_parameters_of_a_poor_log_predict_and_do_not_simulate():
    """Simulated log, motion 0.3 times as wide: both predict to the noise, only bodies that can exist fall as bodies do."""
    robot = rp.load("irb360")
    found = models(robot, slower=1, smaller=0.3)
    for rmse in found.rmse:
        np.testing.assert_allclose(rmse / [1.5, 1.5, 1.6, 0.16], 1, atol=0.05)
    c = irb360(np.random.default_rng(3), 1000).c
    low = smallest(robot, found.base, c)
    assert low.min() < 0
    assert smallest(robot, found.consistent, c).min() > 0
    assert forward(robot, found.base, c[low.argmin()]).failed
    assert not forward(robot, found.consistent, c[low.argmin()], seconds=0.2).failed
