"""Online identification from encoders: causal rates, odd clocks, states between two halves."""

from dataclasses import replace

import numpy as np
import pytest
from online_motions import AWAY, RATE, delta, feed, new_stream, signals

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.identification.drift import Trend
from robodyn_pin.logs.too_fast import TOO_FAST
from robodyn_pin.online.causal_rates import CausalRates
from robodyn_pin.online.history import History
from robodyn_pin.online.nearest_consistent import nearest_consistent
from robodyn_pin.online.saved_state import merge_state, restore_state, save_state
from robodyn_pin.online.stream import Stream
from robodyn_pin.online.track_file import CausalSpec, TrackFile
from robodyn_pin.online.tracked import tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.limits import speed_limits
from robodyn_pin.robot.robot import load


@pytest.fixture(scope="module")
def model():
    return delta()


def test_causal_rates_of_a_polynomial_are_exact_and_as_late_as_said():
    t = np.arange(60) / 100
    q = np.stack([1 + 2 * t - 3 * t**2 + t**4, t**3], axis=1)
    rates = CausalRates(100.0, 2, CausalSpec(window=11, degree=4))
    out = rates.push(t, q, q)
    assert rates.delay == pytest.approx(0.05)
    np.testing.assert_allclose(out.t, t[5:-5])
    np.testing.assert_allclose(out.dq, np.stack([2 - 6 * out.t + 4 * out.t**3, 3 * out.t**2], axis=1), atol=1e-10)
    np.testing.assert_allclose(out.ddq, np.stack([-6 + 12 * out.t**2, 6 * out.t], axis=1), atol=1e-8)
    np.testing.assert_array_equal(out.tau, q[5:-5])


def test_one_by_one_and_all_at_once_are_the_same(model):
    t, q, tau = signals(model, 300)
    whole, single = new_stream(model), new_stream(model)
    feed(whole, t, q, tau)
    seen = [m for k in range(300) for m in single.push(t[k : k + 1], q[k : k + 1], tau[k : k + 1])]
    assert len(seen) == 280
    np.testing.assert_allclose(single.tracker.estimator.values, whole.tracker.estimator.values, rtol=1e-9)


def test_gap_is_counted_and_the_window_filled_anew(model):
    t, q, tau = signals(model, 600)
    keep = np.r_[0:300, 400:600]
    stream = new_stream(model)
    seen = feed(stream, t[keep], q[keep], tau[keep])
    assert stream.rates.anomalies["gap"] == 1
    assert len(seen) == 500 - 2 * 20
    assert not any(m.update.refused for m in seen)
    history = History(stream.tracker, interval=0.2)
    rows = [row for row in (history.add(sample) for sample in seen) if row is not None]
    assert rows[2].t == seen[279].t  # the last sample before the gap, not the one that ends the interval


def test_new_rate_is_noticed_and_rates_are_right_again():
    t = np.concatenate([np.arange(100) / 100, 1 + np.arange(100) / 50])
    q = np.sin(t)[:, None]
    rates = CausalRates(100.0, 1, CausalSpec(window=9, degree=4))
    out = rates.push(t, q, q)
    assert +rates.anomalies == {"new rate": 1}
    assert rates.step == pytest.approx(0.02)
    np.testing.assert_allclose(out.dq[:, 0], np.cos(out.t), atol=1e-6)
    assert out.t[-1] == pytest.approx(t[-5])


def test_memory_in_seconds_stays_where_samples_come_half_as_fast(model):
    t, q, tau = signals(model, 400, rate=250.0)
    stream = new_stream(model)  # expects 500 Hz
    feed(stream, t, q, tau)
    information = stream.tracker.estimator.state()["R"]
    slow = new_stream(model, 250.0)
    slow.tracker.estimator.forgetting **= 2
    feed(slow, t, q, tau)
    expected = slow.tracker.estimator.state()["R"]
    assert np.linalg.norm(information - expected) < 0.05 * np.linalg.norm(expected)


