"""Logs that are unlike the others of their robot: explained far worse than these and the fleet's, by what the fleet has in common."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.fleets.members import KeptEvidence, MemberLogs
from robodyn_pin.identification.strange_logs import strange, times_worse


def without_strangers(
    logs: Sequence[MemberLogs], errors: Sequence[np.ndarray], strict: bool = False
) -> list[MemberLogs]:
    """The robots without logs that are strange to them; each that is left out is named. The others are the same objects.

    Args:
        errors: of each robot, those of its logs by the parameters of all logs together: [N m or N], and in parts of the torques (logs, 2).

    Raises:
        BadLog: with `strict`, the first strange log.
    """
    worse = times_worse(errors)
    return [_own(m, x, far, strict) for m, x, far in zip(logs, worse, strange(worse), strict=True)]


def _own(member: MemberLogs, worse: np.ndarray, far: np.ndarray, strict: bool) -> MemberLogs:
    """The member without the logs of these numbers, whose errors are so many times worse."""
    if not len(far):
        return member
    names = [leaf.log for leaf in member.evidence.leaves]
    said = tuple(
        f"{names[k]}: what the fleet has in common explains its torques {worse[k]:.2g} times worse than those of the other logs of "
        f"{member.name}; is it of another robot, or has something broken? It is left out"
        for k in far
    )
    if strict:
        raise BadLog(said[0])
    kept = np.setdiff1d(np.arange(len(worse)), far)
    of = member.said
    own = (
        replace(of, paths=tuple(of.paths[k] for k in kept))
        if isinstance(of, KeptEvidence)
        else replace(of, leaves=tuple(of.leaves[k] for k in kept))
    )
    return replace(member, said=own, when=member.when[kept], strange=(*member.strange, *said))
