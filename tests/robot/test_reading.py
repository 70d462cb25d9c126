"""Other people's descriptions of loops load into the same robot; MuJoCo's own figures for its own files."""

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import robodyn_pin as rp
from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.reading import describe
from robodyn_pin.robot.robot import closure_of
from robodyn_pin.robot.urdf_tree import parse_urdf

BODIES = {  # name: mass, centre of mass, inertia about it: xx yy zz xy xz yz
    "crank": (1.0, (0.1, 0.01, 0.02), (0.002, 0.004, 0.005, 0.0001, -0.0002, 0.0003)),
    "coupler": (2.0, (0.25, -0.02, 0.0), (0.003, 0.05, 0.051, 0.001, 0.0, 0.0)),
    "follower": (1.5, (0.2, 0.0, -0.01), (0.002, 0.03, 0.031, 0.0, 0.001, 0.0)),
}
# A four-bar in the vertical plane: crank 0.2, coupler 0.5, follower 0.4, ground 0.5; joint: parent, x.
JOINTS = {
    "j_crank": ("base", "crank", 0.0),
    "j_coupler": ("crank", "coupler", 0.2),
    "j_follower": ("base", "follower", 0.5),
}
HOME = {"j_crank": 1.0, "j_coupler": -0.6, "j_follower": 1.5}
PINS = {"pin_a": ("coupler", 0.5), "pin_b": ("follower", 0.4)}


def urdf(drawn: dict[str, float] | None = None) -> str:
    """The tree, drawn with all joints at zero or, assembled, with them at `drawn`."""
    parts = ['<robot name="four_bar"><link name="base"/>']
    for name, (mass, com, I) in BODIES.items():
        inertia = " ".join(
            f'{key}="{value}"' for key, value in zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), I, strict=True)
        )
        origin = f'<origin xyz="{com[0]} {com[1]} {com[2]}"/>'
        parts.append(
            f'<link name="{name}"><inertial>{origin}<mass value="{mass}"/><inertia {inertia}/></inertial></link>'
        )
    for name, (parent, child, x) in JOINTS.items():
        turn = -float((drawn or {}).get(name, 0))
        parts.append(
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{x} 0 0" rpy="0 {turn!r} 0"/><axis xyz="0 -1 0"/>'
            '<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
        )
    for name, (parent, x) in PINS.items():
        parts.append(
            f'<link name="{name}"/><joint name="fix_{name}" type="fixed"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{x} 0 0"/></joint>'
        )
    return "\n".join([*parts, "</robot>"])


def body(name: str, x: float, inside: str = "", joint: str = "") -> str:
    mass, com, I = BODIES[name]
    return (
        f'<body name="{name}" pos="{x} 0 0"><joint name="j_{name}" axis="0 -1 0" {joint}/>'
        f'<inertial mass="{mass}" pos="{com[0]} {com[1]} {com[2]}" fullinertia="{" ".join(map(str, I))}"/>'
        f"{inside}</body>"
    )


OURS = """urdf: four_bar.urdf
motors: [j_crank]
home: {j_crank: 1.0, j_coupler: -0.6, j_follower: 1.5}
closures:
  - {name: pin, kind: point, between: [pin_a, pin_b]}
"""
GEPETTO = "closed_loop: [['pin_a', 'pin_b']]\ntype: ['3d']\nname_mot: ['crank']\n"
MJCF = f"""<mujoco model="four_bar"><compiler angle="radian"/><worldbody>
{body("crank", 0, body("coupler", 0.2, '<site name="pin_a" pos="0.5 0 0"/>'))}
{body("follower", 0.5, '<site name="pin_b" pos="0.4 0 0"/>')}
</worldbody><equality><connect name="pin" site1="pin_a" site2="pin_b"/></equality>
<actuator><motor joint="j_crank" gear="7"/></actuator><keyframe><key qpos="1.0 -0.6 1.5"/></keyframe></mujoco>"""


def save(folder: Path, **files: str) -> None:
    for name, text in files.items():
        stem, suffix = name.rsplit("_", 1)
        (folder / f"{stem}.{suffix}").write_text(text)


