"""More motors than degrees of freedom: encoders that miss the loops, both projections, torques that move nothing."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import least_squares
from workspaces import HALF, LEG, five_bars

from robodyn_pin.dynamics.equations import coordinate_efforts, internal_torques, motor_map, motor_torques, tree_efforts
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadLog, ClosureFailed, RobodynError, WrongMobility
from robodyn_pin.log_to_robot.overconstraint import overconstraint
from robodyn_pin.log_to_robot.run import execute
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

ROBOT = load("dualv")
CASE_2 = [[f"m{k}" for k in range(1, 5) if k != left] for left in range(1, 5)]  # which torque moves to the left side
T = np.linspace(0, 1, 200)


def course(scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A smooth motion of the platform, its rates and accelerations."""
    w, amplitude = np.array([6.0, 9.0, 7.0]), scale * np.array([0.04, 0.04, 0.25])
    phase = w * T[:, None] + [0.0, 1.0, 2.0]
    return amplitude * np.sin(phase), amplitude * w * np.cos(phase), -amplitude * w**2 * np.sin(phase)


def motor_angles(pose: np.ndarray) -> np.ndarray:
    """In closed form (N, 4), in the turn that home is in."""
    home = five_bars(np.zeros((1, 3)))[0]
    return home + np.angle(np.exp(1j * (five_bars(pose)[0] - home)))


