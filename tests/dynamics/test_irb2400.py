"""The IRB 2400 against its own theory: Jacobian with parallelogram, three singularities, Lagrange and Newton-Euler.

Numbers are those of Obal and Gierlak, 2025, with the repaired inertias; both derivations of the torques stand here and
share no more than the table of numbers.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
from mdh import IRB2400, equation_33, flange, frames, relative, step
from scipy.optimize import brentq
from workspaces import WORKSPACES

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.robot.robot import Robot, build, load

GRAVITY = 9.81
A1, A2, A3, D4 = 0.100, 0.705, 0.135, 0.755
CRANK = 0.180  # pivot of the rod from axis 2 [m]; the rod is as long as the lower arm


# Jacobian ---------------------------------------------------------------------------------------------------------


def package_jacobian(robot: Robot, c: np.ndarray) -> np.ndarray:
    """Of the flange's centre per motor rate (N, 6, 6), linear over angular rows: tree Jacobian times T."""
    state = robot.close(c, 0 * c, 0 * c)
    data, frame = robot.model.createData(), robot.model.getFrameId("flange")
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    tree = [pin.computeFrameJacobian(robot.model, data, q, frame, world) for q in state.q]
    return np.array(tree) @ state.T


def flange_poses(robot: Robot, c: np.ndarray) -> list[pin.SE3]:
    data, frame = robot.model.createData(), robot.model.getFrameId("flange")
    poses = []
    for q in robot.close(c, 0 * c, 0 * c).q:
        pin.framesForwardKinematics(robot.model, data, q)
        poses.append(data.oMf[frame].copy())
    return poses


def test_jacobian_with_parallelogram_is_equation_33():
    robot, c = load("irb2400"), WORKSPACES["irb2400"](np.random.default_rng(2), 100).c
    expected = np.array([equation_33(IRB2400, q, flange(IRB2400, q)[:3, 3]) for q in c])
    assert np.abs(package_jacobian(robot, c) - expected).max() < 1e-12


