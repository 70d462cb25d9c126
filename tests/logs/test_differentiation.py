"""Rates and accelerations against the exact derivatives of an analytic motion, read by an encoder."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import MOTION

from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.files import parse_yaml
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Filtered, Fourier, Preparation, Spline, rates_of
from robodyn_pin.logs.edges import edge_rows
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.fourier_series import find_period
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.quality import UNSEEN
from robodyn_pin.logs.smoothing_spline import Smoothing, smoothing
from robodyn_pin.logs.spectrum import spectrum
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

RATE = 500.0  # [Hz]
STEP = 2 * np.pi / 2**15 / 30  # of an encoder of 15 bits before a gear of 30 [rad]
PERIOD = 4.0123  # [s] not a whole number of samples, so that an encoder's errors differ from period to period
INNER = slice(500, -500)  # where no way suffers from the ends


def motion(seconds: float, rate: float = RATE, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time and exact positions, rates, accelerations (N, 2) of random Fourier series."""
    rng, harmonics = np.random.default_rng(seed), 12
    t = np.arange(round(seconds * rate)) / rate
    w = 2 * np.pi * np.arange(1, harmonics + 1) / PERIOD
    a, b = 0.05 * rng.normal(size=(2, harmonics, 2))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    wa, wb = w[:, None] * a, w[:, None] * b
    return t, s @ a + c @ b, c @ wa - s @ wb, -s @ (w[:, None] * wa) - c @ (w[:, None] * wb)


def encoded(seconds: float, rate: float = RATE) -> tuple[Log, np.ndarray, np.ndarray]:
    t, q, dq, ddq = motion(seconds, rate)
    return Log("log", t, np.round(q / STEP) * STEP, None), dq, ddq


def error(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - exact)[INNER] ** 2)))


def filters() -> list[Preparation]:
    return [Preparation(filter=Lowpass(order=n, cutoff=f)) for n in (2, 4, 8) for f in np.geomspace(4, 60, 12)]


@pytest.mark.parametrize(("seconds", "way"), [(40.0, Fourier), (6.0, Spline)])
def test_automatic_choice_is_hardly_worse_than_the_best(seconds, way):
    """The best is found with the exact derivatives at hand, among filters and splines of all cut-offs."""
    log, dq, ddq = encoded(seconds)
    chosen = rates_of(log, Preparation(differentiation="auto"))
    assert isinstance(chosen, way)
    ways = [rates_of(log, p).motion(log) for p in filters()]
    ways += [Smoothing(np.full(2, c)).motion(log.q, 0, RATE) for c in np.geomspace(0.05, 1, 25)]
    if way is Fourier:
        ways.append(rates_of(log, Preparation(differentiation="fourier")).motion(log))
    _, rate, acceleration = chosen.motion(log)
    assert error(acceleration, ddq) <= 1.1 * min(error(a, ddq) for _, _, a in ways)
    # What is best for accelerations is a little too smooth for rates.
    assert error(rate, dq) <= 1.6 * min(error(r, dq) for _, r, _ in ways)


def test_fourier_series_reaches_the_bound_of_least_squares():
    """Independent errors of variance step^2 / 12 leave every coefficient with variance 2 / N of it (Cramer-Rao)."""
    log, _, ddq = encoded(40.0)
    _, _, found = rates_of(log, Preparation(differentiation="fourier")).motion(log)
    w = 2 * np.pi * np.arange(1, 13) / PERIOD
    bound = np.sqrt(STEP**2 / 12 * 2 / log.size * np.sum(w**4))
    assert 0.7 * bound < error(found, ddq) < 1.4 * bound


def test_expected_error_of_the_spline_is_the_true_one():
    log, _, ddq = encoded(40.0)
    spline, expected = smoothing(spectrum(log))
    _, _, found = spline.motion(log.q, 0, RATE)
    assert error(found, ddq) == pytest.approx(float(np.sqrt(np.mean(expected**2))), rel=0.3)


def test_noise_is_that_of_the_encoder():
    log, _, _ = encoded(40.0)
    assert spectrum(log).noise == pytest.approx(STEP / np.sqrt(12), rel=0.05)  # uniform over one step


def test_free_ends_of_the_spline():
    """A filter swings at both ends of a log; the spline does not."""
    log, _, ddq = encoded(6.0)
    ends = np.r_[0:50, log.size - 50 : log.size]
    _, _, spline = rates_of(log, Preparation(differentiation="spline")).motion(log)
    best = min(np.abs(rates_of(log, p).motion(log)[2][ends] - ddq[ends]).max() for p in filters())
    assert np.abs(spline[ends] - ddq[ends]).max() < 0.4 * best


