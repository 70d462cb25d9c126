"""Gains of the drives, from current or percent to torque: a known payload has the torque that it has.

Bodies and friction of the robot are unknown, so a factor on a torque is a factor on them. The torque of a known payload, W_l pi_l, is
not. In units of the log a motor shows tau / g = W pi / g + (W_l pi_l) / g: for each motor by itself linear in pi / g and 1 / g, the
measured torque alone on the left, so that its noise makes no bias. After Gautier & Briot, ICRA 2014 (global identification of drive gains).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.base_parameters import bodies_base
from robodyn_pin.errors import BadFile, BadLog, WrongMobility
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.least_squares import span
from robodyn_pin.log_to_robot.fit_data import Fitted, all_rows
from robodyn_pin.log_to_robot.gain import DriveGain
from robodyn_pin.log_to_robot.held_out import Selected
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.shapes import shape

SEEN = 0.1  # relative standard deviation from which the payload does not show a gain
ALIKE = 1e-9  # of the payload's torque: what the other columns leave of it is round-off


def check_gains(robot: Robot) -> None:
    """See that each motor's torque is known by itself, up to its gain.

    Raises:
        WrongMobility: motors share the work. BadFile: the robot file knows efforts, which a log in other units does not have so.
    """
    if known := [e.name for e in robot.efforts if e.spec.known]:
        raise BadFile(
            f"'gains: fit' needs efforts that are all unknown; robot {robot.name!r} says 'known: true' of some on {', '.join(known)}; take that out, or "
            "give the gains under 'scale: {torque: ...}'"
        )
    if len(robot.motors.names) != len(robot.coordinates.names):
        raise WrongMobility(
            f"'gains: fit' looks at each motor by itself; robot {robot.name!r} has {len(robot.motors.names)} motors for "
            f"{len(robot.coordinates.names)} degrees of freedom, which share what there is to do; give the gains under 'scale: {{torque: ...}}'"
        )


def fit_gains(fitted: Fitted, logs: Sequence[AnyLog]) -> tuple[DriveGain, ...]:
    """The gain of each motor, by the settings of `fitted`; some of the logs carry the payload that the run file knows.

    Raises:
        BadLog: the payload does not show a motor's gain.
    """
    settings, run = fitted.settings, fitted.settings.run
    assert run.payload is not None
    assert run.payload.known is not None
    robot = settings.robot.with_coordinates(settings.robot.motors.names)
    known, columns = shape(run.payload.known), settings.robot.payload_columns
    bodies, each = bodies_base(robot), all_rows(robot, run, logs)
    found = [_inverse_gain(rows.rows, bodies.cleaned(rows.R), columns, known, fitted.independent) for rows in each]
    gains = tuple(DriveGain(m, 1 / h, s / h**2) for m, (h, s) in zip(robot.motors.names, found, strict=True))
    if unseen := [g.motor for g, (h, s) in zip(gains, found, strict=True) if not 0 < s < SEEN * h]:
        raise BadLog(
            f"'gains: fit': the payload {run.payload.name!r} does not show the gain of {', '.join(unseen)} to {100 * SEEN:g} %; take a heavier "
            "one or motions on which it is felt there, or give the gains under 'scale: {torque: ...}'"
        )
    return gains


def _inverse_gain(
    rows: int, factor: np.ndarray, payload: slice, known: np.ndarray, independent: float
) -> tuple[float, float]:
    """1 / g of one motor, and its standard deviation; NaN where the payload has no torque of its own there.

    Args:
        rows: how many stand in the factor [W, y]. payload: columns of the payload, whose parameters are `known` (10,). independent: share of the rows with noise of their own.
    """
    R, y = factor[:, :-1], factor[:, -1]
    A, felt = np.delete(R, payload, axis=1), R[:, payload] @ known
    U = span(A[:, base_set(A).columns])
    alone, left = felt - U @ (U.T @ felt), y - U @ (U.T @ y)
    if np.linalg.norm(alone) <= ALIKE * np.linalg.norm(R[:, payload]):
        return np.nan, np.nan
    inverse = float(alone @ left / (alone @ alone))
    rest = float(np.sum((left - inverse * alone) ** 2))
    freedom = max(1.0, rows * independent - U.shape[1] - 1)
    return inverse, float(np.sqrt(rest / freedom / (alone @ alone)))


def amplified(selected: Selected, gains: Sequence[DriveGain]) -> Selected:
    """The same samples with each motor's torque times its gain."""
    factors = np.array([gain.value for gain in gains])

    def times(part: Log) -> Log:
        return replace(part, tau=part.efforts * factors)

    log = selected.log
    if isinstance(log, Log):
        return replace(selected, log=times(log))
    stored = log
    return replace(selected, log=replace(stored, read=lambda begin, end: times(stored.read(begin, end))))


def with_gains(run: RunFile, gains: Sequence[DriveGain]) -> RunFile:
    """The run file with the gains under 'scale', for the logs that are read with it next."""
    given = run.scale.torque
    torque = {**given, **{gain.motor: given.get(gain.motor, 1.0) * gain.value for gain in gains}}
    return run.model_copy(update={"scale": run.scale.model_copy(update={"torque": torque}), "gains": None})