def test_jacobian_with_parallelogram_is_the_difference_of_closed_poses():
    robot, c = load("irb2400"), WORKSPACES["irb2400"](np.random.default_rng(3), 20).c
    # Central differences of sixth order: at h = 0.02 truncation, h^6 / 140, and round-off, 1e-16 / h, are below 1e-12.
    h, weights = 0.02, {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    moved = np.array([q + k * h * axis for q in c for axis in np.eye(6) for k in (1, -1, 2, -2, 3, -3)])
    poses = np.array([pose.homogeneous for pose in flange_poses(robot, moved)]).reshape(20, 6, 3, 2, 4, 4)
    slope = np.einsum("k,njkab->njab", list(weights.values()), poses[:, :, :, 0] - poses[:, :, :, 1]) / h
    at = np.array([pose.homogeneous for pose in flange_poses(robot, c)])
    spin = slope[:, :, :3, :3] @ at[:, None, :3, :3].transpose(0, 1, 3, 2)  # dR R', skew
    angular = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
    differences = np.concatenate([slope[..., :3, 3], angular], axis=-1).transpose(0, 2, 1)
    J = package_jacobian(robot, c)
    assert np.abs(J - differences).max() < 1e-10 * np.abs(J).max()


SINGULARITIES = {
    # family: (motor that is moved, pose, range of that motor, closed form that must vanish at the root)
    "wrist, axes 4 and 6 in line": (4, [0.3, 0.2, -0.3, 0.5, 0, -0.4], (-0.9, 1.1), lambda q: np.sin(q[4])),
    "wrist centre over axis 1": (
        1,
        [0.3, 0, -1.0, 0.5, 0.7, -0.4],
        (-1.2, 0.0),
        lambda q: A1 + A2 * np.sin(q[1]) + A3 * np.sin(q[2]) + D4 * np.cos(q[2]),
    ),
    "elbow stretched": (
        1,
        [0.3, 0, -0.3, 0.5, 0.7, -0.4],
        (0.5, 1.2),
        lambda q: A3 * np.sin(q[2] - q[1]) + D4 * np.cos(q[2] - q[1]),
    ),
}


@pytest.mark.parametrize("family", SINGULARITIES)
def test_search_for_a_vanishing_determinant_ends_in_the_singularity(family):
    robot = load("irb2400")
    motor, pose, ends, vanishes = SINGULARITIES[family]

    def at(angle: float) -> np.ndarray:
        q = np.array(pose, float)
        q[motor] = angle
        return q

    def determinant(angle: float) -> float:
        return float(np.linalg.det(package_jacobian(robot, at(angle)[None])[0]))

    root = brentq(determinant, *ends, xtol=1e-14, rtol=1e-14)
    assert abs(vanishes(at(root))) < 1e-11
    assert abs(determinant(root)) < 1e-12
    singular_values = np.linalg.svd(package_jacobian(robot, at(root)[None])[0], compute_uv=False)
    assert singular_values[-1] < 1e-11 < 1e-3 < singular_values[-2]  # one direction is lost, and only one


def test_determinant_is_the_product_of_three_factors():
    """Equation (36) hides a product; with sin q5 these are all singularities."""
    robot, c = load("irb2400"), WORKSPACES["irb2400"](np.random.default_rng(4), 100).c
    q2, q3, q5 = c[:, 1], c[:, 2], c[:, 4]
    over = A1 + A2 * np.sin(q2) + A3 * np.sin(q3) + D4 * np.cos(q3)
    elbow = A3 * np.sin(q3 - q2) + D4 * np.cos(q3 - q2)
    # The flange instead of the wrist centre changes nothing: its lever adds multiples of rows to other rows.
    product = A2 * over * elbow * np.sin(q5)
    determinants = np.linalg.det(package_jacobian(robot, c))
    assert np.abs(np.abs(determinants) - np.abs(product)).max() < 1e-12
    assert len(set(np.sign(determinants * product))) == 1


# Torques ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Body:
    """Mass [kg], centre of mass [m] and inertia about it [kg m^2], in a frame of the MDH table."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


def body(mass: float, com: tuple, xx: float, yy: float, zz: float, xy: float = 0, xz: float = 0, yz: float = 0) -> Body:
    return Body(mass, np.array(com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


LINKS = [
    body(192, (0.021, 0.022, -0.1885), 9.82183, 6.16127, 8.30224, 0.50571, -1.0596, 0.10946),
    body(26.5, (0.2534, 0.0477, 0.007), 0.23517, 1.22338, 1.16539, 0.0320, -0.0033, -0.0004),
    body(25.7, (0.1395, -0.0995, -0.0097), 0.5923, 0.2023, 0.5768, -0.0337, 0.0064, -0.0071),
    body(29.7, (0.000131, -0.00181, -0.2967), 0.74128, 0.71936, 0.09626, -7e-5, -6e-4, 7.1e-3),
    body(2.8, (-0.000587, -0.000245, 0.00054), 0.0034, 0.00332, 0.00419, 0.00023, 0.00023, 0.0003),
    body(0.8, (0.000208, 0.000035, 0.07227), 2.303e-4, 2.269e-4, 3.155e-4, 2.9e-7, -1.1e-6, -3.6e-7),
]
# Crank and rod, x along them: 1e-6 kg in the one robot, where the table of links is the truth; 0.5 kg in the other.
LINKAGES = {
    "irb2400": (body(1e-6, (0.09, 0, 0), 1e-9, 3e-9, 3e-9), body(1e-6, (0.3525, 0, 0), 1e-9, 5e-8, 5e-8)),
    "irb2400_rods": (
        body(0.5, (0.09, 0, 0), 1e-4, 1.4e-3, 1.4e-3),
        body(0.5, (0.3525, 0, 0), 3.6e-5, 0.020727375, 0.020727375),
    ),
}


def carriers(q: np.ndarray) -> list[np.ndarray]:
    """Frames of the six links, crank and rod at absolute motor angles: the crank turns with q3, the rod with q2."""
    T = frames(IRB2400, q)
    crank = T[0] @ step(A1, -np.pi / 2, 0, q[2] + np.pi)
    rod = crank @ step(CRANK, 0, 0, q[1] - q[2] - np.pi - np.pi / 2)
    return [*T, crank, rod]


def complex_gradient(f, q: np.ndarray) -> np.ndarray:
    """Derivative of f with respect to q on a new last axis, exact to round-off: imaginary parts of complex steps."""
    return np.stack([np.imag(f(q + 1e-30j * axis)) / 1e-30 for axis in np.eye(len(q))], axis=-1)


def lagrange(bodies: list[Body], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """d/dt dL/dq' - dL/dq with L = K - P in the motors' absolute angles.

    K = 1/2 q'M(q)q' from velocities of centres of mass and angular velocities, each written by the axes that carry or
    turn a body; P from heights. Their derivatives are complex steps.
    """

    def mass_matrix(q: np.ndarray) -> np.ndarray:
        T = carriers(q)
        axes = [T[i][:3, 2] for i in range(6)]
        points = [T[i][:3, 3] for i in range(6)]
        zero = 0 * axes[0]
        M = 0
        for k, (link, frame) in enumerate(zip(bodies, T, strict=True)):
            centre = frame[:3, :3] @ link.com + frame[:3, 3]
            # In absolute angles link 3 and all beyond turn with q3, not with q2; q2 only carries the elbow around.
            turns = {0: [0], 1: [0, 1], 6: [0, 2], 7: [0, 1]}.get(k, [0, *range(2, k + 1)])
            if k in (0, 1):
                levers = {i: centre - points[i] for i in turns}
            elif k == 6:
                levers = {0: centre, 2: centre - points[1]}
            elif k == 7:
                levers = {0: centre, 1: centre - frame[:3, 3], 2: frame[:3, 3] - points[1]}
            else:
                levers = {i: centre - points[i] for i in turns} | {1: points[2] - points[1]}
            Jv = np.stack([np.cross(axes[i], levers[i]) if i in levers else zero for i in range(6)], axis=1)
            Jw = np.stack([axes[i] if i in turns else zero for i in range(6)], axis=1)
            I = frame[:3, :3] @ link.inertia @ frame[:3, :3].T
            M = M + link.mass * Jv.T @ Jv + Jw.T @ I @ Jw
        return M

    def potential(q: np.ndarray) -> complex:
        heights = [(T[:3, :3] @ link.com + T[:3, 3])[2] for link, T in zip(bodies, carriers(q), strict=True)]
        return sum(link.mass * GRAVITY * height for link, height in zip(bodies, heights, strict=True))

    slope = complex_gradient(mass_matrix, q)  # slope[i, j, k] = dM_ij / dq_k
    momentum_rate = mass_matrix(q).real @ qdd + np.einsum("ijk,j,k->i", slope, qd, qd)
    return momentum_rate - 0.5 * np.einsum("ijk,i,j->k", slope, qd, qd) + complex_gradient(potential, q)


def newton_euler(bodies: list[Body], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Recursion out and back in the links' own frames, on the open tree; then onto the motors.

    Joints: the six of the arm with theta_3 = q3 - q2, the crank on link 1 and the rod on the crank. Opening the loop at
    the rod's end leaves virtual work: a motor's torque is the sum of joint torques times their rates per motor rate.
    """
    parent = [-1, 0, 1, 2, 3, 4, 0, 6]
    angle, rate, acceleration = (np.append(relative(x), [x[2], x[1] - x[2]]) for x in (q, qd, qdd))
    a, alpha = (*IRB2400.a, A1, CRANK), (*IRB2400.alpha, -np.pi / 2, 0)
    d, offset = (*IRB2400.d, 0, 0), (*IRB2400.offset, np.pi, -np.pi - np.pi / 2)
    z = np.array([0, 0, 1.0])
    base = (np.zeros(3), np.zeros(3), np.array([0, 0, GRAVITY]))  # gravity as an acceleration upwards
    motion, T, force, moment = [], [], [], []
    for i, link in enumerate(bodies):
        T.append(step(a[i], alpha[i], d[i], angle[i] + offset[i]))
        R, p = T[i][:3, :3], T[i][:3, 3]
        w0, dw0, a0 = motion[parent[i]] if parent[i] >= 0 else base
        w = R.T @ w0 + rate[i] * z
        dw = R.T @ dw0 + np.cross(R.T @ w0, rate[i] * z) + acceleration[i] * z
        origin = R.T @ (a0 + np.cross(dw0, p) + np.cross(w0, np.cross(w0, p)))
        centre = origin + np.cross(dw, link.com) + np.cross(w, np.cross(w, link.com))
        motion.append((w, dw, origin))
        force.append(link.mass * centre)
        moment.append(link.inertia @ dw + np.cross(w, link.inertia @ w) + np.cross(link.com, link.mass * centre))
    for i in range(len(bodies) - 1, 0, -1):  # children stand behind their parents
        R, p, k = T[i][:3, :3], T[i][:3, 3], parent[i]
        force[k] = force[k] + R @ force[i]
        moment[k] = moment[k] + R @ moment[i] + np.cross(p, R @ force[i])
    joint = np.array([n[2] for n in moment])
    return np.array([joint[0], joint[1] - joint[2] + joint[7], joint[2] + joint[6] - joint[7], *joint[3:6]])


@pytest.mark.parametrize("name", LINKAGES)
def test_lagrange_and_newton_euler_agree_with_each_other_and_with_the_package(name):
    catalogue = load(name)
    file = catalogue.file.model_copy(update={"efforts": []})  # friction is no part of either derivation
    robot = build(name, file, catalogue.urdf_xml, catalogue.urdf_path)
    rng = np.random.default_rng(5)
    c = WORKSPACES[name](rng, 50).c
    cd, cdd = 2 * rng.normal(size=c.shape), 10 * rng.normal(size=c.shape)
    bodies = [*LINKS, *LINKAGES[name]]
    energy = np.array([lagrange(bodies, *x) for x in zip(c, cd, cdd, strict=True)])
    recursion = np.array([newton_euler(bodies, *x) for x in zip(c, cd, cdd, strict=True)])
    tau = inverse_dynamics(robot, c, cd, cdd)
    size = np.abs(tau).max(axis=0)  # each motor against its own torque
    assert (np.abs(energy - recursion) < 1e-9 * size).all()
    assert (np.abs(energy - tau) < 1e-9 * size).all()
    assert (np.abs(recursion - tau) < 1e-9 * size).all()