def test_encoders_that_miss_the_loops_go_to_the_nearest_pose():
    """Against SciPy on the five-bar linkages in closed form."""
    c, *_ = course()
    q = motor_angles(c) + 1e-2 * np.random.default_rng(0).normal(size=(len(c), 4))
    state = close_motors(ROBOT, q, 0 * q, 0 * q)
    for i in range(0, len(c), 40):
        nearest = least_squares(
            lambda x, i=i: motor_angles(x[None])[0] - q[i], c[i], xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        np.testing.assert_allclose(state.q[i] @ ROBOT.coordinates.S.T, nearest.x, atol=1e-8)


def test_rates_that_miss_the_loops_are_the_nearest_ones():
    """Against least squares with central differences of the closed form: B of rates, its own rate in the accelerations."""
    c, cd, cdd = course()
    h, rng = 1e-5, np.random.default_rng(1)

    def angles(t: float, i: int) -> np.ndarray:
        return motor_angles((c[i] + t * cd[i] + t**2 / 2 * cdd[i])[None])[0]

    i = 77
    B = np.stack(
        [(motor_angles((c[i] + h * e)[None]) - motor_angles((c[i] - h * e)[None]))[0] / (2 * h) for e in np.eye(3)], 1
    )
    dq = (angles(h, i) - angles(-h, i)) / (2 * h)
    ddq = (angles(h, i) - 2 * angles(0, i) + angles(-h, i)) / h**2
    off = rng.normal(size=4)
    off -= B @ np.linalg.lstsq(B, off, rcond=None)[0]  # no motion of the loops has it
    state = close_motors(ROBOT, angles(0, i)[None], (dq + off)[None], (ddq + 10 * off)[None])
    S = ROBOT.coordinates.S
    np.testing.assert_allclose(state.v[0] @ S.T, cd[i], rtol=1e-6)
    np.testing.assert_allclose(state.a[0] @ S.T, cdd[i], rtol=1e-4)


@pytest.mark.parametrize("names", CASE_2, ids=" ".join)
def test_projections_onto_motors_are_those_of_the_closed_states(names):
    """State.along against the projection that is solved for these coordinates from the start."""
    robot = ROBOT.with_coordinates(names)
    c, cd, cdd = course()
    of_platform = ROBOT.close(c, cd, cdd)
    M = ROBOT.motors
    state = close_motors(robot, of_platform.q @ M.S.T + M.offset, of_platform.v @ M.S.T, of_platform.a @ M.S.T)
    axes = robot.coordinates
    direct = robot.close(state.q @ axes.S.T + axes.offset, state.v @ axes.S.T, state.a @ axes.S.T)
    for name in ("q", "v", "a", "T", "g"):
        np.testing.assert_allclose(getattr(state, name), getattr(direct, name), atol=1e-8, rtol=1e-8, err_msg=name)


def test_motors_that_stop_determining_the_robot_are_named():
    robot = ROBOT.with_coordinates(CASE_2[3])
    pose = np.linspace(0, 1.3, 50)[:, None] * [-0.0184, 0.0543, -0.447]
    wide = ROBOT.close(pose, 0 * pose, 0 * pose)
    M = ROBOT.motors
    with pytest.raises(ClosureFailed, match="projection onto the coordinates m1, m2, m3 is singular on the way to 3"):
        close_motors(robot, wide.q @ M.S.T + M.offset, wide.v @ M.S.T, wide.a @ M.S.T)


def test_coordinates_that_are_singular_at_home_name_what_they_leave_free():
    """Leg 1 puts C1, and at home the platform turns about it without moving along y."""
    with pytest.raises(WrongMobility, match=r"coordinates \(y, A1, B1\) leave joints free to move: .* phi"):
        ROBOT.with_coordinates(["y", "A1", "B1"])


def test_two_motors_and_four_do_not_determine_three_degrees_of_freedom():
    with pytest.raises(WrongMobility, match="3 degrees of freedom"):
        ROBOT.with_coordinates(["m1", "m2"])


def test_torques_split_into_what_moves_and_what_does_not():
    """Against the null space of B' by SVD: B'u = 0, the rest of least norm is orthogonal to u (equation 50 of the paper)."""
    state = ROBOT.close(*course())
    tau = np.random.default_rng(2).normal(size=(len(T), 4))
    inner, B = internal_torques(ROBOT, state, tau), motor_map(ROBOT, state)
    u = np.linalg.svd(B.transpose(0, 2, 1))[2][:, -1]
    np.testing.assert_allclose(inner, np.einsum("ni,nj,nj->ni", u, u, tau), atol=1e-12)
    efforts = coordinate_efforts(ROBOT, state)
    least = motor_torques(ROBOT, state, efforts)
    np.testing.assert_allclose(np.einsum("ni,ni->n", u, least), 0, atol=1e-9)
    np.testing.assert_allclose(np.einsum("nij,ni->nj", B, least + inner), efforts, atol=1e-9)


def test_a_log_tells_its_internal_torque_and_the_miss_of_its_encoders():
    motion = FourierMotion(
        rate=200, duration=5, period=5, centre={"x": 0, "y": 0, "phi": 0},
        sin={"x": [0, 0.05], "y": [0, 0, 0.04], "phi": [0.1, 0, 0, 0.2]},
    )  # fmt: skip
    log = simulate(ROBOT, motion, Noise(np.zeros(4), encoder_bits=12, seed=3, internal=6.0))
    found = overconstraint(ROBOT, [log], Preparation(differentiation="filter"))  # none named: angles as they were read
    assert found.internal_rms == pytest.approx(6, rel=0.3)  # 24 cosines of any frequency down to zero
    # Rounding spreads evenly over a step; of four encoders' errors the loops take up three parts.
    expected = 2 * np.pi / 2**12 / np.sqrt(12) * np.sqrt(1 / 4)
    assert np.sqrt(np.mean(found.miss**2)) == pytest.approx(expected, rel=0.1)
    least = simulate(ROBOT, motion, Noise(np.zeros(4)))
    assert overconstraint(ROBOT, [least], Preparation(differentiation="fourier", period=5)).internal_max < 1e-3


def test_the_printed_third_column_of_the_loop_jacobian_is_wrong_and_the_derived_one_is_right():
    """Equations 59 and 60 against central differences of the closed form: A c' + B q' = 0 on the loops.

    d2 q1' sin q2 = u v_C with u along the distal link; its third element is -r_p (cos phi_k c12 + sin phi_k s12), where the
    paper prints no r_p and the other sign inside, and the diagonal has the opposite sign of the one printed.
    """
    pose, h = np.array([[0.03, -0.02, 0.3]]), 1e-6
    q1, q2 = (x[0] for x in five_bars(pose))
    turn = pose[0, 2] + np.array([0, 0, np.pi, np.pi])  # phi + k pi
    c12, s12 = np.cos(q1 + q2), np.sin(q1 + q2)
    slope = np.stack(
        [(motor_angles(pose + h * e) - motor_angles(pose - h * e))[0] / (2 * h) for e in np.eye(3)], axis=1
    )
    derived = np.stack([c12, s12, -HALF * (np.cos(turn) * c12 + np.sin(turn) * s12)], axis=1)
    printed = np.stack([c12, s12, -np.sin(turn) * s12 + np.cos(turn) * c12], axis=1)
    diagonal = LEG * np.sin(q2)[:, None]
    np.testing.assert_allclose(derived - diagonal * slope, 0, atol=1e-8)
    assert np.abs(printed + diagonal * slope).max() > 0.5
    assert np.abs(derived + diagonal * slope).max() > 0.5  # the printed sign of equation 60


def test_the_printed_sign_of_my_2_is_wrong_and_the_derived_one_is_the_models():
    """Equation 51: effort at B of a distal link of unit my (not zero about its hinge) on a free leg, proximal link moving."""
    model = ROBOT.model
    q, v, a = (np.zeros(model.nv) for _ in range(3))
    i, j = (model.joints[model.getJointId(name)].idx_v for name in ("A1", "B1"))
    q[j], v[i], a[i] = 0.4, 3.0, 7.0
    angle = 0.4 + 1.5754853788678078  # q2 of the paper: the URDF counts from home
    column = 10 * (model.getJointId("B1") - 1) + 2
    effort = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a)[j, column]
    derived = -LEG * (a[i] * np.sin(angle) - v[i] ** 2 * np.cos(angle))
    assert effort == pytest.approx(derived, rel=1e-9)
    assert abs(effort + derived) > 1  # as printed