def test_samples_without_a_position_or_out_of_order_are_counted(model):
    t, q, tau = signals(model, 200)
    q[100, 1], t[150] = np.nan, t[149]
    stream = new_stream(model)
    feed(stream, t, q, tau)
    assert stream.rates.anomalies["not a number"] == 1
    assert stream.rates.anomalies["time does not increase"] == 1
    assert np.isfinite(stream.tracker.estimator.values).all()


def test_positions_that_no_motor_can_come_to_are_as_if_they_were_missing(model):
    """A lone wrong position, one just before the end of a piece, and 30 in a row."""
    t, q, tau = signals(model, 1500)
    bad = np.r_[300, 500:530, 999]
    wrong = q.copy()
    wrong[bad, 0] += 3.0
    fastest, missing = TOO_FAST * speed_limits(model.robot), np.setdiff1d(np.arange(1500), bad)
    streams = [Stream(new_stream(model).tracker, CausalRates(RATE, 3, fastest=fastest)) for _ in range(2)]
    for x, kept in zip((wrong, q), (np.arange(1500), missing), strict=True):
        for part in (kept < 1000, kept >= 1000):
            feed(streams[len(kept) < 1500], t[kept][part], x[kept][part], tau[kept][part])
    jumped, plain = streams
    assert jumped.rates.anomalies["position jumps"] == len(bad)
    np.testing.assert_array_equal(jumped.tracker.estimator.values, plain.tracker.estimator.values)


def test_a_motor_that_stays_elsewhere_is_believed_once_there_was_time_to_get_there():
    t, q = np.arange(200) / 100, np.zeros((200, 1))
    q[50:] = 1.0
    rates = CausalRates(100.0, 1, CausalSpec(window=5, degree=2), fastest=np.array([2.0]))
    out = rates.push(t, q, q)
    assert rates.anomalies["position jumps"] == 49  # 0.5 s at 2 rad/s, of which one step lies before
    assert np.abs(out.dq).max() < 1e-9


@pytest.mark.parametrize("cut", [1500, 1610])  # at rest, and while a payload is being measured
def test_two_halves_with_the_state_between_are_one_log(model, tmp_path, cut):
    t, q, tau = signals(model, 3000)
    tau[1600:] = signals(model, 3000, kilograms=0.5)[2][1600:]
    whole, first, second = (new_stream(model) for _ in range(3))
    feed(whole, t, q, tau)
    feed(first, t[:cut], q[:cut], tau[:cut])
    save_state(tmp_path / "state.npz", first)
    restore_state(tmp_path / "state.npz", second)
    feed(second, t[cut:], q[cut:], tau[cut:])
    np.testing.assert_allclose(second.tracker.estimator.values, whole.tracker.estimator.values, rtol=1e-12)
    (change,), (same,) = whole.tracker.changes, second.tracker.changes
    assert change.size == pytest.approx(0.5, abs=0.015)
    assert same.size == pytest.approx(change.size, rel=1e-12)
    assert second.tracker.carried == pytest.approx(whole.tracker.carried, rel=1e-12)


def test_states_of_two_robots_are_merged(model, tmp_path):
    t, q, tau = signals(model, 1500)
    first, second = new_stream(model), new_stream(model)
    feed(first, t, q, tau)
    feed(second, t, q, signals(model, 1500, seed=1)[2])
    save_state(tmp_path / "second.npz", second)
    apart = np.sqrt(np.diag(first.tracker.estimator.covariance()))
    merge_state(tmp_path / "second.npz", first)
    together = np.sqrt(np.diag(first.tracker.estimator.covariance()))
    k = model.labels.index("m(platform)")
    assert together[k] == pytest.approx(apart[k] / np.sqrt(2), rel=0.01)  # the same rows, noise of its own
    assert first.tracker.estimator.values[k] == pytest.approx(model.values[k], abs=4 * together[k])


