"""Robots written for other programs: MuJoCo's own equations of the written file, and ways there and back."""

import re
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from mechanisms import MECHANISMS, sdf, worst_torque_error

import robodyn_pin as rp
from robodyn_pin.closures.kinds import Coupling
from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.errors import BadFile
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.first_file import first_file
from robodyn_pin.robot.mjcf_out import mjcf_of
from robodyn_pin.robot.reading import describe
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.sdf_out import sdf_of
from robodyn_pin.robot.urdf_out import urdf_and_file
from robodyn_pin.urdf import catalogue

ROBOTS = [name for name in catalogue() if name != "irb2400_printed"]  # no body of its can exist


def led_by_joints(robot: Robot) -> list[str]:
    """A tree joint for each coordinate."""
    names = list(robot.model.names)[1:]
    return [names[int(np.abs(row).argmax())] for row in robot.coordinates.S]


def rigid(robot: Robot, joints: list[str], armature: bool = False) -> Robot:
    """The same robot led and driven by joints, without friction."""
    kept = tuple(e.spec for e in robot.efforts if armature and e.spec.model == "armature")
    changed = {"motors": joints, "coordinates": joints, "efforts": list(kept), "limits": {}, "gear": {}}
    return build(robot.name, robot.file.model_copy(update=changed), robot.urdf_xml, robot.urdf_path)


def written(path: Path, text: str, joints: list[str]) -> Robot:
    path.write_text(text)
    file, urdf, tree = describe(path)
    again = build(path.stem, file.model_copy(update={"coordinates": joints, "motors": joints}), urdf, tree)
    return replace(again, efforts=())


def states(robot: Robot, n: int = 10) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    c = robot.coordinates.S @ robot.home + 0.05 * rng.uniform(-1, 1, (n, len(robot.coordinates.names)))
    return c, *rng.normal(size=(2, *c.shape))


