"""Instruments of a log: the regressor of its motion after a low-pass has removed all that is faster than the motion.

This assumes that all above the band of the motion is noise of the encoders, and that their noise below is negligible.
"""

import numpy as np

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.memory import with_memory
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.rows import Block, smoothed
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

MOTION = 0.9999  # share of the positions' variance inside the band of the motion; encoder noise has less than the rest
MARGIN = 1.5  # times the band
HIGHEST = 0.4  # of the sampling rate: cut-off of the sharpest low-pass that a log gets
LOOKED_AT = 60_000  # samples of a log that are checked


def band(log: AnyLog) -> float:
    """Frequency [Hz] below which 99.99 % of the positions' variance lies, of the liveliest motor; the lowest one of a log
    that stands still."""
    part = log.section(0, min(log.size, LOOKED_AT))
    x = part.q - np.linspace(part.q[0], part.q[-1], part.size)
    power = np.abs(np.fft.rfft(x * np.hanning(part.size)[:, None], axis=0)) ** 2
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    return float(max(1, np.argmax(share >= MOTION, axis=0).max()) * part.rate / part.size)


def fills_band(motion: float, rate: float) -> bool:
    """Whether a motion below so many Hz leaves no room for a low-pass above it, at a sampling rate [Hz]."""
    return MARGIN * motion >= HIGHEST * rate


class Instruments:
    """Columns Z of a log's motion (positions, and rates if measured) after a zero-phase low-pass at `cutoff` [Hz].

    They are filtered and whitened like the rows that the run file fits.
    """

    def __init__(self, robot: Robot, run: RunFile, log: AnyLog, columns: np.ndarray, cutoff: float) -> None:
        self.robot, self.log, self.columns, self.lowpass = robot, log, columns, run.rows.filter
        self.noise = motor_noise(run, robot)
        self.rates = rates_of(log, Preparation(rates=run.preparation.rates, filter=Lowpass(order=4, cutoff=cutoff)))

    def of(self, block: Block) -> np.ndarray:
        """Z (n, d, r) of a block's samples, margins cut."""
        log, begin = self.log, block.begin - block.keep.start
        end, reach = begin + len(block.W), self.rates.reach
        part = log.section(max(0, begin - reach), min(log.size, end + reach))
        inner = slice(min(begin, reach), min(begin, reach) + len(block.W))
        q, dq, ddq = (x[inner] for x in self.rates.motion(part))
        closed = close_motors(self.robot, q, dq, ddq, part.section(inner.start, inner.stop).row)
        state = with_memory(self.robot, log, begin, closed)
        Z = state_regressor(self.robot, with_loads(self.robot, state, log.loaded), log.loaded)[:, :, self.columns]
        return smoothed(whitened(Z, block.B, self.noise), self.lowpass, log)[block.keep]
