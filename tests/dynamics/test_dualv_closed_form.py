"""The DualV in closed form: its kinematics and dynamics rederived from the paper's, which printed terms are wrong, the model against it.

Briot et al. (DualV), equations 33 and 51 to 58, on geometry and trigonometry alone: nothing here comes from the package.
"""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
import pytest
from workspaces import BASE, HALF, LEG, SIDE, WORKSPACES, five_bars

from robodyn_pin.dynamics.equations import coordinate_efforts, inverse_dynamics
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.regressor import columns, regressor
from robodyn_pin.robot.robot import Robot, load

ROBOT = load("dualv")
POSES = WORKSPACES["dualv"](np.random.default_rng(5), 100).c
UPPER, LOWER = slice(0, 2), slice(2, 4)  # legs of C1 = C2 and of C3 = C4


def along(angle: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def across(angle: np.ndarray) -> np.ndarray:
    return np.stack([-np.sin(angle), np.cos(angle)], axis=-1)


def ends(pose: np.ndarray) -> np.ndarray:
    """C1 to C4 (N, 4, 2) of poses x, y, phi (N, 3)."""
    return pose[:, None, :2] + HALF * SIDE[:, None] * across(pose[:, None, 2])


def by_five_bar(B: np.ndarray, near: np.ndarray, k: np.ndarray | None = None) -> np.ndarray:
    """C (N, 2) at distance LEG from both elbows B (N, 2, 2): equations 56 and 57, the root nearer to `near`.

    Args:
        k: (N,) of equation 57; default: (|B2|^2 - |B1|^2) / (2 (x2 - x1)), which is what two circles give.
    """
    (x1, y1), (x2, y2) = B[:, 0].T, B[:, 1].T
    k = (x2**2 + y2**2 - x1**2 - y1**2) / (2 * (x2 - x1)) if k is None else k
    f = -(y2 - y1) / (x2 - x1)
    g, p, r = f**2 + 1, 2 * f * (k - x1) - 2 * y1, x1**2 + y1**2 - LEG**2 + k**2 - 2 * k * x1
    roots = [(-p + sign * np.sqrt(np.maximum(p**2 - 4 * g * r, 0))) / (2 * g) for sign in (1, -1)]
    both = np.stack([np.stack([f * y + k, y], axis=1) for y in roots])
    return both[np.linalg.norm(both - near, axis=2).argmin(axis=0), np.arange(len(B))]


def forward(q1: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Pose (N, 3) of motor angles (N, 4) in the assembly mode of the poses `near`; equation 55 with the arctangent of two."""
    B, C = BASE + LEG * along(q1), ends(near)
    first, third = by_five_bar(B[:, UPPER], C[:, 0]), by_five_bar(B[:, LOWER], C[:, 2])
    x, y = (first + third).T / 2
    return np.stack([x, y, np.arctan2(-(first - third)[:, 0], (first - third)[:, 1])], axis=1)


def test_forward_kinematics_of_closed_motor_angles_gives_the_pose_back():
    still = 0 * POSES
    q1 = ROBOT.close(POSES, still, still).q @ ROBOT.motors.S.T + ROBOT.motors.offset
    np.testing.assert_allclose(forward(q1, POSES), POSES, atol=1e-12)


def test_the_pose_of_closed_form_motor_angles_is_the_closed_forms():
    home = five_bars(np.zeros((1, 3)))[0]
    q1 = home + np.angle(np.exp(1j * (five_bars(POSES)[0] - home)))
    path = np.linspace(0, 1, 40)[:, None] * POSES[0]  # from home, as a log begins
    angles = home + np.angle(np.exp(1j * (five_bars(path)[0] - home)))
    state = close_motors(ROBOT, angles, 0 * angles, 0 * angles)
    np.testing.assert_allclose(state.q @ ROBOT.coordinates.S.T, path, atol=1e-12)
    np.testing.assert_allclose(forward(q1, POSES), POSES, atol=1e-12)


def test_the_printed_numerator_of_k_is_wrong():
    """Equation 57 prints x_Bj^2 + y_Bj^2 - y_Bj^2 - y_Bj+1^2: the point is then on neither circle."""
    B, C = (BASE + LEG * along(five_bars(POSES)[0]))[:, UPPER], ends(POSES)[:, 0]
    (x1, y1), (x2, y2) = B[:, 0].T, B[:, 1].T
    printed = by_five_bar(B, C, (x1**2 + y1**2 - y1**2 - y2**2) / (2 * (x2 - x1)))
    np.testing.assert_allclose(by_five_bar(B, C), C, atol=1e-12)
    assert np.median(np.linalg.norm(printed - C, axis=1)) > 0.05


def test_the_arctangent_of_one_argument_is_half_a_turn_off_where_the_link_points_to_the_left():
    """Equation 58 at home: legs 1 and 4 reach from the right. Equation 55: a platform turned by more than 90 degrees."""
    q1, q2 = (x[0] for x in five_bars(np.zeros((1, 3))))
    reach = ends(np.zeros((1, 3)))[0] - (BASE + LEG * along(q1))
    two = np.arctan2(reach[:, 1], reach[:, 0]) - q1 - q2
    one = np.arctan(reach[:, 1] / reach[:, 0]) - q1 - q2
    np.testing.assert_allclose(np.cos(two), 1, atol=1e-12)
    np.testing.assert_allclose(np.cos(one), [-1, 1, 1, -1], atol=1e-12)
    across_platform = np.diff(ends(np.array([[0, 0, 2.0]]))[0, [2, 0]], axis=0)[0]
    assert np.arctan2(-across_platform[0], across_platform[1]) == pytest.approx(2.0)
    assert np.arctan(-across_platform[0] / across_platform[1]) == pytest.approx(2.0 - np.pi)


@dataclass(frozen=True)
class Legs:
    """Rates of the four legs (N, 4) at a motion of the platform, and what they are per rate of the pose (N, 4, 3)."""

    q2: np.ndarray
    v1: np.ndarray
    v2: np.ndarray
    a1: np.ndarray
    a2: np.ndarray
    per_pose_1: np.ndarray
    per_pose_2: np.ndarray


def legs(c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Legs:
    """C' = d2 q1' n1 + d3 theta' n, theta = q1 + q2; the rate along one link moves the other alone."""
    q1, q2 = five_bars(c)
    theta, phi = q1 + q2, c[:, None, 2]
    e1, e, size = along(q1), along(theta), LEG * np.sin(q2)[..., None]
    arm = HALF * SIDE[:, None] * across(phi)  # from the platform's centre to C
    J = np.zeros((*q1.shape, 2, 3))
    J[..., 0, 0] = J[..., 1, 1] = 1
    J[..., 2] = np.stack([-arm[..., 1], arm[..., 0]], axis=-1)
    first = np.einsum("nki,nkij->nkj", e, J) / size
    both = -np.einsum("nki,nkij->nkj", e1, J) / size
    v1, w = (np.einsum("nkj,nj->nk", x, cd) for x in (first, both))
    C = np.einsum("nkij,nj->nki", J, cdd) - arm * (cd[:, 2] ** 2)[:, None, None]
    rest = C + LEG * (v1**2)[..., None] * e1 + LEG * (w**2)[..., None] * e
    a1, alpha = np.sum(rest * e, axis=2) / size[..., 0], -np.sum(rest * e1, axis=2) / size[..., 0]
    return Legs(q2, v1, w - v1, a1, alpha - a1, first, both - first)


def efforts_of_pose(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """Equations 51, the signs of its my terms corrected, and 52, projected onto the platform: (N, 3)."""
    leg, model = legs(c, cd, cdd), robot.model

    def body(joint: str) -> np.ndarray:
        return model.inertias[model.getJointId(joint)].toDynamicParameters()

    near, far = (np.array([body(f"{name}{k}") for k in range(1, 5)]).T for name in "AB")
    m, mx, my, zz1, zz2 = far[0], far[1], far[2], near[9] + LEG**2 * far[0], far[9]
    sine, cosine, twice = np.sin(leg.q2), np.cos(leg.q2), 2 * leg.v1 + leg.v2
    assert m.min() > 0
    tau2 = zz2 * (leg.a1 + leg.a2) + LEG * mx * (leg.a1 * cosine + leg.v1**2 * sine)
    tau2 -= LEG * my * (leg.a1 * sine - leg.v1**2 * cosine)
    tau1 = zz1 * leg.a1 + zz2 * (leg.a1 + leg.a2)
    tau1 += LEG * mx * ((2 * leg.a1 + leg.a2) * cosine - leg.v2 * twice * sine)
    tau1 -= LEG * my * ((2 * leg.a1 + leg.a2) * sine + leg.v2 * twice * cosine)
    total = np.einsum("nk,nkj->nj", tau1, leg.per_pose_1) + np.einsum("nk,nkj->nj", tau2, leg.per_pose_2)
    M, MX, MY, *_, ZZ = body("phi")
    (x, y, turn), s, k, w = cdd.T, np.sin(c[:, 2]), np.cos(c[:, 2]), cd[:, 2]
    total[:, 0] += M * x - MX * (turn * s + w**2 * k) + MY * (-turn * k + w**2 * s)
    total[:, 1] += M * y + MX * (turn * k - w**2 * s) - MY * (turn * s + w**2 * k)
    total[:, 2] += ZZ * turn + MX * (y * k - x * s) - MY * (y * s + x * k)
    return total


@pytest.fixture(scope="module")
def robot() -> Robot:
    """The DualV without friction, every body with a centre of mass of its own anywhere in the plane."""
    model, rng = ROBOT.model.copy(), np.random.default_rng(6)
    for j in range(1, model.njoints):
        if (m := model.inertias[j].mass) > 0:
            off = pin.SE3(np.eye(3), np.append(rng.normal(size=2) * 0.05, 0.0))
            model.inertias[j] = off.act(model.inertias[j]) + pin.Inertia(0.3 * m, np.zeros(3), np.eye(3) * 1e-3)
    return replace(ROBOT, model=model, efforts=())


@pytest.fixture(scope="module")
def motion() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return POSES, rng.normal(size=POSES.shape) * [2, 2, 8], rng.normal(size=POSES.shape) * [50, 50, 300]


def test_efforts_along_the_platform_are_those_of_the_closed_form(robot, motion):
    expected = efforts_of_pose(robot, *motion)
    found = coordinate_efforts(robot, robot.close(*motion))
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    by_columns = regressor(robot, *motion) @ columns(robot).values
    assert np.abs(by_columns - expected).max() < 1e-9 * np.abs(expected).max()


def test_torques_of_least_norm_are_those_of_the_closed_form(robot, motion):
    B, efforts = legs(*motion).per_pose_1, efforts_of_pose(robot, *motion)
    expected = np.einsum("nij,nj->ni", np.linalg.pinv(B.transpose(0, 2, 1)), efforts)
    assert np.abs(inverse_dynamics(robot, *motion) - expected).max() < 1e-9 * np.abs(expected).max()


def test_efforts_along_three_motors_are_those_of_the_closed_form(robot, motion):
    """Case 2: tau_1..3 - J' tau_4 of any torques that move the platform alike."""
    keep = np.abs(np.linalg.det(legs(*motion).per_pose_1[:, :3])) > 1.0  # poses that three motors hold well
    c, cd, cdd = (x[keep] for x in motion)
    B = legs(c, cd, cdd).per_pose_1
    expected = np.linalg.solve(B[:, :3].transpose(0, 2, 1), efforts_of_pose(robot, c, cd, cdd)[..., None])[..., 0]
    state = robot.close(c, cd, cdd).along(robot.with_coordinates(["m1", "m2", "m3"]).coordinates.S)
    found = coordinate_efforts(robot, state)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_equation_33_needs_the_rows_of_the_other_motors(robot, motion):
    """-B' lambda_2 is known of the motors that move to the left (r+1:n); the printed superscript 1:r has two rows too many."""
    c, cd, cdd = (x[:1] for x in motion)
    A = (
        LEG * np.sin(five_bars(c)[1])[0][:, None] * legs(c, cd, cdd).per_pose_1[0]
    )  # b q' = A v, the signs of equation 60 put right
    b, efforts, given = LEG * np.sin(five_bars(c)[1])[0], efforts_of_pose(robot, c, cd, cdd)[0], 3.0
    of_others, printed = (np.vstack([np.diag(b)[rows], A.T]) for rows in (slice(3, 4), slice(0, 3)))
    assert printed.shape == (6, 4)
    tau = b * np.linalg.solve(of_others, [given, *efforts])
    assert tau[3] == pytest.approx(given)
    np.testing.assert_allclose(legs(c, cd, cdd).per_pose_1[0].T @ tau, efforts, rtol=1e-9)
