"""The small Delta by screws and virtual work, as Abed Azad et al. (3-dof Delta) print it in their appendix, against ours.

Nothing here is Pinocchio's: arms, parallelograms and platform in closed form, wrenches about the links' frames by (95),
frames by (96) to (101). Two misprints are named: (89) writes cross products where an inner and an outer product belong, and
(99) carries the matrix of frame 1i instead of 0i.
"""

import numpy as np
import pytest
from online_motions import motor_motion, rich

from robodyn_pin.dynamics.regressor import regressor
from robodyn_pin.identification.base_parameters import INDEPENDENT, base_set
from robodyn_pin.identification.fold import triangle
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import tracked
from robodyn_pin.robot.robot import load

PSI = np.radians([0.0, 120.0, 240.0])
ARM, ROD, RADIUS = 0.20, 0.40, 0.10  # [m] lengths; base radius less platform radius
GRAVITY = np.array([0.0, 0.0, -9.81])


def crd_0(psi):
    """(96): from base to limb coordinates."""
    c, s = np.cos(psi), np.sin(psi)
    return np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def crd_1(theta):
    """(97): from limb to arm coordinates."""
    c, s = np.cos(theta), np.sin(theta)
    return np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])


def crd_2(theta, phi):
    """(98): from limb to rod coordinates."""
    return crd_0(phi) @ crd_1(theta)


def screw(R):
    """(99) to (101): the same for a twist or wrench (6,)."""
    return np.kron(np.eye(2), R)


def wrench(v, w, wd):
    """(95), linear in m, m r, I: matrix (6, 10); v (3,) acceleration of the frame's origin less gravity, w, w' (3,)."""

    def cross(x):
        return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])

    def inertia(x):  # I x as a matrix on Ixx, Ixy, Iyy, Ixz, Iyz, Izz
        return np.array([[x[0], x[1], 0, x[2], 0, 0], [0, x[0], x[1], 0, x[2], 0], [0, 0, 0, x[0], x[1], x[2]]])

    F = np.zeros((6, 10))
    F[:3, 0], F[:3, 1:4] = v, cross(w) @ cross(w) + cross(wd)
    F[3:, 1:4], F[3:, 4:] = -cross(v), inertia(wd) + cross(w) @ inertia(w)
    return F


def platform(c, cd, cdd):
    """Position, velocity, acceleration (3,) of the platform, its Jacobian (3, 3), and the limbs' rods in base coordinates.

    The position is where three spheres about the elbows, moved inwards, meet below.
    """
    elbows, slopes, bends = (np.empty((3, 3)) for _ in range(3))
    for i, psi in enumerate(PSI):
        out, turn = np.array([np.cos(c[i]), 0, -np.sin(c[i])]), np.array([-np.sin(c[i]), 0, -np.cos(c[i])])
        back = crd_0(psi).T
        elbows[i] = back @ ([RADIUS, 0, 0] + ARM * out)
        slopes[i], bends[i] = back @ (ARM * turn), back @ (-ARM * out)
    A, b = 2 * (elbows[1:] - elbows[0]), (elbows[1:] ** 2).sum(axis=1) - (elbows[0] ** 2).sum()
    at, along = np.linalg.lstsq(A, b, rcond=None)[0], np.cross(A[0], A[1])
    along /= np.linalg.norm(along) * np.sign(along[2])
    away = at - elbows[0]
    x = at + along * (-(away @ along) - np.sqrt((away @ along) ** 2 - away @ away + ROD**2))
    s = x - elbows
    J = np.linalg.solve(s, np.diag((s * slopes).sum(axis=1)))
    xd, ed = J @ cd, slopes * cd[:, None]
    edd = slopes * cdd[:, None] + bends * cd[:, None] ** 2
    xdd = np.linalg.solve(s, (s * edd).sum(axis=1) - ((xd - ed) ** 2).sum(axis=1))
    return x, xd, xdd, J, s, slopes, ed, edd


def rod_angles(s, sd, sdd):
    """theta, phi of (98) with rates and accelerations, from the rod's vector in limb coordinates."""
    u, ud, udd = s / ROD, sd / ROD, sdd / ROD
    phi, theta = np.arcsin(u[1]), np.arctan2(-u[2], u[0])
    sine, cosine, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
    phid, thetad = ud[1] / cp, -(ud[0] * sine + ud[2] * cosine) / cp
    phidd = (udd[1] + sp * phid**2) / cp
    thetadd = (sp * phid * thetad - udd[0] * sine - udd[2] * cosine - thetad * (ud[0] * cosine - ud[2] * sine)) / cp
    return (theta, thetad, thetadd), (phi, phid, phidd)


