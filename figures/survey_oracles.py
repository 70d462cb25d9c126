"""The torques of a robot beside those of a program that read the same file by itself: Pinocchio (URDF), MuJoCo (MJCF, and SDF by the world's numbers)."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import mujoco
import numpy as np
import pinocchio as pin

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.robot.robot import Robot, State, build

STATES = 5
REACHES = (
    0.05,
    0.005,
    5e-4,
)  # [rad or m] of every coordinate, to both sides of home; less where the loops do not reach so far
NO_FORCE = 1e-12  # [N m or N] a robot whose bodies weigh nothing asks for none
KNOWN = ("viscous", "armature", "spring")  # efforts that the other programs have, too; their friction jumps at zero
LOOSE = 1e-6  # of rates on the loops: their derivatives are differences here


@dataclass(frozen=True)
class Asked:
    """What another program says of a state of all joints, in its own order of them."""

    efforts: np.ndarray  # (n,) [N m or N]
    gap: np.ndarray  # (m,) of its loops
    J: np.ndarray  # (m, n)
    drift: np.ndarray  # (m,) J a + drift = 0


class Program(Protocol):
    """A program that has read the file."""

    joints: list[str]

    def at(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Asked:
        """Return what it asks at positions, rates and accelerations (n,) of its joints."""


def worst_error(robot: Robot, other: Program) -> float:
    """Return the largest relative error of the torques along the coordinates, at random states near home.

    Raises:
        AssertionError: another mechanism: other joints, or loops that do not close, or not stay closed, there.
    """
    led = _led(robot)
    names = list(led.model.names)[1:]
    assert set(other.joints) == set(names), f"joints {sorted(set(other.joints) ^ set(names))}"
    order = [names.index(name) for name in other.joints]
    S = led.coordinates.S[:, order]
    state, found = _moving(led)
    worst = 0.0
    for k in range(STATES):
        q, v, a = (x[k, order] for x in (state.q, state.v, state.a))
        asked = other.at(q, v, a)
        assert np.abs(asked.gap).max(initial=0) < LOOSE, f"its loops are {np.abs(asked.gap).max():.1e} open"
        assert np.abs(asked.J @ v).max(initial=0) < LOOSE, "rates that its loops forbid"
        assert np.abs(asked.J @ a + asked.drift).max(initial=0) < 10 * LOOSE, "accelerations that its loops forbid"
        right = np.concatenate([np.zeros((len(asked.J), len(S))), np.eye(len(S))])
        T, _, known, _ = np.linalg.lstsq(np.concatenate([asked.J, S]), right, rcond=1e-10)
        assert known == len(order), "joints that its loops leave free"
        wanted = T.T @ asked.efforts
        worst = max(worst, float(np.linalg.norm(found[k] - wanted) / max(np.linalg.norm(wanted), NO_FORCE)))
    return worst


def _moving(led: Robot) -> tuple[State, np.ndarray]:
    """Return random states near home, and the torques (N, d) that they ask for."""
    S = led.coordinates.S
    for reach in REACHES:
        rng = np.random.default_rng(5)
        c = S @ led.home + led.coordinates.offset + reach * rng.uniform(-1, 1, (STATES, len(S)))
        cd, cdd = rng.normal(size=c.shape), 10 * rng.normal(size=c.shape)
        try:
            return led.close(c, cd, cdd), inverse_dynamics(led, c, cd, cdd)
        except ClosureFailed:
            if reach == REACHES[-1]:
                raise
    raise AssertionError


def _led(robot: Robot) -> Robot:
    """The same robot with a motor at every coordinate, and the efforts that other programs have."""
    specs = list(robot.file.coordinates or robot.file.motors or list(robot.model.names)[1:])
    driven = {m.name: m for m in robot.file.motors or [] if not isinstance(m, str)}
    specs = [driven.get(s, s) if isinstance(s, str) else s for s in specs]
    kept = [e.spec for e in robot.efforts if e.spec.model in KNOWN]
    changed = {"motors": specs, "coordinates": None, "efforts": kept, "limits": {}, "gear": {}}
    led = build(robot.name, robot.file.model_copy(update=changed), robot.urdf_xml, robot.urdf_path)
    return replace(led, home=robot.home)


class Pinocchio:
    """A tree as Pinocchio reads it; of a URDF also its mimic joints, as their numbers say."""

    def __init__(self, model: pin.Model, damping: dict[str, float], mimics: list[tuple[str, str, float, float]]):
        self.model, self.data, self.joints = model, model.createData(), list(model.names)[1:]
        self.damping = np.array([damping.get(name, 0.0) for name in self.joints])
        self.J, self.shift = np.zeros((len(mimics), len(self.joints))), np.zeros(len(mimics))
        for k, (joint, other, factor, offset) in enumerate(mimics):
            self.J[k, self.joints.index(joint)] = 1.0
            self.J[k, self.joints.index(other)] -= factor
            self.shift[k] = offset

    def at(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Asked:
        """Return the recursive Newton-Euler efforts of the tree, and how far mimic joints are off."""
        x = pin.neutral(self.model)
        for k in range(1, self.model.njoints):
            joint = self.model.joints[k]
            x[joint.idx_q : joint.idx_q + joint.nq] = (
                [q[k - 1]] if joint.nq == 1 else [np.cos(q[k - 1]), np.sin(q[k - 1])]
            )
        efforts = pin.rnea(self.model, self.data, x, v, a) + self.damping * v
        return Asked(efforts, self.J @ q - self.shift, self.J, np.zeros(len(self.J)))


def of_urdf(text: str) -> Pinocchio:
    root = ET.fromstring(text)
    root.set("name", root.get("name") or "robot")  # which Pinocchio asks for
    joints = [j for j in root.findall("joint") if j.get("type") != "fixed"]
    damping = {str(j.get("name")): _number(j.find("dynamics"), "damping") for j in joints}
    mimics = [(str(j.get("name")), j.find("mimic")) for j in joints]
    followed = [
        (name, str(m.get("joint")), _number(m, "multiplier", 1.0), _number(m, "offset"))
        for name, m in mimics
        if m is not None
    ]
    return Pinocchio(pin.buildModelFromXML(ET.tostring(root, encoding="unicode")), damping, followed)


def of_mjcf(path: Path) -> Program:
    """Return MuJoCo's reading of a file, of one that MuJoCo refuses for what it looks like with that mended, else Pinocchio's."""
    try:
        return Mujoco(mujoco.MjModel.from_xml_path(str(path)))
    except ValueError:
        root = ET.parse(path).getroot()
    for element in root.iter():
        element.attrib.pop("material", None)
        if element.tag == "default":
            element.attrib.pop("group", None)
        if element.tag == "inertial":
            element.set("pos", element.get("pos", "0 0 0"))
        if element.tag == "compiler":
            element.set("meshdir", str(path.parent / element.get("meshdir", "")))
    try:
        return Mujoco(mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode")))
    except ValueError:
        return Pinocchio(pin.buildModelFromMJCF(str(path)), {}, [])


def _number(element: ET.Element | None, key: str, usual: float = 0.0) -> float:
    return usual if element is None else float(element.get(key, usual))


class Mujoco:
    """An MJCF file as MuJoCo reads it; a ball joint as the three hinges x, y, z that turn one on the other."""

    step = 1e-6  # of the differences

    def __init__(self, model: mujoco.MjModel):
        self.model, self.data = model, mujoco.MjData(model)
        self.joints: list[str] = []
        for k in range(model.njnt):
            body = model.body(model.jnt_bodyid[k])
            nth = k - int(body.jntadr[0])
            name = model.joint(k).name or f"{body.name or f'body_{body.id}'}_joint{nth or ''}"
            ball = model.jnt_type[k] == mujoco.mjtJoint.mjJNT_BALL
            self.joints += [f"{name}_{letter}" for letter in "xyz"] if ball else [name]

    def at(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Asked:
        """Return inertia, bias and passive forces at a state, and MuJoCo's equalities."""
        n, h = len(q), self.step
        before, behind = (self._rows(q + sign * h * v, v)[1] for sign in (-1, 1))
        gap, J = self._rows(q, v)
        E, E_rate = self._hinges(q), (self._hinges(q + h * v) - self._hinges(q - h * v)) / (2 * h)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        own = M @ (E @ a + E_rate @ v) + self.data.qfrc_bias - self.data.qfrc_passive
        assert E.shape == (self.model.nv, n)
        return Asked(E.T @ own, gap, J, (behind - before) / (2 * h) @ v)

    def _rows(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set the state, and return gap and Jacobian of the equalities that act."""
        E, x = self._hinges(q), 0
        for k in range(self.model.njnt):
            at = int(self.model.jnt_qposadr[k])
            if self.model.jnt_type[k] == mujoco.mjtJoint.mjJNT_BALL:
                turn = np.eye(3)
                for axis, angle in zip(np.eye(3), q[x : x + 3], strict=True):
                    turn = turn @ pin.exp3(axis * angle)
                mujoco.mju_mat2Quat(self.data.qpos[at : at + 4], turn.ravel())
                x += 3
            else:
                self.data.qpos[at] = q[x]
                x += 1
        self.data.qvel[:] = E @ v
        mujoco.mj_forward(self.model, self.data)
        ties = self.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        rows = np.zeros((self.data.nefc, self.model.nv))
        if mujoco.mj_isSparse(self.model):
            adr, num = self.data.efc_J_rowadr, self.data.efc_J_rownnz
            for i in range(self.data.nefc):
                part = slice(adr[i], adr[i] + num[i])
                rows[i, self.data.efc_J_colind[part]] = self.data.efc_J[part]
        else:
            rows = self.data.efc_J.reshape(-1, self.model.nv).copy()
        return self.data.efc_pos[ties].copy(), rows[ties] @ E

    def _hinges(self, q: np.ndarray) -> np.ndarray:
        """Return MuJoCo's rates per rate of the hinges (nv, n): a ball's are along the axes of its body."""
        E, x = np.zeros((self.model.nv, len(q))), 0
        for k in range(self.model.njnt):
            at = int(self.model.jnt_dofadr[k])
            if self.model.jnt_type[k] == mujoco.mjtJoint.mjJNT_BALL:
                y, z = (pin.exp3(np.eye(3)[i] * q[x + i]) for i in (1, 2))
                E[at : at + 3, x : x + 3] = np.column_stack(
                    [z.T @ y.T @ np.eye(3)[0], z.T @ np.eye(3)[1], np.eye(3)[2]]
                )
                x += 3
            else:
                E[at, x] = 1.0
                x += 1
        return E