def test_one_four_bar_in_three_languages_is_one_robot(tmp_path):
    save(tmp_path, ours_yaml=OURS, four_bar_urdf=urdf(), four_bar_xml=MJCF)
    ours, mjcf = rp.load(tmp_path / "ours.yaml"), rp.load(tmp_path / "four_bar.xml")
    # Gepetto's YAML has no home: the URDF is drawn assembled.
    drawn = ours.home
    save(tmp_path, robot_yaml=GEPETTO, robot_urdf=urdf(dict(zip(list(ours.model.names)[1:], drawn, strict=True))))
    gepetto = rp.load(tmp_path / "robot.yaml")
    assert ours.redundancy == mjcf.redundancy == gepetto.redundancy == 1  # a ball in a plane
    t = np.linspace(0, 5, 100)[:, None]
    c, cd, cdd = 1 + 2 * np.sin(t), 2 * np.cos(t), -2 * np.sin(t)
    state, tau = ours.close(c, cd, cdd), rp.inverse_dynamics(ours, c, cd, cdd)
    for other, shift in ((mjcf, 0 * drawn), (gepetto, drawn)):
        assert other.motors.names == ("j_crank",)
        assert list(other.model.names) == list(ours.model.names)
        found = other.close(c - shift[0], cd, cdd)
        assert np.abs(found.q + shift - state.q).max() <= 1e-9
        for key in ("v", "a", "T", "g"):
            assert np.abs(getattr(found, key) - getattr(state, key)).max() <= 1e-9
        assert np.abs(rp.inverse_dynamics(other, c - shift[0], cd, cdd) - tau).max() <= 1e-9


def test_the_four_bar_has_mujocos_mass_matrix_on_the_loop(tmp_path):
    """T'MT with MuJoCo's M, and its bias, at our closed states."""
    save(tmp_path, four_bar_xml=MJCF)
    robot, theirs = rp.load(tmp_path / "four_bar.xml"), mujoco.MjModel.from_xml_string(MJCF)
    c, cd, cdd = np.random.default_rng(0).uniform(-1, 1, (3, 50, 1))
    closed, tau = robot.close(1 + c, cd, cdd), rp.inverse_dynamics(robot, 1 + c, cd, cdd)
    order = [robot.model.joints[robot.model.getJointId(theirs.joint(j).name)].idx_q for j in range(3)]
    state, M = mujoco.MjData(theirs), np.zeros((3, 3))
    for k in range(50):
        state.qpos[:], state.qvel[:] = closed.q[k, order], closed.v[k, order]
        mujoco.mj_forward(theirs, state)
        mujoco.mj_fullM(theirs, state, M)
        T = closed.T[k, order]
        assert T.T @ (M @ closed.a[k, order] + state.qfrc_bias) == pytest.approx(tau[k], abs=1e-9)


