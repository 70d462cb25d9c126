"""Online identification of a log: its sampling rate, the noise of its torques, and how it is fed to a stream."""

from collections.abc import Iterator

import numpy as np

from robodyn_pin.dynamics.equations import along, motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadLog, ClosureFailed, UnknownName
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.too_fast import TOO_FAST
from robodyn_pin.online.causal_rates import CausalRates, MotionSamples
from robodyn_pin.online.stream import ProcessedSample, Stream, within_reach
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.limits import speed_limits
from robodyn_pin.robot.robot import Robot

FIRST = 10.0  # [s] of a log from which the noise of its torques is estimated
CHECKED = 32  # positions of these that are checked for reach
PART = 5000  # samples that are differentiated at once


def sampling_rate(log: Log) -> float:
    """Sampling rate of a log [Hz]: one over the median step, since its clock may have gaps.

    Raises:
        BadLog: no sample is later than another.
    """
    steps = np.diff(log.t[np.isfinite(log.t)])
    steps = steps[steps > 0]
    if not len(steps):
        raise BadLog(f"{log.name}: {log.size} rows, none later than another; a log needs at least two in order")
    return float(1 / np.median(steps))


def causal_rates(robot: Robot, rate: float, settings: TrackFile) -> CausalRates:
    """The differentiator of a robot's motor positions at a sampling rate [Hz]; raises as `CausalRates`."""
    return CausalRates(rate, len(robot.motors.names), settings.causal, TOO_FAST * speed_limits(robot))


def first_motion(robot: Robot, log: Log, settings: TrackFile) -> MotionSamples:
    """The motion of a log's first seconds.

    Raises:
        BadLog: positions jump, or the robot does not reach them; their unit or zero may differ.
    """
    rate = sampling_rate(log)
    part, rates = log.section(0, round(FIRST * rate)), causal_rates(robot, rate, settings)
    units, _ = settings.units.of(robot.slides(robot.motors.S))
    motion = rates.push(part.t, part.q, part.efforts)
    hint = f"are the positions in another unit than {', '.join(sorted(set(units)))}? The settings take 'units: {{angle: deg}}', 'scale' and 'zero'"
    if (jumps := rates.anomalies["position jumps"]) > part.size / 2:
        raise BadLog(
            f"{log.name}: in {jumps} of its first {part.size} rows the motors have moved further than their speed allows; {hint}"
        )
    if len(some := motion.q[:: max(1, len(motion.q) // CHECKED)]) and not within_reach(robot, some).any():
        raise BadLog(f"{log.name}: the robot reaches no position of its first {FIRST:g} s; {hint}")
    return motion


def torque_noise(tracked: Tracked, name: str, motion: MotionSamples, settings: TrackFile) -> np.ndarray:
    """Standard deviation (n_motors,) of torque samples: that of the settings, or the residual of a least-squares fit.

    Args:
        name: of the log. motion: its first seconds.

    Raises:
        UnknownName: the settings name a motor that the robot lacks. BadLog: they leave out a motor, or the log is too short.
    """
    motors: Axes = tracked.robot.motors
    if isinstance(settings.noise, dict):
        for motor in settings.noise:
            if motor not in motors.names:
                raise UnknownName("motor", motor, f"robot {tracked.robot.name!r}", motors.names)
        if missing := [motor for motor in motors.names if motor not in settings.noise]:
            raise BadLog(f"the settings give the noise of some motors, but not of {', '.join(missing)}")
        return np.array([settings.noise[motor] for motor in motors.names])
    if settings.noise is not None:
        return np.full(len(motors.names), settings.noise)
    return _fitted_noise(tracked, name, motion.select(np.isfinite(motion.tau).all(axis=1)))


def _fitted_noise(tracked: Tracked, name: str, motion: MotionSamples) -> np.ndarray:
    """The noise that the best fit of a motion leaves; raises BadLog as `torque_noise`."""
    robot = tracked.robot
    if len(motion.t) < 2 * len(tracked.values):
        raise BadLog(
            f"{name}: {len(motion.t)} usable samples in the first {FIRST:g} s are too few to estimate how noisy the torques are; give "
            "'noise' in the settings"
        )
    try:
        state = close_motors(robot, motion.q, motion.dq, motion.ddq, lambda i: f"t = {motion.t[i]:.4g} s")
    except ClosureFailed as error:
        raise BadLog(
            f"{name}: {error}; so the noise of the torques cannot be estimated from its first {FIRST:g} s: give 'noise' in the settings"
        ) from None
    rows, known = tracked.rows(state)
    B = motor_map(robot, state)
    effort = along(B, motion.tau) - known
    flat = rows.reshape(-1, rows.shape[2]) * tracked.scale
    residual = effort - (flat @ np.linalg.lstsq(flat, effort.ravel(), rcond=1e-9)[0]).reshape(effort.shape)
    freedom = max(effort.size - len(tracked.values), 1) / effort.size
    noise = np.sqrt(np.mean(residual**2, axis=0) / freedom)  # of each coordinate
    gain = np.sqrt(np.mean(B**2, axis=0))  # noise of a coordinate per noise of a motor
    if gain.shape[0] == gain.shape[1] and np.allclose(B, np.eye(len(noise))):
        return np.maximum(noise, 1e-9 * np.abs(effort).max())
    common = float(np.sqrt(np.mean(noise**2 / (gain**2).sum(axis=0))))
    return np.full(len(robot.motors.names), max(common, 1e-9 * float(np.abs(effort).max())))


def feed_log(stream: Stream, log: Log, size: int = PART) -> Iterator[ProcessedSample]:
    """Feed a log to a stream, `size` samples at once."""
    tau = log.efforts
    for begin in range(0, log.size, size):
        part = slice(begin, begin + size)
        yield from stream.push(log.t[part], log.q[part], tau[part])
