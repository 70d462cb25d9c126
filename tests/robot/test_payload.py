"""A payload told from the link that carries it: against another URDF, against simulated truth, and with logs mixed up."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.simple_bodies import about_centre
from robodyn_pin.log_to_robot.rows import observe
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.payload import LoadSpec, carrying, loaded, with_tool
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import FrameSpec
from robodyn_pin.robot.shapes import shape
from robodyn_pin.robot.tools import ToolFile
from robodyn_pin.simulation.simulated_log import Noise, simulate

SIGMA = np.array([1.5, 1.5, 1.6, 0.16])
TOOL = LoadSpec(link="end_effector", mass=2.5, radius=0.05, length=0.12, at=(0.03, -0.02, -0.06))
RUN = {"fit": [{"file": "empty.csv"}, {"file": "tool.csv", "loaded": True}]}
IRB360 = load("irb360")


def course(
    robot: Robot, duration: float, amplitude: float, centre: float, seed: int, rate: float = 500
) -> FourierMotion:
    rng, names = np.random.default_rng(seed), robot.coordinates.names
    series = amplitude * rng.normal(size=(2, len(names), 5)) / np.arange(1, 6)
    series[:, [n == "psi" for n in names]] *= 20  # turns of the tool, not of an arm
    sin, cos = ({n: list(x) for n, x in zip(names, part, strict=True)} for part in series)
    return FourierMotion(
        rate=rate, duration=duration, period=duration, centre=dict.fromkeys(names, centre), sin=sin, cos=cos
    )


def identified(robot: Robot, empty: Log, full: Log, run: dict):
    """Fitted on the first 70 % of both logs."""
    logs, cut = [empty, replace(full, loaded=True)], int(0.7 * empty.size)
    run = RunFile.model_validate({"robot": robot.name, **RUN, **run})
    return estimate(robot, run, [Selected(x, 0, cut) for x in logs], [Selected(x, cut, x.size) for x in logs])


HELD = np.array([0.1, 0.0, 0.2])  # [m] of a point of 10 kg, from the frame that is named
PLACES = {
    "flange": ("flange", np.eye(4)),  # fixed to link 6, 85 mm from its frame
    "link6": ("link6", np.eye(4)),
    "tcp": ("flange", pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.5, 0.7), np.array([0.02, 0.03, 0.15])).homogeneous),
    "tip": ("flange", pin.SE3(pin.rpy.rpyToMatrix(0.0, np.pi / 2, 0.0), np.array([0.0, 0.0, 0.3])).homogeneous),
}


def arm_with_frames() -> Robot:
    """The IRB 2400 with a frame of its file, and one of a tool that weighs next to nothing."""
    arm = load("irb2400")
    tool = ToolFile.model_validate({
        "name": "gripper", "link": "flange", "mass": 1e-12, "centre": [0, 0, 0],
        "inertia": {"xx": 1e-12, "yy": 1e-12, "zz": 1e-12}, "frames": {"tip": {"at": [0, 0, 0.3], "rpy": [0, np.pi / 2, 0]}},
    })  # fmt: skip
    file = arm.file.model_copy(
        update={"frames": {"tcp": FrameSpec(link="flange", at=(0.02, 0.03, 0.15), rpy=(0.3, -0.5, 0.7))}}
    )
    return with_tool(build(arm.name, file, arm.urdf_xml, arm.urdf_path), tool)


def weight_of_the_point(arm: Robot, place: str, c: np.ndarray) -> np.ndarray:
    """Motor torques (6,) that 10 kg at HELD ask at rest: the slope of m g z, by central differences of the height."""
    link, placed = PLACES[place]
    point = (placed @ np.append(HELD, 1.0))[:3]
    model, data = arm.model, arm.model.createData()

    def height(c: np.ndarray) -> float:
        pin.framesForwardKinematics(model, data, arm.close(c[None], 0 * c[None], 0 * c[None]).q[0])
        return float(data.oMf[model.getFrameId(link)].act(point)[2])

    step = 1e-5
    return np.array([10 * 9.81 * (height(c + step * e) - height(c - step * e)) / (2 * step) for e in np.eye(len(c))])


@pytest.mark.parametrize("place", PLACES)
def test_a_payload_hangs_where_the_link_or_frame_is_that_its_file_names(place):
    arm = arm_with_frames()
    c = np.array([[0.3, 0.4, -0.2, 0.5, 0.6, -0.4]])
    expected = weight_of_the_point(arm, place, c[0])
    assert np.abs(expected).max() > 50  # N m
    body = LoadSpec(link=place, mass=10, radius=0, at=tuple(HELD))
    known = rp.inverse_dynamics(loaded(arm, body), c, 0 * c, 0 * c) - rp.inverse_dynamics(arm, c, 0 * c, 0 * c)
    np.testing.assert_allclose(known[0], expected, rtol=1e-7, atol=1e-7)
    unknown = carrying(arm, "payload", place)
    x = np.zeros(columns(unknown).layout.size)
    x[unknown.payload_columns] = shape(body)
    for path in ("kernel", "pinocchio"):
        with kernel_choice.forced(path):
            columns_of_payload = state_regressor(unknown, arm.close(c, 0 * c, 0 * c))
        np.testing.assert_allclose((columns_of_payload @ x)[0], expected, rtol=1e-7, atol=1e-7)


def test_columns_of_a_payload_give_the_torques_of_the_robot_whose_urdf_has_it():
    robot, other = carrying(load("dualv"), "payload", "platform"), load("dualv_payload")
    rng = np.random.default_rng(0)
    c, cd, cdd = (rng.uniform(-0.1, 0.1, (20, 3)) for _ in range(3))
    state = other.close(c, cd, cdd)
    x = columns(robot).values.copy()
    # The payload's own inertial of dualv_payload.urdf; its frame is the platform's.
    body = pin.Inertia(5.42, np.array([-0.023431734317343175, 0, 0]), np.diag([0.008, 0.008, 0.013124169741697417]))
    x[robot.payload_columns] = body.toDynamicParameters()
    np.testing.assert_allclose(
        state_regressor(robot, state) @ x, coordinate_efforts(other, state), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_a_link_without_inertia_carries_as_well_as_the_body_it_is_part_of(path):
    """The cross of a universal joint has no inertia; with all else taken away, the payload's columns are its torque."""
    robot = carrying(IRB360, "payload", "u2_cross")
    tool = TOOL.model_copy(update={"link": "u2_cross"})
    rng = np.random.default_rng(1)
    state = robot.close(*(rng.uniform(-0.2, 0.2, (5, 4)) for _ in range(3)))
    more = coordinate_efforts(loaded(IRB360, tool), state) - coordinate_efforts(IRB360, state)
    sphere = pin.Inertia.FromCylinder(2.5, 0.05, 0.12)
    sphere.lever = np.array(tool.at)
    with kernel_choice.forced(path):
        W = state_regressor(robot, state)[:, :, robot.payload_columns]
    np.testing.assert_allclose(W @ sphere.toDynamicParameters(), more, rtol=1e-9, atol=1e-9)


