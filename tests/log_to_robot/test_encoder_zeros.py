"""Encoders whose zero is off, and other conventions of where zero is, are named, and undone by what is said."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated import noisy_log

from robodyn_pin.errors import ClosureFailed
from robodyn_pin.log_to_robot.encoder_zeros import contradicted
from robodyn_pin.log_to_robot.likely_mistakes import Mistake, likely_mistakes
from robodyn_pin.log_to_robot.not_closed import why_not_closed
from robodyn_pin.log_to_robot.picked_samples import picked, picked_rows
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec, read_as
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load

ARMS = {"irb6660": "irb2400_motion", "irb2400": "irb2400_motion", "dualv": "dualv_motion"}
SAID = r"q_(\w+) looks too (large|small) by ([\d.e-]+) rad all the time"
ASKED = r"zero: \{position: \{(.*?)\}\}"


def clean_log(name: str) -> tuple[Robot, Log]:
    robot = load(name)
    if name in ARMS:
        return robot, noisy_log(robot, ARMS[name])
    names, rng = robot.motors.names, np.random.default_rng(3)
    terms = {part: {m: (0.1 * rng.normal(size=5)).tolist() for m in names} for part in ("sin", "cos")}
    motion = FourierMotion(rate=200, duration=20, period=10, centre=dict.fromkeys(names, 0.3), **terms)
    return robot, noisy_log(robot, motion)


@pytest.fixture(scope="module")
def logs() -> dict[str, tuple[Robot, Log]]:
    """SIMULATED."""
    return {name: clean_log(name) for name in ("delta3", *ARMS)}


def run_of(robot: Robot, **keys) -> RunFile:
    return RunFile(robot=robot.name, fit=[LogSpec(file=Path("log.csv"))], **keys)


def off(log: Log, robot: Robot, zeros: dict[str, float]) -> Log:
    return replace(log, q=log.q + [zeros.get(m, 0.0) for m in robot.motors.names])


def told(robot: Robot, log: Log) -> tuple[Mistake, ...]:
    return likely_mistakes(robot, [log], run_of(robot))


def zeros_said(text: str) -> dict[str, float]:
    return {m: float(size) * {"large": 1, "small": -1}[way] for m, way, size in re.findall(SAID, text)}


@pytest.mark.parametrize(
    ("name", "zeros"),
    [
        ("delta3", {"phi1": 0.05}),
        ("delta3", {"phi2": -0.4}),
        ("irb6660", {"m4": 0.02}),
        ("irb6660", {"m2": -0.3, "m5": 0.2}),
        ("irb6660", {"m3": np.pi / 2}),
        ("irb6660", {"m5": np.pi}),
        ("dualv", {"m3": 0.05}),
        ("dualv", {"m1": -0.2}),
    ],
)
def test_zeros_that_are_off_are_named_and_no_others(logs, name, zeros):
    robot, log = logs[name]
    [mistake] = [m for m in told(robot, off(log, robot, zeros)) if "q_" in m.said]
    assert zeros_said(mistake.said) == pytest.approx(zeros, rel=0.1)
    assert set(mistake.names) == set(zeros)


@pytest.mark.parametrize(
    ("name", "are", "would_be", "expected"),
    [
        ("dualv", {}, {"m2": 0.3}, True),
        ("dualv", {}, {"m2": 0.005}, False),  # the zeros of a sound robot are off by more
        ("dualv", {"m2": 0.3}, {"m2": 0.3}, False),
        ("dualv", {"m2": 0.3}, {"m2": -0.3}, True),
        ("delta3", {}, {"phi2": 0.3}, False),  # as many encoders as degrees of freedom agree with everything
    ],
)
def test_encoders_that_agree_with_the_loops_contradict_other_zeros(logs, name, are, would_be, expected):
    robot, log = logs[name]
    samples = picked(robot, [off(log, robot, are)], run_of(robot))
    zeros = np.array([would_be.get(m, 0.0) for m in robot.motors.names])
    assert contradicted(picked_rows(robot, samples), zeros) == expected


@pytest.mark.parametrize("name", ["delta3", *ARMS])
def test_logs_whose_zeros_are_right_get_none_told(logs, name):
    assert not told(*logs[name])


def test_where_zero_is_about_a_vertical_axis_makes_no_difference(logs):
    robot, log = logs["irb6660"]
    assert not told(robot, off(log, robot, {"m1": 0.3}))


def test_loops_that_do_not_close_for_a_zero_name_it(logs):
    robot, log = logs["delta3"]
    wrong = off(log, robot, {"phi1": np.pi})
    with pytest.raises(ClosureFailed) as failed:
        told(robot, wrong)
    said = why_not_closed(robot, [wrong], run_of(robot), failed.value)
    assert zeros_said(said) == pytest.approx({"phi1": np.pi}, rel=1e-3)
    assert "then the loops close" in said


def test_what_is_said_stands_in_the_units_of_the_file_and_undoes_it(logs, tmp_path):
    """A log in degrees whose third encoder counts the other way and from 30 degrees, of which the run file knows 10."""
    robot, log = logs["irb6660"]
    scale, zero = np.array([1, 1, -1, 1, 1, 1.0]), np.array([0, 0, 30.0, 0, 0, 0])
    write_log(tmp_path / "log.csv", replace(log, q=np.rad2deg(log.q) / scale + zero, dq=None, ddq=None), robot)
    keys = {"units": {"angle": "deg"}, "scale": {"position": {"m3": -1}}}
    run = run_of(robot, **keys, zero={"position": {"m3": 10}})
    [mistake] = likely_mistakes(robot, [uniform(read_as(run, tmp_path / "log.csv", robot))], run)
    motor, number = re.search(ASKED, mistake.text)[1].split(": ")
    assert (motor, float(number)) == ("m3", pytest.approx(30, abs=0.2))
    assert zeros_said(mistake.text) == pytest.approx({"m3": np.deg2rad(-20)}, rel=0.02)
    run = run_of(robot, **keys, zero={"position": {motor: float(number)}})
    assert not likely_mistakes(robot, [uniform(read_as(run, tmp_path / "log.csv", robot))], run)


PENDULUMS = """<robot name="pendulums"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="4"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<link name="lower"><inertial><origin xyz="{x} 0 {z}" rpy="0 {turned} 0"/><mass value="2"/><inertia ixx="0.005" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="9" effort="500"/></joint>
<joint name="j2" type="revolute"><origin xyz="0.5 0 0"/><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="9" effort="500"/></joint>
</robot>"""


@pytest.mark.parametrize(("turned", "by_zero"), [(0.3, 0.0), (0.0, 0.3)])
def test_a_body_that_is_turned_in_the_file_is_no_reason_against_a_result(tmp_path, turned, by_zero):
    """The last body, turned about its motor's axis, and that motor's zero come to the same torques: a caution either way."""
    robots = []
    for name, angle in (("real", turned), ("files", 0.0)):
        x, z = 0.25 * np.cos(angle), -0.25 * np.sin(angle)
        (tmp_path / f"{name}.urdf").write_text(PENDULUMS.format(x=x, z=z, turned=angle))
        robots.append(load(tmp_path / f"{name}.urdf"))
    real, files = robots
    rng = np.random.default_rng(2)
    terms = {part: {m: (0.2 * rng.normal(size=5)).tolist() for m in ("j1", "j2")} for part in ("sin", "cos")}
    log = noisy_log(real, FourierMotion(rate=200, duration=20, period=10, centre={"j1": 0.2, "j2": 0.1}, **terms))
    mistakes = told(files, off(log, files, {"j2": by_zero}))
    [zero] = [m for m in mistakes if "q_" in m.said]
    assert zeros_said(zero.said) == pytest.approx({"j2": by_zero or -turned}, rel=0.1)
    assert not any(m.of_log for m in mistakes)
    assert "unless those bodies are far from the real ones" in zero.text


def test_a_zero_that_no_single_body_passes_for_is_a_reason_although_other_bodies_explain_the_log(logs):
    robot, log = logs["irb2400"]
    [mistake] = told(robot, off(log, robot, {"m2": 0.3}))
    assert zeros_said(mistake.said) == pytest.approx({"m2": 0.3}, rel=0.02)
    assert mistake.of_files
    assert mistake.of_log
