"""Exported CasADi functions as acados, do-mpc and OpTaS take them: parts of larger expressions, scalars or matrices, with derivatives."""

from pathlib import Path

import casadi
import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.exporting.casadi_files import write_casadi


@pytest.fixture(scope="module")
def falling(tmp_path_factory) -> casadi.Function:
    folder: Path = tmp_path_factory.mktemp("casadi")
    write_casadi(rp.load("fivebar"), ["forward_dynamics"], folder)
    return casadi.Function.load(str(folder / "fivebar_forward_dynamics.casadi"))


@pytest.mark.parametrize("kind", [casadi.SX, casadi.MX])
def test_a_loaded_function_is_part_of_a_model(kind, falling):
    """x' = f(x, u; start) by CVODES, positions to begin closing from a parameter: where Runge-Kutta of the package goes, and how that changes with u."""
    robot = rp.load("fivebar")
    x, u, start = kind.sym("x", 4), kind.sym("u", 2), kind.sym("start", robot.model.nv)
    rates = casadi.vertcat(x[2:], falling(start, x[:2], x[2:], u)[2])
    ode = {"x": x, "u": u, "p": start, "ode": rates}
    tight = {"abstol": 1e-12, "reltol": 1e-12}
    forward = casadi.integrator("forward", "cvodes", ode, 0.0, 0.02, tight)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    at, tau, q = np.r_[home, 0.5, -0.3], np.array([2.0, -1.0]), robot.home

    def there(torque: np.ndarray) -> np.ndarray:
        found = rp.roll_out(robot, lambda *_: torque, at[:2], at[2:], np.linspace(0, 0.02, 81))
        assert "Runge-Kutta" in found.scheme
        return np.r_[found.c[-1], found.cd[-1]]

    np.testing.assert_allclose(forward(x0=at, u=tau, p=q)["xf"].full().ravel(), there(tau), atol=1e-9)
    slopes = forward.factory("slopes", ["x0", "u", "p"], ["jac:xf:u"])(at, tau, q)
    differences = [(there(tau + e) - there(tau - e)) / 0.2 for e in 0.1 * np.eye(2)]
    np.testing.assert_allclose(slopes.full(), np.transpose(differences), atol=1e-6)