BALL_TREE = """<robot name="ball"><link name="base"/><link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="motor" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<link name="rod"><inertial><origin xyz="0.2 0 0"/><mass value="0.5"/>
<inertia ixx="0.001" iyy="0.002" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ball" type="revolute"><parent link="arm"/><child link="rod"/><origin xyz="0.3 0 0.1" rpy="0.1 0.2 0.3"/>
<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize(
    ("kind", "letters"), [("SPHERICAL", "XYZ"), ("CARDAN", "XY"), ("UJOINT_ZY", "ZY"), ("FIXED", "")]
)
def test_gepettos_joint_types_become_hinges_about_the_axes_of_the_joint(tmp_path, kind, letters):
    text = f"closed_loop: []\ntype: []\nname_mot: ['motor', 'ball']\njoint_name: [ball]\njoint_type: [{kind}]\n"
    save(tmp_path, robot_urdf=BALL_TREE, robot_yaml=text if letters else text.replace(", 'ball'", ""))
    robot = rp.load(tmp_path / "robot.yaml")
    assert robot.motors.names == ("motor", *(f"ball_{letter}" for letter in letters))
    q = np.array([0.5, 0.3, -0.4, 0.7][: 1 + len(letters)])
    turn = np.eye(3)
    for letter, angle in zip(letters, q[1:], strict=True):
        turn = turn @ pin.utils.rotate(letter.lower(), angle)
    expected = pin.utils.rotate("z", 0.5) @ pin.rpy.rpyToMatrix(0.1, 0.2, 0.3) @ turn
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    rod = data.oMf[robot.model.getFrameId("rod")]
    assert np.abs(rod.rotation - expected).max() <= 1e-12
    assert np.abs(rod.translation - pin.utils.rotate("z", 0.5) @ [0.3, 0, 0.1]).max() <= 1e-12


def test_a_ball_joint_of_mjcf_turns_about_three_hinges(tmp_path):
    text = """<mujoco><compiler angle="radian"/><worldbody><body name="arm" pos="0.1 0 0" euler="0.2 0 0">
    <joint name="ball" type="ball" pos="0 0 0.1"/><geom type="box" size="0.1 0.2 0.3"/></body></worldbody></mujoco>"""
    save(tmp_path, ball_xml=text)
    robot, theirs = rp.load(tmp_path / "ball.xml"), mujoco.MjModel.from_xml_string(text)
    assert robot.coordinates.names == ("ball_x", "ball_y", "ball_z")
    q = np.array([0.4, -0.3, 0.8])
    turn = pin.utils.rotate("x", q[0]) @ pin.utils.rotate("y", q[1]) @ pin.utils.rotate("z", q[2])
    state, data = mujoco.MjData(theirs), robot.model.createData()
    x, y, z, w = pin.Quaternion(turn).coeffs()
    state.qpos[:] = w, x, y, z
    mujoco.mj_forward(theirs, state)
    pin.framesForwardKinematics(robot.model, data, q)
    arm = data.oMf[robot.model.getFrameId("arm")]
    assert np.abs(arm.rotation - state.body("arm").xmat.reshape(3, 3)).max() <= 1e-12
    assert np.abs(arm.translation - state.body("arm").xpos).max() <= 1e-12


BAD = {
    "a free joint": (lambda t: t.replace('<joint name="j_crank" axis="0 -1 0" />', '<freejoint name="base"/>'), "'base' is free"),
    "a free joint without a name": (
        lambda t: t.replace('<joint name="j_crank" axis="0 -1 0" />', "<freejoint/>"), "the joint of body 'crank' is free",
    ),
    "a tendon": (lambda t: t.replace("<actuator>", "<tendon><fixed/></tendon><actuator>"), "<tendon> is not read"),
    "a spring by its time constant": (
        lambda t: t.replace('name="j_crank"', 'name="j_crank" springdamper="0.1 1"', 1), "give 'stiffness' and 'damping'",
    ),
    "a spring that stiffens": (lambda t: t.replace('name="j_crank"', 'name="j_crank" stiffness="3 1"', 1), "polynomial of the position"),
    "a ball that rubs": (
        lambda t: t.replace('name="j_follower" axis="0 -1 0"', 'name="j_follower" type="ball" damping="0.1"', 1), "'damping' of ball",
    ),
    "places in the world": (lambda t: t.replace("<compiler", '<compiler coordinate="global"'), "coordinates are global"),
    "a joint that is none": (lambda t: t.replace('name="j_crank"', 'name="j_crank" type="fixed"', 1), "type 'fixed', expected .* take it out"),
    "a part of a file": (lambda t: "<mujoco><asset/></mujoco>", "load the one that includes it"),
    "a motor on a tendon of nothing": (
        lambda t: t.replace('motor joint="j_crank"', 'motor tendon="j_crank"'), "fixed tendon 'j_crank'",
    ),
    "a motor of nothing": (lambda t: t.replace('motor joint="j_crank"', 'motor joint="j_krank"'), "'j_krank' in .*'j_crank'"),
    "a site of nothing": (lambda t: t.replace('site2="pin_b"', 'site2="pin_c"'), "'pin_c' in .*'pin_[ab]'"),
    "a curved coupling": (
        lambda t: t.replace("</equality>", '<joint joint1="j_crank" joint2="j_coupler" polycoef="0 1 2"/></equality>'),
        "not linear",
    ),
    "a point that nobody gives": (
        lambda t: t.replace("</equality>", '<connect name="p" body1="crank" body2="follower"/></equality>'),
        "'p' has no 'anchor'",
    ),
    "a short keyframe": (lambda t: t.replace('qpos="1.0 -0.6 1.5"', 'qpos="1.0"'), "1 positions, expected 3"),
    "SDF": (lambda t: "<sdf/>", "expected one model"),
    "half a file": (lambda t: t[:100], "not XML"),
    "a missing include": (lambda t: t.replace("<worldbody>", '<include file="no.xml"/><worldbody>'), r"includes 'no\.xml', which is not there"),
    "no motors": (lambda t: t.replace('<motor joint="j_crank" gear="7"/>', ""), "name 1 independent joints"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_mjcf_says_and_we_cannot_hold_is_an_error(tmp_path, case):
    spoil, expected = BAD[case]
    assert spoil(MJCF) != MJCF
    save(tmp_path, four_bar_xml=spoil(MJCF))
    with pytest.raises(RobodynError, match=expected) as caught:
        rp.load(tmp_path / "four_bar.xml")
    assert "\n" not in str(caught.value)


BAD_GEPETTO = {
    "a type too few": ("type: ['3d']", "type: []", "'type' has 0 entries, expected 1"),
    "a type of no kind": ("3d", "4d", "'4d' of the loop pin_a - pin_b"),
    "a motor of nothing": ("crank", "krank", "contains 'krank'"),
    "a frame of nothing": ("'pin_a'", "'pin_x'", "'pin_x' .*'pin_[ab]'"),
    "a joint of nothing": ("name_mot", "joint_name: [ball]\njoint_type: [SPHERICAL]\nname_mot", "no joint 'ball'"),
    "a joint of no type": (
        "name_mot",
        "joint_name: [j_coupler]\njoint_type: [SCREW]\nname_mot",
        "'SCREW' of 'j_coupler'",
    ),
    "an unknown key": ("name_mot", "name_mots", "'name_mots'; did you mean 'name_mot'"),
}


@pytest.mark.parametrize("case", BAD_GEPETTO)
def test_what_gepettos_yaml_cannot_say_is_an_error(tmp_path, case):
    old, new, expected = BAD_GEPETTO[case]
    save(tmp_path, robot_yaml=GEPETTO.replace(old, new, 1), robot_urdf=urdf(HOME))
    with pytest.raises(RobodynError, match=expected):
        rp.load(tmp_path / "robot.yaml")


def test_our_yaml_over_mjcf_counts_more_than_the_mjcf(tmp_path):
    save(tmp_path, four_bar_xml=MJCF, mine_yaml="urdf: four_bar.xml\nmotors: [j_follower]\n")
    robot = rp.load(tmp_path / "mine.yaml")
    assert robot.motors.names == robot.coordinates.names == ("j_follower",)
    assert [closure.name for closure in robot.loops.closures] == ["pin"]
    assert robot.file.home == HOME


RICH = """<mujoco model="rich"><compiler angle="degree" eulerseq="zyx"/>
<option gravity="0.5 0 -9"/>
<default><joint armature="0.01" damping="0.2"/>
  <default class="stiff"><joint axis="0 1 0" frictionloss="0.3"/><geom density="500"/></default></default>
