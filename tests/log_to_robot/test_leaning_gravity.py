"""Gravity's direction from logs of an arm on a base that leans: simulated round trips, and arms that cannot show it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.regressor import regressor
from robodyn_pin.errors import BadLog
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.fit_data import all_rows
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.lean import leaning, leant
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.turned_rows import turned_rows
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

RATE, ROWS, DOWN = 50.0, 1500, np.array([0.0, 0.0, -9.81])  # [Hz]
LINK = """<link name="{name}"><inertial><origin xyz="0.02 0.01 0.2"/><mass value="2"/>
<inertia ixx="0.05" iyy="0.05" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="{name}"/><origin xyz="0 0 0.3"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" effort="99" velocity="9"/></joint>"""


def arm(*axes: str) -> Robot:
    links = [
        LINK.format(name=f"link_{k}", joint=f"j{k}", parent=f"link_{k - 1}" if k else "base", axis=axis)
        for k, axis in enumerate(axes)
    ]
    urdf = f'<robot name="arm"><link name="base"/>{"".join(links)}</robot>'
    return build("arm", RobotFile.model_validate({"urdf": "arm.urdf"}), urdf, Path("arm.urdf"))


def motion_of(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = np.arange(ROWS) / RATE
    w, phase = 2 * np.pi * rng.uniform(0.05, 0.8, (5, d)), rng.uniform(0, 6, (5, d))
    angle, size = t[:, None, None] * w + phase, 0.5 / np.maximum(w / 2, 1)
    q, dq = (size * np.sin(angle)).sum(1), (size * w * np.cos(angle)).sum(1)
    return q, dq, -(size * w**2 * np.sin(angle)).sum(1)


def log_of(robot: Robot, seed: int) -> Log:
    rng, t = np.random.default_rng(seed), np.arange(ROWS) / RATE
    q, dq, ddq = motion_of(rng, len(robot.motors.names))
    tau = rp.inverse_dynamics(robot, q, dq, ddq)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    found = Log("log", t, q + 1e-6 * rng.normal(size=q.shape), tau, simulated=True)
    return replace(found, quality=quality_of(found, robot))


def identified(robot: Robot, log: Log, **asked: object) -> Result:
    run = {"robot": "arm", "fit": [{"file": "log"}], "instruments": False} | asked
    return estimate(robot, RunFile.model_validate(run), *split_last([Selected(log, 0, log.size)], cut=0))


@pytest.mark.parametrize("lean", [(0.0227, 0.0), (-0.01, 0.02), (0.0, 0.2)])
def test_a_turn_of_gravity_keeps_its_size(lean):
    found = leant(DOWN, np.array(lean))
    assert np.linalg.norm(found) == pytest.approx(9.81, rel=1e-12)
    assert found @ DOWN / 9.81**2 == pytest.approx(np.cos(np.hypot(*lean)), abs=1e-12)


def test_the_lean_of_the_base_is_found_with_an_honest_interval(tmp_path):
    robot, errors = arm("0 0 1", "0 1 0", "0 1 0"), []
    for seed in range(5):
        gravity = leant(DOWN, np.deg2rad(1.3) * np.array([np.cos(seed), np.sin(seed)]))
        result = identified(robot, log_of(leaning(robot, gravity), seed), gravity="fit")
        lean = result.settings.lean
        errors.append(np.linalg.norm(np.array(lean.gravity) - gravity) / 9.81 / lean.deviation)
        assert lean.deviation < np.deg2rad(0.05)
    assert max(errors) < 4  # standard deviations: chance of a few in ten thousand each
    assert result.robot.file.gravity == pytest.approx(gravity, abs=9.81 * 4 * lean.deviation)
    result.write(tmp_path / "result")
    assert rp.load(tmp_path / "result").file.gravity == pytest.approx(lean.gravity, rel=1e-12)


def test_deviations_are_those_of_bodies_and_lean_together():
    """Oracle: one least-squares problem with a column more for either lean, by differences of the torques; a tenth more for some parameters."""
    robot, lean, h = arm("0 0 1", "0 1 0", "0 1 0"), np.array([0.02, 0.01]), 1e-4
    result = identified(robot, log_of(leaning(robot, leant(DOWN, lean)), 3), gravity="fit")
    wls, motion = result.wls, motion_of(np.random.default_rng(3), 3)
    fitted = slice(0, int(0.7 * ROWS))

    def torques(*lean: float) -> np.ndarray:
        return regressor(leaning(robot, leant(DOWN, np.array(lean))), *motion)[fitted]

    x = wls.full(result.layout.size)
    W = torques(*lean)[:, :, wls.base.columns]
    right, left, up, down = (torques(*(lean + h * np.array(e))) @ x for e in ((1, 0), (-1, 0), (0, 1), (0, -1)))
    leans = np.stack([right - left, up - down], axis=2) / (2 * h)
    alone, both = (rows / wls.sigma[:, None] for rows in (W, np.concatenate([W, leans], axis=2)))
    known, joint = (np.linalg.inv(np.einsum("nda,ndb->ab", A, A)) for A in (alone, both))
    wider = np.sqrt(np.diag(joint)[: wls.base.size] / np.diag(known))
    assert wider.max() > 1.1
    np.testing.assert_allclose(wls.deviations, np.sqrt(np.diag(joint))[: wls.base.size], rtol=0.02)


def test_a_lean_that_is_not_fitted_stays_in_the_residuals():
    robot = arm("0 0 1", "0 1 0", "0 1 0")
    log = log_of(leaning(robot, leant(DOWN, np.array([np.deg2rad(5), 0.0]))), 0)
    without, with_lean = identified(robot, log), identified(robot, log, gravity="fit")
    error = [r.scored["feasible"].held_out.rmse_all for r in (without, with_lean)]
    assert error[0] > 1.5 * error[1]


def test_a_log_that_shows_no_direction_is_refused():
    """One axis: its centre of mass is as unknown as gravity."""
    robot = arm("0 0 1")
    with pytest.raises(BadLog, match="do not show where gravity points"):
        identified(robot, log_of(robot, 0), gravity="fit")


def test_without_gravity_there_is_no_direction():
    robot = leaning(arm("0 0 1", "0 1 0", "0 1 0"), (0, 0, 0))
    with pytest.raises(BadLog, match="that is zero"):
        identified(robot, log_of(robot, 0), gravity="fit")


def test_choose_takes_a_lean_and_says_why(tmp_path):
    robot = arm("0 0 1", "0 1 0", "0 1 0")
    gravity = leant(DOWN, np.array([np.deg2rad(3), 0.0]))
    found = identified(robot, log_of(leaning(robot, gravity), 0), gravity="choose")
    assert found.settings.lean.gravity == pytest.approx(gravity, abs=9.81 * np.deg2rad(0.1))
    assert "a lean of " in found.verdict.gravity
    assert "is worth it" in found.verdict.gravity
    found.write(tmp_path / "result")
    taken = rp.load(tmp_path / "result")
    c = np.array([[0.3, 0.2, -0.4]])
    still = rp.inverse_dynamics(taken, c, 0 * c, 0 * c)[0]
    np.testing.assert_allclose(still, rp.gravity(taken, c)[0], rtol=1e-9)
    assert abs(still[0]) > 1e-2  # a vertical axis carries weight on a base that leans only


@pytest.mark.parametrize("seed", range(3))
def test_choose_leaves_a_level_base(seed):
    robot = arm("0 0 1", "0 1 0", "0 1 0")
    found = identified(robot, log_of(robot, seed), gravity="choose")
    assert found.settings.lean is None
    assert found.robot.file.gravity == robot.file.gravity
    assert found.verdict.gravity.startswith("gravity stays as the robot file says")


def test_choose_leaves_gravity_where_the_log_cannot_show_it():
    robot = arm("0 0 1")
    found = identified(robot, log_of(robot, 0), gravity="choose")
    assert found.settings.lean is None
    assert "do not show where gravity points" in found.verdict.gravity


def test_turned_rows_are_those_of_the_robot_with_that_gravity():
    """Oracle: the rows of a robot that is told the other gravity, by their normal equations."""
    robot, log = arm("0 0 1", "0 1 0", "0 1 0"), log_of(arm("0 0 1", "0 1 0", "0 1 0"), 0)
    run = RunFile.model_validate(
        {"robot": "arm", "fit": [{"file": "log"}], "rows": {"filter": {"order": 4, "cutoff": 5}}}
    )
    gravity = np.array([2.0, -1.0, -9.0])
    wide = turned_rows(robot, run, [log])
    found = wide.at(pooled(wide.fitted), gravity)
    for factor, other in zip(found, all_rows(leaning(robot, gravity), run, [log]), strict=True):
        np.testing.assert_allclose(factor.R.T @ factor.R, other.R.T @ other.R, atol=1e-9 * np.abs(other.R).max() ** 2)
        assert factor.rows == other.rows
        assert factor.energy == pytest.approx(other.energy)
