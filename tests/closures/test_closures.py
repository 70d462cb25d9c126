"""Loops of every kind on small random trees, against finite differences, hand statics and each other."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import robodyn_pin as rp
from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.singularity import first_singular, smallest_singular_values
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.robot.robot import Robot, build, closure_of
from robodyn_pin.robot.robot_file import RobotFile

EXACT = (
    "point",
    "planar_point",
    "rod",
    "coupling",
)  # kinds whose J is the derivative of the residual off the loops too
SEEDS = (0, 1, 2)
AXIS, ACROSS = (
    np.array([0.3, -0.5, 0.8]),
    np.array([0.5, 0.3, 0.0]),
)  # of the closures, in their frames; at right angles


def link(name: str, mass: float = 1.0, com: str = "0 0 0") -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0.002" iyz="-0.001"/></inertial></link>'
    )


def joint(name: str, kind: str, parent: str, child: str, xyz="0 0 0", rpy="0 0 0", axis="0 0 1") -> str:
    xyz, rpy, axis = (x if isinstance(x, str) else " ".join(repr(float(y)) for y in x) for x in (xyz, rpy, axis))
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>'
        f'<axis xyz="{axis}"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
    )


def make(parts: list[str], name: str = "small", **file: object) -> Robot:
    urdf = f'<robot name="{name}"><link name="base"/>{"".join(parts)}</robot>'
    return build(name, RobotFile.model_validate({"urdf": f"{name}.urdf", **file}), urdf, Path(f"{name}.urdf"))


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    return pin.AngleAxis(angle, axis / np.linalg.norm(axis)).matrix()


# What a kind leaves free, as the pose of the second end in the first: off it and turned.
OFF = {
    "rod": (np.eye(3), [0.3, 0.1, -0.2]),
    "planar_point": (np.eye(3), [0, 0, 0.25]),
    "prismatic": (np.eye(3), 0.4 * AXIS),
    "cylindrical": (about(AXIS, 0.9), -0.3 * AXIS),
    "universal": (about(AXIS, 0.7) @ about(ACROSS, -0.5), np.zeros(3)),
    "planar": (about(AXIS, -1.1), np.cross(AXIS, [0.2, 0.1, -0.3])),
}
DIRECTIONS = {
    "revolute": {"axis": AXIS.tolist()},
    "prismatic": {"axis": AXIS.tolist()},
    "cylindrical": {"axis": AXIS.tolist()},
    "universal": {"axes": [AXIS.tolist(), ACROSS.tolist()]},
    "planar": {"normal": AXIS.tolist()},
    "rod": {"length": float(np.linalg.norm(OFF["rod"][1]))},
}


def random_loop(kind: str, seed: int) -> Robot:
    """Two random chains of four joints whose ends meet in one closure at a random posture."""
    rng = np.random.default_rng(seed)
    parts, q0 = [], {}
    for side in "ab":
        parent = "base"
        for k in range(4):
            name = f"{side}{k}"
            sort = "prismatic" if rng.random() < 0.2 else "revolute"
            parts += [
                link(name),
                joint(
                    f"j_{name}",
                    sort,
                    parent,
                    name,
                    rng.uniform(-0.4, 0.4, 3),
                    rng.uniform(-3, 3, 3),
                    rng.normal(size=3),
                ),
            ]
            parent, q0[f"j_{name}"] = name, rng.uniform(-0.7, 0.7)
    tree = make(parts).model
    data, q = tree.createData(), np.array([q0[name] for name in list(tree.names)[1:]])
    pin.framesForwardKinematics(tree, data, q)
    a, b = (data.oMf[tree.getFrameId(name)] for name in ("a3", "b3"))
    end_a = pin.SE3(pin.rpy.rpyToMatrix(rng.uniform(-1.5, 1.5, 3)), rng.uniform(-0.2, 0.2, 3))
    end_b = b.actInv(a * end_a)
    off = pin.SE3(*map(np.array, OFF.get(kind, (np.eye(3), np.zeros(3)))))
    for name, parent, end in (
        ("end_a", "a3", end_a),
        ("end_b", "b3", end_b * off),
    ):
        rpy = pin.rpy.matrixToRpy(end.rotation)
        parts += [f'<link name="{name}"/>', joint(f"fix_{name}", "fixed", parent, name, end.translation, rpy)]
    closure: dict[str, object] = {"name": "loop", "kind": kind, "between": ["end_a", "end_b"]} | DIRECTIONS.get(
        kind, {}
    )
    if kind == "coupling":
        of = {"j_a0": 1.0, "j_a2": -2.0, "j_b1": 0.5}
        closure = {"name": "loop", "kind": kind, "of": of, "offset": sum(k * q0[j] for j, k in of.items())}
    # Solve for the joints that the loop determines best; the others are the coordinates.
    names = list(tree.names)[1:]
    spec = RobotFile.model_validate({"urdf": "x", "closures": [closure]}).closures[0]
    J = Loops(make(parts).model, [closure_of(spec)]).evaluate(q[None]).J[0]
    solved = max(combinations(range(8), len(J)), key=lambda cols: np.linalg.svd(J[:, cols], compute_uv=False)[-1])
    coordinates = [name for k, name in enumerate(names) if k not in solved]
    return make(parts, home=q0, coordinates=coordinates, motors=coordinates, closures=[closure])


@pytest.fixture(
    scope="module", params=[(kind, seed) for kind in KINDS for seed in SEEDS], ids=lambda p: f"{p[0]}-{p[1]}"
)
def looped(request) -> tuple[str, Robot, np.random.Generator]:
    kind, seed = request.param
    return kind, random_loop(kind, seed), np.random.default_rng(100 + seed)


def home_coordinates(robot: Robot) -> np.ndarray:
    return robot.coordinates.S @ robot.home + robot.coordinates.offset


def motion(robot: Robot, rng: np.random.Generator):
    """A smooth motion of the coordinates around home: t (N,) -> c, c', c'' (N, d)."""
    d = len(robot.coordinates.names)
    c0, amplitude, w, phase = (
        home_coordinates(robot),
        rng.uniform(0.02, 0.08, d),
        rng.uniform(1, 3, d),
        rng.uniform(0, 6, d),
    )

    def at(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = np.outer(t, w) + phase
        return c0 + amplitude * np.sin(x), amplitude * w * np.cos(x), -amplitude * w**2 * np.sin(x)

    return at


def test_residual_is_zero_on_the_loops_and_JT_too(looped):
    _, robot, rng = looped
    state = robot.close(*motion(robot, rng)(np.linspace(0, 3, 120)))
    rows = robot.loops.evaluate(state.q, state.v)
    assert np.abs(rows.phi).max() <= 1e-12
    assert np.abs(rows.J @ state.T).max() <= 1e-10
    assert np.abs(np.einsum("nij,nj->ni", rows.J, state.a) + rows.drift).max() <= 1e-10
    c = motion(robot, rng)(np.zeros(1))[0]
    assert np.abs(robot.coordinates.S @ state.T - np.eye(c.shape[1])).max() <= 1e-12


def test_jacobian_is_the_derivative_of_the_residual(looped):
    """At closed states in every direction, also out of the loops; far from the loops for the exact kinds."""
    kind, robot, rng = looped
    q = robot.close(*motion(robot, rng)(np.linspace(0, 3, 7))).q
    if kind in EXACT:
        q = np.concatenate([q, rng.uniform(-1, 1, q.shape)])
    h, nv = 1e-5, robot.model.nv
    J = robot.loops.evaluate(q).J
    for k in range(nv):
        e = h * np.eye(nv)[k]
        difference = (robot.loops.evaluate(q + e).phi - robot.loops.evaluate(q - e).phi) / (2 * h)
        assert np.abs(J[:, :, k] - difference).max() <= 1e-8  # h^2 and round-off / h


def test_drift_is_what_second_differences_leave(looped):
    """phi'' = J a + drift: along closed motions for all kinds, along any motion for the exact ones."""
    kind, robot, rng = looped
    t, h = np.linspace(0, 3, 9), 1e-3
    at = motion(robot, rng)
    q = [robot.close(*at(t + k * h)).q for k in (-2, -1, 0, 1, 2)]
    v = (q[0] - 8 * q[1] + 8 * q[3] - q[4]) / (12 * h)
    a = (-q[0] + 16 * q[1] - 30 * q[2] + 16 * q[3] - q[4]) / (12 * h**2)
    rows = robot.loops.evaluate(q[2], v)
    assert np.abs(np.einsum("nij,nj->ni", rows.J, a) + rows.drift).max() <= 1e-6  # phi'' = 0; h^4, round-off / h^2
    if kind in EXACT:
        q0, v, h = rng.uniform(-1, 1, q[2].shape), rng.normal(size=v.shape), 1e-4
        phi = [robot.loops.evaluate(q0 + k * h * v).phi for k in (-1, 0, 1)]
        second = (phi[0] - 2 * phi[1] + phi[2]) / h**2
        drift = robot.loops.evaluate(q0, v).drift
        assert np.abs(drift - second).max() <= 1e-5 * max(1, np.abs(drift).max())


def test_v_and_a_are_the_derivatives_of_q_to_second_order(looped):
    """Central differences err by h^2: halving h must divide what is left by four."""
    _, robot, rng = looped
    at, t = motion(robot, rng), np.linspace(0, 3, 9)
    state, left = robot.close(*at(t)), []
    for h in (2e-2, 1e-2):
        before, after = robot.close(*at(t - h)).q, robot.close(*at(t + h)).q
        velocity, acceleration = (after - before) / (2 * h), (after - 2 * state.q + before) / h**2
        left.append([np.abs(velocity - state.v).max(), np.abs(acceleration - state.a).max()])
    assert np.allclose(np.divide(*left), 4, rtol=0.05)


def loop_forces(robot: Robot) -> np.ndarray:
    """Multipliers that hold the robot still at home without motors: b = J'lam."""
    b = pin.rnea(robot.model, robot.model.createData(), robot.home, 0 * robot.home, 0 * robot.home)
    J = robot.loops.evaluate(robot.home[None]).J[0]
    lam, *_ = np.linalg.lstsq(J.T, b, rcond=None)
    assert np.allclose(J.T @ lam, b, atol=1e-9)
    return lam


def test_rods_carry_a_truss_as_hand_statics_say():
    """A weight at a pin, a horizontal rod from the wall and a 3-4-5 tie above it: a rod pushes with lam > 0."""
    parts = [link("x", 0.0).replace('mass value="0.0"', 'mass value="1e-9"'), link("ball", 5.0)]
    parts += [joint("px", "prismatic", "base", "x", axis="1 0 0"), joint("pz", "prismatic", "x", "ball", axis="0 0 1")]
    rods = [
        {"name": "level", "kind": "rod", "between": ["base", "ball"], "length": 0.4},
        {"name": "tie", "kind": "rod", "between": ["base", "ball"], "at": [[0, 0, 0.3], [0, 0, 0]], "length": 0.5},
    ]
    lam = loop_forces(make(parts, motors=[], coordinates=[], home={"px": 0.41, "pz": 0.01}, closures=rods))
    assert lam == pytest.approx([5 * 9.81 * 4 / 3, -5 * 9.81 * 5 / 3], rel=1e-6)


@pytest.mark.parametrize("kind", ["point", "frame", "revolute"])
def test_a_multiplier_is_the_force_on_the_second_member_along_the_axes_of_the_first(kind):
    """A body hung from a turned post: the post pushes it up with m g, and turns it with r x m g."""
    turn = pin.rpy.rpyToMatrix(0.4, -0.7, 1.1)
    com = [0, 0, -0.3] if kind == "point" else [0.2, -0.1, 0.15]
    names = ["x", "y", "z", "rx", "ry", "rz"]
    parts, parent = (
        ['<link name="post"/>', joint("fix", "fixed", "base", "post", rpy=pin.rpy.matrixToRpy(turn))],
        "base",
    )
    for k, name in enumerate(names):
        body = link(name, 3.0, " ".join(map(str, com))) if name == "rz" else f'<link name="{name}"/>'
        axis = np.eye(3)[k % 3]
        parts += [body, joint(f"j{name}", "prismatic" if k < 3 else "revolute", parent, name, axis=axis)]
        parent = name
    weight = np.array([0, 0, -3 * 9.81])
    moment = -np.cross(com, weight)  # on the body, about the closure
    axis = (
        turn.T @ np.cross(moment, [0.3, 0.8, 0.1]) if kind == "revolute" else [1, 0, 0]
    )  # a hinge gives no moment along it
    closure = {"name": "hook", "kind": kind, "between": ["post", "rz"]}
    if kind != "point":  # the body's frame is upright, so its mate on the post is turned back
        parts += ['<link name="mate"/>', joint("fix_mate", "fixed", "rz", "mate", rpy=pin.rpy.matrixToRpy(turn))]
        closure["between"] = ["post", "mate"]
    if kind == "revolute":
        closure["axis"] = list(axis)
    motors = {"point": ["jrx", "jry", "jrz"], "frame": [], "revolute": ["jrx"]}[kind]
    robot = make(parts, motors=motors, coordinates=motors, closures=[closure])
    lam = loop_forces(robot)
    if kind == "revolute":  # rows are along the closure frame's axes: x is the hinge, y and z span the rest
        from robodyn_pin.closures.kinds import turned_onto

        turn = turn @ turned_onto("x", np.array(axis)).rotation
    expected = np.concatenate([turn.T @ -weight, turn.T @ moment])
    assert lam == pytest.approx(
        expected[{"point": [0, 1, 2], "frame": range(6), "revolute": [0, 1, 2, 4, 5]}[kind]], abs=1e-9
    )


def hinged(home: dict[str, float], axis: list[float]) -> Robot:
    """A body on a ball of three revolute joints, closed by a hinge to the base along x."""
    parts = ['<link name="rx"/>', '<link name="ry"/>', link("body", 1.0, "0 0.1 -0.2")]
    parts += [
        joint(f"j{k}", "revolute", a, b, axis=np.eye(3)[k])
        for k, (a, b) in enumerate([("base", "rx"), ("rx", "ry"), ("ry", "body")])
    ]
    closure = {"name": "hinge", "kind": "revolute", "between": ["base", "body"], "axis": axis}
    return make(parts, motors=["j0"], coordinates=["j0"], home=home, closures=[closure])


def test_a_revolute_closure_keeps_the_sense_of_its_axis():
    """Its five equations also hold where the axis of b points backwards: no start may end there silently."""
    rng = np.random.default_rng(3)
    ended = {"right": 0, "refused": 0}
    for _ in range(100):
        home = {"j0": 0.1, "j1": np.pi + rng.uniform(-0.5, 0.5), "j2": rng.uniform(-0.5, 0.5)}
        try:
            robot = hinged(home, [1, 0, 0])
        except ClosureFailed as error:
            assert "backwards" in str(error)  # noqa: PT017
            ended["refused"] += 1
            continue
        data = robot.model.createData()
        pin.framesForwardKinematics(robot.model, data, robot.home)
        assert data.oMf[robot.model.getFrameId("body")].rotation[0, 0] == pytest.approx(1)
        ended["right"] += 1
    print(ended)
    with pytest.raises(ClosureFailed, match=r"hinge.*backwards"):
        hinged({"j1": np.pi}, [1, 0, 0])


@pytest.mark.parametrize("name", ["irb2400", "irb6660"])
def test_the_parallelogram_stays_a_parallelogram(name):
    """A planar four-bar with equal opposite sides can also close crossed; the arm's own branch is j3 = m3 - m2."""
    robot, rng = rp.load(name), np.random.default_rng(1)
    limits = {k: v.position for k, v in robot.file.limits.items()}
    low, high = (np.array([limits[m][k] for m in robot.coordinates.names]) for k in (0, 1))
    c = rng.uniform(low, high, (4000, 6))
    c = c[(c[:, 2] - c[:, 1] > limits["j3"][0]) & (c[:, 2] - c[:, 1] < limits["j3"][1])][:1000]
    assert len(c) == 1000
    q = robot.close(c, 0 * c, 0 * c).q
    j3 = robot.model.joints[robot.model.getJointId("j3")].idx_q
    assert np.abs(q[:, j3] - (c[:, 2] - c[:, 1])).max() <= 1e-11
    one_by_one = np.concatenate([robot.close(x[None], 0 * x[None], 0 * x[None]).q for x in c[:50]])
    assert np.abs(q[:50] - one_by_one).max() <= 1e-11


def four_bar(closure: dict[str, object]) -> Robot:
    """Crank 0.2, coupler 0.5, follower 0.4, ground 0.5 in the x y plane; the follower ends on a spare hinge."""
    parts = [
        link("crank"),
        link("coupler"),
        link("follower", 1.0, "0.2 0 0"),
        link("ground", 0.0).replace('mass value="0.0"', 'mass value="1e-9"'),
    ]
    parts += [
        joint("j_crank", "revolute", "base", "crank"),
        joint("j_coupler", "revolute", "crank", "coupler", [0.2, 0, 0]),
        joint("j_follower", "revolute", "coupler", "follower", [0.5, 0, 0]),
        joint("j_ground", "revolute", "follower", "ground", [0.4, 0, 0]),
    ]
    home = {"j_crank": 1.0, "j_coupler": -0.6, "j_follower": -1.9, "j_ground": 1.5}
    closure = {"name": "shut", "at": [[0.5, 0, 0], [0, 0, 0]], **closure}
    if closure["kind"] != "frame":
        parts = [part for part in parts if "j_ground" not in part and '"ground"' not in part]
        home.pop("j_ground")
        closure["at"] = [[0.5, 0, 0], [0.4, 0, 0]]
    return make(parts, motors=["j_crank"], coordinates=["j_crank"], home=home, closures=[closure])


def test_an_over_constrained_four_bar_moves_like_the_exact_one():
    """A planar loop shut by a hinge or a weld in space has three equations that say nothing new."""
    exact = four_bar({"kind": "planar_point", "between": ["base", "follower"]})
    hinge = four_bar({"kind": "revolute", "between": ["base", "follower"], "axis": [0, 0, 1]})
    weld = four_bar({"kind": "frame", "between": ["base", "ground"]})
    assert [r.redundancy for r in (exact, hinge, weld)] == [0, 3, 3]
    t = np.linspace(0, 6, 200)[:, None]
    c = exact.coordinates.S @ exact.home + 2 * np.sin(t)
    cd, cdd = 2 * np.cos(t), -2 * np.sin(t)
    states = [r.close(c, cd, cdd) for r in (exact, hinge, weld)]
    torques = [rp.inverse_dynamics(r, c, cd, cdd) for r in (exact, hinge, weld)]
    for state, tau in zip(states[1:], torques[1:], strict=True):
        for x in ("q", "v", "a", "T", "g"):
            assert np.abs(getattr(state, x)[:, :3] - getattr(states[0], x)).max() <= 1e-9
        assert np.abs(tau - torques[0]).max() <= 1e-9  # the spare link's 0.02 kg m2 do not turn


def test_singularity_falls_to_zero_at_the_dead_point_of_a_four_bar():
    """Driven by the crank it never stops; driven by the follower it does, where crank and coupler align."""
    by_crank = four_bar({"kind": "planar_point", "between": ["base", "follower"]})
    turn = np.linspace(0, 2 * np.pi, 100)[:, None] + home_coordinates(by_crank)
    assert by_crank.singularity(turn).min() > 0.05
    # The angle j_coupler measures the distance from the dead point j_coupler = 0; the closed poses come from the crank.
    q = by_crank.close(turn, 0 * turn, 0 * turn).q
    k = int(np.abs(np.angle(np.exp(1j * q[:, 1]))).argmin())
    near = turn[k] + np.linspace(-0.05, 0.05, 2001)[:, None]
    q = by_crank.close(near, 0 * near, 0 * near, start=q[k]).q
    away = np.angle(np.exp(1j * q[:, 1]))
    assert away.min() < 0 < away.max()
    ground = replace(by_crank.coordinates, names=("follower",), S=np.ones((1, 3)))  # absolute angle of the follower
    value = smallest_singular_values(by_crank.loops, ground.S, q, by_crank.home)
    far = np.abs(away) > 1e-3
    slope = value[far] / np.abs(away[far])
    assert slope.std() / slope.mean() < 0.02  # linear, up to the curvature over 0.05 rad
    assert value.min() < 1e-4 < slope.mean()
    # A motion that jumps over the dead point is singular behind it; one that walks through it, as soon as it is near.
    ends = q[np.isin(np.arange(len(q)), [0, 1, 1999, 2000])]
    i, share = first_singular(by_crank.loops, ground.S, ends, by_crank.home, 0.0)
    assert (i, share > 1e-3) == (2, True)
    near_by = first_singular(by_crank.loops, ground.S, q, by_crank.home, 0.02)
    assert np.sign(away[near_by[0]]) == np.sign(away[0])
    assert near_by[1] < 0.02
    assert first_singular(by_crank.loops, by_crank.coordinates.S, q, by_crank.home, 0.02) is None


def test_singularity_does_not_depend_on_the_unit_of_length_or_on_gears():
    """The same four-bar ten times as large, driven through a gear: the same pure number."""

    def scaled(size: float, gear: float) -> Robot:
        parts = [link("crank"), link("coupler"), link("slider")]
        parts += [
            joint("j_crank", "revolute", "base", "crank"),
            joint("j_coupler", "revolute", "crank", "coupler", [0.2 * size, 0, 0]),
            joint("j_slider", "prismatic", "base", "slider", axis="1 0 0"),
        ]
        shut = {
            "name": "shut",
            "kind": "planar_point",
            "between": ["coupler", "slider"],
            "at": [[0.5 * size, 0, 0], [0, 0, 0]],
        }
        home = {"j_crank": 0.9, "j_coupler": -1.2, "j_slider": 0.6 * size}
        motors = [{"name": "m", "of": {"j_crank": gear}}]
        return make(parts, motors=motors, coordinates=["m"], home=home, closures=[shut])

    c = np.linspace(0.5, 1.5, 11)[:, None]
    small, large = scaled(1, 1).singularity(c), scaled(10, -32).singularity(-32 * c)
    assert np.abs(small - large).max() <= 1e-12


def test_singularity_of_dualv_where_the_platform_no_longer_determines_the_legs():
    """A leg stretched out (0.56 m from its base joint) or folded is where the platform's pose stops determining it."""
    robot = rp.load("dualv")
    home = home_coordinates(robot)
    names, k = robot.loops.closures[0], robot.model.getJointId("A1")
    base = robot.model.jointPlacements[k].translation[:2]
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.home)
    hinge = data.oMf[robot.model.getFrameId(names.frame_b)].translation[:2]
    direction = (hinge - base) / np.linalg.norm(hinge - base)
    left = 0.56 - np.linalg.norm(hinge - base)
    share = 1 - np.array([1e-4, 4e-4, 1.6e-3])  # the elbow angle goes with the square root of what is left
    c = np.stack([home + np.array([*(direction * left * x), 0]) for x in share])
    value = robot.singularity(c)
    assert robot.singularity(home[None])[0] > 5 * value.max()
    assert np.divide(value[1:], value[:-1]) == pytest.approx([2, 2], rel=0.05)
