"""Why loops do not close at the positions of a log."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from robodyn_pin.errors import BadLog, ClosureFailed
from robodyn_pin.log_to_robot.clear_gain import CLEARLY, WELL, gain_of, typical_error
from robodyn_pin.log_to_robot.encoder_zeros import conventions, encoder_zeros
from robodyn_pin.log_to_robot.explained import closed_with, undone
from robodyn_pin.log_to_robot.picked_samples import STRETCHES, picked
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.usual_guesses import guesses, other_orders
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

FEWER = 10  # one of so many samples suffices to see whether loops close,
FEWEST_OF_THEM = 5  # and one of so many of these to see that they do not


@contextmanager
def telling_why(robot: Robot, logs: Sequence[AnyLog], run: RunFile) -> Iterator[None]:
    """Where loops do not close at positions of the logs, say why as well."""
    try:
        yield
    except ClosureFailed as failed:
        try:
            hint = why_not_closed(robot, logs, run, failed)
        except BadLog:  # too short to look for anything
            raise failed from None
        raise ClosureFailed(f"{failed}; {hint}", failed.sample, failed.closure, failed.residual) from None


def why_not_closed(robot: Robot, logs: Sequence[AnyLog], run: RunFile, failed: ClosureFailed) -> str:
    """The guess about positions with which the loops close and the bodies of the robot's files fit clearly better than on the
    stretches that close as they are; else where to look. A log that `failed` names is looked at alone: the others may be as they should."""
    named = [log for log in logs if f" of {log.name} (t" in str(failed)]
    samples = picked(robot, named or logs, run).every(FEWER)
    closed = samples.of([s for s in range(STRETCHES) if closed_with(robot, samples.of([s])) is not None])
    asis = closed_with(robot, closed)
    first = samples.every(FEWEST_OF_THEM)
    zeros = [] if asis is None else encoder_zeros(robot, closed, asis, run)
    best, text = WELL, ""
    for guess in [*guesses(robot, samples, logs[0].rate), *other_orders(robot), *zeros, *conventions(robot, run)]:
        if not guess.moves or guess.time != 1 or closed_with(robot, undone(first, guess)) is None:
            continue
        tried = closed_with(robot, undone(samples, guess))
        if tried is None or (error := typical_error(tried.asis.own)) >= best:
            continue
        same = closed_with(robot, undone(closed, guess))
        if asis is None or same is None or gain_of(asis.asis.own, same.asis.own) < CLEARLY:
            best = error
            text = f"{guess.said}: then the loops close, and the torques by the robot's files have an error of {100 * error:.3g} %"
    return (
        text
        or "if units, signs and columns of the log are right, a length or an axis of that loop in the robot's files is wrong"
    )