def screw_regressor(c, cd, cdd, printed_99=False):
    """W (3, 70): columns of arm and rods of each limb, then of the platform; virtual work of (95) in each link's frame."""
    _, xd, xdd, J, s, slopes, ed, edd = platform(c, cd, cdd)
    W, y = [], np.array([0.0, 1.0, 0.0])
    for i, psi in enumerate(PSI):
        to_limb = crd_1(c[i]) if printed_99 else crd_0(psi)
        R0 = screw(to_limb)
        unit = np.eye(3)[i]
        # Arm: turns about y of the limb; its frame stands still at the shoulder.
        R1 = screw(crd_1(c[i]))
        twist = np.outer(np.concatenate([np.zeros(3), y]), unit)
        force = wrench(crd_1(c[i]) @ (R0[:3, :3] @ -GRAVITY), y * cd[i], y * cdd[i])
        W.append((R1 @ twist).T @ force)
        # Rods, both alike: at the elbow, universal joint.
        limb = R0[:3, :3]
        (theta, td, tdd), (phi, pd, pdd) = rod_angles(limb @ s[i], limb @ (xd - ed[i]), limb @ (xdd - edd[i]))
        z = np.array([np.sin(theta), 0, np.cos(theta)])
        turns = np.zeros((6, 3))
        for k in range(3):  # what each motor does alone
            sd = limb @ (J[:, k] - unit[k] * slopes[i])
            (_, t1, _), (_, p1, _) = rod_angles(limb @ s[i], sd, 0 * sd)
            turns[:, k] = np.concatenate([limb @ slopes[i] * unit[k], t1 * y + p1 * z])
        R2 = screw(crd_2(theta, phi))
        w, wd = td * y + pd * z, tdd * y + pdd * z + pd * td * np.cross(y, z)
        R = R2[:3, :3]
        W.append(2 * (R2 @ turns).T @ wrench(R @ limb @ (edd[i] - GRAVITY), R @ w, R @ wd))
    still = np.concatenate([J, np.zeros((3, 3))])
    W.append(still.T @ wrench(xdd - GRAVITY, np.zeros(3), np.zeros(3)))
    return np.concatenate(W, axis=1)


@pytest.fixture(scope="module")
def states():
    model = tracked(load("delta3"), TrackFile())
    motion = motor_motion(model, rich(1000, seed=7))
    return model.robot, [x[::50] for x in motion]


def test_regressor_is_that_of_screws_and_virtual_work(states):
    robot, motion = states
    ours = regressor(robot, *motion)[:, :, :70]
    screws = np.array([screw_regressor(*sample) for sample in zip(*motion, strict=True)])
    np.testing.assert_allclose(screws, ours, atol=1e-9 * np.abs(ours).max())


def test_matrix_of_the_arm_printed_in_99_is_not_that_of_the_limb(states):
    robot, motion = states
    c, cd, cdd = (x[3] for x in motion)
    ours = regressor(robot, *(x[3:4] for x in motion))[0, :, :70]
    assert np.abs(screw_regressor(c, cd, cdd, printed_99=True) - ours).max() > 1e-2 * np.abs(ours).max()


def test_wrench_about_the_frame_is_that_about_the_centre_with_steiner_as_inner_and_outer_product():
    rng = np.random.default_rng(8)
    m, r, v, w, wd, a = 2.0, *rng.normal(size=(5, 3))
    root = rng.normal(size=(3, 3))
    I_G = root @ root.T
    v_G = v + np.cross(w, np.cross(w, r)) + np.cross(wd, r)
    about_88 = I_G @ wd + np.cross(w, I_G @ w) + m * np.cross(r, v_G)

    def about_95(I):
        return I @ wd + np.cross(w, I @ w) + m * np.cross(r, v)

    steiner = (r @ r) * np.eye(3) - np.outer(r, r)
    np.testing.assert_allclose(about_95(I_G + m * steiner), about_88, rtol=1e-12)
    printed = np.cross(r, r)  # (89) to the letter: no products but crosses, which vanish
    assert np.abs(about_95(I_G + m * np.diag(printed)) - about_88).max() > 0.1
    I = I_G + m * steiner
    pi = np.array([m, *(m * r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    np.testing.assert_allclose(wrench(v, w, wd) @ pi, [*(m * v_G), *about_88], rtol=1e-12)
    # (93) and (94), whose B must be a vector
    np.testing.assert_allclose(np.cross(r, np.cross(a, r)), steiner @ a, rtol=1e-12)
    np.testing.assert_allclose(np.cross(r, np.cross(a, np.cross(a, r))), np.cross(a, steiner @ a), rtol=1e-12)


def base_space(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What rows with triangular factor R (n, p) determine, by singular values: a space instead of a choice of columns.

    Returns:
        Orthonormal basis (p, r) of the combinations of parameters times `length` that the rows show, and `length` (p,)
        of the columns. It is the space of `base_set(R).matrix / length`, which a rank-revealing QR finds.

    Source: Abed Azad et al. (3-dof Delta), who reduce the model by singular values.
    """
    length = np.linalg.norm(R, axis=0)
    alive = length > 1e-12 * length.max(initial=0.0)
    scaled = np.where(alive, R, 0.0) / np.where(alive, length, 1.0)
    values, rows = np.linalg.svd(scaled, full_matrices=False)[1:]
    return rows[values > INDEPENDENT * values.max(initial=0.0)].T, length


def test_base_parameters_by_singular_values_and_by_qr_span_one_space(states):
    robot, _ = states
    motion = motor_motion(tracked(robot, TrackFile()), rich(1000, seed=9))
    rows = regressor(robot, *motion)
    R = triangle(rows.reshape(-1, rows.shape[2]))
    base, (space, length) = base_set(R), base_space(R)
    assert space.shape[1] == base.size
    scaled = base.matrix / np.where(length > 0, length, 1.0)
    by_qr = np.linalg.qr((scaled / np.linalg.norm(scaled, axis=1)[:, None]).T)[0]
    apart = by_qr - space @ (space.T @ by_qr)  # sines of the angles between the spaces
    assert np.linalg.norm(apart, 2) <= 1e-10
