"""Logs that are unlike the others of their robot: explained far worse than these and the fleet's, by what the fleet has in common."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.fleets.members import KeptEvidence, MemberLogs

FAR = 1.5  # times the error of a robot's other logs, and of the fleet's
USUALLY = 8  # times the usual scatter of the logs' errors
FEWEST = 3  # logs of a robot, from which one can be told from the others


def without_strangers(
    logs: Sequence[MemberLogs], errors: Sequence[np.ndarray], strict: bool = False
) -> list[MemberLogs]:
    """The robots without logs that are strange to them; each that is left out is named. The others are the same objects.

    A log is strange by its error in N m and by that in parts of its torques, so that neither slow nor fast motions are.

    Args:
        errors: of each robot, those of its logs by the parameters of all logs together: [N m or N], and in parts of the torques (logs, 2).

    Raises:
        BadLog: with `strict`, the first strange log.
    """
    usual = np.median(np.concatenate(errors), axis=0)
    worse = [(e / np.maximum(np.median(e, axis=0), usual)).min(axis=1) for e in errors]
    scatter = 1.4826 * np.median(np.abs(np.log(np.concatenate(worse))))
    far = max(FAR, np.exp(USUALLY * scatter))
    return [_own(m, x, far, strict) for m, x in zip(logs, worse, strict=True)]


def _own(member: MemberLogs, worse: np.ndarray, far: float, strict: bool) -> MemberLogs:
    """The member without the logs whose errors are so many times worse."""
    strange = np.flatnonzero((worse > far) & (len(worse) >= FEWEST))
    if not len(strange):
        return member
    names = [leaf.log for leaf in member.evidence.leaves]
    said = tuple(
        f"{names[k]}: what the fleet has in common explains its torques {worse[k]:.2g} times worse than those of the other logs of "
        f"{member.name}; is it of another robot, or has something broken? It is left out"
        for k in strange
    )
    if strict:
        raise BadLog(said[0])
    kept = np.setdiff1d(np.arange(len(worse)), strange)
    of = member.said
    own = (
        replace(of, paths=tuple(of.paths[k] for k in kept))
        if isinstance(of, KeptEvidence)
        else replace(of, leaves=tuple(of.leaves[k] for k in kept))
    )
    return replace(member, said=own, when=member.when[kept], strange=(*member.strange, *said))
