"""Logs that are unlike the others of their robot: explained far worse than these and the fleet's, by what the fleet has in common."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.fleets.members import MemberLogs
from robodyn_pin.identification.strange_logs import strange, times_worse
from robodyn_pin.log_to_robot.unlike_logs import UnlikeLogs, what_is_unlike


def without_strangers(
    logs: Sequence[MemberLogs], errors: Sequence[np.ndarray], strict: bool = False
) -> list[MemberLogs]:
    """The robots without logs that are strange to them; each that is left out is named. The others are the same objects.

    Args:
        errors: of each robot, those of its logs by the parameters of all logs together: [N m or N], and [%] of the torques (logs, 2).

    Raises:
        BadLog: with `strict`, the first strange log.
    """
    worse = times_worse(errors)
    return [_own(m, x, numbers, strict) for m, x, numbers in zip(logs, worse, strange(worse), strict=True)]


def alone_with_strangers(member: MemberLogs, unlike: UnlikeLogs, strict: bool = False) -> MemberLogs:
    """A robot without a fleet; its unlike logs are named, and stay: nothing else says which of them to leave out.

    Raises:
        BadLog: with `strict`, the first unlike log.
    """
    reason, cautions = what_is_unlike(unlike, [leaf.log for leaf in member.evidence.leaves], {})
    said = (reason,) if reason else tuple(cautions)
    if said and strict:
        raise BadLog(said[0])
    return replace(member, strange=(*member.strange, *said))


def _own(member: MemberLogs, worse: np.ndarray, numbers: np.ndarray, strict: bool) -> MemberLogs:
    """The member without the logs of these numbers."""
    if not len(numbers):
        return member
    names = [leaf.log for leaf in member.evidence.leaves]
    said = tuple(
        f"{names[k]}: what the fleet has in common explains its torques {worse[k]:.2g} times worse than those of the other logs of "
        f"{member.name}; is it of another robot, or has something broken? It is left out"
        for k in numbers
    )
    if strict:
        raise BadLog(said[0])
    kept = [k for k in range(len(worse)) if k not in numbers]
    return replace(member.with_logs(kept), strange=(*member.strange, *said))
