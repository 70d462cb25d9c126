"""Friction from sweeps past a reference angle: the motion, what is found in its log, gravity out, Table 5 back."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from robodyn_pin.errors import BadFile, BadLog, RobodynError, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.friction_tests.friction_file import FrictionFile, GridSpec
from robodyn_pin.friction_tests.loaded_motor import measure_sweeps
from robodyn_pin.friction_tests.result import curve_columns, friction_quantities, names
from robodyn_pin.friction_tests.strokes import width_of
from robodyn_pin.friction_tests.sweep_plan import plan_sweeps
from robodyn_pin.identification.friction_curve import Points, fit_curve
from robodyn_pin.identification.steady_motion import EvenMotion
from robodyn_pin.identification.sweep_passages import passages
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.sweeps import Sweep, SweepMotion, swept
from robodyn_pin.robot.export import robot_with_friction
from robodyn_pin.robot.robot import load

# Obal & Gierlak (IRB 2400), Table 5: Fs, Fc [N m], Fv [N m s/rad], omega_st [rad/s].
TABLE_5 = {
    "m1": (36.3, 24.2, 11.85, 0.0085), "m2": (39.2, 31.2, 8.323, 0.0031), "m3": (25.3, 16.9, 9.3613, 0.0094),
    "m4": (19.2, 7.9, 7.1228, 0.0175), "m5": (39.7, 13.7, 7.2654, 0.0176), "m6": (17.5, 8.8, 2.323, 0.0162),
}  # fmt: skip
PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 -0.3"/><mass value="10"/>
<inertia ixx="0.2" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="100" velocity="2"/></joint></robot>"""
SPEEDS = [0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5]
GRAIN = 1e-6  # [rad] of the encoder


def equation_54(w: np.ndarray, motor: str) -> np.ndarray:
    """The paper's friction, its sign sharp."""
    static, coulomb, viscous, bend = TABLE_5[motor]
    return np.sign(w) * (coulomb + (static - coulomb) * np.exp(-((w / bend) ** 2))) + viscous * w


def swept_log(motor: str, at: float, speeds=SPEEDS, noise=0.0) -> Log:
    """An IRB 2400 whose one motor sweeps: friction as printed, gravity of a pendulum, an offset of the torque sensor."""
    motion = SweepMotion(rate=250, sweeps=[Sweep(of=motor, at=at, speeds=list(speeds))])
    motors = tuple(TABLE_5)
    t, c, cd, cdd = swept(motion, motors)
    k, tau = motors.index(motor), np.zeros_like(c)
    tau[:, k] = equation_54(cd[:, k], motor) + 400 * np.sin(c[:, k] + 0.7) + 3.0 + 20 * cdd[:, k]
    tau += noise * np.random.default_rng(0).normal(size=tau.shape)
    return Log("sweep", t, np.round(c / GRAIN) * GRAIN, tau)


def sweep_file(text: str = "", **sweeps) -> FrictionFile:
    spec = {"at": {"m2": 0.1}, "speeds": SPEEDS} | sweeps
    whole = json.dumps(
        {"robot": "irb2400", "logs": [{"file": "log.csv"}], "model": "stribeck", "width": 1e-6, "sweeps": spec}
    )
    return parse_yaml(whole, FrictionFile, "friction.yaml")


def measured(tmp_path, log: Log, **sweeps):
    robot = load("irb2400")
    write_log(tmp_path / "log.csv", log, robot)
    return measure_sweeps(sweep_file(**sweeps), tmp_path, robot)


