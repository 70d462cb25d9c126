"""Kernels compiled before they are needed: all but those of a simulation's steps."""

import numpy as np

from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.derivatives import inverse_dynamics_derivatives, regressor_derivatives
from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.dynamics.prepared import prepared
from robodyn_pin.dynamics.regressor import body_regressor, regressor
from robodyn_pin.dynamics.strut_slopes import strut_force_derivatives
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.robot.robot import load
from robodyn_pin.robot.stops import run_stops

SAMPLES = 8
ROBOTS = ("irb360", "dualv", "irb2400")  # with rods, with pins, without loops


def compile_kernels() -> None:
    """Use each of them once; numba keeps what it compiles.

    Raises:
        RobodynError: numba is missing, or there is no folder to keep what it compiles.
    """
    still = np.zeros((SAMPLES, 1))
    with forced("kernel"):
        Lowpass(order=1, cutoff=1.0).apply(np.zeros((10, 1)), 10.0, "")
        run_stops(still, np.ones(1), still[0], still[0])
        for name in ROBOTS:
            robot = load(name)
            c = robot.coordinates.S @ robot.home + robot.coordinates.offset + still
            rest = np.zeros_like(c)
            inverse_dynamics(robot, c, rest, rest)
            regressor(robot, c, rest, rest)
            state = robot.close(c, rest, rest)
            body_regressor(robot, state.q, state.v, state.a)
            robot.loops.evaluate(state.q, state.v)
            inverse_dynamics_derivatives(robot, c, rest, rest)
            regressor_derivatives(robot, c, rest, rest)
            if robot.file.struts:
                strut_force_derivatives(robot, c, rest, rest)
            prepared(robot).inverse_dynamics(c[0], rest[0], rest[0])