<worldbody>
  <geom type="plane" size="1 1 0.1"/>
  <site name="wall" pos="0.1 0.9 0.3" euler="10 20 30"/>
  <body name="still" pos="0.3 0 0"><geom type="sphere" size="0.1"/></body>
  <body name="a" pos="0 0 0.5" euler="20 -30 50" childclass="stiff">
    <joint name="a" ref="20" range="-100 120"/>
    <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02"/>
    <body pos="0.2 0 0" xyaxes="0 1 0 -1 0 0">
      <joint name="b" type="slide" pos="0 0.01 0" range="-0.4 0.7"/>
      <joint name="c" pos="0.02 0.01 0.3" axis="1 2 3" ref="-15"/>
      <geom type="box" size="0.2 0.01 0.01" pos="0.25 0 0" mass="2"/>
      <body pos="0 0 0.1" name="rigid" quat="1 0.2 0.3 0"><geom type="cylinder" size="0.1 0.2" mass="0.3"/></body>
      <body name="tip" pos="0.5 0.1 0.1"><joint name="tip" pos="0.01 0.02 0.03" axis="0 0 1"/>
        <geom type="sphere" size="0.04"/>
        <site name="far" pos="0.1 0.05 -0.02" euler="40 10 -60"/></body>
    </body>
  </body>
  <body name="d" pos="0.5 0.6 0.7">
    <joint name="d1" axis="1 0 0"/><joint name="d2" axis="0 1 0"/><joint name="d3" axis="0 0 1" pos="0 0 0.1"/>
    <joint name="d4" type="slide" axis="1 1 0"/>
    <inertial pos="0.1 0.2 0.3" mass="2" fullinertia="0.1 0.12 0.13 0.01 -0.02 0.03"/>
    <site name="grip" pos="0.1 -0.2 0.3" quat="0.5 0.5 0.1 0.2"/>
    <body name="e" pos="0 0 0.4"><joint name="e1" axis="1 0 0"/><joint name="e2" axis="0 1 0"/>
      <geom type="box" size="0.1 0.2 0.3"/></body>
  </body>