def test_the_log_without_payload_has_zeros_in_its_columns():
    robot, motion = carrying(IRB360, "payload", "end_effector"), course(IRB360, 0.1, 0.1, 0.25, 0)
    log = simulate(IRB360, motion, Noise(0 * SIGMA), ignore_limits=True)
    (block,) = observe(robot, log, Preparation(), [])
    assert not block.W[:, :, robot.payload_columns].any()
    assert block.W[:, :, : robot.payload_columns.start].any()


def test_the_irb360_shows_four_parameters_of_a_payload():
    """The platform translates, only psi turns: m, mcx, mcy, Izz, as in Gnad et al. (IRB 360)."""
    robot = carrying(IRB360, "payload", "end_effector")
    rng = np.random.default_rng(2)
    state = robot.close(*(rng.uniform(-s, s, (200, 4)) for s in (0.2, 3.0, 50.0)))
    W = state_regressor(robot, state)
    unloaded = W.copy()
    unloaded[:, :, robot.payload_columns] = 0
    rows = np.concatenate([unloaded, W]).reshape(-1, W.shape[2])
    labels = base_set(rows).labels(columns(robot).layout.labels)
    assert [x for x in labels if "payload" in x] == ["m(payload)", "mx(payload)", "my(payload)", "Izz(payload)"]


def test_a_tool_on_the_irb360_is_weighed_through_noise(tmp_path):
    motion = course(IRB360, 8, 0.12, 0.25, 3)
    empty = simulate(IRB360, motion, Noise(SIGMA, seed=4))
    full = simulate(loaded(IRB360, TOOL), motion, Noise(SIGMA, seed=5))
    more = {"payload": {"link": "end_effector"}, "essential": 30, "second_opinion": True}
    result = identified(IRB360, empty, full, more)
    for name in ("essential", "log-Cholesky"):
        np.testing.assert_allclose(result.scored[name].held_out.rmse, SIGMA, rtol=0.1)
    found = {q.name: q for q in result.payload}
    assert found["mass"].feasible == pytest.approx(2.5, rel=0.01)
    np.testing.assert_allclose([found[f"centre {k}"].feasible for k in "xy"], [0.03, -0.02], atol=0.003)
    for name, truth in {
        "mass": 2.5,
        "centre x": 0.03,
        "centre y": -0.02,
        "Izz about the centre": 2.5 * 0.05**2 / 2,
    }.items():
        assert abs(found[name].wls - truth) < 4 * found[name].deviation, name
    assert [q.name for q in result.payload if q.wls is not None] == [
        "mass", "centre x", "centre y", "Izz about the centre"
    ]  # fmt: skip

    folder = result.write(tmp_path / "tool")
    assert "In the frame of end_effector." in (folder / "report.html").read_text()
    assert json.loads((folder / "result.json").read_text())["payload"]["link"] == "end_effector"
    alone, tooled = load(folder), load(folder / "irb360_loaded.yaml")
    assert "payload" not in alone.bodies
    masses = [sum(i.mass for i in list(r.model.inertias)[1:]) for r in (alone, tooled)]
    assert masses[1] - masses[0] == pytest.approx(found["mass"].feasible)
    with pytest.raises(BadLog, match=r"payload mass is negative \(-2.5 kg\): are loaded and unloaded logs swapped"):
        identified(IRB360, full, empty, {"payload": {"link": "end_effector"}})


