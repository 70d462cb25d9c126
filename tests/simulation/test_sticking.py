"""Friction that sticks, against closed forms, SciPy's integrator between events, and the laws that it must obey."""

from pathlib import Path

import numpy as np
import pytest
from mujoco_runs import dry
from scipy.integrate import solve_ivp
from standstills import apart, stops

import robodyn_pin as rp
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.sticking import slowed, sticking

MASS, LENGTH = 2.0, 0.5  # [kg], [m]
STEPS = (1e-3, 5e-4, 2.5e-4)  # [s]
URDF = """<robot name="one"><link name="base"/>
  <link name="body"><inertial><origin xyz="0 0 {low}"/><mass value="{mass}"/><inertia ixx="1e-9" ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link>
  <joint name="x" type="{kind}"><parent link="base"/><child link="body"/><axis xyz="{axis}"/>
    <limit lower="-9" upper="9" effort="100" velocity="100"/></joint></robot>"""


def one(folder: Path, kind: str, efforts: str) -> Robot:
    """A mass that slides without gravity, or hangs as a point from a joint."""
    slides = kind == "prismatic"
    text = URDF.format(kind=kind, mass=MASS, low=0 if slides else -LENGTH, axis="1 0 0" if slides else "0 1 0")
    (folder / "one.urdf").write_text(text)
    (folder / "one.yaml").write_text(f"urdf: one.urdf\nmotors: [x]\nefforts:\n{efforts}\n")
    return load(folder / "one.yaml")


def none(t: float, c: np.ndarray, cd: np.ndarray) -> np.ndarray:
    return np.zeros(1)


def at(*x: float) -> np.ndarray:
    return np.array(x)


@pytest.mark.parametrize("step", [2e-3, 1e-3, 5e-4])
def test_stick_slip_of_a_mass_drawn_by_a_spring(tmp_path, step):
    """Sliding is m e'' = Fc - k e from e = Fs / k, e' = V until e' = V again; e is the spring's length, V the speed of its end."""
    k, V, static, sliding = 200.0, 0.1, 9.0, 4.0
    robot = one(
        tmp_path,
        "prismatic",
        f"  - {{of: x, model: stribeck, initial: [{sliding}, {static - sliding}, 0], width: 1.0e-6, speed: 1.0e-5}}",
    )
    t = np.arange(0, 3.2, step)
    found = rp.roll_out(robot, lambda time, c, cd: k * (V * time - c), at(0), at(0), t)
    w, far = np.sqrt(k / MASS), (static - sliding) / k
    slides = (2 * np.pi - 2 * np.arctan(far * w / V)) / w
    period = 2 * far / V + slides
    assert "sticks" in found.scheme
    still = found.cd[:, 0] == 0
    starts = t[1:][still[:-1] & ~still[1:]]
    assert starts[0] == pytest.approx(static / k / V, abs=2 * step)
    assert np.diff(starts) == pytest.approx(period, abs=2 * step)
    ends = found.c[1:, 0][~still[:-1] & still[1:]]
    assert np.diff(ends) == pytest.approx(V * period, rel=0.005 * step / 5e-4)
    assert np.mean(~still[(t > starts[0]) & (t < starts[-1])]) == pytest.approx(slides / period, abs=0.01)


@pytest.mark.parametrize(("name", "wide"), [("scara", 0.3), ("irb360", 0.1)])
def test_the_same_stops_with_any_step_at_times_within_a_step(name, wide):
    robot = dry(load(name))
    *coarse, fine = (stops(robot, wide, step, 1.2) for step in STEPS)
    for step, found in zip(STEPS, coarse, strict=False):
        count, off = apart(found, fine, step)
        assert count >= 2 * len(fine)
        assert off <= step * (1 + 1e-9)


