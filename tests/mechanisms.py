"""Small mechanisms with loops as tables in the world's frame, and writers of them: URDF, SDF, MuJoCo.

A link has mass, centre and inertia; a joint has parent, child, point, axis and kind. The last joints of `cut` close loops.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin
from mujoco_twin import Twin, asked, quaternion

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.robot.robot import Robot


@dataclass(frozen=True)
class Link:
    mass: float
    centre: np.ndarray  # (3,) in the world [m]
    inertia: np.ndarray  # (3, 3) about the centre, along the world's axes


@dataclass(frozen=True)
class Joint:
    name: str
    parent: str  # "world" is the base
    child: str
    point: np.ndarray
    axis: np.ndarray
    kind: str = "revolute"


@dataclass(frozen=True)
class Mechanism:
    links: dict[str, Link]
    tree: list[Joint]
    cut: list[Joint]
    motors: list[str]


def link(rng: np.random.Generator, near: np.ndarray) -> Link:
    """A cloud of point masses about a place: a body that can exist."""
    points, masses = near + 0.1 * rng.normal(size=(8, 3)), rng.uniform(0.05, 0.2, 8)
    centre = masses @ points / masses.sum()
    r = points - centre
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))
    return Link(float(masses.sum()), centre, np.asarray(inertia))


def random_frame(rng: np.random.Generator) -> pin.SE3:
    turn = pin.Quaternion(rng.normal(size=4)).normalized().matrix()
    return pin.SE3(turn, 0.2 * rng.normal(size=3))


def five_bar(seed: int = 0) -> Mechanism:
    """Two motors at the base, two rods, a pin between their ends; the plane is tilted against gravity."""
    rng, R = np.random.default_rng(seed), pin.rpy.rpyToMatrix(0.5, 0.3, -0.2)
    a, b, c, d, e = ([-0.1, 0, 0], [-0.17, 0.19, 0], [0, 0.42, 0], [0.16, 0.2, 0], [0.1, 0, 0])
    a, b, c, d, e = (R @ np.array(x) for x in (a, b, c, d, e))
    n = R[:, 2]
    links = {name: link(rng, (p + q) / 2) for name, p, q in (("ab", a, b), ("bc", b, c), ("de", d, e), ("cd", c, d))}
    tree = [
        Joint("m1", "world", "ab", a, n), Joint("p1", "ab", "bc", b, n), Joint("m2", "world", "de", e, -n), Joint("p2", "de", "cd", d, n),
    ]  # fmt: skip
    return Mechanism(links, tree, [Joint("tip", "bc", "cd", c, n)], ["m1", "m2"])


def slider_crank(seed: int = 1) -> Mechanism:
    """A crank that turns, a rod, a slide; the pin between rod and slide is cut."""
    rng = np.random.default_rng(seed)
    n, along = np.array([0.0, 1, 0]), np.array([1.0, 0, 0])
    a, b, c = np.zeros(3), np.array([0.1, 0, 0.15]), np.array([0.1 + 0.4, 0, 0.0])
    links = {"crank": link(rng, (a + b) / 2), "rod": link(rng, (b + c) / 2), "slide": link(rng, c)}
    tree = [
        Joint("m1", "world", "crank", a, n), Joint("p1", "crank", "rod", b, n), Joint("x", "world", "slide", c, along, "prismatic"),
    ]  # fmt: skip
    return Mechanism(links, tree, [Joint("wrist_pin", "rod", "slide", c, n)], ["m1"])


def spatial(seed: int = 2) -> Mechanism:
    """A crank, a cross and a rod that meets a rocker in a ball: a spatial loop with skew axes."""
    rng = np.random.default_rng(seed)
    a, b, c, d = (np.array(x) for x in ([0.0, 0, 0], [0, 0, 0.1], [0.3, 0.2, 0.15], [0.3, 0.1, -0.1]))
    links = {
        "crank": link(rng, b / 2),
        "cross": link(rng, b),
        "rod": link(rng, (b + c) / 2),
        "rocker": link(rng, (c + d) / 2),
    }
    x, y = np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    tree = [
        Joint("m1", "world", "crank", a, x), Joint("u1", "crank", "cross", b, y), Joint("u2", "cross", "rod", b, np.array([0, 0, 1.0])),
        Joint("r", "world", "rocker", d, np.array([0.6, 0, 0.8])),
    ]  # fmt: skip
    return Mechanism(links, tree, [Joint("ball", "rod", "rocker", c, x, "ball")], ["m1"])


MECHANISMS = {"five_bar": five_bar(), "slider_crank": slider_crank(), "spatial": spatial()}


def text(x: np.ndarray) -> str:
    return " ".join(repr(float(v)) for v in x)


def sdf(m: Mechanism, seed: int = 0) -> str:
    """SDF with frames of the links anywhere, joints beside their frames, cut joints like any other."""
    rng = np.random.default_rng(seed)
    frames = {name: random_frame(rng) for name in m.links}

    def pose(at: pin.SE3) -> str:
        return f"{text(at.translation)} {text(pin.rpy.matrixToRpy(at.rotation))}"

    out = '<sdf version="1.9"><model name="loops">'
    for name, body in m.links.items():
        at = frames[name].actInv(pin.SE3(np.eye(3), body.centre))
        I = body.inertia
        entries = "".join(f"<{k}>{I[i]!r}</{k}>" for k, i in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True)).replace("np.float64(", "").replace(")", "")  # fmt: skip
        out += f'<link name="{name}"><pose>{pose(frames[name])}</pose><inertial><pose>{pose(at)}</pose><mass>{body.mass!r}</mass><inertia>{entries}</inertia></inertial></link>'
    for joint in (*m.tree, *m.cut):
        world = pin.SE3(random_frame(rng).rotation, joint.point)
        axis = "" if joint.kind == "ball" else f"<axis><xyz>{text(world.rotation.T @ joint.axis)}</xyz></axis>"
        out += (
            f'<joint name="{joint.name}" type="{joint.kind}"><parent>{joint.parent}</parent><child>{joint.child}</child>'
            f"<pose>{pose(frames[joint.child].actInv(world))}</pose>{axis}</joint>"
        )
    return out + "</model></sdf>"


def urdf(m: Mechanism, marks: tuple[str, str] | None = ("{}_end_a", "{}_end_b"), driven: bool = True) -> str:
    """URDF with the tree, links along the world's axes; marks, by their names, at both sides of each cut."""
    at = {"world": np.zeros(3)} | {joint.child: joint.point for joint in m.tree}
    out = '<robot name="loops"><link name="world"/>'
    for name, body in m.links.items():
        I = body.inertia
        moments = " ".join(f'{k}="{float(I[i])!r}"' for k, i in (("ixx", (0, 0)), ("ixy", (0, 1)), ("ixz", (0, 2)), ("iyy", (1, 1)), ("iyz", (1, 2)), ("izz", (2, 2))))  # fmt: skip
        out += f'<link name="{name}"><inertial><origin xyz="{text(body.centre - at[name])}"/><mass value="{body.mass!r}"/><inertia {moments}/></inertial></link>'

    def joint_text(name: str, kind: str, parent: str, child: str, offset: np.ndarray, more: str = "") -> str:
        return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{text(offset)}"/>{more}</joint>'

    for j in m.tree:
        more = f'<axis xyz="{text(j.axis)}"/><limit lower="-3" upper="3" effort="20" velocity="10"/>'
        out += joint_text(j.name, j.kind, j.parent, j.child, j.point - at[j.parent], more)
    for j in m.cut if marks else ():
        for side, mark in zip((j.parent, j.child), marks, strict=True):
            name = mark.format(j.name)
            out += f'<link name="{name}"/>' + joint_text(f"fix_{name}", "fixed", side, name, j.point - at[side])
    for name in m.motors if driven else ():
        out += f'<transmission name="t_{name}"><joint name="{name}"/><actuator name="a_{name}"/></transmission>'
    return out + "</robot>"


