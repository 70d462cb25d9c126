"""Exciting motions: at rest at both ends, inside every limit, richer than random ones; what the search is told is true."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from test_bad_input import ARM, ROBOT
from workspaces import IRB360, U1, U2, delta_angles

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.model import ExcitationModel
from robodyn_pin.excitation.search import excite, softened
from robodyn_pin.excitation.workspace import workspace
from robodyn_pin.files import parse_yaml, read_yaml
from robodyn_pin.identification.excitation import (
    ExcitingSeries,
    Sampled,
    Search,
    begun,
    largest_amplitude,
    log_information,
    maximise,
    scaled,
)
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import load
from robodyn_pin.workers import working

ROOT = Path(__file__).parents[2]
RUN = "robot: arm.yaml\nperiod: 6\nharmonics: 3\nrandom: 30\nstarts: 1\niterations: 30\nrate: 500\n"


@dataclass(frozen=True)
class Pendulum:
    """One joint with inertia, gravity and friction; out of reach beyond two radians; |c| <= 1 and |c'| <= 3."""

    def at(self, c, cd, cdd):
        if np.abs(c).max() > 2:
            raise ClosureFailed("out of reach", 0, "", np.inf)
        return Sampled(np.stack([cdd, np.sin(c), cd], axis=2), np.hstack([c, cd / 3]))

    def slopes(self, c, cd, cdd):
        zero, one = np.zeros_like(c), np.ones_like(c)
        rows = [[zero, zero, one], [np.cos(c), zero, zero], [zero, one, zero]]
        loads = [[one, zero, zero], [zero, one / 3, zero]]
        slopes = (np.stack([np.concatenate(x, axis=1) for x in what], axis=1) for what in (rows, loads))
        row_slopes, load_slopes = slopes
        return self.at(c, cd, cdd), Sampled(row_slopes[:, None], load_slopes)


def test_series_start_and_end_at_rest_and_repeat():
    series = ExcitingSeries(3.0, 4)
    X = series.draw(np.random.default_rng(0), np.array([0.2, -1.0]), np.array([1.0, 3.0]))
    c, cd, cdd = series.basis(np.array([0.0, 3.0])) @ X
    assert np.abs(c[1] - c[0]).max() < 1e-12
    assert np.abs([cd, cdd]).max() < 1e-10
    t, h = np.linspace(0.1, 2.9, 50), 1e-5
    before, at, after = (series.basis(t + s) @ X for s in (-h, 0, h))
    assert np.abs((after[0] - before[0]) / (2 * h) - at[1]).max() < 1e-6
    assert np.abs((after[1] - before[1]) / (2 * h) - at[2]).max() < 1e-5


def test_the_motion_file_says_the_same_motion():
    series = ExcitingSeries(2.0, 3)
    X = series.draw(np.random.default_rng(1), np.array([0.5]), np.array([1.0]))
    centre, sine, cosine = series.amplitudes(X)
    motion = FourierMotion(
        rate=100, duration=2, period=2, centre={"a": centre[0]}, sin={"a": sine[:, 0].tolist()},
        cos={"a": cosine[:, 0].tolist()},
    )  # fmt: skip
    t, *written = fourier(motion, ("a",))
    assert np.abs(np.array(written) - series.basis(t) @ X).max() < 1e-12


def test_log_information_of_orthogonal_columns_is_the_sum_of_their_logarithms():
    rows = np.diag([2.0, 3.0, 5.0])[:, None]
    assert log_information(rows) == pytest.approx(2 * np.log(30), rel=1e-12)
    assert log_information(np.zeros((4, 1, 2))) == -np.inf


def test_largest_amplitude_meets_the_limit():
    X = np.array([[0.25], [1.0], [0.0]])
    found = largest_amplitude(lambda f: np.abs(scaled(X, f)[0]) + np.abs(scaled(X, f)[1]))
    assert 0.749 < found <= 0.75
    beyond = largest_amplitude(lambda f: np.array(np.inf if f > 0.5 else f))
    assert 0.499 < beyond <= 0.5


def test_slopes_of_information_and_limits_are_differences_of_themselves():
    series = ExcitingSeries(4.0, 3)
    search = Search(Pendulum(), series.basis(series.clock(60)), np.full((5, 1), 0.5))
    x = 0.3 * np.random.default_rng(2).normal(size=5)
    f_slope, room_slope = search.slopes(x)
    for k, e in enumerate(1e-6 * np.eye(5)):
        (f1, room1), (f0, room0) = search.values(x + e), search.values(x - e)
        assert f_slope[k] == pytest.approx((f1 - f0) / 2e-6, rel=1e-5, abs=1e-6)
        assert np.allclose(room_slope[:, k], (room1 - room0) / 2e-6, rtol=1e-4, atol=1e-5)


