"""A robot in MuJoCo: the same URDF as a MuJoCo tree, the loops put on it with MuJoCo's Jacobians and their derivatives.

An engine that shares no code with the package; its forces come from its own rigid equations at a state.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import mujoco
import numpy as np
import yaml

from robodyn_pin.robot.robot import Robot


@dataclass(frozen=True)
class Twin:
    """A robot in MuJoCo."""

    model: mujoco.MjModel
    joints: list[str]  # in MuJoCo's order
    closures: list[dict]
    motors: np.ndarray  # (n_motors, nv) rows of S
    coordinates: np.ndarray  # (d, nv)


def numbers(element: ET.Element | None, key: str, default: str = "0 0 0") -> np.ndarray:
    return np.array([float(x) for x in (default if element is None else element.get(key, default)).split()])


def rotation(rpy: np.ndarray) -> np.ndarray:
    """URDF's convention: about fixed x, then y, then z."""
    (a, b, c), (sa, sb, sc) = np.cos(rpy), np.sin(rpy)
    Rx = np.array([[1, 0, 0], [0, a, -sa], [0, sa, a]])
    Ry = np.array([[b, 0, sb], [0, 1, 0], [-sb, 0, b]])
    Rz = np.array([[c, -sc, 0], [sc, c, 0], [0, 0, 1]])
    return Rz @ Ry @ Rx


def quaternion(R: np.ndarray) -> np.ndarray:
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, R.ravel())
    return out


def inertial(link: ET.Element) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre of mass, principal axes, principal moments."""
    entry = link.find("inertial")
    if entry is None:
        return 0.0, np.zeros(3), np.eye(3), np.zeros(3)
    i = {key: float(value) for key, value in entry.find("inertia").attrib.items()}
    I = np.array([[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]], [i["ixz"], i["iyz"], i["izz"]]])
    moments, axes = np.linalg.eigh(I)
    axes = axes * np.linalg.det(axes)  # right-handed
    origin = entry.find("origin")
    return (
        float(entry.find("mass").get("value")),
        numbers(origin, "xyz"),
        rotation(numbers(origin, "rpy")) @ axes,
        moments,
    )


def twin(robot: Robot) -> Twin:
    """The URDF and YAML of a robot as MuJoCo sees them."""
    urdf = ET.fromstring(robot.urdf_xml)
    spec = yaml.safe_load(robot.urdf_path.with_suffix(".yaml").read_text())
    armature = {e["of"]: e["initial"] for e in spec.get("efforts", []) if e["model"] == "armature"}
    links = {link.get("name"): link for link in urdf.findall("link")}
    below: dict[str, list[ET.Element]] = {}
    for joint in urdf.findall("joint"):
        below.setdefault(joint.find("parent").get("link"), []).append(joint)
    mj = mujoco.MjSpec()
    mj.option.gravity = spec.get("gravity", [0, 0, -9.81])
    refused = []

    def hang(parent: mujoco.MjsBody, joint: ET.Element) -> None:
        name, origin = joint.find("child").get("link"), joint.find("origin")
        mass, com, axes, moments = inertial(links[name])
        body = parent.add_body(name=name, pos=numbers(origin, "xyz"), quat=quaternion(rotation(numbers(origin, "rpy"))))
        body.explicitinertial, body.ipos, body.iquat = True, com, quaternion(axes)
        # MuJoCo's compiler refuses bodies that are massless or cannot exist; its equations do not mind them.
        fine = moments[0] > 0 and moments[0] + moments[1] > moments[2]
        body.mass, body.inertia = (mass, moments) if fine else (1.0, np.ones(3))
        if not fine:
            refused.append((name, mass, moments))
        if joint.get("type") != "fixed":
            kind = mujoco.mjtJoint.mjJNT_SLIDE if joint.get("type") == "prismatic" else mujoco.mjtJoint.mjJNT_HINGE
            axis = numbers(joint.find("axis"), "xyz", "1 0 0")
            body.add_joint(name=joint.get("name"), type=kind, axis=axis, armature=armature.get(joint.get("name"), 0.0))
        for further in below.get(name, []):
            hang(body, further)

    for joint in below["base"]:
        hang(mj.worldbody, joint)
    model = mj.compile()
    for name, mass, moments in refused:
        k = model.body(name).id
        assert not model.body_simple[k]  # MuJoCo would keep the mass matrix of such a body from compilation
        model.body_mass[k], model.body_inertia[k] = mass, moments
    names = [model.joint(k).name for k in range(model.njnt)]

    def row(of: dict[str, float]) -> np.ndarray:
        return np.array([of.get(name, 0.0) for name in names])

    motors = {
        m if isinstance(m, str) else m["name"]: {m: 1.0} if isinstance(m, str) else m["of"] for m in spec["motors"]
    }
    coordinates = [motors.get(c, {c: 1.0}) for c in spec.get("coordinates", motors)]
    S = np.array([row(of) for of in motors.values()])
    return Twin(model, names, spec.get("closures", []), S, np.array([row(of) for of in coordinates]))


def loop_rows(at: Twin, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gap, its Jacobian, and the gap's acceleration where all joints have none, of all cut joints.

    Points must meet in all three directions: in a planar robot the third row says nothing new, and does no harm. The
    axes of a revolute joint must not turn against each other across the free axis.
    """
    gaps, rows, drifts = [], [], []
    nv = at.model.nv
    for closure in at.closures:
        if closure["kind"] == "coupling":
            row = np.array([closure["of"].get(name, 0.0) for name in at.joints])
            gaps.append(row[None] @ data.qpos)
            rows.append(row[None])
            drifts.append(np.zeros(1))
            continue
        J, Jdot = np.zeros((2, 2, 3, nv)), np.zeros((2, 2, 3, nv))
        ends, R = [], []
        for k, name in enumerate(closure["between"]):
            body = at.model.body(name).id
            ends.append(data.xpos[body].copy())
            R.append(data.xmat[body].reshape(3, 3).copy())
            mujoco.mj_jac(at.model, data, J[k, 0], J[k, 1], ends[k], body)
            mujoco.mj_jacDot(at.model, data, Jdot[k, 0], Jdot[k, 1], ends[k], body)
        gaps.append(ends[1] - ends[0])
        (linear, angular), (linear_rate, angular_rate) = J[1] - J[0], Jdot[1] - Jdot[0]
        rows.append(linear)
        drifts.append(linear_rate @ data.qvel)
        if closure["kind"] == "revolute":
            assert closure["axis"] == [1, 0, 0]
            across = R[0][:, 1:].T  # y and z of the first frame, fixed to it
            rates = np.cross(J[0, 1] @ data.qvel, across)
            gaps.append(across @ R[1][:, 0])
            rows.append(across @ angular)
            drifts.append(across @ (angular_rate @ data.qvel) + rates @ (angular @ data.qvel))
        else:
            assert closure["kind"] in ("point", "planar_point")
    return (
        np.concatenate([np.zeros(0), *gaps]),
        np.concatenate([np.zeros((0, nv)), *rows]),
        np.concatenate([np.zeros(0), *drifts]),
    )