def in_mujoco(m: Mechanism) -> Twin:
    """The mechanism in MuJoCo, links along the world's axes; the pins of planar loops only have to meet."""
    mj = mujoco.MjSpec()
    bodies = {"world": (mj.worldbody, np.zeros(3))}
    for j in m.tree:
        parent, origin = bodies[j.parent]
        body = parent.add_body(name=j.child, pos=j.point - origin)
        b = m.links[j.child]
        moments, axes = np.linalg.eigh(b.inertia)
        axes = axes * np.linalg.det(axes)
        body.explicitinertial, body.mass, body.ipos = True, b.mass, b.centre - j.point
        body.inertia, body.iquat = moments, quaternion(axes)
        kind = mujoco.mjtJoint.mjJNT_SLIDE if j.kind == "prismatic" else mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(name=j.name, type=kind, axis=j.axis)
        bodies[j.child] = (body, j.point)
    closures = []
    for j in m.cut:
        between = []
        for side in (j.parent, j.child):
            body, origin = bodies[side]
            body.add_body(name=f"{j.name}_{side}", pos=j.point - origin)
            between.append(f"{j.name}_{side}")
        closures.append({"kind": "point", "between": between})
    mj.option.gravity = (0, 0, -9.81)
    model = mj.compile()
    names = [model.joint(k).name for k in range(model.njnt)]
    S = np.array([[float(name == motor) for name in names] for motor in m.motors])
    return Twin(model, names, closures, S, S)


def worst_torque_error(robot: Robot, m: Mechanism, states: int = 20) -> float:
    """Largest relative error of the motors' torques against MuJoCo, at closed states near home."""
    rng, twin = np.random.default_rng(5), in_mujoco(m)
    order = [robot.motors.names.index(name) for name in m.motors]
    c = 0.3 * rng.uniform(-1, 1, (states, len(m.motors)))
    cd, cdd = 2 * rng.normal(size=c.shape), 20 * rng.normal(size=c.shape)
    q = robot.at_rest(c[:, np.argsort(order)]).q
    tau = inverse_dynamics(robot, c[:, np.argsort(order)], cd[:, np.argsort(order)], cdd[:, np.argsort(order)])[
        :, order
    ]
    joints = [list(robot.model.names)[1:].index(name) for name in twin.joints]
    worst = 0.0
    for k in range(states):
        found = asked(twin, q[k, joints], cd[k], cdd[k])
        assert found.gap < 1e-9
        efforts = found.T.T @ found.efforts
        worst = max(worst, float(np.linalg.norm(tau[k] - efforts) / np.linalg.norm(efforts)))
    return worst
