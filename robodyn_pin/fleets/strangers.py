"""Logs that are not of their robot: explained far worse than its other logs and the fleet's, by what the fleet has in common."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.fleets.members import KeptEvidence, MemberLogs
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.validation import errors, pooled
from robodyn_pin.workers import each

FAR = 1.5  # times the error of a robot's other logs, and of the fleet's
USUALLY = 8  # times the usual scatter of the logs' errors
FEWEST = 3  # logs of a robot, from which one can be told from the others


def without_strangers(
    logs: Sequence[MemberLogs], base: BaseSet, values: np.ndarray, strict: bool = False
) -> list[MemberLogs]:
    """The robots without logs that are strange to them; each that is left out is named.

    A log is strange by its error in N m and by that in parts of its torques, so that neither slow nor fast motions are.

    Args:
        values: (r,) base parameters of all logs together.

    Raises:
        BadLog: with `strict`, the first strange log.
    """
    found = each(partial(_errors, base, values), logs)
    usual = np.median(np.concatenate(found), axis=0)
    worse = [(e / np.maximum(np.median(e, axis=0), usual)).min(axis=1) for e in found]
    scatter = 1.4826 * np.median(np.abs(np.log(np.concatenate(worse))))
    far = max(FAR, np.exp(USUALLY * scatter))
    return [_own(m, x, far, strict) for m, x in zip(logs, worse, strict=True)]


def _errors(base: BaseSet, values: np.ndarray, logs: MemberLogs) -> np.ndarray:
    """Errors of each log: [N m or N], and in parts of its torques (logs, 2)."""
    leaves = logs.evidence.leaves
    all_errors = [errors([f.of(base.columns) for f in pooled(leaf.scored)], values) for leaf in leaves]
    return np.array([(e.rmse_all, e.percent_all) for e in all_errors])


def _own(member: MemberLogs, worse: np.ndarray, far: float, strict: bool) -> MemberLogs:
    """The member without the logs whose errors are so many times worse."""
    strange = np.flatnonzero((worse > far) & (len(worse) >= FEWEST))
    if not len(strange):
        return member
    names = [leaf.log for leaf in member.evidence.leaves]
    said = tuple(
        f"{names[k]}: what the fleet has in common explains its torques {worse[k]:.2g} times worse than those of the other logs of "
        f"{member.name}; is it of another robot?"
        for k in strange
    )
    if strict:
        raise BadLog(said[0])
    kept = np.setdiff1d(np.arange(len(worse)), strange)
    evidence = member.said
    own = (
        replace(evidence, paths=tuple(evidence.paths[k] for k in kept))
        if isinstance(evidence, KeptEvidence)
        else replace(evidence, leaves=tuple(evidence.leaves[k] for k in kept))
    )
    return MemberLogs(member.name, own, member.when[kept], (*member.left_out, *said))
