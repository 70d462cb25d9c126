"""The reduced strut models as expressions: what families/reduced_delta.py and reduced_arms.py say of a closed motion."""

import numpy as np

from robodyn_pin.exporting.closed_twin import Twin, solved
from robodyn_pin.exporting.symbols import X, applied, constant, cross_product, dot, objects
from robodyn_pin.exporting.twin import bodies_motion
from robodyn_pin.families.reduced_arms import ArmModel, arm_model, is_delta
from robodyn_pin.families.reduced_delta import EndEffector, ReducedModel, reduced_model


def reduced_strut_forces(twin: Twin, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Forces (2, struts) at the closed ends, then at the arms, of a closed motion v, a (nv,) of all joints.

    Raises:
        RobodynError: the robot is neither a Delta nor are its platform's joints as many as its struts.
    """
    if is_delta(twin.robot):
        return _delta_forces(reduced_model(twin.robot), twin.pose.q, v, a)
    return _arm_forces(twin, arm_model(twin.robot), v, a)


def _delta_forces(reduced: ReducedModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Platform, struts and arms, block by block; equation (31) of Gnad et al."""
    delta, g, columns = reduced.delta, objects(reduced.gravity), reduced.delta.arm_columns[reduced.delta.arm_of]
    x, lifted = objects(delta.origin) + objects(delta.slide) @ q, objects(delta.slide) @ a - g
    wrench = lifted @ objects(reduced.lifting)
    if reduced.tool is not None:
        psi = reduced.tool.column
        wrench = wrench + _of_tool(reduced.tool, lifted, q[psi], v[psi], a[psi])
    elbow, along, centre = delta.elbow, [], []
    for k, joint in enumerate(columns):
        s, c = applied("sin", q[joint]), applied("cos", q[joint])
        cosine, sine = objects(elbow.cosine[k]), objects(elbow.sine[k])
        radius, tangent = cosine * c + sine * s, sine * c - cosine * s
        along.append((x + objects(delta.hanging[k]) - radius) * float(1 / delta.length[k]))
        above = tangent * a[joint] - radius * (v[joint] * v[joint]) - g
        centre.append(above + (lifted - above) * float(reduced.share[k, 0]))
    unit = np.stack([objects(lever) @ u for lever, u in zip(reduced.levers, along, strict=True)], axis=1)
    lower = solved(unit, -wrench)
    return _both_ends(lower, reduced.strut_mass, along, centre)


def _of_tool(tool: EndEffector, lifted: np.ndarray, psi: X, psid: X, psidd: X) -> np.ndarray:
    """What the end-effector's wrench asks of the platform (6,), about the platform's origin."""
    circle = np.array([constant(1.0), applied("cos", psi), applied("sin", psi)])
    turn = (circle @ objects(tool.turn)).reshape(3, 3)
    own = np.concatenate([lifted @ turn, [psidd, psid * psid]]) @ objects(tool.wrench)
    force, moment = turn @ own[:3], turn @ own[3:]
    return np.concatenate([force, moment - turn[:, 2] * own[5] + force @ objects(tool.lever)])


def _arm_forces(twin: Twin, parts: ArmModel, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The platform's efforts give the struts' forces, their masses the difference between the ends."""
    at, gravity = twin.pose.at, np.array(parts.bare.gravity.linear)
    bodies = np.array([body.toDynamicParameters() for body in parts.bare.inertias])
    efforts, (V, A) = twin.tree_efforts(v, a, gravity, bodies), bodies_motion(twin.tree, at, v, a)
    frames, along, centre, pull = parts.bare.frames, [], [], []
    for k, (near, far, ball) in enumerate(zip(parts.near, parts.far, parts.balls, strict=True)):
        (top, top_rate), (end, end_rate) = (_moving_point(twin, frames[f], V, A) for f in (near, far))
        span = end - top
        u = span * (1 / applied("sqrt", dot(span, span)))
        along.append(u)
        centre.append(top_rate + (end_rate - top_rate) * float(parts.share[k]) - objects(gravity))
        held = at.point(frames[ball].parentJoint, frames[ball].placement.translation)
        above = set(parts.bare.supports[frames[ball].parentJoint])
        pull.append([
            dot(u, at.s[j + 1][:3] + cross_product(at.s[j + 1][3:], held)) if j + 1 in above else constant(0.0)
            for j in parts.platform
        ])  # fmt: skip
    lower = solved(-np.array(pull).T, efforts[parts.platform])
    return _both_ends(lower, parts.mass, along, centre)


def _moving_point(twin: Twin, frame: object, V: list[np.ndarray], A: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A frame's place and acceleration (3,)."""
    joint = frame.parentJoint  # type: ignore[attr-defined]
    p = twin.pose.at.point(joint, frame.placement.translation)  # type: ignore[attr-defined]
    rate = V[joint][:3] + cross_product(V[joint][3:], p)
    return p, A[joint][:3] + cross_product(A[joint][3:], p) + cross_product(V[joint][3:], rate)


def _both_ends(lower: np.ndarray, mass: np.ndarray, along: list[np.ndarray], centre: list[np.ndarray]) -> np.ndarray:
    upper = [x - dot(u, y) * float(m) for x, m, u, y in zip(lower, mass, along, centre, strict=True)]
    return np.array([lower, np.array(upper)])
