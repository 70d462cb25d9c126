"""Online identification on a log: what the command runs."""

from collections.abc import Iterator

import numpy as np

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadLog, ClosureFailed, UnknownName
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import TOO_FAST
from robodyn_pin.online.causal_rates import CausalRates, Moments
from robodyn_pin.online.stream import Measured, Stream, within_reach
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.limits import speed_limits
from robodyn_pin.robot.robot import Robot

FIRST = 10.0  # [s] of a log whose residuals say how noisy its torques are
LOOKED_AT = 32  # of its positions: whether the robot reaches any
PIECE = 5000  # samples that are differentiated at once


def sampling_rate(log: Log) -> float:
    """Samples a second of a log whose clock may have gaps: the median of its steps.

    Raises:
        BadLog: fewer than two samples in order.
    """
    steps = np.diff(log.t[np.isfinite(log.t)])
    steps = steps[steps > 0]
    if not len(steps):
        raise BadLog(f"{log.name}: {log.size} rows, none later than another; a log needs at least two in order")
    return float(1 / np.median(steps))


def rates_for(robot: Robot, rate: float, settings: TrackFile) -> CausalRates:
    """What makes rates of the robot's positions, at so many samples a second.

    Raises:
        BadFile: as `CausalRates`.
    """
    return CausalRates(rate, len(robot.motors.names), settings.causal, TOO_FAST * speed_limits(robot))


def opening(robot: Robot, log: Log, settings: TrackFile) -> Moments:
    """Motions of a log's first seconds.

    Raises:
        BadLog: positions that jump, or that the robot does not reach: in another unit, from another zero.
    """
    rate = sampling_rate(log)
    part, rates = log.section(0, round(FIRST * rate)), rates_for(robot, rate, settings)
    units, _ = settings.units.of(robot.slides(robot.motors.S))
    moments = rates.push(part.t, part.q, part.efforts)
    unit = f"are the positions in another unit than {', '.join(sorted(set(units)))}? The settings take 'units: {{angle: deg}}' and 'scale'"
    if (jumps := rates.noted["position jumps"]) > part.size / 2:
        raise BadLog(
            f"{log.name}: in {jumps} of its first {part.size} rows the motors are further on than they can come; {unit}"
        )
    if len(some := moments.q[:: max(1, len(moments.q) // LOOKED_AT)]) and not within_reach(robot, some).any():
        raise BadLog(f"{log.name}: the robot reaches no position of its first {FIRST:g} s; {unit}")
    return moments


def noise_of(tracked: Tracked, name: str, moments: Moments, settings: TrackFile) -> np.ndarray:
    """Standard deviation (n_motors,) of torque samples: given, or what the best fit of a log's first seconds leaves.

    Args:
        name: of the log. moments: as `opening`.

    Raises:
        UnknownName: noise of a motor that the robot lacks. BadLog: a motor without; too short to tell.
    """
    motors: Axes = tracked.robot.motors
    if isinstance(settings.noise, dict):
        for name in settings.noise:
            if name not in motors.names:
                raise UnknownName("motor", name, f"robot {tracked.robot.name!r}", motors.names)
        if missing := [name for name in motors.names if name not in settings.noise]:
            raise BadLog(f"the settings give the noise of some motors, but not of {', '.join(missing)}")
        return np.array([settings.noise[name] for name in motors.names])
    if settings.noise is not None:
        return np.full(len(motors.names), settings.noise)
    usable = np.isfinite(moments.tau).all(axis=1)
    if usable.sum() < 2 * len(tracked.values):
        raise BadLog(
            f"{name}: {int(usable.sum())} usable samples in the first {FIRST:g} s do not tell how noisy the torques are; give "
            "'noise' in the settings"
        )
    t = moments.t[usable]
    try:
        state = close_motors(
            tracked.robot, moments.q[usable], moments.dq[usable], moments.ddq[usable], lambda i: f"t = {t[i]:.4g} s"
        )
    except ClosureFailed as error:
        raise BadLog(
            f"{name}: {error}; so its first {FIRST:g} s do not tell how noisy the torques are: give 'noise' in the settings"
        ) from None
    rows, known = tracked.rows(state)
    B = motors.S @ state.T
    effort = np.einsum("nij,ni->nj", B, moments.tau[usable]) - known
    flat = rows.reshape(-1, rows.shape[2]) * tracked.scale
    left = effort - (flat @ np.linalg.lstsq(flat, effort.ravel(), rcond=1e-9)[0]).reshape(effort.shape)
    freedom = max(effort.size - len(tracked.values), 1) / effort.size
    along = np.sqrt(np.mean(left**2, axis=0) / freedom)  # of each coordinate
    reach = np.sqrt(np.mean(B**2, axis=0))  # motor noise per noise along a coordinate
    if reach.shape[0] == reach.shape[1] and np.allclose(B, np.eye(len(along))):
        return np.maximum(along, 1e-9 * np.abs(effort).max())
    common = float(np.sqrt(np.mean(along**2 / (reach**2).sum(axis=0))))
    return np.full(len(motors.names), max(common, 1e-9 * float(np.abs(effort).max())))


def follow(stream: Stream, log: Log, piece: int = PIECE) -> Iterator[Measured]:
    """Feed a log, `piece` samples at once."""
    tau = log.efforts
    for begin in range(0, log.size, piece):
        part = slice(begin, begin + piece)
        yield from stream.push(log.t[part], log.q[part], tau[part])
