"""Online identification in time: of one sample from Python, over a million samples, over an hour in pieces. SIMULATED."""

import resource
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from make import Row
from online_motions import NOISE, RATE, SETTINGS, drift, motor_motion, new_tracker, rich, rows_of

from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.online.causal_rates import CausalRates
from robodyn_pin.online.saved_state import restore_state, save_state
from robodyn_pin.online.stream import Stream
from robodyn_pin.online.track_file import CausalSpec, TrackFile
from robodyn_pin.online.tracked import Tracked, tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.robot import load

LONG = 1_000_000


def median_us(step: Callable[[tuple], object], samples: Iterable[tuple]) -> float:
    taken = []
    for sample in samples:
        begin = time.perf_counter()
        step(sample)
        taken.append(time.perf_counter() - begin)
    return 1e6 * float(np.median(taken[len(taken) // 5 :]))


def wave(robot, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A motion (c, c', c'') (n, d) about home, 500 Hz."""
    d = len(robot.coordinates.names)
    t, w = np.arange(n) / RATE, 2 * np.pi * np.linspace(0.5, 1.2, d)
    turn = np.exp(1j * np.outer(t, w))
    c, cd, cdd = (0.1 * ((1j * w) ** k * turn).imag for k in range(3))
    return robot.coordinates.S @ robot.home + robot.coordinates.offset + 0.2 + c, cd, cdd


def times(model: Tracked) -> list[Row]:
    found = []
    for n, limit, rows in ((16, 100, rows_of(model, rich(5000))[0]), (37, 400, None)):
        if rows is None:
            irb = tracked(load("irb360"), TrackFile())
            rows, scale = irb.rows(irb.robot.close(*wave(irb.robot, 5000)))[0], irb.scale
            values = irb.values
        else:
            values, scale = model.values, model.scale
        estimator = DampedLeastSquares(values, scale)
        measured = rows @ values / NOISE + np.random.default_rng(0).normal(size=rows.shape[:2])
        us = median_us(lambda s, e=estimator: e.step(*s), zip(rows / NOISE, measured, strict=True))
        found.append(
            Row(f"estimator step, {n} parameters, rows given, median [µs]", f"<= {limit}", f"{us:.0f}", us <= limit)
        )
    for path, limit in (("with [fast]", 300), ("without", 1000)):
        was, kernel_choice.installed = (
            kernel_choice.installed,
            (kernel_choice.installed if path == "with [fast]" else lambda: False),
        )
        try:
            for name in ("irb360", "delta3"):
                own = tracked(load(name), TrackFile()) if name == "irb360" else model
                motion = wave(own.robot, 3000)
                tau = inverse_dynamics(own.robot, *motion)
                tau += NOISE * np.random.default_rng(0).normal(size=tau.shape)
                tracker = Tracker(own, np.full(tau.shape[1], NOISE), RATE)
                us = median_us(lambda s, t=tracker: t.update(*s), zip(*motion, tau, strict=True))
                asked = f"<= {limit}" if name == "irb360" else "reported"
                found.append(
                    Row(
                        f"whole update with closing and regressor, {name}, {path}, median [µs]",
                        asked,
                        f"{us:.0f}",
                        us <= limit if name == "irb360" else None,
                    )
                )
        finally:
            kernel_choice.installed = was
    return found


def samples(model: Tracked, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rows, rng = rows_of(model, rich(1000))[0], np.random.default_rng(0)
    torque = rows @ model.values
    for i in range(n):
        yield rows[i % 1000], torque[i % 1000] + NOISE * rng.normal(size=3)


def long_run(model: Tracked) -> list[Row]:
    tracker, whiten = new_tracker(model, 0), np.eye(3) / NOISE
    taken, begin, at = np.zeros(LONG // 10), 0, []
    for i, (W, tau) in enumerate(samples(model, LONG)):
        if i == LONG // 10:
            begin = resident()
        clock = time.perf_counter()
        tracker.take(i / RATE, W, tau, tau, whiten)
        taken[i % len(taken)] = time.perf_counter() - clock
        if (i + 1) % len(taken) == 0:
            at.append(1e6 * float(np.median(taken)))
    grown = (resident() - begin) / 1e6
    return [
        Row(
            f"{LONG} samples through the tracker, rows given: median of the first and of the last tenth [µs]",
            "constant",
            f"{at[0]:.0f}, {at[-1]:.0f}",
            abs(at[-1] / at[0] - 1) <= 0.2,
        ),
        Row("the same: memory grown since the first tenth [MB]", "< 1", f"{grown:.2f}", grown < 1),
        Row(
            "the same: false changes; drift from the truth",
            "0; reported",
            f"{len(tracker.changes)}; {drift(tracker.estimator.values, model.values, model.values):.3f}",
            not tracker.changes,
        ),
    ]


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def one_hour(model: Tracked) -> Row:
    """An hour at 100 Hz, in one piece and in two with the state in a file between, each half after a start from nothing."""
    rate, n = 100.0, 360_000
    motion = motor_motion(model, rich(1000))
    q, dq, ddq = (x[::5] for x in motion)
    torque = inverse_dynamics(model.robot, q, dq, ddq)
    settings = read_yaml(SETTINGS, TrackFile).model_copy(update={"forgetting": 0.995**5})

    def stream() -> Stream:
        tracker = Tracker(model, np.full(3, NOISE), rate, settings)
        return Stream(tracker, CausalRates(rate, 3, CausalSpec(window=7)))

    def feed(fed: Stream, first: int, last: int) -> None:
        for begin in range(first, last, 10_000):
            i = np.arange(begin, begin + 10_000)
            noise = NOISE * np.random.default_rng(begin).normal(size=(len(i), 3))
            for _ in fed.push(i / rate, q[i % 200], torque[i % 200] + noise):
                pass

    whole, half, other = stream(), stream(), stream()
    feed(whole, 0, n)
    feed(half, 0, n // 2)
    with TemporaryDirectory() as folder:
        save_state(Path(folder) / "state.npz", half)
        restore_state(Path(folder) / "state.npz", other)
    feed(other, n // 2, n)
    gap = np.abs(other.tracker.estimator.values / whole.tracker.estimator.values - 1).max()
    return Row(
        "one-hour log (100 Hz) and two halves with the state saved between: estimates differ by, relative",
        "same",
        f"{gap:.1e}",
        bool(gap <= 1e-12),
    )
