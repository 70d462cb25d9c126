"""Gains of drives from a known payload: logs of a simulated arm whose torques are written in units of their own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog, WrongMobility
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.robot.payload import LoadSpec, loaded
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile

RATE, ROWS = 100.0, 3000
GAINS = np.array([0.02, 3.5])  # N m per unit of the log
KNOWN = {"mass": 1.5, "radius": 0.06, "at": [0.03, 0.0, 0.25]}
LINK = """<link name="link{k}"><inertial><origin xyz="0.02 0.01 0.2"/><mass value="2"/><inertia ixx="0.05" iyy="0.05" izz="0.02" ixy="0" ixz="0"
iyz="0"/></inertial></link><joint name="j{k}" type="revolute"><parent link="{before}"/><child link="link{k}"/><origin xyz="0 0 0.3"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="99" velocity="9"/></joint>"""
FRICTION = [
    {"of": f"j{k}", "model": model, "initial": value}
    for k in (1, 2)
    for model, value in (("coulomb", 0.5), ("viscous", 0.3))
]


@pytest.fixture(scope="module")
def robot() -> Robot:
    urdf = f'<robot name="arm"><link name="base"/>{LINK.format(k=1, before="base")}{LINK.format(k=2, before="link1")}</robot>'
    return build("arm", RobotFile.model_validate({"urdf": "arm.urdf", "efforts": FRICTION}), urdf, Path("arm.urdf"))


def log_of(robot: Robot, seed: int, carries: bool, noise: float, known: dict) -> Log:
    rng, t = np.random.default_rng(seed), np.arange(ROWS) / RATE
    w, phase = 2 * np.pi * rng.uniform(0.05, 0.8, (5, 2)), rng.uniform(0, 6, (5, 2))
    angle, size = t[:, None, None] * w + phase, 0.5 / np.maximum(w / 2, 1)
    q, dq, ddq = ((size * x).sum(1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
    carrier = loaded(robot, LoadSpec.model_validate({"link": "link2", **known})) if carries else robot
    tau = rp.inverse_dynamics(carrier, q, dq, ddq)
    tau = (tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape)) / GAINS
    found = Log(f"log {carries}", t, q + 1e-6 * rng.normal(size=q.shape), tau, simulated=True, loaded=carries)
    return replace(found, quality=quality_of(found, robot))


def identified(robot: Robot, seed: int, noise: float = 0.02, **asked: object) -> Result:
    specs = [{"file": "log False"}, {"file": "log True", "loaded": True}]
    payload = asked.get("payload", {"link": "link2", "known": KNOWN})
    assert isinstance(payload, dict)
    run = {
        "robot": "arm",
        "fit": specs,
        "payload": payload,
        "gains": "fit",
        "instruments": False,
        "coulomb_width": 0.02,
    } | asked
    logs = [log_of(robot, seed + k, carries, noise, payload["known"]) for k, carries in enumerate((False, True))]
    return estimate(
        robot, RunFile.model_validate(run), *split_last([Selected(x, 0, x.size, x.name) for x in logs], cut=0)
    )


def test_gains_are_found_with_honest_deviations(robot):
    off = []
    for seed in range(0, 12, 2):
        gains = identified(robot, seed).settings.gains
        off.append([(g.value - truth) / g.deviation for g, truth in zip(gains, GAINS, strict=True)])
        assert all(g.deviation < 0.05 * g.value for g in gains)
    assert np.abs(off).max() < 4  # standard deviations
    assert 0.3 < np.sqrt(np.mean(np.square(off))) < 2  # 12 draws of a chi: outside once in ten thousand


def test_noise_of_the_torques_makes_no_bias(robot):
    """A payload of a tenth of the torque under noise of a fifth: a fit with the noisy torque on the right would lose most of the gain."""
    gains = [identified(robot, seed, noise=0.2).settings.gains for seed in range(0, 12, 2)]
    ratio = np.array([[g.value for g in each] for each in gains]) / GAINS
    deviation = np.array([[g.deviation for g in each] for each in gains]) / GAINS
    assert np.abs(ratio.mean(axis=0) - 1).max() < 4 * deviation.mean() / np.sqrt(6)


def test_bodies_and_score_are_in_newton_metres_and_the_result_reads_the_next_log(robot, tmp_path):
    result = identified(robot, 0)
    mass = next(q.feasible for q in result.payload if q.name == "mass")
    assert mass == pytest.approx(KNOWN["mass"], rel=0.05)
    assert result.run.gains is None
    assert [result.run.scale.torque[m] for m in ("j1", "j2")] == pytest.approx(GAINS, rel=0.05)
    assert [g["motor"] for g in result.summary()["gains"]] == ["j1", "j2"]
    viscous = [
        result.robot.efforts[k].initial[0]
        for k in range(len(result.robot.efforts))
        if result.robot.efforts[k].spec.model == "viscous"
    ]
    assert viscous == pytest.approx([0.3, 0.3], rel=0.15)


def test_what_cannot_be_known_is_refused(robot):
    with pytest.raises(ValidationError, match="'gains: fit' needs a payload that is known"):
        RunFile.model_validate({"robot": "arm", "fit": [{"file": "a"}], "gains": "fit"})
    light = {"link": "link2", "known": {"mass": 0.01, "radius": 0.01}}
    with pytest.raises(BadLog, match="does not show the gain of j1, j2 to 10 %"):
        identified(robot, 0, payload=light)
    sure = replace(
        robot, efforts=tuple(replace(e, spec=e.spec.model_copy(update={"known": True})) for e in robot.efforts[:1])
    )
    with pytest.raises(
        BadFile, match="needs efforts that are all unknown; robot 'arm' says 'known: true' of some on j1"
    ):
        identified(sure, 0)
    dual = load("dualv")
    run = {"robot": "dualv", "fit": [{"file": "a"}, {"file": "b", "loaded": True}], "gains": "fit"}
    run["payload"] = {"link": "platform", "known": {"mass": 5.0, "radius": 0.07}}
    t = np.arange(200) / 100
    still = Log("a", t, np.zeros((200, 4)), np.zeros((200, 4)), simulated=True)
    with pytest.raises(WrongMobility, match="looks at each motor by itself"):
        estimate(dual, RunFile.model_validate(run), *split_last([Selected(still, 0, 200)], cut=0))