def test_motion_holds_each_speed_about_its_angle_in_both_directions_without_a_jump():
    motion = SweepMotion(rate=1000, sweeps=[Sweep(of="b", at=0.2, speeds=[0.01, 0.1], others={"a": -1.0})])
    t, c, cd, cdd = swept(motion, ("a", "b"))
    np.testing.assert_allclose(c[:, 0], -1, rtol=1e-12)
    crossing = np.flatnonzero(np.diff(np.sign(c[:, 1] - 0.2000001)))
    np.testing.assert_allclose(cd[crossing, 1], [0.01, -0.01, 0.1, -0.1], rtol=1e-9)
    for i, w in zip(crossing, [0.01, -0.01, 0.1, -0.1], strict=True):
        np.testing.assert_allclose(cd[i - 499 : i + 499, 1], w, rtol=1e-9)  # 1 s, the angle in its middle
    assert abs(cd[[0, -1]]).max() < 1e-3
    assert np.abs(np.diff(cdd, axis=0)).max() < 0.01  # at 1 kHz: no jump
    np.testing.assert_allclose(np.gradient(c[:, 1], t), cd[:, 1], atol=1e-5)


def test_steady_parts_and_crossings_are_found_where_they_are():
    log = swept_log("m2", 0.1)
    _, c, cd, _ = swept(SweepMotion(rate=250, sweeps=[Sweep(of="m2", at=0.1, speeds=SPEEDS)]), tuple(TABLE_5))
    even = EvenMotion(0.3, 1.6e-3, 0.05)
    found = passages(log.q[:, 1], log.rate, 0.1, even.parts(log.q[:, 1], log.rate, GRAIN), even)
    assert len(found) == 2 * len(SPEEDS)
    for passage, w in zip(found, np.repeat(SPEEDS, 2) * np.tile([1, -1], len(SPEEDS)), strict=True):
        np.testing.assert_allclose(passage.speed, w, rtol=2e-3)
        np.testing.assert_allclose(cd[passage.part, 1], w, rtol=1e-6)  # not a sample of a ramp
        assert np.interp(passage.crossing, np.arange(len(c)), c[:, 1]) == pytest.approx(0.1, abs=2 * GRAIN)


def test_table_5_comes_back_and_gravity_and_offset_fall_out(tmp_path):
    result = measured(tmp_path, swept_log("m2", 0.1)).motors["m2"]
    found = {q.name: q.value for q in friction_quantities(result.fits["stribeck"], "stribeck")}
    np.testing.assert_allclose(list(found.values()), TABLE_5["m2"], rtol=2e-3)
    # Mean of the pendulum's torque over each passage, symmetric about the angle: fast ones reach further.
    np.testing.assert_allclose(result.load[:8], 400 * np.sin(0.8) + 3, rtol=1e-4)
    assert result.load == pytest.approx(400 * np.sin(0.8) + 3, rel=0.01)
    assert result.warnings == ()


