"""Bodies of MJCF files have the masses, centres and inertias that MuJoCo gives them, or the file is refused by name."""

import mujoco
import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.errors import RobodynError


@pytest.fixture(autouse=True)
def away(tmp_path, monkeypatch):
    """MuJoCo writes its warnings into a file of the folder that it runs in."""
    monkeypatch.chdir(tmp_path)


TURNS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")


def some(rng: np.random.Generator, n: int, low: float = -1, high: float = 1) -> str:
    return " ".join(f"{x:.6f}" for x in rng.uniform(low, high, n))


def turn(rng: np.random.Generator) -> str:
    """An orientation in one of MuJoCo's five ways, none of them normalised."""
    kind = TURNS[rng.integers(5)]
    size = {"quat": 4, "axisangle": 3, "xyaxes": 6, "zaxis": 3, "euler": 3}[kind]
    return f'{kind}="{some(rng, size)}{" 73" if kind == "axisangle" else ""}"'


def shape(rng: np.random.Generator) -> str:
    kind = ("sphere", "capsule", "cylinder", "box", "ellipsoid")[rng.integers(5)]
    given = ("", 'mass="0.7"', 'density="300"', 'class="light"', 'class="heavy"', 'group="3"', 'group="4"')[
        rng.integers(7)
    ]
    ends = kind not in ("sphere",) and rng.random() < 0.3
    place = f'fromto="{some(rng, 6)}"' if ends else f'pos="{some(rng, 3, -0.2, 0.2)}" {turn(rng)}'
    return f'<geom type="{kind}" size="{some(rng, 3, 0.05, 0.3)}" {place} {given}/>'


def inertial(rng: np.random.Generator) -> str:
    if rng.random() < 0.5:
        moments = f'diaginertia="{some(rng, 3, 1.0, 1.3)}" {turn(rng)}'
    else:
        moments = f'fullinertia="{some(rng, 3, 1, 1.3)} {some(rng, 3, -0.1, 0.1)}"'
    return f'<inertial pos="{some(rng, 3, -0.2, 0.2)}" mass="{rng.uniform(1, 3):.4f}" {moments}/>'


def bodies(rng: np.random.Generator, count: int) -> str:
    """A random tree: joints of both kinds beside the origin, bodies with shapes, or <inertial>, or both, some fixed."""
    text, open_ = [], 0
    for k in range(count):
        while open_ and rng.random() < 0.3:
            text.append("</body>")
            open_ -= 1
        child = ' childclass="light"' if rng.random() < 0.2 else ""
        text.append(f'<body name="b{k}" pos="{some(rng, 3, -0.4, 0.4)}" {turn(rng)}{child}>')
        open_ += 1
        if k == 0 or rng.random() < 0.8:
            kind = "slide" if rng.random() < 0.25 else "hinge"
            more = 'damping="0.4" armature="0.05"' if rng.random() < 0.5 else ""
            text.append(
                f'<joint name="j{k}" type="{kind}" axis="{some(rng, 3)}" pos="{some(rng, 3, -0.1, 0.1)}" {more}/>'
            )
        text.append(inertial(rng) if rng.random() < 0.4 else "<geom size='0.1'/>")
        text += [shape(rng) for _ in range(rng.integers(3))]
    return "".join(text) + "</body>" * open_


DEFAULTS = """<default><geom density="800"/><default class="light"><geom density="90" rgba="1 0 0 1"/><joint damping="0.1"/>
<site pos="1 2 3"/><default class="heavy"><geom mass="2.5"/></default></default></default>"""
SETTINGS = {
    "plain": ("", ""),
    "radians": ('angle="radian"', ""),
    "fixed axes": ('eulerseq="XYZ"', ""),
    "mixed axes": ('eulerseq="zYx"', ""),
    "groups": ('inertiagrouprange="0 3"', ""),
    "shapes only": ('inertiafromgeom="true"', ""),
    "a total": ('settotalmass="7.5"', ""),
    "bounds": ('boundmass="2" boundinertia="0.4"', ""),
    "bounds and a total": ('boundmass="2" boundinertia="0.4" settotalmass="3" balanceinertia="true"', ""),
    "visuals discarded": ('discardvisual="true"', ""),
    "no gravity": ("", '<option><flag gravity="disable"/></option>'),
    "another gravity": ("", '<option gravity="1 2 -3"/>'),
    "no dampers": ("", '<option><flag damper="disable"/></option>'),
}


