"""The table of closure kinds: three readers against each other, cut mechanisms against uncut ones, wrenches in MuJoCo."""

from itertools import combinations
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import yaml
from mujoco_twin import twin
from test_closures import ACROSS, AXIS, joint, link, make, random_loop

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.kinds import KINDS, SIX, Closure, Kind
from robodyn_pin.closures.loops import Loops
from robodyn_pin.dynamics.multipliers import Loads, reactions
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.forces.joint_history import joint_wrenches
from robodyn_pin.robot.robot import Robot, State

# Every line that the table could hold: any of x, y, z, and as many rotations as there are, counted from the last.
LINES = [
    rows
    for n in range(4)
    for linear in combinations(SIX[:3], n)
    for turns in range(4)
    if (rows := (*linear, *SIX[6 - turns :]))
]


def readers_agree(loops: Loops) -> None:
    q, v = np.random.default_rng(1).uniform(-1, 1, (2, 40, loops.model.nv))
    expected, at = loops.by_anchors(q, v), loops.placed(q)
    found = [(at.residual(), at.jacobian(), at.drift(v))]
    if kernel_choice.installed():
        with kernel_choice.forced("kernel"):
            rows = loops.evaluate(q, v)
        found.append((rows.phi, rows.J, rows.drift))
    for reader in found:
        for x, y in zip(reader, (expected.phi, expected.J, expected.drift), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_three_readers_of_a_kind_agree_at_states_off_the_loops(kind, seed):
    readers_agree(random_loop(kind, seed).loops)


@pytest.mark.parametrize("rows", LINES, ids=" ".join)
def test_three_readers_agree_on_every_line_that_the_table_could_hold(rows, monkeypatch):
    """Two closures of the kind between others, so that none writes into its neighbours' rows."""
    monkeypatch.setitem(KINDS, "made up", Kind(rows))
    model, rng = random_loop("point", 0).model, np.random.default_rng(len(rows))
    ends = iter(pin.SE3(pin.rpy.rpyToMatrix(rng.uniform(-1, 1, 3)), rng.uniform(-1, 1, 3)) for _ in range(8))
    kinds = ("made up", "point", "revolute", "made up")
    readers_agree(
        Loops(model, [Closure(f"{k}", kind, "a3", "b3", next(ends), next(ends)) for k, kind in enumerate(kinds)])
    )


U = AXIS / np.linalg.norm(AXIS)
FLAT = np.linalg.svd(U[None])[2][1:]  # two directions across the axis
# The same kinds as joints of a tree: what the second member moves along and about, one after the other.
JOINTS = {
    "revolute": [("revolute", AXIS)],
    "prismatic": [("prismatic", AXIS)],
    "cylindrical": [("prismatic", AXIS), ("revolute", AXIS)],
    "universal": [("revolute", AXIS), ("revolute", ACROSS)],
    "planar": [("prismatic", FLAT[0]), ("prismatic", FLAT[1]), ("revolute", AXIS)],
}
DIRECTIONS = {
    **{kind: {"axis": AXIS.tolist()} for kind in ("revolute", "prismatic", "cylindrical")},
    "universal": {"axes": [AXIS.tolist(), ACROSS.tolist()]},
    "planar": {"normal": AXIS.tolist()},
}
AT, FAR = (
    np.array([0.25, -0.1, 0.15]),
    np.array([-0.3, 0.35, 0.2]),
)  # the joint of the kind on the crank, the other one on the body
# The other joint: a ball would leave a body on a plane free to spin.
OTHER = {"planar": ("universal", [("revolute", [1, 0, 0]), ("revolute", [0, 1, 0])])}
BALL = ("point", [("revolute", axis) for axis in np.eye(3)])


def chain(name: str, joints: list, parent: str, last: str, at: np.ndarray) -> list[str]:
    """Joints one after the other between massless links; `last` is moved by all of them."""
    parts = []
    for k, (kind, axis) in enumerate(joints):
        child = last if k == len(joints) - 1 else f"{name}_{k}"
        parts += [] if child == last else [f'<link name="{child}"/>']
        parts += [joint(f"j_{name}_{k}", kind, parent, child, np.zeros(3) if k else at, axis=axis)]
        parent = child
    return parts


def mechanism(kind: str, cut: bool) -> Robot:
    """Three cranks one on the other, the joint of the kind, a body, and a ball or a cross that ties it to the base.

    Cut at that joint, by a closure of the kind, or at the other, by a closure of its kind: one mechanism.
    """
    other, joints = OTHER.get(kind, BALL)
    rng = np.random.default_rng(5)
    parts, at, parent = [], np.zeros(3), "base"
    for k in range(3):
        place = rng.uniform(-0.4, 0.4, 3)
        at = at + place
        parts += [link(f"crank{k}", 1.5, " ".join(map(str, rng.uniform(-0.2, 0.2, 3))))]
        parts += [joint(f"j{k}", "revolute", parent, f"crank{k}", place, axis=rng.normal(size=3))]
        parent = f"crank{k}"
    body = link("body", 2.0, "0.1 0.2 -0.15")
    home = at + AT + FAR  # of the other joint
    if cut:
        parts += [*chain("other", joints, "base", "turned", home), '<link name="turned"/>', body]
        parts += [joint("fix", "fixed", "turned", "body", -FAR)]
        ends = {"between": ["crank2", "body"], "at": [AT.tolist(), [0, 0, 0]]}
        closure = {"name": "shut", "kind": kind, **ends, **DIRECTIONS[kind]}
    else:
        parts += [*chain("pair", JOINTS[kind], "crank2", "body", AT), body]
        closure = {"name": "shut", "kind": other, "between": ["base", "body"], "at": [home.tolist(), FAR.tolist()]}
    motors = [f"j{k}" for k in range(len(JOINTS[kind]) + len(joints) - 3)]
    return make(parts, motors=motors, coordinates=motors, closures=[closure])


def in_the_world(robot: Robot, q: np.ndarray, frame: str, wrench: np.ndarray, about: np.ndarray) -> np.ndarray:
    """A wrench (6,) at a frame and along its axes, as force and moment about a point, along the world's axes."""
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    M = data.oMf[robot.model.getFrameId(frame)]
    force, moment = M.rotation @ wrench[:3], M.rotation @ wrench[3:]
    return np.concatenate([force, moment + np.cross(M.translation - about, force)])


def on_second_member(robot: Robot, closure: Closure, q: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The closure's force and moment on its second member along the world's axes (6,), and where, by this hand:

    rows are along the axes of frame a, at the point of b; a universal joint's moment is across both axes of its cross.
    """
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    a = data.oMf[robot.model.getFrameId(closure.frame_a)] * closure.placement_a
    b = data.oMf[robot.model.getFrameId(closure.frame_b)] * closure.placement_b
    kind, six = closure.kind, np.zeros(6)
    if kind == "rod":
        d = b.translation - a.translation
        return np.concatenate([d / np.linalg.norm(d) * lam[0], np.zeros(3)]), b.translation
    for label, value in zip(KINDS[kind].rows, lam, strict=True):
        k = SIX.index(label)
        axis = np.cross(a.rotation[:, 0], b.rotation[:, 1]) if kind == "universal" and k > 2 else a.rotation[:, k % 3]
        six[k - k % 3 :][:3] += value * axis
    return six, b.translation


def moving(robot: Robot, seed: int) -> State:
    rng = np.random.default_rng(seed)
    c = (
        robot.coordinates.S @ robot.home
        + robot.coordinates.offset
        + 0.05 * rng.uniform(-1, 1, (20, len(robot.coordinates.names)))
    )
    return robot.close(c, rng.normal(size=c.shape), rng.normal(size=c.shape))


@pytest.mark.parametrize("kind", DIRECTIONS)
def test_a_cut_joint_carries_what_it_carries_as_a_joint_of_the_tree(kind):
    """The mechanism cut at another joint: same torques, same regressor, and the same wrench in both of these joints."""
    robots = mechanism(kind, cut=True), mechanism(kind, cut=False)
    S = robots[0].coordinates.S
    state = moving(robots[0], 2)
    motion = [x @ S.T for x in (state.q, state.v, state.a)]
    states = [robot.close(*motion) for robot in robots]
    forces = [Loads(robot, state) for robot, state in zip(robots, states, strict=True)]
    tau = forces[1].tau
    assert np.abs(state.v).max() > 0.5
    assert np.abs(tau).max() > 1
    for robot in robots:
        np.testing.assert_allclose(rp.inverse_dynamics(robot, *motion), tau, atol=1e-10)
        pi = np.zeros(10 * len(robot.bodies))
        for body, first in zip(*robot.body_columns, strict=True):
            pi[first : first + 10] = robot.model.inertias[int(body)].toDynamicParameters()
        np.testing.assert_allclose(rp.regressor(robot, *motion) @ pi, tau, atol=1e-10)
    carried = [reactions(robot, state, f.multipliers) for robot, state, f in zip(robots, states, forces, strict=True)]
    for k in range(3):  # below the joint, on its first member's side
        np.testing.assert_allclose(carried[0][f"j{k}"], carried[1][f"j{k}"], atol=1e-9)
    cut, whole = robots
    first_pair = "body" if len(JOINTS[kind]) == 1 else "pair_0"
    for i, (q, other) in enumerate(zip(states[0].q, states[1].q, strict=True)):
        wrench, at = on_second_member(cut, cut.loops.closures[0], q, forces[0].multipliers["shut"][i])
        np.testing.assert_allclose(
            wrench, in_the_world(whole, other, first_pair, carried[1]["j_pair_0"][i], at), atol=1e-9
        )
        wrench, at = on_second_member(whole, whole.loops.closures[0], other, forces[1].multipliers["shut"][i])
        np.testing.assert_allclose(wrench, in_the_world(cut, q, "other_0", carried[0]["j_other_0"][i], at), atol=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "coupling"])
def test_a_closure_holds_its_members_in_mujoco(kind, tmp_path, robodyn):
    """A robot file with the kind, loaded and checked; its states and multipliers in MuJoCo's equations of the open tree.

    M a + bias = S'tau + what the wrench does on both members; and no wrench works along what the kind leaves free.
    """
    drawn = random_loop(kind, 4)
    (tmp_path / "loop.urdf").write_text(drawn.urdf_xml)
    said = drawn.file.model_dump(mode="json", exclude_unset=True) | {"urdf": "loop.urdf"}
    (tmp_path / "loop.yaml").write_text(yaml.safe_dump(said))
    outcome = robodyn("check", tmp_path / "loop.yaml")
    assert outcome.returncode == 0, outcome.stderr
    robot = rp.load(tmp_path / "loop.yaml")
    state, at = moving(robot, 3), twin(robot)
    forces, model, (closure,) = Loads(robot, state), at.model, robot.loops.closures
    names, sixes = joint_wrenches(robot, state)
    order, S = [list(robot.model.names)[1:].index(name) for name in at.joints], at.motors
    for i in range(len(state.q)):
        q, lam = state.q[i], forces.multipliers["loop"][i]
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = q[order], state.v[i][order]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_makeM(model, data)
        M, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        mujoco.mj_fullM(model, data, M)
        mujoco.mj_rne(model, data, 0, bias)
        wrench, point = on_second_member(robot, closure, q, lam)
        assert np.linalg.norm(sixes[i, names.index("loop")]) == pytest.approx(np.linalg.norm(wrench), rel=1e-12)
        J = np.zeros((2, 2, 3, model.nv))
        for k, frame in enumerate((closure.frame_a, closure.frame_b)):
            mujoco.mj_jac(model, data, J[k, 0], J[k, 1], point, model.body(frame).id)
        apart = (J[1] - J[0]).reshape(6, -1)
        efforts = M @ state.a[i][order] + bias
        left = efforts - S.T @ forces.tau[i] - apart.T @ wrench
        assert np.abs(left).max() <= 1e-10 * max(1.0, np.abs(efforts).max(), np.abs(wrench).max())
        assert abs(wrench @ apart @ data.qvel) <= 1e-10 * np.abs(wrench).max()
        unit = np.array([on_second_member(robot, closure, q, row)[0] for row in np.eye(len(lam))])
        assert np.abs(unit @ apart @ data.qvel).max() <= 1e-11  # the members do not move along what is held
        assert np.linalg.svd(unit, compute_uv=False)[-1] == pytest.approx(1, rel=1e-9)  # orthonormal: well conditioned


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "planar"])
def test_an_axis_that_is_kept_does_not_close_backwards(kind):
    """The cross components of two axes vanish for opposed axes, too: no start may end there silently."""
    parts = ['<link name="rx"/>', '<link name="ry"/>', link("body", 1.0, "0 0.1 -0.2")]
    parts += [
        joint(f"j{k}", "revolute", a, b, axis=np.eye(3)[k])
        for k, (a, b) in enumerate([("base", "rx"), ("rx", "ry"), ("ry", "body")])
    ]
    closure = {
        "name": "kept",
        "kind": kind,
        "between": ["base", "body"],
        "normal" if kind == "planar" else "axis": [1, 0, 0],
    }
    home = {"j0": 0.3}
    make(parts, motors=["j0"], coordinates=["j0"], home=home | {"j1": 0.4}, closures=[closure])
    with pytest.raises(ClosureFailed, match=r"kept.*backwards"):
        make(parts, motors=["j0"], coordinates=["j0"], home=home | {"j1": np.pi}, closures=[closure])


@pytest.mark.parametrize(
    ("closure", "said"),
    [
        ({"kind": "prismatic", "length": 0.3}, "'length' belongs to a rod, not to a prismatic"),
        (
            {"kind": "rod", "length": 1, "axis": [1, 0, 0]},
            "'axis' belongs to a revolute or prismatic or cylindrical, not to a rod",
        ),
        ({"kind": "universal", "axes": [[1, 0, 0], [0, 0, 0]]}, "'axes' is zero and has no direction"),
        ({"kind": "planar", "axis": [1, 0, 0]}, "'axis' belongs to a .*, not to a planar"),
        ({"kind": "prismatc"}, "'prismatic'"),
        ({"kind": "prismatic", "axs": [1, 0, 0]}, "did you mean 'axis'"),
    ],
)
def test_what_a_kind_does_not_know_is_said_in_a_sentence(closure, said, tmp_path):
    from robodyn_pin.errors import BadFile
    from robodyn_pin.files import parse_yaml
    from robodyn_pin.robot.robot_file import RobotFile

    text = yaml.safe_dump({"urdf": "x.urdf", "closures": [{"name": "c", "between": ["a", "b"], **closure}]})
    with pytest.raises(BadFile, match=said):
        parse_yaml(text, RobotFile, str(Path("x.yaml")))
