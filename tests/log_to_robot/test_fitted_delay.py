"""The delay of torques, found in logs of a simulated arm whose torques are computed for the times at which they were measured."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.files import parse_yaml
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.viz.report import write_report

RATE, ROWS = 100.0, 3000  # [Hz]
LINK = """<link name="{name}"><inertial><origin xyz="0.02 0.01 0.2"/><mass value="2"/>
<inertia ixx="0.05" iyy="0.05" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="{name}"/><origin xyz="0 0 0.3"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" effort="99" velocity="9"/></joint>"""
FRICTION = [
    {"of": f"j{k}", "model": model, "initial": value}
    for k in range(2)
    for model, value in (("coulomb", 0.5), ("viscous", 0.3))
]


@pytest.fixture(scope="module")
def robot() -> Robot:
    links = [
        LINK.format(name=f"link_{k}", joint=f"j{k}", parent=f"link_{k - 1}" if k else "base", axis="0 1 0")
        for k in range(2)
    ]
    file = RobotFile.model_validate({"urdf": "arm.urdf", "efforts": FRICTION})
    return build("arm", file, f'<robot name="arm"><link name="base"/>{"".join(links)}</robot>', Path("arm.urdf"))


def log_of(robot: Robot, delay: float, seed: int, name: str = "log", noise: float = 0.02) -> Log:
    """Torques of the motion at t - delay beside positions at t."""
    rng, t = np.random.default_rng(seed), np.arange(ROWS) / RATE
    w, phase = 2 * np.pi * rng.uniform(0.05, 0.8, (5, 2)), rng.uniform(0, 6, (5, 2))
    size = 0.5 / np.maximum(w / 2, 1)

    def motion(t: np.ndarray) -> tuple[np.ndarray, ...]:
        angle = t[:, None, None] * w + phase
        return tuple((size * x).sum(1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))

    tau = rp.inverse_dynamics(robot, *motion(t - delay))
    tau = tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape)
    found = Log(name, t, motion(t)[0] + 1e-6 * rng.normal(size=(ROWS, 2)), tau, simulated=True)
    return replace(found, quality=quality_of(found, robot))


def identified(robot: Robot, *logs: Log, **asked: object) -> Result:
    run = {"robot": "arm", "fit": [{"file": "log"}], "instruments": False, "coulomb_width": 0.02} | asked
    chosen = [Selected(log, 0, log.size, log.name) for log in logs]
    return estimate(robot, RunFile.model_validate(run), *split_last(chosen, cut=0))


@pytest.mark.parametrize("delay", [0.0432, -0.0175, 0.0])
def test_the_delay_is_found_to_a_tenth_of_a_sample(robot, delay):
    errors = []
    for seed in range(3):
        (found,) = identified(robot, log_of(robot, delay, seed), delay="fit").settings.delays
        errors.append((found.seconds - delay) * RATE)
        assert found.deviation * RATE < 0.05
    assert np.abs(errors).max() < 0.1  # samples


def test_late_torques_cost_what_the_delay_gives_back(robot):
    late, fit, named, clean = (
        identified(robot, log_of(robot, delay, 0), delay=asked).scored["feasible"].held_out.percent_all
        for delay, asked in ((0.0432, 0.0), (0.0432, "fit"), (0.0432, 0.0432), (0.0, 0.0))
    )
    assert late > 2.5 * clean
    assert fit < 1.1 * clean
    assert named > 2.5 * clean  # a log that is given, not read, keeps its torques where they are


def test_each_log_has_its_own_delay_and_the_result_takes_their_mean(robot, tmp_path):
    delays = 0.012, 0.031
    result = identified(robot, *(log_of(robot, d, k, f"log {k}") for k, d in enumerate(delays)), delay="fit")
    np.testing.assert_allclose([d.seconds for d in result.settings.delays], delays, atol=0.1 / RATE)
    assert result.run.delay == pytest.approx(np.mean([d.seconds for d in result.settings.delays]), rel=1e-12)
    summary = result.summary()["delays"]
    assert [d["log"] for d in summary] == ["log 0", "log 1"]
    write_report(result, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(str(d) in page for d in result.settings.delays)


def test_thinned_rows_do_not_decide_the_delay(robot):
    """One row in three is fitted; which one would count otherwise at each delay."""
    (found,) = identified(robot, log_of(robot, 0.0432, 0), delay="fit", rows={"every": 3}).settings.delays
    assert found.seconds == pytest.approx(0.0432, abs=0.1 / RATE)
    assert found.deviation * RATE < 0.05


def test_the_delay_of_a_robot_with_loops_is_found():
    """The IRB 360's many parameters are known in combinations only, whose number must not change with the delay."""
    robot, delay = rp.load("irb360"), 0.0025
    t = np.arange(2000) / 200
    rng = np.random.default_rng(0)
    w, phase = 2 * np.pi * rng.uniform(0.1, 1.2, (5, 4)), rng.uniform(0, 6, (5, 4))
    size = np.array([0.08, 0.08, 0.08, 0.5])

    def motion(t: np.ndarray) -> tuple[np.ndarray, ...]:
        angle = t[:, None, None] * w + phase
        q, dq, ddq = ((size * x).sum(1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
        return q + np.array([0.3, 0.3, 0.3, 0.0]), dq, ddq

    tau = rp.inverse_dynamics(robot, *motion(t - delay))
    tau = tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    log = Log("loops", t, motion(t)[0] + 1e-6 * rng.normal(size=(len(t), 4)), tau, simulated=True)
    log = replace(log, quality=quality_of(log, robot))
    run = RunFile.model_validate({"robot": "irb360", "fit": [{"file": "log"}], "instruments": False, "delay": "fit"})
    result = estimate(robot, run, *split_last([Selected(log, 0, log.size, "")], cut=0))
    (found,) = result.settings.delays
    assert found.seconds == pytest.approx(delay, abs=0.1 / 200)
    assert found.deviation * 200 < 0.05


def test_a_log_that_cannot_show_its_delay_is_refused(robot):
    short = log_of(robot, 0.0, 0)
    with pytest.raises(BadLog, match=r"are too few for 'delay: fit', at least 40 are needed"):
        identified(robot, short.section(0, 30), delay="fit", preparation={"differentiation": "filter"})
    with pytest.raises(
        BadLog, match=r"'delay: fit' finds none within 0\.1 s; are torques and positions of one recording"
    ):
        identified(robot, replace(log_of(robot, 0.3, 0)), delay="fit")


def test_only_an_identification_finds_a_delay():
    with pytest.raises(BadFile, match=r"only an identification finds a delay; give it in seconds"):
        parse_yaml("delay: fit", TrackFile, "settings")
    with pytest.raises(BadFile, match=r"key 'delay': expected a number or 'fit' \(found 'fitt'\)"):
        parse_yaml("{robot: arm, fit: [{file: log}], delay: fitt}", RunFile, "run")
