"""Fewer parameters than bodies have entries: each entry free, or an affine function of free ones of the same body."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.bounds import Equality, check_met


@dataclass(frozen=True)
class Structure:
    """pi = offset + matrix @ pi[free]."""

    free: np.ndarray  # (k,) entries of pi (p,)
    matrix: np.ndarray  # (p, k)
    offset: np.ndarray  # (p,)

    def full(self, free: np.ndarray) -> np.ndarray:
        """pi (p,) from its free entries (k,)."""
        return self.offset + self.matrix @ free


def proportional(body: int, x: np.ndarray) -> tuple[Equality, ...]:
    """A body (10,) whose shape is known: it can only be heavier or lighter, all entries grow with its mass."""
    mass, *others = np.eye(10)
    rows = [unit - entry / x[0] * mass for entry, unit in zip(x[1:], others, strict=True)]
    return tuple(Equality(body, row, 0.0, "shape known") for row in rows)


def structure(equalities: Sequence[Equality], names: Sequence[str], p: int) -> Structure:
    """The structure that equalities leave; of each dependence the last entry of the body is not free.

    Args:
        names: bodies, ten entries of pi each. p: entries of pi, scalars after the bodies included.

    Raises:
        RobodynError: equalities of a body contradict each other.
    """
    matrix, offset, bound = np.eye(p), np.zeros(p), np.zeros(p, bool)
    for i, name in enumerate(names):
        own = [e for e in equalities if e.body == i]
        if not own:
            continue
        A, b = np.array([e.row for e in own]), np.array([e.value for e in own])
        dependent: list[int] = []
        for k in reversed(range(10)):
            if np.linalg.matrix_rank(A[:, [*dependent, k]]) > len(dependent):
                dependent.append(k)
        free = np.setdiff1d(np.arange(10), dependent)
        inverse = np.linalg.pinv(A[:, dependent])
        check_met(name, own, A[:, dependent] @ (inverse @ b), b)
        at = 10 * i + np.array(dependent)
        bound[at], offset[at] = True, inverse @ b
        matrix[at] = 0.0
        matrix[np.ix_(at, 10 * i + free)] = -inverse @ A[:, free]
    free = np.flatnonzero(~bound)
    return Structure(free, matrix[:, free], offset)