def mujoco_efforts(
    model: mujoco.MjModel, joints: list[str], q: np.ndarray, cd: np.ndarray, cdd: np.ndarray
) -> np.ndarray:
    """Return what MuJoCo asks along `joints` (d,) of a motion: T'(M a + bias), v and a from the Jacobian of its equalities and its differences."""
    data, h = mujoco.MjData(model), 1e-6
    names = [model.joint(k).name for k in range(model.njnt)]
    S = np.array([[float(joint == name) for name in names] for joint in joints])

    def rows(at: np.ndarray) -> np.ndarray:
        data.qpos[:] = at
        mujoco.mj_forward(model, data)
        ties = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        assert np.abs(data.efc_pos[ties]).max(initial=0) < 1e-5  # of h beside the state; 1e-9 at it
        return data.efc_J.reshape(-1, model.nv)[ties].copy()

    def solved(J: np.ndarray, right: np.ndarray, along: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(np.concatenate([J, S]), np.concatenate([right, along]), rcond=1e-10)[0]

    J = rows(q)
    T = solved(J, np.zeros((len(J), len(S))), np.eye(len(S)))
    v = T @ cd
    rate = (rows(q + h * v) - rows(q - h * v)) / (2 * h)
    a = solved(J, -rate @ v, cdd)
    data.qvel[:] = v
    rows(q)
    assert np.abs(data.efc_pos).max(initial=0) < 1e-9
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return np.asarray(T.T @ (M @ a + data.qfrc_bias))


@pytest.mark.parametrize("name", ROBOTS)
def test_init_brings_up_what_is_written_and_mujoco_asks_the_same_torques_of_it(tmp_path: Path, name: str):
    """The first robot file of each MJCF twin, without a word typed, in motion."""
    (tmp_path / "r.xml").write_text(mjcf_of(load(name))[0])
    first = first_file(tmp_path / "r.xml", tmp_path / "r.yaml", lambda question, answers: answers[0])
    (tmp_path / "r.yaml").write_text(first.text)
    robot = load(tmp_path / "r.yaml")
    joints = led_by_joints(load(name))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml"))
    robot = rigid(robot, joints, armature=True)
    c, cd, cdd = states(robot)
    cd = 0.3 * cd
    q, tau = robot.close(c, cd, cdd).q, inverse_dynamics(robot, c, cd, cdd)
    order = [list(robot.model.names).index(model.joint(k).name) - 1 for k in range(model.njnt)]
    for k in range(len(c)):
        wanted = mujoco_efforts(model, joints, q[k, order], cd[k], cdd[k])
        np.testing.assert_allclose(tau[k], wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("to", [mjcf_of, sdf_of])
@pytest.mark.parametrize("name", ROBOTS)
def test_there_and_back_keeps_torques_and_names(tmp_path: Path, name: str, to):
    robot = load(name)
    if to is sdf_of and any(isinstance(c, Coupling) for c in robot.loops.closures):
        pytest.skip("SDF couples two joints only")
    joints = led_by_joints(robot)
    again = written(tmp_path / ("r.xml" if to is mjcf_of else "r.sdf"), to(robot)[0], joints)
    assert set(again.model.names) == set(robot.model.names)
    assert {c.name.removesuffix("_axis") for c in again.loops.closures} == {c.name for c in robot.loops.closures}
    robot = rigid(robot, joints)
    at = states(robot)
    tau = inverse_dynamics(robot, *at)
    np.testing.assert_allclose(inverse_dynamics(again, *at), tau, atol=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_urdf_and_robot_file_are_the_robot(tmp_path: Path, name: str):
    robot = load(name)
    for suffix, text in urdf_and_file(robot, "again")[0].items():
        (tmp_path / f"again{suffix}").write_text(text)
    again, at = load(tmp_path / "again.yaml"), states(robot)
    assert again.motors.names == robot.motors.names
    tau = inverse_dynamics(robot, *at)
    np.testing.assert_allclose(inverse_dynamics(again, *at), tau, atol=1e-12 * np.abs(tau).max())


@pytest.mark.parametrize("name", MECHANISMS)
def test_from_sdf_to_mjcf(tmp_path: Path, name: str):
    """The world's numbers of the mechanism are the oracle, through two files."""
    (tmp_path / "robot.sdf").write_text(sdf(MECHANISMS[name]))
    motors = ", ".join(MECHANISMS[name].motors)
    (tmp_path / "robot.yaml").write_text(f"urdf: robot.sdf\nmotors: [{motors}]\n")
    robot = load(tmp_path / "robot.yaml")
    text = mjcf_of(robot)[0]
    (tmp_path / "again.xml").write_text(text)
    again = load(tmp_path / "again.xml")
    assert worst_torque_error(again, MECHANISMS[name]) < 1e-9
    assert set(again.model.names) == set(robot.model.names) == {"universe", *(j.name for j in MECHANISMS[name].tree)}
    kept = {c.name.removesuffix("_axis") for c in again.loops.closures}
    assert kept == {c.name for c in robot.loops.closures} == {j.name for j in MECHANISMS[name].cut}


@pytest.fixture(scope="module", params=["fivebar", "delta3"])
def identified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of a log whose robot weighs a third more than the files say."""
    robot = load(request.param)
    heavy = re.sub(r'<mass value="(.+?)"', lambda m: f'<mass value="{1.3 * float(m[1])}"', robot.urdf_xml)
    rng, t = np.random.default_rng(4), np.arange(800) / 100
    shape = (4, len(robot.coordinates.names))
    w, phase = 2 * np.pi * rng.uniform(0.1, 1.5, shape), rng.uniform(0, 6, shape)
    angle = t[:, None, None] * w + phase
    c, cd, cdd = (0.08 * x.sum(1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
    c = c + robot.coordinates.S @ robot.home
    tau = inverse_dynamics(build(robot.name, robot.file, heavy, robot.urdf_path), c, cd, cdd)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    folder = tmp_path_factory.mktemp("identified") / request.param
    assert robot.motors.names == robot.coordinates.names
    rp.identify(robot, Log("log", t, c, tau, simulated=True)).write(folder)
    return folder


def test_an_identified_robot_is_the_same_in_every_format_and_in_mujoco(identified: Path, tmp_path: Path, robodyn):
    """Of the folder, by the command; bodies that differ from those of the files by what was identified."""
    found, files = load(identified), load(identified.name)
    joints = led_by_joints(found)
    bare, at = rigid(found, joints), states(found)
    tau = inverse_dynamics(bare, *at)
    size = np.abs(tau).max()
    assert np.abs(inverse_dynamics(rigid(files, joints), *at) - tau).max() > 0.1 * size
    for to, name in (("mjcf", "r.xml"), ("sdf", "r.sdf"), ("urdf", "r.urdf")):
        done = robodyn("export", identified, "--to", to, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    whole = load(tmp_path / "r.yaml")
    wanted = inverse_dynamics(found, *at)
    assert {e.spec.model for e in whole.efforts} == {e.spec.model for e in found.efforts} != set()
    np.testing.assert_allclose(inverse_dynamics(whole, *at), wanted, atol=1e-9 * np.abs(wanted).max())
    for name in ("r.xml", "r.sdf"):
        again = written(tmp_path / name, (tmp_path / name).read_text(), joints)
        assert set(again.model.names) == set(found.model.names)
        assert {c.name.removesuffix("_axis") for c in again.loops.closures} == {c.name for c in found.loops.closures}
        np.testing.assert_allclose(inverse_dynamics(again, *at), tau, atol=1e-9 * size)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml"))
    driven = rigid(found, joints, armature=True)
    c, cd, cdd = at[0], 0.3 * at[1], at[2]
    q, tau = driven.close(c, cd, cdd).q, inverse_dynamics(driven, c, cd, cdd)
    order = [list(found.model.names).index(model.joint(k).name) - 1 for k in range(model.njnt)]
    for k in range(len(c)):
        wanted = mujoco_efforts(model, joints, q[k, order], cd[k], cdd[k])
        np.testing.assert_allclose(tau[k], wanted, atol=1e-9 * np.abs(wanted).max())


def test_losses_and_gears_are_written_where_mjcf_has_them(tmp_path: Path):
    model = mujoco.MjModel.from_xml_string(mjcf_of(load("irb360"))[0])
    assert model.joint("phi1").damping[0] == 1.727
    assert model.joint("phi1").frictionloss[0] == 4.667
    assert model.joint("phi1").armature[0] == 0.188
    assert [model.actuator(k).name for k in range(model.nu)] == ["phi1", "phi2", "phi3", "psi"]


def test_what_cannot_be_written_is_one_sentence():
    with pytest.raises(BadFile, match=r"'screw' couples 3 joints, and SDF's <mimic> two; write MJCF"):
        sdf_of(load("scara"))
    with pytest.raises(BadFile, match="'link2' cannot exist, and MuJoCo refuses it; robodyn repair"):
        mjcf_of(load("irb2400_printed"))
    robot = load("fivebar")
    text = robot.urdf_xml.replace('xyz="-0.1 0 0"', 'xyz="-0.12 0 0"')
    with pytest.raises(BadFile, match=r"'pin' is open by 0\.02 where all joints are at zero"):
        sdf_of(build("apart", robot.file, text, robot.urdf_path))
    rod = {"name": "bar", "kind": "rod", "between": ["rod_1_end", "rod_2_end"], "length": 0.1}
    held = robot.file.model_validate(
        robot.file.model_dump() | {"closures": [rod], "coordinates": ["j1", "j2", "p1"], "motors": None}
    )
    with pytest.raises(BadFile, match="'bar' is rod, which MJCF has no equality for"):
        mjcf_of(build("rod", held, text.replace("-0.12 0 0", "-0.2 0 0"), robot.urdf_path))


def test_the_command_says_what_is_not_held_and_writes_over_nothing_it_reads(tmp_path: Path, robodyn):
    done = robodyn("export", "irb360", "--to", "mjcf", "--out", tmp_path / "a.xml")
    assert done.returncode == 0
    assert "u2_cross" in done.stdout
    done = robodyn("export", "irb360", "--to", "urdf", "--out", tmp_path / "a.urdf")
    assert done.returncode == 0
    assert load(tmp_path / "a.yaml").model.nv == 27
    again = robodyn("export", tmp_path / "a.yaml", "--to", "urdf", "--out", tmp_path / "a.urdf")
    assert again.returncode == 1
    assert "is one of the files that are read" in again.stderr
    assert "did you mean 'sdf'" in robodyn("export", "irb360", "--to", "usd").stderr