def swing(friction: float, viscous: float, angle: float) -> tuple[float, float]:
    """Where a pendulum with friction comes to rest, and when, by an integrator that stops where it turns."""
    inertia, weight, now = MASS * LENGTH**2 + 1e-9, MASS * 9.81 * LENGTH, 0.0
    while abs(weight * np.sin(angle)) > friction:
        way = -np.sign(np.sin(angle))

        def rates(_: float, y: np.ndarray, way: float = way) -> list[float]:
            return [y[1], (-weight * np.sin(y[0]) - friction * way - viscous * y[1]) / inertia]

        def turns(_: float, y: np.ndarray, way: float = way) -> float:
            return float(way * y[1])

        turns.terminal, turns.direction = True, -1
        done = solve_ivp(rates, (0, 10), [angle, 1e-12 * way], events=turns, rtol=1e-11, atol=1e-12, method="DOP853")
        angle, now = float(done.y[0, -1]), now + float(done.t[-1])
    return angle, now


def test_a_pendulum_comes_to_rest_at_the_right_angle_and_stays_for_an_hour(tmp_path):
    friction, viscous, start = 1.2, 0.05, 1.3
    robot = one(
        tmp_path,
        "revolute",
        f"  - {{of: x, model: coulomb, initial: {friction}}}\n  - {{of: x, model: viscous, initial: {viscous}}}",
    )
    angle, end = swing(friction, viscous, start)
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        t = np.r_[np.arange(0, end + 1, step), np.linspace(end + 2, 3600, 60)]
        found = rp.roll_out(robot, none, at(start), at(0), t)
        rest = found.c[t > end + 0.1, 0]
        assert (rest == rest[0]).all()
        assert (found.cd[t > end + 0.1] == 0).all()
        assert t[np.flatnonzero(found.cd[:, 0])[-1]] == pytest.approx(end, abs=3 * step)
        errors.append(abs(rest[0] - angle))
    assert errors[-1] < 2e-3
    assert errors[2] < 0.7 * errors[0]


def test_sliding_is_of_second_order(tmp_path):
    """Along one swing without a change of direction, viscous and Coulomb friction, against SciPy."""
    friction, viscous = 0.5, 0.3
    robot = one(
        tmp_path,
        "revolute",
        f"  - {{of: x, model: coulomb, initial: {friction}}}\n  - {{of: x, model: viscous, initial: {viscous}}}",
    )
    inertia, weight = MASS * LENGTH**2 + 1e-9, MASS * 9.81 * LENGTH
    right = solve_ivp(
        lambda _, y: [y[1], (-weight * np.sin(y[0]) + friction - viscous * y[1]) / inertia],
        (0, 0.4),
        [1.0, -0.5],
        rtol=1e-12,
        atol=1e-12,
    ).y[0, -1]
    one_step = sticking(robot).step
    errors = []
    for steps in (20, 40, 80):
        c, cd = at(1.0), at(-0.5)
        for _ in range(steps):
            c, cd, stuck, _ = one_step(c, cd, 0.4 / steps, lambda state, rate: np.zeros(1), robot.home, np.zeros(0))
            assert not stuck.any()
        errors.append(abs(c[0] - right))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.15)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize(("way", "strength", "viscous"), [(1.0, 4.0, 0.5), (-1.0, 1.0, 3.0)])
def test_each_way_has_its_own_friction(tmp_path, way, strength, viscous):
    """m v' = -strength - viscous v until v = 0, whose stop and time are closed forms."""
    robot = one(tmp_path, "prismatic", "  - {of: x, model: directional, initial: [4, 1, 0.5, 3], width: 1.0e-6}")
    speed, t = 0.3, np.arange(0, 0.8, 5e-4)
    found = rp.roll_out(robot, none, at(0), at(way * speed), t)
    end = MASS / viscous * np.log1p(viscous * speed / strength)
    stop = MASS / viscous * (speed - strength / MASS * end)
    assert found.c[-1, 0] == pytest.approx(way * stop, rel=0.005)
    assert t[np.flatnonzero(found.cd[:, 0])[-1]] == pytest.approx(end, abs=1e-3)