</worldbody>
<equality>{equality}</equality></mujoco>"""
TIES = {
    "connect": '<connect name="loop" body1="tip" body2="e" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect name="loop" body1="tip" anchor="0.1 0.2 0.3"/>',
    "connect of sites": '<connect name="loop" site1="wall" site2="grip"/>',
    "weld as drawn": '<weld name="loop" body1="tip" body2="e"/>',
    "weld in a given pose": '<weld name="loop" body1="tip" body2="e" relpose="0.1 0.2 0.3 0.5 0.1 -0.7 0.2"/>',
    "weld of sites": '<weld name="loop" site1="far" site2="grip"/>',
    "coupling": '<joint name="loop" joint1="c" joint2="a" polycoef="0.1 2 0 0 0"/>',
}


@pytest.mark.parametrize("kind", TIES)
def test_a_rich_mjcf_has_mujocos_masses_and_loops(tmp_path, kind):
    """Several bodies in the world, several joints a body, joints beside the origin, drawn positions not zero."""
    text = RICH.replace("{equality}", TIES[kind])
    path = tmp_path / "rich.xml"
    path.write_text(text)
    file, urdf_text, _ = describe(path)
    model, _ = parse_urdf(urdf_text, path)
    model.gravity.linear = np.array(file.gravity)
    loops = Loops(model, [closure_of(spec) for spec in file.closures])
    theirs = mujoco.MjModel.from_xml_string(text)
    names = [theirs.joint(j).name for j in range(theirs.njnt)]
    order = [model.joints[model.getJointId(name)].idx_q for name in names]
    data, state, rng = model.createData(), mujoco.MjData(theirs), np.random.default_rng(0)
    armature = np.zeros(model.nv)
    for effort in file.efforts:
        if effort.model == "armature":
            armature[model.joints[model.getJointId(effort.of)].idx_v] = effort.initial
    expected = {"armature": theirs.dof_armature, "viscous": theirs.dof_damping, "coulomb": theirs.dof_frictionloss}
    for sort, values in expected.items():
        assert {e.of: e.initial for e in file.efforts if e.model == sort} == {
            name: value for name, value in zip(names, values.ravel(), strict=True) if value
        }
    for j in range(theirs.njnt):
        if theirs.jnt_limited[j]:
            k = order[j]
            assert [model.lowerPositionLimit[k], model.upperPositionLimit[k]] == pytest.approx(
                list(theirs.jnt_range[j])
            )
    assert {name: file.home.get(name, 0) for name in names} == pytest.approx(
        dict(zip(names, theirs.qpos0, strict=True))
    )
    for k in range(20):
        x = theirs.qpos0 + (rng.uniform(-1, 1, len(names)) if k else 0)
        v, a = rng.normal(size=(2, len(names)))
        q, qv, qa = (np.empty(model.nv) for _ in range(3))
        q[order], qv[order], qa[order] = x, v, a
        state.qpos[:], state.qvel[:], state.qacc[:] = x, v, a
        mujoco.mj_forward(theirs, state)
        state.qacc[:] = a
        M = np.zeros((len(names), len(names)))
        mujoco.mj_fullM(theirs, state, M)
        ours = pin.crba(model, data, q) + np.diag(armature)
        assert np.abs(ours[np.ix_(order, order)] - M).max() <= 1e-9
        torque = pin.rnea(model, data, q, qv, qa) + armature * qa
        assert np.abs(torque[order] - (M @ a + state.qfrc_bias)).max() <= 1e-9
        rows = loops.evaluate(q[None])
        _compare_loop(kind, theirs, state, rows, order)


def _compare_loop(kind: str, theirs, state, rows, order) -> None:
    """Residual and Jacobian against MuJoCo's, whose signs, axes and weighting of turns differ."""
    n = state.nefc
    theirs_phi, theirs_J = state.efc_pos[:n], state.efc_J.reshape(-1, theirs.nv)[:n]
    equality = state.efc_type[:n] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    theirs_phi, theirs_J = theirs_phi[equality], theirs_J[equality]
    phi, J = rows.phi[0], rows.J[0][:, order]
    assert len(phi) == len(theirs_phi)
    if kind == "coupling":
        assert phi == pytest.approx(theirs_phi)
        assert pytest.approx(theirs_J) == J
        return
    if kind.startswith("connect"):
        assert np.linalg.norm(phi) == pytest.approx(np.linalg.norm(theirs_phi), abs=1e-9)
        # The same point moves: the squared distance has one gradient, whatever the axes.
        assert pytest.approx(2 * theirs_J.T @ theirs_phi, abs=1e-9) == 2 * J.T @ phi
    if np.abs(theirs_phi).max() < 1e-9 or "weld" in kind:
        # MuJoCo measures a weld at another point and weighs turns: both vanish together.
        assert (np.linalg.norm(phi) < 1e-9) == (np.linalg.norm(theirs_phi) < 1e-9)