def test_the_search_gains_information_and_stays_inside_although_beyond_is_out_of_reach():
    series, model = ExcitingSeries(4.0, 3), Pendulum()
    basis = series.basis(series.clock(60))
    rng, drawn = np.random.default_rng(3), []
    for _ in range(20):
        X = series.draw(rng, np.zeros(1), np.ones(1))
        X = scaled(X, largest_amplitude(lambda f, X=X: (basis @ scaled(X, f))[:2, :, 0] / [[1], [3]]))
        drawn.append((log_information(model.at(*(basis @ X)).rows), X))
    best, start = max(drawn, key=lambda pair: pair[0])
    found = maximise(model, series, begun(0.9 * start), np.ones(1), 60, 60).X
    sampled = model.at(*(basis @ found))
    assert np.abs(sampled.loads).max() < 1.01
    assert log_information(sampled.rows) > best


@pytest.fixture(scope="module")
def platform():
    robot = load("irb360")
    limits = limits_of(robot, {}, 0.0)
    moved = robot.with_coordinates(["x", "y", "z", "psi"])
    return ExcitationModel(moved, robot, limits, np.array([1.5, 1.5, 1.6, 0.16]), np.arange(80))


def test_slopes_of_a_robot_with_loops_are_central_differences_on_the_loops(platform):
    rng = np.random.default_rng(4)
    c = np.array([0.1, -0.1, -0.2, 0.3]) + 0.05 * rng.normal(size=(5, 4))
    cd, cdd = rng.normal(size=(5, 4)), 3 * rng.normal(size=(5, 4))
    model = softened(platform, np.stack([c, cd, cdd]))
    _, slopes = model.slopes(c, cd, cdd)
    for order in range(3):
        for k in range(4):
            moved = np.zeros((3, 5, 4))
            moved[order, :, k] = 1e-5
            after, before = (model.at(*(np.stack([c, cd, cdd]) + s * moved)) for s in (1, -1))
            for name in ("rows", "loads"):
                expected = (getattr(after, name) - getattr(before, name)) / 2e-5
                found = getattr(slopes, name)[..., 4 * order + k]
                # Forward differences with steps of 1e-5.
                assert np.abs(found - expected).max() < 2e-3 * max(1.0, np.abs(expected).max())


def test_rows_are_those_of_the_motors_whatever_the_series_describe(platform):
    c = np.array([[0.1, -0.1, -0.2, 0.3]])
    state = platform.robot.close(c, 0.5 + c, 2 * c)
    motors = platform.identified
    by_motors = motors.close(*(x @ motors.motors.S.T for x in (state.q, state.v, state.a)))
    from robodyn_pin.dynamics.regressor import state_regressor

    expected = state_regressor(motors, by_motors)[0] / platform.sigma[:, None]
    assert np.allclose(platform.at(c, 0.5 + c, 2 * c).rows[0], expected, atol=1e-8 * np.abs(expected).max())


def test_hemisphere_of_the_delta_is_inside_arms_and_telescope_by_closed_form(platform):
    region = workspace(platform.robot, platform.limits, points=25)
    half, rng = region.hemisphere, np.random.default_rng(5)
    assert half.radius > 0.3
    p = half.centre + half.radius * rng.uniform(-1, 1, (4000, 3))
    away = p - half.centre
    p = p[(np.linalg.norm(away, axis=1) <= half.radius) & (away[:, 2] * (1 if half.up else -1) >= 0)] + np.array(
        [0, 0, IRB360.home]
    )
    arms = delta_angles(IRB360, p)
    bar = np.linalg.norm(p + np.array([0, 0, U2 - U1]), axis=1)
    assert len(p) > 500
    assert -0.703 <= arms.min() < arms.max() <= 1.745
    # Universal joints 0.80 to 1.40 m apart.
    assert 0.80 <= bar.min() < bar.max() <= 1.40
    assert not region.allowed.all()


QUICK = {"random": 5, "starts": 1, "iterations": 15}


def test_a_short_search_for_the_delta_stays_inside_telescope_and_arms_by_closed_form():
    run = read_yaml(ROOT / "examples/irb360_excite.yaml", ExcitationFile).model_copy(update=QUICK)
    found = excite(run)
    assert found.gain > 2
    _, c, _, _ = fourier(found.motion.model_copy(update={"rate": 2000.0}), ("x", "y", "z", "psi"))
    p = c[:, :3] + np.array([0, 0, IRB360.home])
    arms = delta_angles(IRB360, p)
    bar = np.linalg.norm(p + np.array([0, 0, U2 - U1]), axis=1)
    assert -0.703 < arms.min() < arms.max() < 1.745
    assert 0.80 < bar.min() < bar.max() < 1.40
    assert np.abs(c[:, 3]).max() < 3.14
    assert np.array_equal(found.shown.columns, np.arange(found.base.size))


def test_a_short_search_for_the_panda_conditions_its_regressor(measured_logs):
    run = read_yaml(ROOT / "tests/runs/panda_excite.yaml", ExcitationFile).model_copy(update=QUICK)
    found = excite(run, ROOT / "tests/runs")
    assert found.base.size == 64
    assert found.condition < 120
    assert found.gain > 2
    assert max(float(str(load["used_percent"])) for load in found.loads) <= 100


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    for name, text in (("arm.urdf", ARM), ("arm.yaml", ROBOT), ("run.yaml", RUN)):
        (folder / name).write_text(text)
    return folder


