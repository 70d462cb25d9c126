"""Derivatives through closed loops against CasADi's of the symbolic twin."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import casadi
import numpy as np
import pytest
from test_derivatives import PATHS, agree, of, states

import robodyn_pin as rp
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.exporting.closed_twin import twin_of
from robodyn_pin.exporting.functions import FUNCTIONS, function_of, motion_of_joints, sizes_of
from robodyn_pin.exporting.symbolic_efforts import effort_terms
from robodyn_pin.exporting.symbols import as_column, unknowns
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.robot import Robot
from robodyn_pin.urdf import catalogue


def by_casadi(robot: str, name: str, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> list[np.ndarray]:
    """Derivatives (N, k, d) by c, c', c'' of the twin of a robot of the catalogue, which knows nothing of the package's derivatives."""
    return at_samples(twin_slopes(robot, name), rp.load(robot).at_rest(c).q, c, cd, cdd)


@lru_cache(maxsize=1)  # both paths are held against it
def twin_slopes(robot: str, name: str) -> casadi.Function:
    return slopes_of(function_of(twin_of(rp.load(robot)), name), ("c", "cd", "cdd"))


def slopes_of(function: casadi.Function, by: tuple[str, ...]) -> casadi.Function:
    """Derivatives of a function's third output by some inputs."""
    return function.factory("slopes", function.name_in(), [f"jac:{function.name_out(2)}:{x}" for x in by])


def at_samples(function: casadi.Function, *inputs: np.ndarray) -> list[np.ndarray]:
    """Outputs (N, ...) of a function at samples (N, size)."""
    found = [[np.array(x) for x in function(*sample)] for sample in zip(*inputs, strict=True)]
    return [np.array(x) for x in zip(*found, strict=True)]


def asked_by(robot: Robot, pi: np.ndarray) -> casadi.Function:
    """W @ pi of the symbolic twin for any pi (p,): bodies and unknown efforts get these parameters, no regressor is formed."""
    twin, begin = twin_of(robot), 10 * len(robot.body_groups)
    (cd, rates), (cdd, accelerations) = (unknowns(x, len(robot.coordinates.S)) for x in ("cd", "cdd"))
    bodies = np.zeros((len(robot.model.inertias), 10))
    for joint, place in zip(*robot.body_columns, strict=True):
        bodies[joint] = pi[place : place + 10]
    efforts = []
    for effort in robot.efforts:
        if not effort.spec.known:
            own = {"initial": None, "coefficients": pi[begin : begin + len(effort.labels)].tolist()}
            efforts.append(replace(effort, spec=effort.spec.model_copy(update=own)))
            begin += len(effort.labels)
    v, a = motion_of_joints(twin, rates, accelerations)
    tree = twin.tree_efforts(v, a, np.array(robot.model.gravity.linear), bodies)
    tree = tree + effort_terms(replace(robot, efforts=tuple(efforts)), twin.pose.at, twin.pose.q, v, a)
    outputs = [as_column(twin.pose.q), as_column(np.array([twin.pose.residual])), as_column(twin.pose.T.T @ tree)]
    inputs = [twin.start[0], twin.c[0], cd, cdd]
    return casadi.Function("asked", inputs, outputs, ["start", "c", "cd", "cdd"], ["q", "left", "E"], {"cse": True})


@dataclass(frozen=True)
class Sought(Effort):
    """An effort whose coefficients are unknowns."""

    values: np.ndarray | None = None

    @property
    def initial(self) -> np.ndarray:
        assert self.values is not None
        return self.values


