"""How the forces in the loops and along the struts change with the coordinates.

From J'lam = rest follows J'dlam = d(rest) - dJ'lam. A closure's wrench w on its second member keeps its components along the first
member's axes; so with s_j as its joint sees it, dJ'lam is s_j . (dw + (U_a - U_j) x* w), U being how the bodies are moved.
"""

import numpy as np

from robodyn_pin.closures.batch import Placed, vector_product
from robodyn_pin.closures.elimination import stacked
from robodyn_pin.closures.kinds import COUPLING, DISTANCE, KINDS
from robodyn_pin.closures.variations import Varied, rate_slopes, varied
from robodyn_pin.dynamics.derivatives import AskedSlopes, Derivatives, asked_of, torque_slopes
from robodyn_pin.dynamics.loads import quantities
from robodyn_pin.dynamics.loop_forces import closure_forces, multipliers
from robodyn_pin.dynamics.strut_regressor import strut_regressor
from robodyn_pin.dynamics.struts import Held, held_struts, strut_loads
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot


def strut_force_derivatives(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Derivatives:
    """Forces along k struts (N, 2, k) [N], at their closed ends and at those that the tree carries, tension positive.

    Derivatives (N, 2, k, d) by c, c', c''; by the parameters (N, 2, k, p) without what the robot file knows.

    Raises:
        RobodynError: the robot has no struts; friction with memory. Others as `constraint_forces`.
    """
    if not robot.file.struts:
        raise RobodynError(f"robot {robot.name!r} has no struts; name them under 'struts' in its file")
    asked = asked_of(robot, robot.close(c, cd, cdd))
    state = asked.moved.state
    lam, slopes = multiplier_slopes(robot, asked)
    forces = strut_loads(robot, state, closure_forces(robot, lam))
    by_c, by_cd, by_cdd = strut_slopes(robot, asked, lam, slopes)
    both = np.stack([forces.lower, forces.upper], axis=1)
    return Derivatives(both, by_c, by_cd, by_cdd, lambda: strut_regressor(robot, state))


def limited_slopes(robot: Robot, limits: Limits, asked: AskedSlopes) -> tuple[np.ndarray, np.ndarray]:
    """The limited quantities (N, m) of a motion, and their derivatives (3, N, m, d) by c, c', c''; columns as `limits.labels`."""
    state, bends = asked.moved.state, asked.moved.bends
    zero = np.zeros_like(state.T)
    values, slopes = {}, {
        "position": np.stack([state.T, zero, zero]),
        "velocity": np.stack([bends.v, state.T, zero]),
        "acceleration": np.stack([bends.a, 2 * bends.v, state.T]),
    }  # fmt: skip
    if {"torque", "force"} & limits.kinds:
        values["torque"], slopes["torque"] = torque_slopes(robot, asked)
    if "force" in limits.kinds:
        lam, found = multiplier_slopes(robot, asked)
        forces = strut_loads(robot, state, closure_forces(robot, lam))
        values["force"] = np.hstack([forces.lower, forces.upper])
        slopes["force"] = strut_slopes(robot, asked, lam, found).reshape(3, *values["force"].shape, -1)
    return quantities(limits, state, values), np.concatenate(
        [zero[None, :, :0].repeat(3, axis=0), *(b.S @ slopes[b.kind] for b in limits.bounds)], axis=2
    )


def multiplier_slopes(robot: Robot, asked: AskedSlopes) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers (N, m) and their derivatives (3, N, m, d) by c, c', c''."""
    state, loops, motors = asked.moved.state, robot.loops, robot.motors.S
    tau, tau_slopes = torque_slopes(robot, asked)
    lam = multipliers(robot, state, asked.tree - tau @ motors)
    rest = asked.tree_slopes - motors.T @ tau_slopes
    found = np.empty((3, *lam.shape, rest.shape[3]))
    for begin in range(0, len(lam), loops.chunk):
        part = slice(begin, begin + loops.chunk)
        T, still = state.T[part], np.zeros_like(state.T[part])
        at, J = loops.placed(state.q[part]), loops.jacobian(state.q[part])
        moved = varied(at, state.v[part], state.a[part], T, still, still)
        right = rest[:, part].copy()
        right[0] -= _turned_forces(at, moved, lam[part])
        K = stacked(J, robot.coordinates.S).transpose(0, 2, 1)
        if K.shape[1] == K.shape[2]:
            n, nv, d = T.shape
            x = np.linalg.solve(K, right.transpose(1, 2, 0, 3).reshape(n, nv, 3 * d))[:, : loops.size]
            found[:, part] = x.reshape(n, loops.size, 3, d).transpose(2, 0, 1, 3)
            continue
        inverse = np.linalg.pinv(J.transpose(0, 2, 1), rcond=1e-9)  # multipliers of least norm stay so
        found[:, part] = inverse @ right
        x = np.einsum("nmi,nm->ni", inverse, lam[part])
        beside = rate_slopes(at, varied(at, x, 0 * x, T, still, still))
        found[0, part] += beside - inverse @ (J.transpose(0, 2, 1) @ beside)
    return lam, found


def _turned_forces(at: Placed, moved: Varied, lam: np.ndarray) -> np.ndarray:
    """dJ'lam (N, nv, d), lam (N, m) kept."""
    loops, found = at.batch.loops, np.zeros((*at.q.shape, moved.U.shape[2]))
    axes, _, points = at.ends
    for k, formula in enumerate(loops.formula):
        if formula == COUPLING:
            continue
        a, b, y, own = loops.a[k], loops.b[k], points[k][:, None], lam.T[loops.first_row[k] :][: loops.n_rows[k]]
        U = moved.U[b] - moved.U[a]
        dy = U[:3] + _cross(U[3:], y)
        if formula == DISTANCE:
            d = y - at.ends[1][k][:, None]
            far = np.sqrt((d * d).sum(axis=0))
            force, moment, dforce, dmoment = own[0] * d / far, 0 * d, own[0] * dy / far, 0 * dy
        else:
            force, moment, dforce, dmoment = np.zeros((4, 3, *dy.shape[1:]))
            for i in range(6):
                if (r := loops.held[k, i]) < 0:
                    continue
                if i == 5 and loops.held[k, 4] < 0:
                    b_y = at.axis_of_b(np.array([k]), 1)[0][:, None]
                    moment = moment + own[r] * _cross(axes[k, :, 0][:, None], b_y)
                    dmoment = dmoment + own[r] * _cross(axes[k, :, 0][:, None], _cross(U[3:], b_y))
                elif i < 3:
                    force = force + own[r] * axes[k, :, i][:, None]
                else:
                    moment = moment + own[r] * axes[k, :, i - 3][:, None]
        wrench = np.concatenate([force, moment + _cross(y, force)])
        change = np.concatenate([dforce, dmoment + _cross(dy, force) + _cross(y, dforce)])
        for e in range(loops.start[k], loops.start[k + 1]):
            j = loops.joint[e]
            seen = change + _dual(moved.U[a] - moved.U[j], wrench)
            found[j - 1] += loops.sign[e] * (at.s[j][:, None] * seen).sum(axis=0).T
    return found.transpose(1, 0, 2)


def strut_slopes(robot: Robot, asked: AskedSlopes, lam: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Derivatives (3, N, 2, k, d) of the forces along k struts, of multipliers (N, m) with theirs (3, N, m, d)."""
    state, bends = asked.moved.state, asked.moved.bends
    at, T, still = robot.loops.placed(state.q), state.T, np.zeros_like(state.T)
    directions = (T, bends.v, bends.a), (still, T, 2 * bends.v), (still, still, T)
    found = np.empty((3, len(T), 2, len(robot.file.struts), T.shape[2]))
    for x, along in enumerate(directions):
        moved = varied(at, state.v, state.a, *along)
        for k, strut in enumerate(held_struts(robot)):
            found[x, :, 0, k], found[x, :, 1, k] = _along_strut(robot, at, moved, strut, lam, slopes[x])
    return found


def _along_strut(
    robot: Robot, at: Placed, moved: Varied, strut: Held, lam: np.ndarray, slopes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Changes (N, d) along the directions of `moved` at the closed end, and at the one that the tree carries."""
    ends = [(strut.bodies[0], strut.far, 1.0), (strut.bodies[-1], strut.near, -1.0)]
    span, dspan = np.zeros(()), np.zeros(())
    for joint, place, sign in ends:
        p = at.point(joint, place)[:, None]
        span, dspan = span + sign * p, dspan + sign * (moved.U[joint, :3] + _cross(moved.U[joint, 3:], p))
    far = np.sqrt((span * span).sum(axis=0))
    n = span / far
    dn = (dspan - n * (n * dspan).sum(axis=0)) / far
    closure = robot.loops.closures[strut.closure]
    linear, loops = KINDS[closure.kind].linear, at.batch.loops
    rows = slice(loops.first_row[strut.closure], loops.first_row[strut.closure] + KINDS[closure.kind].moves)
    axes = at.ends[0][strut.closure][:, linear]
    force = strut.sign * np.einsum("ijn,nj->in", axes, lam[:, rows])[:, None]
    dforce = strut.sign * np.einsum("ijn,njk->ikn", axes, slopes[:, rows])
    dforce = dforce + _cross(moved.U[loops.a[strut.closure], 3:], force)
    lower = (dforce * n + force * dn).sum(axis=0)
    lifted, dlifted = np.zeros(()), np.zeros(())
    for joint in strut.bodies:
        own, change = _lifting_slopes(robot, at, moved, joint)
        lifted, dlifted = lifted + own, dlifted + change
    return lower.T, lower.T - (dlifted * n + lifted * dn).sum(axis=0).T


def _lifting_slopes(robot: Robot, at: Placed, moved: Varied, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Force (3, 1, N) that a body's motion asks beyond its weight, and its changes (3, D, N)."""
    body = robot.model.inertias[joint]
    p = at.point(joint, body.lever)[:, None]
    V, A, U, dV, dA = (x[joint] for x in (moved.V, moved.A, moved.U, moved.dV, moved.dA))
    rate, drate = (x[:3] + _cross(x[3:], p) for x in (V, dV))
    acceleration = A[:3] + _cross(A[3:], p) + _cross(V[3:], rate)
    seen = dA[:3] + _cross(dA[3:], p) + _cross(dV[3:], rate) + _cross(V[3:], drate)
    gravity = robot.model.gravity.linear[:, None, None]
    return body.mass * (acceleration - gravity), body.mass * (seen + _cross(U[3:], acceleration))


def _dual(U: np.ndarray, w: np.ndarray) -> np.ndarray:
    """U x* w: how a wrench (6, ..., N) that moves with U changes."""
    return np.concatenate([_cross(U[3:], w[:3]), _cross(U[:3], w[:3]) + _cross(U[3:], w[3:])])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return vector_product(a[None], b[None])[0]
