"""The two paths, compiled kernels and NumPy, compute the same; Pinocchio's anchors are the oracle of both."""

from collections.abc import Callable

import numpy as np
import pytest
from test_closures import random_loop

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing import newton
from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.dynamics.equations import tree_efforts
from robodyn_pin.dynamics.regressor import body_regressor, state_regressor
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.urdf import catalogue

pytest.importorskip("numba", reason="the compiled path needs numba, the extra 'fast'")

NEAR = 0.05  # [rad or m] around home, where every robot closes
SINGULAR = (
    0.005  # smallest singular value of the loops' equations and the coordinates, below which strides may pass a pose
)


def both(compute: Callable[[], object]) -> list[object]:
    results = []
    for path in ("kernel", "pinocchio"):
        with kernel_choice.forced(path):
            results.append(compute())
    return results


def samples(robot: Robot, n: int = 60, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c = home + NEAR * rng.uniform(-1, 1, (n, len(home)))
    return c, rng.normal(size=c.shape), rng.normal(size=c.shape)


@pytest.fixture(params=sorted(catalogue()))
def robot(request: pytest.FixtureRequest) -> Robot:
    return rp.load(request.param)


def rows_are_those_of_anchors(robot: Robot) -> None:
    q, v = np.random.default_rng(1).normal(size=(2, 40, robot.model.nv))
    expected = robot.loops.by_anchors(q, v)
    for rows in both(lambda: robot.loops.evaluate(q, v)):
        for name in ("phi", "J", "drift"):
            np.testing.assert_allclose(getattr(rows, name), getattr(expected, name), rtol=1e-12, atol=1e-12)


def test_rows_are_those_of_pinocchios_anchors_at_states_off_the_loops(robot):
    rows_are_those_of_anchors(robot)


def test_closing_agrees(robot):
    states = both(lambda: robot.close(*samples(robot)))
    for name in ("q", "v", "a", "T", "g"):
        x, y = (getattr(state, name) for state in states)
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(y).max(initial=0.0)))


def test_regressor_agrees(robot):
    state = robot.close(*samples(robot))
    W = both(lambda: state_regressor(robot, state))
    np.testing.assert_allclose(W[0], W[1], rtol=1e-10, atol=1e-10 * np.abs(W[1]).max())
    W = both(lambda: body_regressor(robot, state.q, state.v, state.a))
    np.testing.assert_allclose(W[0], W[1], rtol=1e-10, atol=1e-10 * np.abs(W[1]).max())


def test_efforts_are_those_of_pinocchios_newton_euler(robot):
    state = robot.close(*samples(robot))
    tau = both(lambda: tree_efforts(robot, state))
    np.testing.assert_allclose(tau[0], tau[1], rtol=1e-10, atol=1e-12 * np.abs(tau[1]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_closure_agrees_on_a_random_tree(kind):
    robot = random_loop(kind, seed=3)
    rows_are_those_of_anchors(robot)
    c, cd, cdd = samples(robot)
    states = both(lambda: robot.close(0.1 * c + 0.9 * c.mean(axis=0), cd, cdd))
    for name in ("q", "v", "a"):
        np.testing.assert_allclose(getattr(states[0], name), getattr(states[1], name), rtol=1e-9, atol=1e-9)


def test_equations_that_say_nothing_new_change_nothing():
    robot = rp.load("irb360")
    again = [c.model_copy(update={"name": f"{c.name} again"}) for c in robot.file.closures]
    file = robot.file.model_copy(update={"closures": [*robot.file.closures, *again]})
    doubled = build(robot.name, file, robot.urdf_xml, robot.urdf_path)
    motion = samples(robot)
    expected = robot.close(*motion)
    for state in both(lambda: doubled.close(*motion)):
        for name in ("q", "v", "a", "T"):
            np.testing.assert_allclose(getattr(state, name), getattr(expected, name), rtol=1e-9, atol=1e-9)


def test_a_trajectory_closes_to_the_same_branch(robot):
    t = np.linspace(0, 1, 400)[:, None]
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c = home + 2 * NEAR * np.sin(2 * np.pi * t * (1 + np.arange(len(home)) % 3))
    q = both(lambda: robot.close(c, 0 * c, 0 * c).q)
    np.testing.assert_allclose(q[0], q[1], atol=1e-10)


@pytest.mark.parametrize(("name", "far"), [("irb360", 1), ("delta3", 1), ("fivebar", 3)])
def test_targets_apart_from_each_other_are_reached_in_the_branch_of_home(name, far):
    """Up to fifteen strides from home, clear of singular poses; the NumPy path goes there in a hundred steps."""
    robot = rp.load(name)
    S, offset = robot.coordinates.S, robot.coordinates.offset
    home = S @ robot.home + offset
    c = home + np.random.default_rng(2).uniform(-far, far, (200, len(home)))
    with kernel_choice.forced("kernel"):
        found = robot.at_rest(c).q
    q, clear = np.broadcast_to(robot.home, found.shape), np.full(len(c), np.inf)
    for share in np.linspace(0, 1, 101)[1:]:
        q = newton(robot.loops, S, offset, home + share * (c - home), q)
        rows = np.concatenate([robot.loops.at(q).jacobian(), np.broadcast_to(S, (len(c), *S.shape))], axis=1)
        clear = np.minimum(clear, np.linalg.svd(rows, compute_uv=False)[:, -1])
    assert (clear > SINGULAR).mean() > 0.9
    np.testing.assert_allclose(found[clear > SINGULAR], q[clear > SINGULAR], rtol=0, atol=1e-9)


def test_a_noisy_trajectory_closes_to_the_same_branch():
    robot = rp.load("irb360")
    t = np.linspace(0, 1, 300)[:, None]
    c = 0.2 + 0.3 * np.sin(2 * np.pi * t * [1, 2, 3, 1]) + 1e-3 * np.random.default_rng(0).normal(size=(300, 4))
    q = both(lambda: robot.close(c, 0 * c, 0 * c).q)
    np.testing.assert_allclose(q[0], q[1], atol=1e-10)


def test_a_pose_out_of_reach_fails_with_the_same_words():
    robot = rp.load("irb360")
    c = np.tile(robot.coordinates.S @ robot.home, (40, 1))
    c[:, 0] += np.linspace(0, 3, 40)

    def message() -> str:
        with pytest.raises(ClosureFailed) as error:
            robot.close(c, 0 * c, 0 * c)
        return str(error.value)

    assert len(set(both(message))) == 1