def test_a_payload_is_bounded_as_any_body_and_counts_not_in_the_robots_total_mass():
    motion = course(IRB360, 4, 0.12, 0.25, 3)
    empty, full = (simulate(r, motion, Noise(SIGMA, seed=4)) for r in (IRB360, loaded(IRB360, TOOL)))
    known = {
        "payload": {"link": "end_effector", "name": "gripper"},
        "bounds": {"bodies": {"gripper": [1, 2]}, "total_mass": [5, 6]}, "symmetry": {"gripper": ["Ixy Ixz Iyz = 0"]},
        "prior": {"bodies": {"gripper": {"mass": 1.5, "radius": 0.05, "length": 0.2, "at": [0, 0, -0.1]}}},
        "choose": {"prior_weight": [0.01, 0.1], "folds": 2},
    }  # fmt: skip
    result = identified(IRB360, empty, full, known)
    gripper = result.feasible.values[result.robot_before.payload_columns]
    assert gripper[0] == pytest.approx(2, rel=1e-4)  # the log says 2.5 kg
    np.testing.assert_allclose(gripper[[5, 7, 8]], 0, atol=1e-9)
    assert sum(i.mass for i in list(result.robot.model.inertias)[1:]) <= 6.001


@pytest.mark.parametrize("name", ["irb2400", "panda"])
def test_noise_free_logs_of_arms_give_the_whole_payload(name, request):
    if name == "panda":
        request.getfixturevalue("measured_logs")
        arm, link, centre = load(Path(__file__).parents[1] / "robots" / "panda.yaml"), "link7", 0.3
    else:
        arm, link, centre = load(name), "flange", 0.2
    tool = LoadSpec(link=link, mass=5, radius=0.08, length=0.2, axis="x", at=(0.06, -0.03, 0.1))
    motion, exact = course(arm, 6, 0.25, centre, 6, rate=1000), Noise(np.zeros(len(arm.motors.names)))
    empty, full = simulate(arm, motion, exact), simulate(loaded(arm, tool), motion, exact)
    result = identified(arm, empty, full, {"payload": {"link": link}, "prior": {"weight": 1e-6}, "rows": {"cut": 10}})
    cylinder = [5 * (3 * 0.08**2 + 0.2**2) / 12, 5 * 0.08**2 / 2]
    truth = [5, *tool.at, cylinder[1], 0, cylinder[0], 0, 0, cylinder[0]]
    # What is left comes from central differences of positions at 1 kHz.
    np.testing.assert_allclose([q.wls for q in result.payload], truth, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose([q.feasible for q in result.payload], truth, rtol=1e-5, atol=1e-5)


def test_two_logs_without_payload_differ_by_noise_and_are_not_called_swapped():
    motion = course(IRB360, 4, 0.12, 0.25, 3)
    logs = [simulate(IRB360, motion, Noise(SIGMA, seed=seed)) for seed in (5, 6)]
    found = [identified(IRB360, *both, {"payload": {"link": "end_effector"}}).payload[0] for both in (logs, logs[::-1])]
    assert min(mass.wls for mass in found) < 0
    assert all(abs(mass.wls) < 3 * mass.deviation for mass in found)


def test_swapped_logs_show_in_the_inertia_where_no_mass_is_seen():
    arm = load("irb2400")
    motion, exact = course(arm, 2, 0.25, 0.2, 6), Noise(np.zeros(6))
    robots = arm, loaded(arm, TOOL.model_copy(update={"link": "link1"}))
    empty, full = (simulate(r, motion, exact, ignore_limits=True) for r in robots)
    with pytest.raises(BadLog, match=r"payload Izz is negative .*swapped"):
        identified(arm, full, empty, {"payload": {"link": "link1"}})


def test_numbers_about_the_centre_are_those_of_the_body():
    body = pin.Inertia.Random()
    x = about_centre(body.toDynamicParameters())
    I = body.inertia
    np.testing.assert_allclose(
        x, [body.mass, *body.lever, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]], atol=1e-12
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fit: [{file: a.csv}]\npayload: {link: end_effector}", "all fit logs are unloaded"),
        ("fit: [{file: a.csv, loaded: true}]\npayload: {link: end_effector}", "all fit logs are loaded"),
        ("fit: [{file: a.csv}, {file: b.csv, loaded: true}]", "no payload is named"),
    ],
)
def test_logs_of_one_kind_are_refused(text, message):
    with pytest.raises(BadFile, match=message):
        parse_yaml(f"robot: irb360\n{text}", RunFile, "run.yaml")


def test_a_payload_on_nothing_that_moves_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'end_effector'"):
        carrying(IRB360, "payload", "end_efector")
    with pytest.raises(BadFile, match="on 'base' of robot 'irb360', which never moves"):
        carrying(IRB360, "payload", "base")
    with pytest.raises(BadFile, match="called 'platform' like a part"):
        carrying(IRB360, "platform", "end_effector")