def test_the_command_writes_a_motion_that_simulate_plays_inside_the_limits(arm, robodyn):
    done = robodyn("excite", arm / "run.yaml", "--out", arm / "out", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == json.loads((arm / "out/excitation.json").read_text())
    assert said["gain_nats"] > 2
    assert max(load["used_percent"] for load in said["limits"]) <= 100
    assert ElementTree.parse(arm / "out/excitation.svg").getroot().tag.endswith("svg")

    done = robodyn("simulate", arm / "arm.yaml", "--motion", arm / "out/motion.yaml", "--out", arm / "log.csv")
    assert done.returncode == 0, done.stderr
    log, planned = (
        pl.read_csv(arm / "log.csv", comment_prefix="#"),
        pl.read_csv(arm / "out/motion.csv", comment_prefix="#"),
    )
    for motor in ("shoulder", "elbow"):
        assert np.allclose(log[f"q_{motor}"], planned[f"q_{motor}"][:-1], atol=1e-9)
        assert np.allclose(log[f"tau_{motor}"], planned[f"tau_{motor}"][:-1], atol=1e-8)
        assert log[f"q_{motor}"].abs().max() <= 3 * 0.95
        assert planned[f"dq_{motor}"].abs().max() <= 5 * 0.95
        assert np.abs(np.diff(log[f"q_{motor}"].to_numpy()) * 500).max() <= 5 * 0.95
        assert log[f"tau_{motor}"].abs().max() <= 50 * 0.95
    table = pl.read_csv(arm / "out/controller.csv", comment_prefix="#")
    assert len(table) == 6 * 250 + 1
    assert table.row(0)[1:] == pytest.approx(table.row(-1)[1:], abs=1e-8)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("bandwidth: 0.4", "the drives follow up to 0.4 Hz"),
        ("coordinates: [shoulder, elbo]", "did you mean 'elbow'"),
        ("limits: {elbw: {velocity: 1}}", "did you mean 'elbow'"),
        ("limits: {elbow: {position: [1, 1]}}", "leave no room to move"),
        ("limits: {shoulder: {torque: 0.5}}", "the limits forbid any motion"),
        ("limits: {shoulder: {velocity: 1.0e-9}}", "the limits forbid any motion"),
        ("noise: {shoulder: 0.1}", "elbow missing"),
        ("centre: {shoulde: 0.1}", "did you mean 'shoulder'"),
        ("asked: {m(uper): 0.1}", "did you mean 'm(upper)'"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(arm, more, sentence):
    with pytest.raises(RobodynError, match=re.escape(sentence)) as raised:
        excite(parse_yaml(RUN + more, ExcitationFile, "run.yaml"), arm)
    assert "\n" not in str(raised.value)


def test_what_no_motion_shows_stays_unknown(arm):
    run = read_yaml(arm / "run.yaml", ExcitationFile).model_copy(
        update={"asked": {"m(upper)": 0.1, "Iyy(lower)": 1e-9, "viscous(elbow)": 1e3}, "iterations": 1}
    )
    unknown = excite(run, arm).unknown
    assert len(unknown) == 2
    assert unknown[0].startswith("m(upper) stays unknown")
    assert "Iyy(lower)" in unknown[1]


def test_noise_of_more_motors_than_coordinates_is_weighed_at_each_pose():
    """log det of W'C^-1 W with C the covariance of B'tau: the same in whichever coordinates the log is fitted."""
    robot, sigma = load("dualv"), np.array([0.5, 1.0, 0.7, 1.2])
    size = np.array([0.05, 1.0, 10.0])[:, None, None]
    motion = size * np.random.default_rng(0).uniform(-1, 1, (3, 40, 3))
    state, columns = robot.close(*motion), check(robot).base.columns
    W = state_regressor(robot, state)[:, :, columns]
    B = state.T[:, [robot.model.joints[robot.model.getJointId(f"A{k}")].idx_v for k in (1, 2, 3, 4)]]
    covariance = np.einsum("nki,k,nkj->nij", B, sigma**2, B)
    expected = np.linalg.slogdet(np.einsum("nip,nij,njq->pq", W, np.linalg.inv(covariance), W))[1]
    for identified in (robot, robot.with_coordinates(["m1", "m2", "m3"])):
        model = ExcitationModel(robot, identified, limits_of(robot, {}, 0.0), sigma, columns)
        assert log_information(model.at(*motion).rows) == pytest.approx(expected, abs=1e-6)


def test_processes_find_the_same_motion_bit_for_bit(arm):
    run = read_yaml(arm / "run.yaml", ExcitationFile).model_copy(update={"starts": 2, "random": 60})
    alone = excite(run, arm)
    with working(2):
        shared = excite(run, arm)
    assert shared.motion == alone.motion
    assert shared.random.tobytes() == alone.random.tobytes()
