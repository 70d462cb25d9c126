"""Closing all over the workspace: no state fails, the loops are closed, T lies in them, and v and a are derivatives.

The workspace of each robot is stated in workspaces.py. `figures/states.py` does the same for 10 000 states a robot.
"""

import numpy as np
import pinocchio as pin
import pytest
from workspaces import WORKSPACES

from robodyn_pin.robot.robot import Robot, State, load

STATES = 1000


def closed(name: str, n: int, seed: int) -> tuple[Robot, State]:
    """A robot at n random reachable states, at random rates."""
    robot, rng = load(name), np.random.default_rng(seed)
    c = WORKSPACES[name](rng, n).c
    return robot, robot.close(c, rng.normal(size=c.shape), rng.normal(size=c.shape))


def joint_at(robot: Robot, name: str) -> int:
    return robot.model.joints[robot.model.getJointId(name)].idx_v


def gaps(robot: Robot, q: np.ndarray) -> np.ndarray:
    """What the cut joints leave open at one state, from frame placements: points, and axes of revolute joints."""
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    open_ = [np.zeros(1)]
    for closure in robot.file.closures:
        if closure.kind == "coupling":
            open_.append([sum(k * q[joint_at(robot, name)] for name, k in closure.of.items())])
            continue
        a, b = (data.oMf[robot.model.getFrameId(frame)] for frame in closure.between)
        open_.append(b.translation - a.translation)
        if closure.kind == "revolute":
            assert closure.axis == (1, 0, 0)
            assert a.rotation[:, 0] @ b.rotation[:, 0] > 0  # not closed head over heels
            open_.append(np.cross(a.rotation[:, 0], b.rotation[:, 0]))
    return np.concatenate(open_)


def gap_rates(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rates of the same at joint rates v (nv, k): relative velocity, and relative turning across the free axis."""
    data, world = robot.model.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pin.computeJointJacobians(robot.model, data, q)
    pin.updateFramePlacements(robot.model, data)
    rates = [np.zeros((1, v.shape[1]))]
    for closure in robot.file.closures:
        if closure.kind == "coupling":
            rates.append(sum(k * v[[joint_at(robot, name)]] for name, k in closure.of.items()))
            continue
        a, b = (robot.model.getFrameId(frame) for frame in closure.between)
        J = pin.getFrameJacobian(robot.model, data, b, world) - pin.getFrameJacobian(robot.model, data, a, world)
        rates.append(J[:3] @ v)
        if closure.kind == "revolute":
            rates.append(data.oMf[a].rotation[:, 1:].T @ J[3:] @ v)
    return np.concatenate(rates)


@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_loops_close_all_over_the_workspace_in_the_right_assembly_mode(name):
    robot, rng = load(name), np.random.default_rng(10)
    reach = WORKSPACES[name](rng, STATES)
    q = robot.close(reach.c, 0 * reach.c, 0 * reach.c).q  # raises where one fails
    assert max(np.abs(gaps(robot, x)).max() for x in q) <= 1e-12
    expected = np.stack([reach.joints[joint] for joint in list(robot.model.names)[1:]], axis=1)
    assert np.abs(q - expected).max() < 1e-12  # closed forms; the other assembly mode is radians away


@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_rates_along_T_leave_the_loops_closed(name):
    robot, state = closed(name, 200, seed=11)
    assert max(np.abs(gap_rates(robot, q, T)).max() for q, T in zip(state.q, state.T, strict=True)) <= 1e-10
    along = np.concatenate([robot.coordinates.S @ T for T in state.T])
    assert np.abs(along - np.tile(np.eye(len(robot.coordinates.names)), (200, 1))).max() <= 1e-12


@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_v_and_a_are_the_derivatives_of_q_and_v_to_second_order(name):
    """c(t) = c + c' t + c'' t^2 / 2: central differences miss by a term in h^2, which halving h must quarter."""
    robot, rng = load(name), np.random.default_rng(12)
    c = WORKSPACES[name](rng, 50).c
    by_short_links = name.startswith("dualv") or name in ("hexapod", "h4", "fourbar_leg")  # small moves turn much
    slow = 0.02 if by_short_links else 0.3  # [m/s or rad/s]
    cd, cdd = slow * rng.normal(size=c.shape), slow * rng.normal(size=c.shape)

    def at(t: float) -> State:
        return robot.close(c + cd * t + cdd * t**2 / 2, cd + cdd * t, cdd)

    now = at(0)
    misses = {}
    for h in (2e-3, 1e-3):
        before, after = at(-h), at(h)
        misses[h] = np.array([(after.q - before.q) / (2 * h) - now.v, (after.v - before.v) / (2 * h) - now.a])
    # Without the h^2 term what is left is h^4 and the 1e-13 of closing over h.
    left = np.abs(4 * misses[1e-3] - misses[2e-3]).max(axis=(1, 2)) / 3
    assert (left < 1e-8 * np.maximum(1, [np.abs(now.v).max(), np.abs(now.a).max()])).all()
    coarse, fine = (np.linalg.norm(misses[h], axis=(1, 2)) for h in (2e-3, 1e-3))
    if name.startswith("irb2400") or name in ("irb6660", "irb360_arms", "scara"):
        assert coarse.max() < 1e-9  # the joints are linear in the motors: nothing to miss
    else:
        assert coarse / fine == pytest.approx(4, rel=0.01)