def test_friction_holds_what_it_can_and_never_gives_energy():
    """The conditions of Coulomb's law, on bodies, axes and strengths drawn at random, more axes than freedom among them."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        d, axes = rng.integers(1, 6), rng.integers(1, 9)
        root, J = rng.normal(size=(d, d + 2)), rng.normal(size=(axes, d))
        M, before = root @ root.T, rng.normal(size=d)
        strength = rng.exponential(size=axes) * rng.choice([0.01, 0.3, 30.0]) * (rng.uniform(size=axes) < 0.9)
        low, high = -strength * rng.uniform(0.5, 1, axes), strength
        after, stuck = slowed(M, J, M @ before, low, high, before)
        rates = J @ after
        stuck = stuck | (
            (np.abs(rates) < 1e-12) & (high > low)
        )  # of axes that depend on each other some do the holding
        p = np.where(rates > 0, high, low)  # of the axes that slide
        p = np.where(stuck | (high == low), 0.0, p)
        lost = M @ (before - after) - J.T @ p
        assert np.abs(rates[stuck]).max(initial=0.0) < 1e-9
        if stuck.any():
            p[stuck], *_ = np.linalg.lstsq(J[stuck].T, lost, rcond=None)
            if np.linalg.matrix_rank(J[stuck]) == stuck.sum():
                assert (p[stuck] <= high[stuck] + 1e-9).all()
                assert (p[stuck] >= low[stuck] - 1e-9).all()
        np.testing.assert_allclose(M @ (before - after), J.T @ p, atol=1e-8 * (1 + np.abs(M @ before).max()))
        assert after @ M @ after <= before @ M @ before * (1 + 1e-12)
        assert p @ J @ (before + after) >= -1e-9
        seen |= {bool(stuck.any()), bool(stuck.all())}
    assert seen == {True, False}


def test_a_robot_held_by_its_motors_and_pushed_moves_the_pushed_axis_alone():
    """The wrist's friction is thousands of times too steep for explicit steps; what holds stays, to the last bit."""
    robot = load("irb2400")
    rest, zero = np.zeros(6), np.zeros(6)
    hold = rp.inverse_dynamics(robot, rest[None], rest[None], rest[None])[0]
    t = np.linspace(0, 0.05, 51)
    still = rp.roll_out(robot, lambda time, c, cd: hold, rest, zero, t)
    assert (still.c == 0).all()
    pushed = rp.roll_out(robot, lambda time, c, cd: hold + 60.0 * np.eye(6)[0], rest, zero, t)
    inertia, (coulomb, more, viscous) = rp.mass_matrix(robot, rest[None])[0], robot.efforts[0].initial
    assert np.abs(pushed.c[:, 1:]).max() < 1e-12
    assert pushed.cd[1, 0] == pytest.approx(
        (60 - coulomb - more) / _alone(inertia) * 1e-3, rel=0.35
    )  # the static strength falls within the step
    end = (60 - coulomb) / viscous * (1 - np.exp(-viscous * t[-1] / _alone(inertia)))
    assert pushed.cd[-1, 0] == pytest.approx(end, rel=0.05)


def _alone(M: np.ndarray) -> float:
    """Inertia of the first axis while the others stick."""
    return float(M[0, 0])


@pytest.mark.parametrize("steep", [True, False])
def test_the_scheme_is_chosen_by_the_friction(tmp_path, steep):
    robot = one(tmp_path, "revolute", f"  - {{of: x, model: coulomb, initial: 0.5, width: {1e-4 if steep else 1.0}}}")
    found = rp.roll_out(robot, none, at(0.5), at(0), np.linspace(0, 0.1, 51))
    assert ("sticks" in found.scheme) == steep
    assert ("Runge-Kutta of order 4" in found.scheme) != steep


@pytest.mark.parametrize(("share", "held_up"), [(1.5, True), (0.5, False)])
def test_friction_that_grows_with_the_load_of_its_own_axis(tmp_path, share, held_up):
    """The load is what the bodies ask, here the friction itself: above 1 it holds any pendulum, below it holds none at all."""
    robot = one(tmp_path, "revolute", f"  - {{of: x, model: load, initial: {share}, width: 1.0e-6}}")
    found = rp.roll_out(robot, none, at(0.5), at(0), np.linspace(0, 0.05, 51))
    if held_up:
        assert (found.c == 0.5).all()
    else:
        falls = -9.81 / LENGTH * np.sin(0.5)
        assert found.cd[1, 0] == pytest.approx(falls * 1e-3, rel=1e-4)