def test_multipliers_of_least_norm_are_not_torques_of_least_norm():
    """Equation 26 with c = 0 against equation 50, which wants torques without internal part: two different torques."""
    c, cd, cdd = (x[50:51] for x in course())
    state = ROBOT.close(c, cd, cdd)
    efforts, J = tree_efforts(ROBOT, state)[0], ROBOT.loops.jacobian(state.q)[0]
    S = ROBOT.motors.S
    passive = np.flatnonzero(~S.any(axis=0))
    lam = np.linalg.pinv(J[:, passive].T) @ efforts[passive]  # efforts = S'tau + J'lam, passive joints have no motor
    tau = S @ (efforts - J.T @ lam)
    assert np.linalg.norm(internal_torques(ROBOT, state, tau[None])) > 0.1
    least = motor_torques(ROBOT, state, coordinate_efforts(ROBOT, state))[0]
    B = motor_map(ROBOT, state)[0]
    np.testing.assert_allclose(B.T @ tau, B.T @ least, atol=1e-9)  # both move the robot alike
    assert np.linalg.norm(tau) > np.linalg.norm(least)


def test_as_many_motors_as_degrees_of_freedom_have_no_torque_to_move(tmp_path):
    with pytest.raises(WrongMobility, match="as many motors as degrees of freedom"):
        execute(
            RunFile.model_validate({"robot": "irb360", "coordinates": ["phi1", "phi2"], "fit": [{"file": "x.csv"}]}),
            tmp_path,
        )


def test_fit_logs_at_different_rates_are_named(tmp_path):
    for name, rate in (("slow", 100), ("fast", 200)):
        motion = FourierMotion(rate=rate, duration=1, period=1, centre={"x": 0, "y": 0, "phi": 0}, sin={"x": [0.01]})
        write_log(tmp_path / f"{name}.csv", simulate(ROBOT, motion, Noise(np.zeros(4))), ROBOT)
    run = RunFile.model_validate({"robot": "dualv", "fit": [{"file": "slow.csv"}, {"file": "fast.csv"}]})
    with pytest.raises(BadLog, match=r"slow.csv 100 Hz and fast.csv 200 Hz"):
        execute(run, tmp_path)


def test_internal_torque_needs_a_motor_to_spare():
    still = FourierMotion(rate=100, duration=1, period=1, centre=dict.fromkeys(["phi1", "phi2", "phi3", "psi"], 0.2))
    with pytest.raises(RobodynError, match="can have no internal torque"):
        simulate(load("irb360"), still, Noise(np.zeros(4), internal=1.0))


def test_poor_motions_are_named_as_the_reason():
    motion = FourierMotion(
        rate=200,
        duration=2,
        period=2,
        centre={"x": -0.01, "y": 0.03, "phi": -0.22},
        sin={"x": [0.01], "y": [0.02], "phi": [0.2]},
    )
    log = simulate(ROBOT, motion, Noise(np.zeros(4)))
    found = overconstraint(ROBOT.with_coordinates(CASE_2[3]), [log], Preparation())
    assert any("coordinates m1, m2, m3" in text and "come out wrong" in text for text in found.cautions())
    level = motion.model_copy(
        update={"sin": {"x": [0.03], "y": [0.03], "phi": [0.001]}, "centre": dict.fromkeys("xy", 0) | {"phi": 0}}
    )
    found = overconstraint(ROBOT, [simulate(ROBOT, level, Noise(np.zeros(4)))], Preparation())
    assert any("phi hardly accelerates" in text for text in found.cautions())