SOLVED = {  # joints that the loop determines well; the others are coordinates
    "connect": "b c tip",
    "connect to the world": "b c tip",
    "connect of sites": "d1 d3 d4",
    "weld as drawn": "a tip d1 d2 d3 e2",
    "weld in a given pose": "a b c tip e1 e2",
    "weld of sites": "b c tip d1 d2 d4",
}


@pytest.mark.parametrize("kind", SOLVED)
def test_mujoco_finds_our_closed_states_closed(tmp_path, kind):
    """Its residual is zero there, and its Jacobian has our null space."""
    text = RICH.replace("{equality}", TIES[kind])
    theirs = mujoco.MjModel.from_xml_string(text)
    free = [name for j in range(theirs.njnt) if (name := theirs.joint(j).name) not in SOLVED[kind].split()]
    save(tmp_path, rich_xml=text, mine_yaml=f"urdf: rich.xml\nmotors: [{', '.join(free)}]\n")
    robot = rp.load(tmp_path / "mine.yaml")
    order = [robot.model.joints[robot.model.getJointId(theirs.joint(j).name)].idx_q for j in range(theirs.njnt)]
    state = mujoco.MjData(theirs)
    c = robot.coordinates.S @ robot.home + np.linspace(-0.01, 0.01, 5)[:, None]
    closed = robot.close(c, 0 * c, 0 * c)
    for q, T in zip(closed.q, closed.T, strict=True):
        state.qpos[:] = q[order]
        mujoco.mj_forward(theirs, state)
        equality = state.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        assert np.abs(state.efc_pos[equality]).max() <= 1e-9
        assert np.abs(state.efc_J.reshape(-1, theirs.nv)[equality] @ T[order]).max() <= 1e-9


def test_a_file_that_is_not_there_is_told_with_what_to_do(tmp_path: Path):
    (tmp_path / "arm.yaml").write_text("urdf: amr.urdf\n")
    (tmp_path / "arm.urdf").write_text("<robot/>")
    with pytest.raises(RobodynError, match=r"amr\.urdf: No such file or directory; did you mean 'arm\.urdf'\?"):
        rp.load(tmp_path / "arm.yaml")
    with pytest.raises(RobodynError, match=r"there is no folder '.*/nowhere'; check the path"):
        rp.load(tmp_path / "nowhere" / "x.urdf")