def test_stops_hold_like_springs_and_lose_what_slides(tmp_path):
    """A mass on a spring that slides: within its radius it swings as m x'' = -k x; thrown beyond, it loses strength times the way slid."""
    strength, radius, step = 8.0, 0.01, 2e-4
    robot = one(tmp_path, "prismatic", f"  - {{of: x, model: maxwell_slip, initial: [{strength}], stops: [{radius}]}}")
    w = np.sqrt(strength / radius / MASS)
    t = np.arange(0, 0.6, step)
    within = rp.roll_out(robot, none, at(0), at(0.8 * radius * w), t)
    assert within.c[:, 0] == pytest.approx(0.8 * radius * np.sin(w * t), abs=2e-3 * radius)
    # Thrown at twice the speed that the spring takes: it slides until the rate is zero, then swings about where it let go.
    speed = 2 * radius * w
    thrown = rp.roll_out(robot, none, at(0), at(speed), t)
    left = MASS / 2 * speed**2 - strength * radius / 2  # beyond the stretch of the spring, all of it slides away
    furthest = radius + left / strength
    assert thrown.c.max() == pytest.approx(furthest, rel=1e-3)
    swing = thrown.c[t > t[thrown.c[:, 0].argmax()], 0]
    assert swing.min() == pytest.approx(furthest - 2 * radius, abs=5e-3 * radius)


def test_stops_in_parallel_follow_the_operator_and_never_give_energy(tmp_path):
    """Drawn to and fro by a force: kinetic energy, what the springs hold and what slid away are the work, in every step."""
    strengths, radii = np.array([3.0, 2.0, 4.0]), np.array([1e-4, 1e-3, 1e-2])
    robot = one(
        tmp_path,
        "prismatic",
        f"  - {{of: x, model: maxwell_slip, initial: {strengths.tolist()}, stops: {radii.tolist()}}}\n"
        "  - {of: x, model: viscous, initial: 2.0}",
    )
    t = np.arange(0, 2, 1e-3)
    found = rp.roll_out(robot, lambda time, c, cd: np.array([12 * np.sin(5 * time)]), at(0), at(0), t)
    x, v, z = found.c[:, 0], found.cd[:, 0], np.zeros((len(t), 3))
    for i in range(1, len(t)):
        z[i] = np.clip(z[i - 1] + x[i] - x[i - 1], -radii, radii)
    moved, force = np.diff(x), (strengths / radii * (z[:-1] + z[1:]) / 2).sum(axis=1)
    slid = force * moved - np.diff((strengths / radii / 2 * z**2).sum(axis=1))
    driven = 12 * np.sin(5 * (t[:-1] + 5e-4)) * moved
    rubbed = 2.0 * (v[:-1] + v[1:]) / 2 * moved
    assert np.abs(z).max(axis=0) == pytest.approx(radii)
    assert (slid >= -1e-12).all()
    assert np.diff(MASS / 2 * v**2) == pytest.approx(driven - rubbed - force * moved, abs=1e-10)


def test_loaded_by_a_stiff_spring_a_long_step_stays_bounded(tmp_path):
    """A spring of 50 kHz at 1 ms, besides friction that sticks: it swings on, but never further than it was."""
    robot = one(
        tmp_path,
        "prismatic",
        "  - {of: x, model: spring, initial: 2.0e+11}\n  - {of: x, model: coulomb, initial: 1.0, width: 1.0e-6}",
    )
    found = rp.roll_out(robot, none, at(1e-3), at(0), np.arange(0, 0.5, 1e-3))
    assert "sticks" in found.scheme
    assert np.abs(found.c).max() <= 1e-3 * (1 + 1e-9)