@pytest.mark.parametrize("way", ["spline", "fourier", "auto"])
def test_sections_with_margins_are_the_whole(way):
    """Long logs are differentiated block by block."""
    log, _, _ = encoded(40.0)
    rates = rates_of(log, Preparation(differentiation=way))
    whole = rates.motion(log)
    low, high = 7001, 9003
    section = rates.motion(log.section(low - rates.reach, high + rates.reach))
    for x, y in zip(whole, section, strict=True):
        inner = y[rates.reach : len(y) - rates.reach]
        assert np.abs(inner - x[low:high]).max() < 1e-7 * np.abs(x).max()


def test_a_motor_that_stands_still_does_not_make_all_rows_edge():
    t, q, _, _ = motion(4.0)
    moving, beside = Log("log", t, q, None), Log("log", t, np.insert(q, 1, 0.3, axis=1), None)
    assert edge_rows(beside, Preparation()) == edge_rows(moving, Preparation()) < 50


@pytest.mark.parametrize(
    "way",
    [
        Preparation(differentiation="spline"),
        Preparation(filter=Lowpass(cutoff=8)),
        Preparation(filter=Lowpass(cutoff=25)),
    ],
)
@pytest.mark.parametrize(("rate", "seconds", "noise"), [(500.0, 20.0, 1e-5), (1000.0, 12.0, 1e-4)])
def test_beyond_the_edges_accelerations_are_hardly_worse_than_in_the_middle(way, rate, seconds, noise):
    """Motions of random frequencies with encoder noise, against their exact accelerations; the second motor stands still."""
    errors, edges, size = [], [], 0.0
    for seed in range(40):
        rng, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
        w, phase = 2 * np.pi * rng.uniform(0.1, 3, 40), rng.uniform(0, 6, 40)
        a, angle = rng.normal(size=40) / w, np.outer(t, w) + phase
        exact = -np.sin(angle) @ (w**2 * a)
        q = np.stack([np.sin(angle) @ a, 0 * t], axis=1) + noise * rng.normal(size=(len(t), 2))
        log = Log("log", t, q, None)
        rates = rates_of(log, way)
        off = rates.motion(log)[2] - np.stack([exact, 0 * t], axis=1)
        errors.append(np.stack([off, off[::-1]]))
        edges.append(rates.edge)
        size += np.mean(exact**2) / 40
        assert rates.edge < rates.reach / 2
        assert edge_rows(log, way) == rates.edge
    rms = np.sqrt(np.mean(np.square(errors), axis=(0, 1)))  # over logs and both ends, by distance from the end
    n, edge = len(rms), int(np.median(edges))
    middle = np.sqrt(np.mean(rms[n // 3 : 2 * n // 3] ** 2, axis=0))
    # Twice as much, and the scatter of 80 ends.
    assert (rms[edge : n // 3].max(axis=0) < 2.2 * np.maximum(middle, 1e-3 * np.sqrt(size))).all()
    assert rms[edge // 2, 0] > 3 * middle[0]  # half of it would not do


def test_measured_accelerations_are_taken_where_there_are_some():
    """Exact ones in a log whose positions and rates are noisy; without them, differences of the measured rates."""
    t, q, dq, ddq = motion(4.0)
    noise = 1e-3 * np.random.default_rng(0).normal(size=q.shape)
    whole, without = Log("log", t, q + noise, None, dq + noise, ddq), Log("log", t, q + noise, None, dq + noise)
    way = Preparation(rates="measured")
    np.testing.assert_array_equal(rates_of(whole, way).motion(whole)[2], ddq)
    assert rates_of(whole, way).reason == "rates and accelerations are measured; no filter"
    differences = rates_of(without, way)
    np.testing.assert_allclose(
        differences.motion(without)[2][1:-1], (dq + noise)[2:] / 0.004 - (dq + noise)[:-2] / 0.004
    )
    assert "accelerations are their central differences (no columns ddq_<motor>)" in differences.reason
    smooth = Preparation(rates="measured", filter=Lowpass(cutoff=40), differentiation="auto")
    assert (
        rates_of(whole, smooth).reason == "rates and accelerations are measured; zero-phase filter of order 4 at 40 Hz"
    )
    assert error(rates_of(whole, smooth).motion(whole)[2], ddq) < 1e-3 * np.abs(ddq).max()


def test_named_filter_is_taken_where_it_is_better_than_the_spline():
    """Differences cost little at a high rate, and a sharp filter just above the motion passes less noise than a spline."""
    log, _, ddq = encoded(6.0, 5000.0)
    sharp = Preparation(differentiation="auto", filter=Lowpass(order=6, cutoff=11.0))
    blunt = Preparation(differentiation="auto", filter=Lowpass(order=2, cutoff=60.0))
    assert isinstance(rates_of(log, sharp), Filtered)
    assert isinstance(rates_of(log, blunt), Spline)
    taken, left = (np.square(rates_of(log, p).motion(log)[2] - ddq)[5000:-5000].mean() for p in (sharp, blunt))
    assert taken < left


def test_motion_that_does_not_repeat_has_no_series():
    log, _, _ = encoded(6.0)
    with pytest.raises(BadLog, match="no period"):
        rates_of(log, Preparation(differentiation="fourier"))
    with pytest.raises(BadLog, match="less than one period"):
        rates_of(log, Preparation(differentiation="fourier", period=7.0))


def test_motion_that_repeats_roughly_is_not_averaged():
    """A drift of a tenth of a degree lies far above the encoder's noise: its accelerations would be lost in the average."""
    t, q, _, _ = motion(40.0)
    q = np.round((q + 2e-3 * np.sin(0.3 * t)[:, None]) / STEP) * STEP
    chosen = rates_of(Log("log", t, q, None), Preparation(differentiation="auto"))
    assert isinstance(chosen, Spline)
    assert "but only to within 0.00" in chosen.reason


def test_period_of_measured_logs(measured_logs):
    """The motion of the dVRK logs comes back after about 2335 rows, as their description says; both agree far better."""
    import polars as pl

    found = []
    for name in ("one", "two"):
        table = pl.read_csv(measured_logs / "dvrk_mtm" / f"traj_{name}.csv")
        q = table.select([f"q{k}" for k in range(1, 8)]).to_numpy()
        log = Log(name, np.arange(len(q)) / 200, q, None)
        found.append(find_period(log, spectrum(log)))
    assert found == pytest.approx([2335, 2335], rel=1e-3)
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.parametrize(
    ("preparation", "expected"),
    [
        ("{differentiation: spline, filter: {cutoff: 40}}", "needs no filter"),
        ("{differentiation: fourier, rates: measured}", "from positions"),
        ("{differentiation: spline, period: 2}", "no period"),
        ("{differentiation: spines}", "differentiation"),
    ],
)
def test_contradictions_are_named(preparation, expected):
    text = f"robot: irb360\nfit: [{{file: log.csv}}]\npreparation: {preparation}\n"
    with pytest.raises(BadFile, match=expected):
        parse_yaml(text, RunFile, "run.yaml")


def test_edges_of_an_irregular_clock_are_as_long_in_time():
    """A log whose first half is sampled four times as densely: there as much time holds more rows."""
    way = Preparation(filter=Lowpass(order=4, cutoff=5))
    t = np.concatenate([np.arange(0, 4, 1e-3), np.arange(4, 8, 4e-3)])
    q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    log = Log("uneven", t, q, None, quality=replace(UNSEEN, irregular=1.0))
    even = uniform(log)
    assert even is uniform(log)  # so that the way to differentiate is found once
    lasts, edge = rates_of(even, way).edge / even.rate, edge_rows(log, way)
    assert 0.1 < lasts <= min(t[edge] - t[0], t[-1] - t[-1 - edge]) + 1e-3
    assert t[edge] - t[0] < lasts + 2e-3


def test_a_part_of_a_log_predicts_as_the_whole_one_but_for_its_edge_rows():
    robot = load("irb360")
    log = simulate(robot, MOTION.model_copy(update={"rate": 500.0, "duration": 2.0}), Noise(np.zeros(4)))
    noisy = replace(log, q=log.q + 1e-5 * np.random.default_rng(0).normal(size=log.q.shape))
    way = Preparation(filter=Lowpass(cutoff=40))
    edge = edge_rows(noisy, way)
    part, whole = predict(robot, noisy.section(200, 800), way), predict(robot, noisy, way)[200:800]
    off = np.abs(part - whole).max(axis=1)
    assert off[edge:-edge].max() < 1e-4 * np.abs(whole).max()
    assert off[[0, -1]].max() > 1e-3 * np.abs(whole).max()


@pytest.mark.parametrize("rates", ["positions", "measured"])
def test_each_motor_has_the_spline_of_its_own_cut_off(rates):
    log, dq, _ = encoded(6.0)
    log = replace(log, dq=dq)

    def motion_at(cutoff: object) -> tuple[np.ndarray, ...]:
        asked = {"differentiation": "spline", "rates": rates, "cutoff": cutoff}
        return rates_of(log, Preparation.model_validate(asked)).motion(log)

    for own, slow, fast in zip(motion_at([5, 20]), motion_at(5), motion_at(20), strict=True):
        np.testing.assert_allclose(
            own, np.stack([slow[:, 0], fast[:, 1]], axis=1), rtol=0, atol=1e-9 * np.abs(own).max()
        )
    with pytest.raises(
        BadLog, match="log: 3 cut-offs for 2 motors; give one, or one for each motor in the robot's order"
    ):
        motion_at([5, 20, 40])
