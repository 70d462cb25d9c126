"""What rows can tell of every single parameter, and which further rows would tell most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from robodyn_pin.identification.base_parameters import BaseSet

NEGLIGIBLE = 1e-6  # weights up to this are none, as in the labels of base sets
BLIND = 1e-12  # information, in parts of the best direction's, below which a direction counts as not seen

Kind = Literal["alone", "combination", "not at all"]


@dataclass(frozen=True)
class Identifiable:
    """What is known of one parameter."""

    label: str
    kind: Kind
    base: int | None  # index of the shortest base parameter that it stands in; None: not at all
    combination: str  # that base parameter, readable; empty: not at all


def identifiability(base: BaseSet, names: Sequence[str]) -> list[Identifiable]:
    """Each parameter (p,): seen alone, only in a combination (the shortest of the base set that has it), or not at all.

    Rows see x alone if every change of parameters that they do not see leaves it alone: if it is a base parameter
    without company.
    """
    names = list(names)
    labels, company = base.labels(names, NEGLIGIBLE), np.abs(base.regroup) > NEGLIGIBLE
    length = company.sum(axis=1)
    found: list[Identifiable] = []
    for j, name in enumerate(names):
        rows = np.flatnonzero(base.columns == j)
        if not len(rows):
            rows = np.flatnonzero(company[:, base.dropped == j].any(axis=1))
        if not len(rows):
            found.append(Identifiable(name, "not at all", None, ""))
            continue
        k = int(rows[np.argmin(length[rows])])
        kind: Kind = "combination" if length[k] else "alone"
        found.append(Identifiable(name, kind, k, labels[k]))
    return found


@dataclass(frozen=True)
class Gain:
    """How much better base parameters would be known with as many rows more of the best kind of motion."""

    deviations: np.ndarray  # (r,) now, in the parameters' units; infinite where the rows do not show it
    motion: list[str]  # (r,) the kind of motion that helps most
    factor: np.ndarray  # (r,) deviation now over deviation then; infinite where only then it is seen


def gains(A: np.ndarray, motions: Mapping[str, np.ndarray], rows: float) -> Gain:
    """For each base parameter the motion whose rows, as many as there are now, lower its standard deviation most.

    Args:
        A: (r, r) or (n, r) rows of the base columns as they are, each over its noise; they may not show all.
        motions: name -> rows (n, r) of a kind of motion, each over its noise. Together with A they must show all.
        rows: independent rows that A stands for.
    """
    length = np.linalg.norm(np.concatenate([A, *motions.values()]), axis=0)
    now = (A / length).T @ (A / length)
    floor = BLIND * np.linalg.eigvalsh(now)[-1] * np.eye(len(now))

    def deviations(information: np.ndarray) -> np.ndarray:
        return np.sqrt(np.diag(np.linalg.inv(information + floor))) / length

    unseen = 1e-2 / np.sqrt(floor[0, 0]) / length
    before = deviations(now)
    after = np.array([deviations(now + rows / len(C) * (C / length).T @ (C / length)) for C in motions.values()])
    best = after.argmin(axis=0)
    smallest = after.min(axis=0)
    before = np.where(before > unseen, np.inf, before)
    return Gain(before, [list(motions)[k] for k in best], before / smallest)