def test_state_of_another_robot_is_refused(model, tmp_path):
    save_state(tmp_path / "state.npz", new_stream(model))
    other = tracked(load("irb2400"), TrackFile())
    stream = Stream(Tracker(other, np.ones(6), RATE), CausalRates(RATE, 6, CausalSpec()))
    with pytest.raises(BadFile, match="state of robot 'delta3', not of 'irb2400'"):
        restore_state(tmp_path / "state.npz", stream)
    whole = tracked(load("delta3"), TrackFile())
    with pytest.raises(BadFile, match="other parameters"):
        restore_state(tmp_path / "state.npz", new_stream(whole))
    read = dict(np.load(tmp_path / "state.npz"))
    np.savez(tmp_path / "plain.npz", **{k: x for k, x in read.items() if not k.startswith("detector/")})
    with pytest.raises(BadFile, match="payload included"):
        restore_state(tmp_path / "plain.npz", new_stream(model))
    for name, value, said in (("x", np.nan * read["estimator/x"], "no numbers"), ("settings", np.ones(2), "not as")):
        np.savez(tmp_path / "other.npz", **(read | {f"estimator/{name}": value}))
        with pytest.raises(BadFile, match=said):
            restore_state(tmp_path / "other.npz", new_stream(model))
        with pytest.raises(BadFile, match=said):
            merge_state(tmp_path / "other.npz", new_stream(model))
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(BadFile, match="cannot read"):
        restore_state(tmp_path / "broken.npz", new_stream(model))


def test_robot_without_enough_motors_is_refused():
    robot = load("delta3")
    S = robot.motors
    few = replace(robot, motors=replace(S, names=S.names[:2], S=S.S[:2], offset=S.offset[:2]))
    with pytest.raises(RobodynError, match="2 motors for 3 degrees of freedom"):
        tracked(few, TrackFile())


def test_nearest_consistent_parameters_bring_back_a_negative_mass(model):
    tracker = new_stream(model).tracker
    assert nearest_consistent(tracker).relative < 1e-4
    wrong = model.values.copy()
    k = model.labels.index("m(rod_1a=rod_1b)")
    wrong[k] = -0.05
    tracker.estimator.values = wrong
    found = nearest_consistent(tracker)
    assert found.values[k] >= 0
    # Nothing is known yet: the nearest point is the projection, the mass at zero and all else as it was.
    expected = np.linalg.norm(0.05 / model.scale[k]) / np.linalg.norm(wrong / model.scale)
    assert found.relative == pytest.approx(expected, rel=0.02)


def test_a_covariance_that_rounding_took_below_zero_still_measures_distances(model, monkeypatch):
    """As logs without noise leave it, whichever parameter they know exactly: the estimate itself is nearest, at a hundredth of a deviation."""
    tracker = new_stream(model).tracker
    known = np.diag(tracker.estimator.covariance()).copy()
    for k in range(len(known)):
        rounded = np.diag(np.where(np.arange(len(known)) == k, -1e-18 * known.max(), known))
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.cholesky(rounded)
        monkeypatch.setattr(tracker.estimator, "covariance", lambda C=rounded: C)
        found = nearest_consistent(tracker)
        assert found.deviations < 0.02
        assert found.relative < 2e-3


def test_trend_of_a_drift_and_none_of_noise_and_of_a_wandering_estimate():
    rng, trend = np.random.default_rng(6), Trend(3, 10.0)
    walk = np.cumsum(rng.normal(size=3600))
    for k in range(3600):
        trend.add(float(k), np.array([0.5 * k / 3600 + 0.1 * rng.normal(), 0.1 * rng.normal(), walk[k]]))
    slope = trend.slope()
    assert slope.per_hour[0] == pytest.approx(0.5, abs=4 * slope.deviations[0])
    np.testing.assert_array_equal(slope.significant, [True, False, False])
    jump = Trend(1, 10.0)
    for k in range(3600):
        if k == 1800:
            jump.shift(np.array([2.0]))
        jump.add(float(k), np.array([1.0 + 2.0 * (k >= 1800)]))
    assert abs(jump.slope().per_hour[0]) < 1e-9


def test_a_stretch_out_of_reach_is_refused_and_the_rest_taken(model):
    t, q, tau = signals(model, 900)
    q[300:600] = np.median(q, axis=0) + AWAY
    stream = new_stream(model)
    seen = feed(stream, t, q, tau)
    refused = [m.t for m in seen if m.update.refused == "out of reach"]
    assert len(seen) == 880
    assert set(t[310:590]) <= set(refused)
    assert stream.tracker.estimator.samples > 500
