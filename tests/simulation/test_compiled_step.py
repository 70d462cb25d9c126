"""The compiled step against the one that Pinocchio and NumPy go, of every kind of effort; and the law that they share."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.robot.friction_models import basis
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.simulation.bounded import bounded
from robodyn_pin.simulation.machine import machine_of
from robodyn_pin.simulation.schemes import Scheme, scheme_of
from robodyn_pin.simulation.stepping import Moment, stepper_of
from robodyn_pin.simulation.sticking import sticking

compiled = pytest.mark.skipif(not kernel_choice.installed(), reason="needs the extra 'fast'")

EVERYTHING = [
    {"of": "phi1", "model": "stribeck", "initial": [1.0, 2.0, 0.5], "width": 1e-4, "speed": 0.05},
    {"of": "phi2", "model": "saturating", "initial": [1.0, 2.0], "width": 1e-4, "speed": 0.3},
    {"of": "phi3", "model": "directional", "initial": [1.0, 1.5, 0.2, 0.4], "width": 1e-4},
    {"of": "psi", "model": "position", "initial": [0.05, 0.1, 0.07, 0.02], "places": [-1.0, 1.0], "each_way": True, "width": 1e-4},
    {"of": "phi1", "model": "position", "initial": [0.5, 1.0], "places": [0.0, 0.5], "width": 1e-4},
    {"of": "phi3", "model": "position", "initial": [0.3, 1.0, 0.2, 0.6, 0.4, 0.3, 0.2, 0.7, 0.5, 0.6], "places": [-0.5, 0.25, 0.6], "degree": 3,
     "each_way": True, "width": 1e-4},
    {"of": "phi1", "model": "position", "initial": [0.5, 0.1, 0.2, -0.1, 0.05], "waves": [1.0, 7.0], "width": 2e-4},
    {"of": "phi2", "model": "position", "initial": [0.5, 0.1, 0.2, 0.6, -0.1, 0.05], "waves": [4.0], "each_way": True, "width": 1e-4},
    {"of": "phi2", "model": "quadratic", "initial": 0.3},
    {"of": "phi3", "model": "cbrt", "initial": 0.3},
    {"of": "phi2", "model": "load", "initial": 0.05, "width": 1e-4},
    {"of": "phi1", "model": "maxwell_slip", "initial": [0.5, 0.8], "stops": [1e-3, 1e-2]},
    {"of": "phi3", "model": "offset", "initial": 0.7},
    {"of": "phi1", "model": "spring", "initial": 3.0, "rest": 0.1},
    {"of": "phi2", "model": "polynomial", "known": True, "coefficients": [0.1, 0.2, 0.3]},
    {"of": "phi3", "model": "cogging", "initial": [0.1, 0.2], "waves": [7.0]},
    {"of": "phi2", "model": "lever_spring", "initial": 30.0, "radii": [0.1, 0.2], "free_length": 0.05, "angle": 0.4},
    {"of": "phi1", "model": "armature", "initial": 0.02},
    {"of": ["ball_1a", "ball_2b"], "model": "coulomb", "initial": 0.05, "width": 0.5},
]  # fmt: skip


def with_efforts(name: str, efforts: list[dict] | None) -> Robot:
    robot = load(name)
    if efforts is None:
        return robot
    file = type(robot.file).model_validate(robot.file.model_dump(exclude_unset=True) | {"efforts": efforts})
    return build(robot.name, file, robot.urdf_path.read_text(encoding="utf-8"), robot.urdf_path)


def gone(scheme: Scheme, path: str, cd: np.ndarray, driven: bool, steps: int = 40) -> Moment:
    robot = scheme.robot
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset
    hold = rp.inverse_dynamics(load("irb360") if robot.name == "irb360" else robot, c[None], 0 * c[None], 0 * c[None])[
        0
    ]
    with forced(path):
        stepper = stepper_of(scheme)
        assert (stepper.machine is not None) == (path == "kernel")
        at = stepper.begin(c, cd, robot.home, str)
        for k in range(steps):
            if driven:
                at = stepper.driven(at, k * 1e-3, 1e-3, lambda t, x, v: hold - 2.0 * v[0] + np.sin(50 * t))
            else:
                at = stepper.held(at, 1e-3, hold)
    return at


@compiled
@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize(
    ("name", "efforts", "sticks"),
    [("irb360", None, True), ("irb360", EVERYTHING, True), ("dualv", None, False), ("dualv", None, True), ("irb360_arms", None, True),
     ("scara", None, True), ("irb2400", None, True), ("slider_crank", None, False)],
)  # fmt: skip
def test_both_paths_go_the_same_way(name, efforts, sticks, driven):
    """From a motion that friction ends, so that axes slide, turn round and stick."""
    robot = with_efforts(name, efforts)
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset
    cd = 0.05 * np.random.default_rng(0).normal(size=len(c))
    scheme = scheme_of(robot, robot.close(c[None], 0 * c[None], 0 * c[None]), 1e-3)
    scheme = replace(scheme, steps=1, sticking=sticking(robot) if sticks else None)
    kernel, plain = (gone(scheme, path, cd, driven) for path in ("kernel", "pinocchio"))
    for field in ("c", "cd", "q", "stretch", "taken"):
        assert getattr(kernel, field) == pytest.approx(getattr(plain, field), rel=1e-9, abs=1e-10), field
    assert np.abs(robot.loops.evaluate(kernel.q[None]).phi).max(initial=0.0) < 1e-12


@compiled
def test_the_load_at_the_tool_counts_on_both_paths():
    robot = load("fivebar")
    frame = robot.model.frames[robot.model.nframes - 1].name
    wrench = rp.Wrench(frame, np.array([3.0, -2.0, 1.0, 0.1, 0.2, 0.3]))
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset
    t = np.arange(0, 0.03, 1e-3)
    ends = []
    for path in ("kernel", "pinocchio"):
        with forced(path):
            ends.append(rp.roll_out(robot, lambda t, c, cd: np.zeros(2), c, 0 * c, t, wrench).c[-1])
    free = rp.roll_out(robot, lambda t, c, cd: np.zeros(2), c, 0 * c, t).c[-1]
    assert ends[0] == pytest.approx(ends[1], rel=1e-10)
    assert np.abs(ends[0] - free).max() > 1e-5


@compiled
def test_compiled_curves_are_those_of_the_friction_models():
    from robodyn_pin.simulation.kernel_curves import curve

    robot = with_efforts("irb360", EVERYTHING)
    machine = machine_of(robot, sticking(robot).rows)
    curves, seen = machine.curves, 0
    along = [e for e in robot.efforts if not e.closures and not e.memory and e.spec.model != "armature"]
    for effort in along:
        (row,), (shift,) = effort.rows, effort.shifts
        axis = int((machine.rows == row).all(axis=1).argmax())
        in_powers = effort.spec.model == "position" and not effort.spec.waves
        for x in (-0.7, 0.2, 0.31):
            for xd in (-0.4, -3e-5, 0.0, 1e-4, 0.9):
                sign = np.tanh(xd / (effort.spec.width or 0.01))
                there = [
                    e for e in np.flatnonzero(curves.axis == axis)
                    if curves.shift[e] == shift and (
                        (in_powers and curves.degree[e] == (effort.spec.degree or 1))
                        or np.array_equal(curves.values[e, : len(effort.initial)], effort.initial)
                    )
                ]  # fmt: skip
                found = [curve(curves, e, x, xd, sign) for e in there]
                right = basis(effort.spec, np.array(x), np.array(xd), np.array(0.0)) @ effort.initial
                assert any(value == pytest.approx(right, rel=1e-12, abs=1e-14) for value in found), effort.name
                seen += 1
    assert seen == 15 * len(along)


def test_bounded_least_squares_finds_what_scipy_finds():
    """Any guess, bounds that are one point, unknowns that depend on each other."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        e, n = rng.integers(1, 9), rng.integers(1, 6)
        K, y = rng.normal(size=(e, n)), rng.normal(size=n) * 10 ** rng.uniform(-3, 3)
        if e > 3:
            K[1], K[2] = -2 * K[0], K[0] + K[3]
        high = rng.exponential(size=e) * rng.choice([0.01, 0.3, 30.0])
        low = -high * rng.uniform(0.5, 1, e)
        right = y - lsq_linear(K.T, y, (low, high), method="bvls", tol=1e-14).x @ K
        misfit, p = y.copy(), rng.uniform(low, high)
        bounded(K, misfit, low, high, p, rng.uniform(size=e) < 0.5)
        assert ((low <= p) & (p <= high)).all()
        assert misfit == pytest.approx(y - p @ K, abs=1e-11 * (np.abs(y).max() + np.abs(p).max()))
        assert np.linalg.norm(misfit) <= np.linalg.norm(right) + 1e-10 * np.linalg.norm(y)


