"""Instruments of a log: the regressor of its motion after a low-pass has removed all that is faster than the motion."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from robodyn_pin.dynamics.equations import along, motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.memory import with_memory
from robodyn_pin.dynamics.regressor import known_efforts, state_regressor
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.dynamics.unknown_start import start_counts
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.fold import Factor, empty, fold_rows, merge_factors
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, blocks, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each

MOTION = 0.9999  # share of the positions' variance inside the band of the motion; encoder noise has less than the rest
MARGIN = 1.5  # times the band
LOOKED_AT = 60_000  # samples of a log that are checked
BLOCK = 4000


def band(log: AnyLog) -> float:
    """Frequency [Hz] below which 99.99 % of the positions' variance lies, of the liveliest motor; the lowest one of a log
    that stands still."""
    part = log.section(0, min(log.size, LOOKED_AT))
    x = part.q - np.linspace(part.q[0], part.q[-1], part.size)
    power = np.abs(np.fft.rfft(x * np.hanning(part.size)[:, None], axis=0)) ** 2
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    return float(max(1, np.argmax(share >= MOTION, axis=0).max()) * part.rate / part.size)


def instrument_rows(robot: Robot, logs: Sequence[AnyLog], run: RunFile, base: BaseSet) -> tuple[list[Factor], float]:
    """Rows [Z, W, y] of the base columns, folded per coordinate, and the cut-off [Hz] of the instruments' motion.

    W and y are as the run file fits them. Z comes from positions (and measured rates) after a zero-phase low-pass just above
    the band of the motion. This assumes that all above the band is noise of the encoders, and that their noise below is
    negligible.
    """
    cutoff = MARGIN * max(band(log) for log in logs)
    smooth = Preparation(rates=run.preparation.rates, filter=Lowpass(order=4, cutoff=cutoff))
    found = each(partial(_rows_of, robot, run, base.columns, smooth), logs)
    return [merge_factors(of_logs) for of_logs in zip(*found, strict=True)], cutoff


def _rows_of(robot: Robot, run: RunFile, base: np.ndarray, smooth: Preparation, log: AnyLog) -> list[Factor]:
    """The rows of one log, folded per coordinate."""
    factors, noise = [empty(2 * len(base))] * len(robot.coordinates.names), motor_noise(run, robot)
    end, lowpass = min(log.size, LOOKED_AT), run.rows.filter
    dropped = left_out(robot, log, lowpass, run.rows.saturated == "drop")
    ways = [rates_of(log, preparation) for preparation in (run.preparation, smooth)]
    known = max(run.rows.cut, start_counts(robot, log))
    margin = lowpass.reach(log.rate, log.name) if lowpass else 0
    for low, first, stop, high in blocks(log, max(ways, key=lambda way: way.reach), [lowpass], 0, end, BLOCK):
        part, begin, after = log.section(low, high), max(low, first - margin), min(high, stop + margin)
        inner = part.section(begin - low, after - low)
        motions = ([x[begin - low : after - low] for x in way.motion(part)] for way in ways)
        closed = (close_motors(robot, q, dq, ddq, inner.row) for q, dq, ddq in motions)
        state, calm = (with_loads(robot, with_memory(robot, log, begin, s), log.loaded) for s in closed)
        B = motor_map(robot, state)
        y = along(B, inner.efforts) - known_efforts(robot, state)
        parts = (state_regressor(robot, s, log.loaded)[:, :, base] for s in (calm, state))
        rows = whitened(np.concatenate([*parts, y[:, :, None]], axis=2), B, noise)
        rows = lowpass.apply(rows, log.rate, log.name) if lowpass else rows
        index = np.arange(begin, after)
        kept = (index >= max(first, known)) & (index < min(stop, log.size - run.rows.cut))
        kept &= (index % run.rows.every == 0) & ~dropped(index)
        factors = [fold_rows(f, rows[kept, j, :-1], rows[kept, j, -1]) for j, f in enumerate(factors)]
    return factors