def compared(folder, text: str, rng: np.random.Generator) -> None:
    """Torques of random motions: only mass, centre and inertia of all bodies make them equal."""
    path = folder / "robot.xml"
    path.write_text(text)
    theirs, robot = mujoco.MjModel.from_xml_string(text), rp.load(path)
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    names = [theirs.joint(j).name for j in range(theirs.njnt)]
    order = [robot.model.joints[robot.model.getJointId(name)].idx_q for name in names]
    data = mujoco.MjData(theirs)
    q, v, a = rng.uniform(-1, 1, (3, 5, theirs.nv))
    ours = np.empty((3, 5, theirs.nv))
    ours[:, :, order] = q, v, a
    asked = coordinate_efforts(robot, robot.close(*ours))
    for k in range(5):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(theirs, data)
        np.testing.assert_allclose(asked[k, order], data.qfrc_inverse, rtol=0, atol=1e-9 * max(1, np.abs(asked).max()))


@pytest.mark.parametrize("case", SETTINGS)
def test_random_trees_have_mujocos_inverse_dynamics(tmp_path, case):
    compiler, option = SETTINGS[case]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        text = (
            f"<mujoco><compiler {compiler}/>{option}{DEFAULTS}<worldbody><geom type='plane' size='1 1 1'/>"
            f"<body name='still'>{shape(rng)}</body>{bodies(rng, 6)}</worldbody></mujoco>"
        )
        compared(tmp_path, text, rng)


def test_every_body_by_itself_has_mujocos_mass_centre_and_inertia(tmp_path):
    """One moving body with each shape, and what the file says of them by hand beside it: a capsule is no cylinder."""
    rng = np.random.default_rng(3)
    for kind in ("sphere", "capsule", "cylinder", "box", "ellipsoid"):
        text = (
            '<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0"/>'
            f'<geom type="{kind}" size="0.1 0.25 0.3" pos="0.1 0.2 0.3" {turn(rng)}/></body></worldbody></mujoco>'
        )
        path = tmp_path / "one.xml"
        path.write_text(text)
        theirs, body = mujoco.MjModel.from_xml_string(text), rp.load(path).model.inertias[1]
        assert body.mass == pytest.approx(theirs.body_mass[1], rel=1e-12)
        assert body.lever == pytest.approx(theirs.body_ipos[1], abs=1e-12)
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, theirs.body_iquat[1])
        R = R.reshape(3, 3)
        np.testing.assert_allclose(body.inertia, R @ np.diag(theirs.body_inertia[1]) @ R.T, atol=1e-10)


MESH = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
HAND = '<body name="hand"><joint name="j"/>{}<geom name="shell" type="mesh" mesh="m" {}/></body>'
GIVEN = '<inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1.2"/>'


def mesh_file(inside: str, compiler: str = "") -> str:
    return f"<mujoco><compiler {compiler}/>{MESH}<worldbody>{inside}</worldbody></mujoco>"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (mesh_file(HAND.format("", "")), ["'hand'", "'shell'", "mesh", "<inertial>", "saveinertial"]),
        (mesh_file(HAND.format("", 'mass="1"')), ["'hand'", "'shell'", "mesh"]),
        (mesh_file(HAND.format(GIVEN, ""), 'inertiafromgeom="true"'), ["'hand'", "'shell'", "mesh"]),
        (mesh_file(f'<body name="base"><geom type="mesh" mesh="m"/></body>{HAND.format(GIVEN, "")}', 'settotalmass="3"'), ["'base'"]),
        (mesh_file('<body name="a"><joint/><geom name="g" size=".1" shellinertia="true"/></body>'), ["'a'", "'g'", "shellinertia"]),
        (mesh_file('<body name="a"><joint/><geom name="g" type="box" size=".1"/></body>'), ["'g'", "1 sizes, expected 3"]),
        (mesh_file('<body name="a"><joint/><geom name="g" size="big"/></body>'), ["size of <geom> 'g' is 'big'"]),
        (mesh_file('<body name="a" zaxis="0 0 0"><joint/><geom size=".1"/></body>'), ["zaxis of <body> 'a'"]),
        (mesh_file('<body name="a"><joint/><geom size=".1"/></body>', 'eulerseq="xyw"'), ["eulerseq", "'xyw'"]),
        (mesh_file('<body name="a" gravcomp="1"><joint/><geom size=".1"/></body>'), ["'gravcomp' of body 'a'", "weight"]),
        (mesh_file('<body name="a"><joint name="j" damping="1 2"/><geom size=".1"/></body>'), ["'damping' of joint 'j'"]),
        (mesh_file('<body name="a" childclass="no"><joint/><geom size=".1"/></body>'), ["no default class 'no'"]),
        (mesh_file('<body name="a"><joint/><geom name="g" size=".1" density="1 2"/></body>'), ["density of <geom> 'g'", "1 number"]),
        (mesh_file("").replace("<asset>", '<option viscosity="1"/><asset>'), ["'viscosity'"]),
        (mesh_file(HAND.format(GIVEN, "")).replace("<asset>", '<option gravity="0 0 -981"/><asset>'), ["robot.xml: gravity of 981 m/s^2"]),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(tmp_path, text, parts):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.raises(RobodynError) as caught:
        rp.load(path)
    assert "\n" not in str(caught.value)
    assert all(part in str(caught.value) for part in parts), caught.value