def solve(J: np.ndarray, S: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(np.concatenate([J, S]), right, rcond=1e-10)[0]


@dataclass(frozen=True)
class Asked:
    """What one state asks, by MuJoCo."""

    J: np.ndarray  # (m, nv) of the loops
    T: np.ndarray  # (nv, d)
    efforts: np.ndarray  # (nv,) M a + bias
    a: np.ndarray  # (nv,)
    gap: float
    data: mujoco.MjData


def asked(at: Twin, q: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Asked:
    model, data = at.model, mujoco.MjData(at.model)
    m, d = len(loop_rows(at, data)[0]), len(cd)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    gap, J, _ = loop_rows(at, data)
    T = solve(J, at.coordinates, np.concatenate([np.zeros((m, d)), np.eye(d)]))
    data.qvel[:] = T @ cd
    mujoco.mj_comVel(model, data)
    drift = loop_rows(at, data)[2]
    a = solve(J, at.coordinates, np.concatenate([-drift, cdd]))
    mujoco.mj_makeM(model, data)
    M, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, M)
    mujoco.mj_rne(model, data, 0, bias)
    return Asked(J, T, M @ a + bias, a, np.abs(gap).max(initial=0), data)


def tensions(at: Twin, robot: Robot, q: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> dict[str, tuple[float, float]]:
    """Force along each strut at its closed and at its carried end [N], tension positive, without friction.

    The multipliers close MuJoCo's rigid equations, J'lambda = M a + bias - S'tau; with them on the bodies its recursive
    Newton-Euler gives what each body takes from its parent.
    """
    found = asked(at, q, cd, cdd)
    tau = np.linalg.solve((at.motors @ found.T).T, found.T.T @ found.efforts)
    lam = np.linalg.solve(np.concatenate([found.J, at.coordinates]).T, found.efforts - at.motors.T @ tau)
    model, data = at.model, found.data
    order = [closure["between"][0] for closure in at.closures]
    data.qacc[:] = found.a
    rows = np.cumsum([0, *(3 if closure["kind"] == "point" else 5 for closure in at.closures)])
    for closure, row in zip(at.closures, rows, strict=False):
        force = lam[row : row + 3]
        for name, sign in zip(closure["between"], (-1, 1), strict=True):
            body = model.body(name).id
            data.xfrc_applied[body, :3] += sign * force
            data.xfrc_applied[body, 3:] += np.cross(data.xpos[body] - data.xipos[body], sign * force)
        if closure["kind"] == "revolute":  # what it holds across its free axis is a moment
            first, second = (model.body(name).id for name in closure["between"])
            across = data.xmat[first].reshape(3, 3)[:, 1:] @ lam[row + 3 : row + 5]
            data.xfrc_applied[first, 3:] -= across
            data.xfrc_applied[second, 3:] += across
    mujoco.mj_rnePostConstraint(model, data)
    out = {}
    for strut, (near, far) in robot.file.struts.items():
        along = data.body(far).xpos - data.body(near).xpos
        along /= np.linalg.norm(along)
        from_parent = data.cfrc_int[model.body(strut).id, 3:]
        out[strut] = (-lam[rows[order.index(far)] :][:3] @ along, -from_parent @ along)
    return out