@compiled
def test_small_systems_are_solved_as_numpy_does():
    from robodyn_pin.simulation.kernel_matrices import backward, factor, forward, solve_transposed

    rng = np.random.default_rng(0)
    for n in (1, 2, 4, 6):
        A, b = rng.normal(size=(n, n)), rng.normal(size=n)
        A[0, 0] = 0.0 if n > 1 else A[0, 0]  # so that rows must change places
        y, x, L = b.copy(), b.copy(), np.zeros((n, n))
        solve_transposed.py_func(A.copy(), y)
        np.testing.assert_allclose(y, np.linalg.solve(A.T, b), rtol=1e-10)
        assert factor.py_func(A @ A.T + np.eye(n), L)
        np.testing.assert_allclose(L, np.linalg.cholesky(A @ A.T + np.eye(n)), atol=1e-12)
        forward.py_func(L, x)
        backward.py_func(L, x)
        np.testing.assert_allclose(x, np.linalg.solve(A @ A.T + np.eye(n), b), rtol=1e-10)
    assert not factor.py_func(np.diag([1.0, -1.0]), np.zeros((2, 2)))
    with np.errstate(all="ignore"):
        solve_transposed.py_func(np.ones((2, 2)), y := np.array([1.0, 2.0]))
    assert not np.isfinite(y).any()