def by_parameters(robot: Robot, name: str, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (N, k) and derivatives (N, k, p) by the parameters of a function of the symbolic twin, whose bodies and efforts are unknowns."""
    table = columns(robot)
    symbols, pi = unknowns("pi", len(table.values))
    bodies, begin, efforts = np.zeros((len(robot.model.inertias), 10), object), 10 * len(robot.body_groups), []
    for joint, place in zip(*robot.body_columns, strict=True):
        bodies[joint] = pi[place : place + 10]
    for effort in robot.efforts:
        if not effort.spec.known:
            given = {f.name: getattr(effort, f.name) for f in fields(effort)}
            efforts.append(Sought(**given, values=pi[begin : begin + len(effort.labels)]))
            begin += len(effort.labels)
        else:
            efforts.append(effort)
    assert begin == len(pi)
    twin = replace(twin_of(robot), robot=replace(robot, efforts=tuple(efforts)), bodies=bodies)
    asked, sizes = FUNCTIONS[name], sizes_of(robot, FUNCTIONS[name])
    rates = [unknowns(x, sizes[x]) for x in asked.inputs]
    found = as_column(asked.build(twin, *(x for _, x in rates)))
    given = [twin.start[0], twin.c[0], *(x for x, _ in rates), symbols]
    function = casadi.Function(name, given, [found, casadi.jacobian(found, symbols)], {"cse": True})
    q = robot.at_rest(inputs[0]).q
    values, slopes = zip(*(function(*sample, table.values) for sample in zip(q, *inputs, strict=True)), strict=True)
    return np.array(values)[..., 0], np.array([np.array(x) for x in slopes])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", catalogue())
def test_torques_change_as_casadi_says(name, path):
    robot = rp.load(name)
    motion = states(robot)
    if len(robot.motors.names) < len(robot.coordinates.names):
        pytest.skip("under-actuated: no torques make this motion")
    with forced(path):
        found = rp.inverse_dynamics_derivatives(robot, *motion)
    np.testing.assert_allclose(found.value, rp.inverse_dynamics(robot, *motion), rtol=1e-12, atol=1e-12)
    agree(of(found), by_casadi(name, "inverse_dynamics", *motion), 1e-9)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["delta3", "h4", "irb360"])
def test_strut_forces_change_as_casadi_says(name, path):
    robot = rp.load(name)
    motion = states(robot)
    with forced(path):
        found = rp.strut_force_derivatives(robot, *motion)
    struts = Loads(robot, robot.close(*motion)).struts
    np.testing.assert_allclose(found.value, np.stack([struts.lower, struts.upper], axis=1), atol=1e-9)
    agree(of(found), by_casadi(name, "strut_forces", *motion), 1e-9)


@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400_printed", "slider_crank"])
def test_torques_and_accelerations_change_with_the_parameters_as_casadi_says(name):
    robot = rp.load(name)
    c, cd, cdd = states(robot, 2)
    tau = np.random.default_rng(3).normal(size=(len(c), len(robot.motors.names)))
    value, slopes = by_parameters(robot, "forward_dynamics", c, cd, tau)
    for path in PATHS:
        with forced(path):
            found = rp.forward_dynamics_derivatives(robot, c, cd, tau)
            agree([found.value, found.by_parameters], [value, slopes], 1e-9)
    if len(robot.motors.names) >= len(robot.coordinates.names):
        asked = rp.inverse_dynamics_derivatives(robot, c, cd, cdd)
        value, slopes = by_parameters(robot, "inverse_dynamics", c, cd, cdd)
        agree([asked.value, asked.by_parameters], [value, slopes], 1e-9)


@pytest.mark.parametrize("name", ["delta3", "h4"])
def test_strut_forces_change_with_the_parameters_as_casadi_says(name):
    robot = rp.load(name)
    motion = states(robot, 2)
    found, (value, slopes) = rp.strut_force_derivatives(robot, *motion), by_parameters(robot, "strut_forces", *motion)
    agree([found.value, found.by_parameters], [value, slopes], 1e-9)


@lru_cache(maxsize=2)  # both paths are held against it
def asked_by_random(name: str, seed: int) -> tuple[np.ndarray, casadi.Function, casadi.Function]:
    """Random pi that give all columns equal shares, W @ pi and its derivatives by the symbolic twin."""
    robot = rp.load(name)
    largest = np.abs(rp.regressor(robot, *states(robot, 2))).max(axis=(0, 1))  # some columns are zero for every motion
    pi = np.random.default_rng(seed).normal(size=len(largest)) / np.where(largest > 1e-6, largest, 1.0)
    asked = asked_by(robot, pi)
    return pi, asked, slopes_of(asked, ("c", "cd", "cdd"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400", "scara"])
def test_the_regressor_changes_as_casadi_says(name, path):
    """W @ pi for random pi of all sizes: a wrong column would show in it."""
    robot = rp.load(name)
    motion = states(robot, 2)
    with forced(path):
        found = rp.regressor_derivatives(robot, *motion)
    for seed in (1, 2):
        pi, asked, changes = asked_by_random(name, seed)
        there = at_samples(asked, robot.at_rest(motion[0]).q, *motion)[2][..., 0]
        np.testing.assert_allclose(found.value @ pi, there, rtol=0, atol=1e-11 * np.abs(there).max())
        slopes = at_samples(changes, robot.at_rest(motion[0]).q, *motion)
        agree([np.einsum("njpk,p->njk", x, pi) for x in of(found)], slopes, 1e-9)


@pytest.mark.parametrize("name", catalogue())
def test_accelerations_change_as_casadi_says(name):
    """Also of irb2400_printed, whose wrist weighs 1e-9 of the rest."""
    robot = rp.load(name)
    c, cd, _ = states(robot)
    tau = np.random.default_rng(3).normal(size=(len(c), len(robot.motors.names)))
    slopes = slopes_of(function_of(twin_of(robot), "forward_dynamics"), ("c", "cd", "tau"))
    expected = at_samples(slopes, robot.at_rest(c).q, c, cd, tau)
    for path in PATHS:
        with forced(path):
            found = rp.forward_dynamics_derivatives(robot, c, cd, tau)
        agree([found.by_c, found.by_cd, found.by_tau], expected, 1e-9)
