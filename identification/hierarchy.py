"""A type of robots and its members: parameters that scatter about the type's, and how much, from what each member's logs show.

    x_i ~ N(mean, diag(spread^2)),      the logs of member i show x_i with information J_i (singular where they show little).

The spread is estimated by restricted maximum likelihood (empirical Bayes), so what the members' own noise explains is no
difference between them. A parameter that a member's logs hardly show is taken from the type, as far as members are alike.

Source: Laird & Ware, Biometrics 38(4), 1982 (EM for random effects); Harville, JASA 72(358), 1977 (REML).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

TURNS = 200  # of EM; a spread of zero is approached like 1 / turns
SETTLED = 1e-3  # change of a variance, in parts of what the members' noise and spread make together


@dataclass(frozen=True)
class ShownByLogs:
    """What logs show of r parameters."""

    values: np.ndarray  # (r,) zero along what is not shown
    information: np.ndarray  # (r, r) inverse of their covariance; singular where the logs do not show all

    @property
    def pull(self) -> np.ndarray:
        """Information times values (r,)."""
        return self.information @ self.values


@dataclass(frozen=True)
class TypeOfRobots:
    """What members of a type have in common."""

    mean: np.ndarray  # (r,)
    covariance: np.ndarray  # (r, r) of the mean
    spread: np.ndarray  # (r,) standard deviations of the members about the mean
    members: int  # from which it was estimated


def type_of(members: Sequence[ShownByLogs], start: np.ndarray | None = None) -> TypeOfRobots:
    """Mean and spread of a type, by EM.

    Args:
        start: (r,) spread to start from; default: that of the members' values.
    """
    J, b = np.array([m.information for m in members]), np.array([m.pull for m in members])
    unit = 1 / np.sqrt(np.maximum(np.einsum("nkk->k", J) / len(J), np.finfo(float).tiny))
    J, b = J * np.outer(unit, unit), b * unit  # parameters in units of what a member's logs leave open
    if start is None:
        values = np.array([m.values for m in members]) / unit
        variance = np.maximum(values.var(axis=0), 1.0)
    else:
        variance = np.maximum((start / unit) ** 2, 1e-4)
    if len(J) == 1:
        variance = np.zeros(len(unit))
    for _ in range(TURNS if len(J) > 1 else 0):
        P, mean, covariance = _given(J, b, variance)
        off = (P @ (b - J @ mean)[:, :, None])[:, :, 0]
        pulled = P @ J
        sure = np.sum((pulled @ covariance) * pulled, axis=2)
        new = np.mean(off**2 + np.einsum("nii->ni", P) + sure, axis=0)
        done = np.all(np.abs(new - variance) < SETTLED * (1 + new) / np.sqrt(len(J)))
        variance = new
        if done:
            break
    _, mean, covariance = _given(J, b, variance)
    return TypeOfRobots(mean * unit, covariance * np.outer(unit, unit), np.sqrt(variance) * unit, len(J))


def marginal(J: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(J^-1 + covariance)^-1 for information J (..., r, r), which may be singular: J - J (J + covariance^-1)^-1 J."""
    return J - J @ posterior_covariance(J, covariance) @ J


def posterior_covariance(J: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(J + covariance^-1)^-1 for J (..., r, r); `covariance` (r, r) or its diagonal (r,) may be singular."""
    if covariance.ndim == 1:
        root = np.diag(np.sqrt(covariance))
    else:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root @ np.linalg.inv(np.eye(len(root)) + root.T @ J @ root) @ root.T


def solved_as_shown(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """J^-1 right, zero along what J (r, r) does not show."""
    unit = 1 / np.sqrt(np.maximum(np.diag(J), np.finfo(float).tiny))
    return unit * (np.linalg.pinv(J * np.outer(unit, unit), hermitian=True, rcond=1e-12) @ (unit * right))


def _given(J: np.ndarray, b: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior covariances (n, r, r) of the members about the mean, the mean (r,) and its covariance (r, r)."""
    P = posterior_covariance(J, variance)
    JP = J @ P
    W = np.sum(J - JP @ J, axis=0)
    covariance = np.linalg.pinv(W, hermitian=True, rcond=1e-12)
    return P, covariance @ np.sum(b - (JP @ b[:, :, None])[:, :, 0], axis=0), covariance


def without(whole: TypeOfRobots, member: ShownByLogs) -> TypeOfRobots:
    """The type as the others of its members show it, the spread left as it is."""
    J, total = member.information, np.linalg.pinv(whole.covariance, hermitian=True, rcond=1e-12)
    own = member.pull - J @ posterior_covariance(J, whole.spread**2) @ member.pull
    left = np.linalg.pinv(total - marginal(J, whole.spread**2), hermitian=True, rcond=1e-12)
    return TypeOfRobots(left @ (total @ whole.mean - own), left, whole.spread, whole.members - 1)


def within(
    member: ShownByLogs, others: TypeOfRobots, change: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A member's parameters (r,) by its own logs and by the other members together, and their covariance (r, r).

    Args:
        change: (r,) by which the member differs more than the spread says, where it was found to.
    """
    prior = np.diag(others.spread**2) + others.covariance
    if change is not None:
        prior = prior + np.outer(change, change)
    P = posterior_covariance(member.information, prior)
    return others.mean + P @ (member.pull - member.information @ others.mean), P
