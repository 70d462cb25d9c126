"""SDF files as MuJoCo bodies: a reader of its own, for files whose poses are relative to the model, as those of SDF 1.6 are."""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation
from survey_oracles import Asked

STEP = 1e-6
HINGES = {"ball": 3, "universal": 2, "revolute": 1, "continuous": 1, "prismatic": 1, "fixed": 0}
LIGHT = 1.0  # [kg], [kg m^2] of a body that MuJoCo would refuse, until its own numbers are written over


def placed(element: ET.Element | None) -> np.ndarray:
    """Return the (4, 4) placement that an element's <pose> says."""
    pose = None if element is None else element.find("pose")
    x = (
        np.array([float(v) for v in (None if pose is None else pose.text or "0 0 0 0 0 0").split()])
        if pose is not None
        else np.zeros(6)
    )
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = Rotation.from_euler("xyz", x[3:]).as_matrix(), x[:3]
    return out


def number(element: ET.Element, path: str, usual: float) -> float:
    return float(element.findtext(path) or usual)


class Sdf:
    """A model of SDF with joints; those named in `cut` close loops."""

    def __init__(self, text: str, cut: set[str]):
        root = ET.fromstring(text)
        self.model = next(
            m for m in (*root.findall("model"), *root.findall("world/model")) if m.find("joint") is not None
        )
        old = float(root.get("version", "1.6")) < 1.5
        self.links = {str(e.get("name")): placed(e) for e in self.model.findall("link")}
        self.links["world"] = np.linalg.inv(placed(self.model))
        self.bodies = {str(e.get("name")): e for e in self.model.findall("link")}
        self.mj = mujoco.MjSpec()
        gravity = root.findtext("world/gravity") or "0 0 -9.81"
        self.mj.option.gravity = [float(x) for x in gravity.split()]
        self.joints: list[str] = []
        self.damping: list[float] = []
        self.springs: list[tuple[float, float]] = []
        self.weights: list[tuple[str, float, np.ndarray]] = []
        self.old = old
        every = self.model.findall("joint")
        tree = [j for j in every if j.get("name") not in cut]
        reached = {"world": self.mj.worldbody}
        moved = {str(j.findtext("child")).strip() for j in every}
        for name in sorted(self.bodies, key=lambda n: n in moved):  # a link that no joint moves stands fast
            if name == "world":
                continue
            if name not in moved and not any("world" in self._ends(j) for j in tree):
                self._hang(reached, "world", name, None, 1)
        while tree:
            step = next(
                (
                    (j, s)
                    for s in (1, -1)
                    for j in tree
                    if self._ends(j)[::s][0] in reached and self._ends(j)[::s][1] not in reached
                ),
                None,
            )
            if step is None:
                left = next(
                    n for n in sorted(self.bodies, key=lambda n: n in moved) if n not in reached and n != "world"
                )
                self._hang(reached, "world", left, None, 1)
                continue
            tree.remove(step[0])
            a, b = self._ends(step[0])[:: step[1]]
            self._hang(reached, a, b, step[0], step[1])
        self.ties = [j for j in every if j.get("name") in cut]
        self.m = self.mj.compile()
        for name, mass, moments in self.weights:
            k = self.m.body(name).id
            assert not self.m.body_simple[k]
            self.m.body_mass[k], self.m.body_inertia[k] = mass, moments
        self.d = mujoco.MjData(self.m)
        assert [self.m.joint(k).name for k in range(self.m.njnt)] == sorted(
            self.joints, key=lambda n: self.m.joint(n).id
        )
        order = [self.joints.index(self.m.joint(k).name) for k in range(self.m.njnt)]
        self.joints = [self.joints[k] for k in order]
        self.loss, self.spring = np.array(self.damping)[order], np.array(self.springs)[order]

    def _ends(self, joint: ET.Element) -> tuple[str, str]:
        return str(joint.findtext("parent")).strip(), str(joint.findtext("child")).strip()

    def _frame(self, joint: ET.Element) -> np.ndarray:
        return self.links[self._ends(joint)[1]] @ placed(joint)

    def _axes(self, joint: ET.Element) -> list[tuple[np.ndarray, ET.Element | None]]:
        """Return the axes along the model's, and their elements."""
        R = self._frame(joint)[:3, :3]
        if joint.get("type") == "ball":
            return [(R[:, k], None) for k in range(3)]
        found = []
        for tag in ("axis", "axis2")[: HINGES[str(joint.get("type"))]]:
            axis = joint.find(tag)
            assert axis is not None
            xyz = np.array([float(x) for x in (axis.findtext("xyz") or "0 0 1").split()])
            said = axis.findtext("use_parent_model_frame")
            in_model = self.old if said is None else said.strip() in ("1", "true")
            xyz = xyz if in_model else R @ xyz
            found.append((xyz / np.linalg.norm(xyz), axis))
        return found

    def _hang(
        self, reached: dict[str, mujoco.MjsBody], parent: str, child: str, joint: ET.Element | None, sense: int
    ) -> None:
        """Hang a link on another one, with a body without mass for each hinge before the last."""
        at = self.links[parent]
        body, axes = reached[parent], [] if joint is None else self._axes(joint)[::sense]
        place = self.links[child] if joint is None else self._frame(joint)
        many = len(axes) > 1
        for k, (axis, element) in enumerate(axes):
            name = (
                f"{joint.get('name')}_{k + 1}"
                if many and joint is not None
                else str(joint.get("name") if joint is not None else "")
            )
            last = k == len(axes) - 1
            target = self.links[child] if last else self._upright(place)
            body = self._body(
                body, child if last else f"{name}_cross", np.linalg.inv(at) @ target, child if last else None
            )
            slide = joint is not None and joint.get("type") == "prismatic"
            kind = mujoco.mjtJoint.mjJNT_SLIDE if slide else mujoco.mjtJoint.mjJNT_HINGE
            own = np.linalg.inv(target)
            body.add_joint(name=name, type=kind, axis=sense * own[:3, :3] @ axis, pos=(own @ place)[:3, 3])
            self.joints.append(name)
            dynamics = None if element is None else element.find("dynamics")
            self.damping.append(0.0 if dynamics is None else number(dynamics, "damping", 0.0))
            self.springs.append(
                (0.0, 0.0)
                if dynamics is None
                else (number(dynamics, "spring_stiffness", 0.0), number(dynamics, "spring_reference", 0.0))
            )
            at = target
        if not axes:
            body = self._body(body, child, np.linalg.inv(at) @ self.links[child], child)
        reached[child] = body

    @staticmethod
    def _upright(place: np.ndarray) -> np.ndarray:
        out = np.eye(4)
        out[:3, 3] = place[:3, 3]
        return out

    def _body(self, parent: mujoco.MjsBody, name: str, place: np.ndarray, link: str | None) -> mujoco.MjsBody:
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, place[:3, :3].ravel())
        body = parent.add_body(name=name, pos=place[:3, 3], quat=quat)
        inertial = None if link is None else self.bodies[link].find("inertial")
        mass, moments, R, centre = 0.0, np.zeros(3), np.eye(3), np.zeros(3)
        if inertial is not None:
            mass = number(inertial, "mass", 1.0)
            entries = {
                k: number(inertial, f"inertia/{k}", float(k in ("ixx", "iyy", "izz")))
                for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            }
            I = np.array([[entries["".join(("i", *sorted(a + b)))] for b in "xyz"] for a in "xyz"])
            own = placed(inertial)
            moments, turn = np.linalg.eigh(I)
            R, centre = own[:3, :3] @ (turn * np.linalg.det(turn)), own[:3, 3]
        mujoco.mju_mat2Quat(quat, R.ravel())
        body.explicitinertial, body.ipos, body.iquat = True, centre, quat
        body.mass, body.inertia = LIGHT, LIGHT * np.ones(3)
        body.ipos = centre + 1e-12  # so that MuJoCo keeps no shortcut for the body
        self.weights.append((name, mass, moments))
        return body

    def at(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Asked:
        """Return what MuJoCo asks, and the loops by its Jacobians; their rates are differences."""
        before, behind = (self._rows(q + s * STEP * v, v)[1] for s in (-1, 1))
        gap, J = self._rows(q, v)
        M = np.zeros((self.m.nv, self.m.nv))
        mujoco.mj_fullM(self.m, self.d, M)
        stiffness, rest = self.spring.reshape(-1, 2).T
        efforts = M @ a + self.d.qfrc_bias + self.loss * v + stiffness * (q - rest)
        return Asked(efforts, gap, J, (behind - before) / (2 * STEP) @ v)

    def _rows(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.d.qpos[:], self.d.qvel[:] = q, v
        mujoco.mj_forward(self.m, self.d)
        gaps, rows = [np.zeros(0)], [np.zeros((0, self.m.nv))]
        for joint in self.ties:
            frame, kind = self._frame(joint), joint.get("type")
            points, turns, J = [], [], np.zeros((2, 2, 3, self.m.nv))
            for k, link in enumerate(self._ends(joint)):
                body = self.m.body(link).id
                R, p = self.d.xmat[body].reshape(3, 3), self.d.xpos[body]
                local = np.linalg.inv(self.links[link]) @ frame
                points.append(p + R @ local[:3, 3])
                turns.append(R @ self.links[link][:3, :3].T)
                mujoco.mj_jac(self.m, self.d, J[k, 0], J[k, 1], points[-1], body)
            gaps.append(points[1] - points[0])
            rows.append(J[1, 0] - J[0, 0])
            if kind in ("revolute", "continuous"):
                axis = self._axes(joint)[0][0]
                basis = np.linalg.svd(axis[None])[2][1:]
                across = (turns[0] @ basis.T).T
                other = turns[1] @ axis
                gaps.append(across @ other)
                rows.append(np.array([np.cross(other, x) @ J[1, 1] - np.cross(other, x) @ J[0, 1] for x in across]))
            else:
                assert kind == "ball", f"a cut joint of type {kind}"
        return np.concatenate(gaps), np.concatenate(rows)