WRONG = {
    "right": (lambda q, tau: (q, tau), []),
    "sign of the torque": (lambda q, tau: (q, tau * [1, -1, 1, 1, 1, 1]), [r"friction would push m2 .* by 3\d.*sign of tau_m2, or of q_m2"]),
    "sign of the position": (lambda q, tau: (q * [1, -1, 1, 1, 1, 1], tau), [r"friction would push m2 the way it moves"]),
    "columns": (lambda q, tau: (q, tau[:, [0, 2, 1, 3, 4, 5]]), [r"is tau_m3, by [67]\d.* N m, and not tau_m2, by [01]\..*look swapped"]),
    "unit": (lambda q, tau: (q, 1000 * tau), [r"tau_m2 is .* N m at constant speed, and the limit of m2 is 1500: it looks like another unit"]),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_columns_that_friction_contradicts_are_told(tmp_path, robodyn_here, what):
    change, said = WRONG[what]
    log = swept_log("m2", 0.0, noise=0.5)
    log = replace(
        log, tau=log.efforts - 400 * np.sin(log.q + 0.7) * (np.arange(6) == 1)
    )  # as at a pose without gravity
    q, tau = change(log.q, log.efforts)
    result = measured(tmp_path, replace(log, q=q, tau=tau), at={"m2": 0.0})
    assert [bool(re.search(a, b)) for a, b in zip(said, result.motors["m2"].mistakes, strict=True)] == [True] * len(
        said
    )
    assert result.summary()["motors"]["m2"]["mistakes"] == list(result.motors["m2"].mistakes)
    assert result.known is not bool(said)  # no robot file gets the friction of wrong columns
    (tmp_path / "friction.yaml").write_text(
        f"{{robot: irb2400, logs: [{{file: log.csv}}], sweeps: {{at: {{m2: 0.0}}, speeds: {SPEEDS}}}}}"
    )
    done = robodyn_here("friction", tmp_path / "friction.yaml", "--out", tmp_path / "out")
    assert done.returncode == (3 if said else 0), done.stderr
    assert ("NOT GOOD" in done.stdout) == bool(said)


def test_every_joint_of_table_5_from_noisy_speeds_with_honest_intervals():
    """40 seeds a joint, 2 % noise of the friction: small version of figures/stribeck.py."""
    w = np.array(GridSpec(slowest=1e-4, count=120).speeds)
    inside, errors = [], []
    for j, (motor, truth) in enumerate(TABLE_5.items()):
        off = []
        for seed in range(40):
            y = equation_54(w, motor) * (1 + 0.02 * np.random.default_rng([j, seed]).normal(size=len(w)))
            points = Points(w, y, *np.ones((3, len(w))))
            fit = fit_curve(points, lambda w, s: curve_columns("stribeck", w, s, 1e-6), True, names("stribeck"), True)
            found = friction_quantities(fit, "stribeck")
            off.append([q.value / x - 1 for q, x in zip(found, truth, strict=True)])
            inside += [abs(q.value - x) < q.reach for q, x in zip(found, truth, strict=True)]
        errors.append(np.median(np.abs(off), axis=0))
    assert (np.array(errors) < [0.03, 0.03, 0.06, 0.15]).all()
    assert 0.91 < np.mean(inside) < 0.98  # 960 intervals, four of each fit together


def test_grid_is_that_of_equation_74():
    grid = GridSpec().speeds
    assert (grid[0], grid[-1]) == (1e-5, 0.5)
    steps = {w: round(b - a, 7) for w, a, b in zip(grid, grid, grid[1:], strict=False)}
    assert {x for w, x in steps.items() if w < 0.015 - 1e-9} == {1e-5}
    assert {x for w, x in steps.items() if 0.015 <= w < 0.2 - 1e-9} == {2e-4}
    assert {x for w, x in steps.items() if w >= 0.2} == {1e-3}
    subset = GridSpec(slowest=1e-4, fastest=0.5, count=60).speeds
    assert len(subset) == 60
    assert set(subset) <= set(grid)


def test_protocol_poses_the_others_for_least_gravity():
    planned = plan_sweeps(sweep_file(at={"m2": 0.0, "m4": 0.0, "m5": 0.3}, speeds=[0.01, 0.5]), load("irb2400"))
    second, fourth, fifth = planned.posed
    assert planned.heavy == [
        "m2"
    ]  # nothing but its own angle loads axis 2: the parallelogram keeps the upper arm's pose
    assert set(second.sweep.others.values()) == {0.0}
    assert fifth.load < 0.1 < 0.3 < fifth.range[1]
    assert fourth.load < 0.3


def test_protocol_simulated_and_measured_by_commands(robodyn, tmp_path):
    (tmp_path / "friction.yaml").write_text(
        "{robot: irb2400, model: stribeck, logs: [{file: log.parquet}], sweeps: {at: {m2: 0.2, m5: 0.1}, rate: 100, travel: 0.001,"
        " speeds: {slowest: 0.0005, fastest: 0.5, count: 14}}}"
    )
    done = robodyn("friction", tmp_path / "friction.yaml", "--protocol", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "m2" in done.stdout.split("removes gravity from")[1]
    assert len(pl.read_csv(tmp_path / "out" / "passages.csv")) == 2 * 2 * 14
    log = tmp_path / "log.parquet"
    done = robodyn(
        "simulate", "irb2400", "--motion", tmp_path / "out" / "sweeps.yaml", "--out", log, "--encoder-bits", 22
    )
    assert done.returncode == 0, done.stderr
    done = robodyn("friction", tmp_path / "friction.yaml", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["simulated"]
    for motor in ("m2", "m5"):
        table = found["motors"][motor]["table"]
        np.testing.assert_allclose([q["value"] for q in table.values()], TABLE_5[motor], rtol=0.02)
        for name in (f"friction_{motor}.svg", f"passages_{motor}.svg"):
            assert "SIMULATED" in (tmp_path / "out" / name).read_text()
    assert {e["of"] for e in found["efforts"]} == {"m2", "m5"}
    again = load(tmp_path / "out" / "irb2400_friction.yaml")
    known = {e.of: e for e in again.file.efforts}
    assert known["m5"].known
    np.testing.assert_allclose(known["m5"].initial, [13.7, 26.0, 7.2654], rtol=0.02)
    assert not known["m4"].known
    points = pl.read_csv(tmp_path / "out" / "friction.csv", comment_prefix="#")
    assert points.group_by("motor").len()["len"].to_list() == [14, 14]


@pytest.mark.parametrize(
    ("sweeps", "message"),
    [
        ({"speeds": [0.1]}, "gives 1 speed;"),
        ({"speeds": [0.1, 0.1]}, "gives 1 speed;"),
        ({"speeds": {"slowest": 0.499, "fastest": 0.4995}}, "gives 1 speed;"),
        ({"speeds": {"slowest": 0.1, "fastest": 0.6}}, r"grid of eq. \(74\) goes from 1e-05 to 0.5"),
    ],
)
def test_speeds_that_show_nothing_are_refused(sweeps, message):
    with pytest.raises(BadFile, match=message):
        sweep_file(**sweeps)


def test_what_cannot_be_planned_is_said():
    robot = load("irb2400")
    with pytest.raises(RobodynError, match=r"'m2' has 1 speeds beyond the motor's limit of 2\.618 per second, up to 3"):
        plan_sweeps(sweep_file(speeds=[0.1, 3.0]), robot)
    with pytest.raises(
        RobodynError,
        match=r"sweep of 'm3' at 1\.1, t = .* the position of 'm3' is 1\.\d+ rad, outside its limits -1\.0472 to 1\.13",
    ):
        plan_sweeps(sweep_file(at={"m3": 1.1}), robot)
    with pytest.raises(
        RobodynError, match=r"sweep of 'm2' at 1\.6, t = .* the position of '(j3|rod_joint)' is .*, outside its limits"
    ):
        plan_sweeps(sweep_file(at={"m2": 1.6}, pose={"m3": -1.0}), robot)
    with pytest.raises(UnknownName, match="motor 'm7'"):
        plan_sweeps(sweep_file(at={"m7": 0.0}), robot)
    with pytest.raises(UnknownName, match="'M1'"):
        plan_sweeps(sweep_file(pose={"M1": 0.0}), robot)


def test_friction_under_a_joints_name_or_behind_a_gear_is_replaced_not_doubled(tmp_path):
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    (tmp_path / "pendulum.yaml").write_text(
        "{urdf: pendulum.urdf, motors: [{name: m, of: {j: 100}}], efforts: [{of: j, model: coulomb, initial: 3, width: 0.02},"
        " {of: j, model: spring, initial: 5}]}"
    )
    robot = load(tmp_path / "pendulum.yaml")
    measured = [{"of": "m", "model": "coulomb", "initial": 0.04, "width": 2.0}]
    (tmp_path / "pendulum_friction.yaml").write_text(robot_with_friction(robot, measured, simulated=True))
    (tmp_path / "pendulum_friction.urdf").write_text(robot.urdf_xml)
    again = load(tmp_path / "pendulum_friction.yaml")
    assert [(e.spec.of, e.spec.model) for e in again.efforts] == [("m", "coulomb"), ("j", "spring")]
    run = parse_yaml("{robot: r, motor: m}", FrictionFile, "friction.yaml")
    assert width_of(run, robot, "m") == pytest.approx(2.0)  # 0.02 rad/s of the joint


def test_one_direction_is_refused_and_a_missing_partner_is_left_out(tmp_path):
    log = swept_log("m2", 0.1)
    back = np.minimum(np.diff(log.q[:, 1], prepend=log.q[0, 1]), 0)  # on the way back another motor moves as well
    one_way = Log("sweep", log.t, log.q + np.outer(np.cumsum(back), np.eye(6)[0]), log.tau)
    with pytest.raises(BadLog, match=r"'m2' passes its reference angle 0\.1 in the positive direction only"):
        measured(tmp_path, one_way)
    (warning,) = measured(tmp_path, log.section(0, log.size - 700)).motors["m2"].warnings
    assert warning.startswith("passages without a partner in the other direction are left out, 1 of them: ")


def test_a_log_without_sweeps_or_with_too_few_speeds_is_refused(tmp_path):
    with pytest.raises(BadLog, match="'m3' nowhere passes its reference angle 0 at constant speed"):
        measured(tmp_path, swept_log("m2", 0.1), at={"m3": 0.0})
    with pytest.raises(RobodynError, match="2 points at 2 different speeds are too few for 4 unknowns"):
        measured(tmp_path, swept_log("m2", 0.1, [0.01, 0.1]))
    with pytest.raises(BadFile, match="names no 'logs'"):
        measure_sweeps(sweep_file().model_copy(update={"logs": []}), tmp_path, load("irb2400"))
    with pytest.raises(BadFile, match="either 'motor'"):
        parse_yaml("{robot: irb2400}", FrictionFile, "friction.yaml")


def test_a_controller_follows_the_sweeps_and_its_log_shows_the_friction(robodyn, tmp_path):
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    (tmp_path / "pendulum.yaml").write_text(
        "{urdf: pendulum.urdf, motors: [j], efforts: [{of: j, model: stribeck, initial: [3, 2, 1.5], speed: 0.04, width: 0.005}]}"
    )
    (tmp_path / "friction.yaml").write_text(
        "{robot: pendulum.yaml, model: stribeck, logs: [{file: log.csv}], sweeps: {at: {j: 0.5}, rate: 250, hold: 0.6, ramp: 0.4,"
        " travel: 0.006, speeds: [0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.25, 0.5]}}"
    )
    # The controller knows the bodies, not the friction.
    (tmp_path / "frictionless.yaml").write_text("{urdf: pendulum.urdf, motors: [j]}")
    (tmp_path / "pd.yaml").write_text(
        "{law: feedforward, rate: 250, bandwidth: 10, damping: 0.9, model: frictionless.yaml}"
    )
    done = robodyn("friction", tmp_path / "friction.yaml", "--protocol", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    done = robodyn("simulate", tmp_path / "pendulum.yaml", "--motion", tmp_path / "out" / "sweeps.yaml",
                   "--controller", tmp_path / "pd.yaml", "--out", tmp_path / "log.csv")  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = robodyn("friction", tmp_path / "friction.yaml", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    motor = json.loads(done.stdout)["motors"]["j"]
    assert motor["points"] == 8
    values = [q["value"] for q in motor["table"].values()]
    np.testing.assert_allclose(values, [5, 3, 1.5, 0.04], rtol=0.1)  # at the slowest speed errors still settle
    assert motor["load at the reference"] == pytest.approx(10 * 9.81 * 0.3 * np.sin(0.5), rel=0.02)


def test_an_encoder_that_trembles_is_no_motion_of_the_others(tmp_path):
    log = swept_log("m2", 0.1)
    q = log.q.copy()
    q[:, 0] += 2e-4 * (np.arange(log.size) % 7 == 0)  # 15 bits; a tenth of the slowest passages
    found = measured(tmp_path, replace(log, q=q)).motors["m2"]
    np.testing.assert_allclose(found.points.speed, SPEEDS, rtol=1e-3)