@pytest.mark.parametrize(
    "text",
    [
        mesh_file(HAND.format(GIVEN, "")),
        mesh_file(HAND.format("<geom size='0.1'/>", 'mass="0"')),
        mesh_file(HAND.format("<geom size='0.1'/>", 'density="0"')),
        mesh_file(HAND.format("<geom size='0.1'/>", 'group="3"'), 'inertiagrouprange="0 2"'),
        mesh_file(f'<body name="base"><geom type="mesh" mesh="m"/>{HAND.format(GIVEN, "")}</body>'),
        mesh_file(HAND.format(GIVEN, ""), 'inertiafromgeom="false"'),
    ],
)
def test_a_mesh_that_adds_no_mass_is_no_matter(tmp_path, text):
    compared(tmp_path, text, np.random.default_rng(0))


def test_what_the_refusal_of_a_mesh_advises_is_read(tmp_path):
    compiled = tmp_path / "compiled.xml"
    text = mesh_file(HAND.format("", ""), 'saveinertial="true"')
    mujoco.mj_saveLastXML(str(compiled), mujoco.MjModel.from_xml_string(text))
    body = rp.load(compiled).model.inertias[1]
    # A tetrahedron with three edges of one metre: 1/6 m^3 of water, its centre at a quarter.
    assert body.mass == pytest.approx(1000 / 6, rel=1e-4)
    assert body.lever == pytest.approx([0.25] * 3, abs=1e-5)


def test_efforts_of_a_robot_file_replace_those_of_mjcf_kind_by_kind(tmp_path):
    joints = "".join(
        f'<body name="{name}"><joint name="{name}" damping="2" armature="0.1" frictionloss="0.3"/><geom size=".1"/></body>'
        for name in "abcd"
    )
    (tmp_path / "robot.xml").write_text(f"<mujoco><worldbody>{joints}</worldbody></mujoco>")
    (tmp_path / "mine.yaml").write_text(
        "urdf: robot.xml\nmotors: [a, {name: drive, of: {b: 30}}, c, d]\nefforts:\n"
        "  - {of: a, model: viscous, initial: 5}\n  - {of: drive, model: armature, initial: 1}\n"
        "  - {of: [c, d], model: stribeck, speed: 1}\n"
    )
    found = {(e.spec.model, e.name): e.initial.tolist() for e in rp.load(tmp_path / "mine.yaml").efforts}
    assert found == {
        ("viscous", "a"): [5], ("armature", "a"): [0.1], ("coulomb", "a"): [0.3],
        ("armature", "drive"): [1], ("viscous", "b"): [2], ("coulomb", "b"): [0.3],
        ("stribeck", "c=d"): [0, 0, 0], ("armature", "c"): [0.1], ("armature", "d"): [0.1],
    }  # fmt: skip


def test_switched_off_equalities_close_nothing(tmp_path):
    text = """<mujoco><option><flag equality="disable" frictionloss="disable"/></option><worldbody>
    <body name="a"><joint name="a" frictionloss="1"/><geom size=".1"/></body><body name="b"><joint name="b"/><geom size=".1"/></body>
    </worldbody><equality><joint joint1="a" joint2="b"/></equality></mujoco>"""
    (tmp_path / "robot.xml").write_text(text)
    robot = rp.load(tmp_path / "robot.xml")
    assert robot.loops.size == 0
    assert robot.efforts == ()


def test_joints_take_their_kind_axis_and_zero_from_their_class(tmp_path):
    text = """<mujoco><default><default class="x"><joint type="slide" axis="1 0 1" armature="2" ref="0.3"/></default></default>
    <worldbody><body name="a" childclass="x"><joint name="a"/><geom size=".1"/><body name="b" pos="0 0 1"><joint name="b"
    type="hinge" axis="0 1 0" ref="10"/><geom size=".1" pos=".3 0 0"/></body></body></worldbody></mujoco>"""
    compared(tmp_path, text, np.random.default_rng(1))
