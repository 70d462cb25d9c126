"""What changed between two estimates of base parameters from different logs, and whether chance explains it.

How far chance goes is told by pieces of the logs (`block_jackknife`), so residuals may be coloured and the model may be
wrong, as long as its errors differ from piece to piece. Where both logs repeat one motion, the same piece is left out of both:
an error of the model that comes back with the motion then moves both estimates alike and cancels in their difference.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.block_jackknife import likeness, spread
from robodyn_pin.identification.departures import ALIKE

COMMON = 1e-6  # of a combination's size: what the other estimate may lack of it
UNLIKELY = 0.05
SMALL = 1e-9  # round-off
OTHER_MOTION = 3.0  # variance of a wrong model's error that pieces of a motion share, over what differs between them


@dataclass(frozen=True)
class Known:
    """An estimate of base parameters."""

    base: BaseSet
    values: np.ndarray  # (r,)
    without: np.ndarray  # (G, r) estimates without each piece of the data
    covariance: np.ndarray  # (r, r) of white noise: how the parameters hang together

    def along(self, M: np.ndarray) -> "Known":
        """Of combinations M (k, r) of the parameters; they have no base set of their own."""
        uncertain = np.isnan(self.without).astype(float) @ (M != 0).T > 0
        without = np.where(uncertain, np.nan, np.nan_to_num(self.without) @ M.T)
        return Known(self.base, M @ self.values, without, M @ self.covariance @ M.T)


@dataclass(frozen=True)
class Certainty:
    """How sure differences are."""

    deviations: np.ndarray  # (k,) of the differences; NaN where a single piece of a log is all that shows a parameter
    pieces: tuple[float, float]  # independent ones that those of each estimate count as
    freedom: np.ndarray  # (k,) degrees of freedom of the deviations

    def reach(self) -> np.ndarray:
        """Half widths (k,) of 95 % intervals."""
        return np.asarray(self.deviations * stdtrit(self.freedom, 1 - UNLIKELY / 2))

    def by_chance(self, change: np.ndarray) -> np.ndarray:
        """Probability (k,) of changes at least as large as these (k,) if there is none."""
        return np.asarray(2 * stdtr(self.freedom, -np.abs(change) / self.deviations))


@dataclass(frozen=True)
class Cause:
    """Parameters of which one alone explains a change best; the data cannot tell them apart."""

    columns: np.ndarray  # (m,) indices of parameters, the best first
    size: float  # by how much the first changed
    reach: float  # half width of its 95 % interval
    probability: float  # of a change of it at least as large by chance, corrected like those of the base parameters
    share: float  # of the change that it explains, in units of white noise


@dataclass(frozen=True)
class Change:
    """Base parameters that both estimates know, in the first one's combinations, and what would explain their change."""

    rows: np.ndarray  # (k,) indices of the first estimate's base parameters
    first: np.ndarray  # (k,)
    second: np.ndarray  # (k,)
    certainty: Certainty
    probability: np.ndarray  # (k,) of a change at least as large by chance, corrected for all looks (Holm 1979)
    cause: Cause | None  # None: no single parameter changed significantly

    @property
    def significant(self) -> np.ndarray:
        """Which base parameters changed (k,)."""
        return self.probability < UNLIKELY

    @property
    def changed(self) -> bool:
        """Whether anything changed: so are called 5 % of robots that did not."""
        return bool(self.significant.any()) or self.cause is not None

    @property
    def least(self) -> float:
        """The smallest probability."""
        return min(float(self.probability.min(initial=1.0)), self.cause.probability if self.cause else 1.0)


def changes(one: Known, other: Known, paired: bool = False) -> Change:
    """Compare the base parameters of two independent logs.

    Base sets may keep other columns or know less: compared are those combinations of the first that are sums of the
    second's.

    Args:
        paired: piece g of both is the same part of the same motion.
    """
    A, B = one.base.matrix, other.base.matrix
    size = np.abs(np.concatenate([A, B])).max(axis=0)
    size[size == 0] = 1.0
    M = np.linalg.lstsq((B / size).T, (A / size).T, rcond=None)[0].T  # A = M B for what both know
    M[np.abs(M) * np.linalg.norm(B / size, axis=1) < COMMON * np.linalg.norm(A / size, axis=1)[:, None]] = 0.0
    missing = np.linalg.norm((A - M @ B) / size, axis=1) / np.linalg.norm(A / size, axis=1)
    rows = np.flatnonzero(missing < COMMON)
    first, second = one.along(np.eye(one.base.size)[rows]), other.along(M[rows])
    found = certainty(first, second, paired)
    sure = np.flatnonzero(np.isfinite(found.deviations))
    rows, first, second = rows[sure], first.along(np.eye(len(rows))[sure]), second.along(np.eye(len(rows))[sure])
    found = certainty(first, second, paired)
    if not len(rows):
        return Change(rows, first.values, second.values, found, np.zeros(0), None)
    singles = _singles(A[rows], first, second)
    each = certainty(first.along(singles.project), second.along(singles.project), paired)
    change = second.values - first.values
    p = holm(np.concatenate([found.by_chance(change), each.by_chance(singles.project @ change)]))
    cause = _cause(singles, change, each, p[len(rows) :], _share(first, second, found))
    return Change(rows, first.values, second.values, found, p[: len(rows)], cause)


def certainty(first: Known, second: Known, paired: bool) -> Certainty:
    """How sure the differences of two estimates of the same k parameters are.

    Not paired, the degrees of freedom are those of Welch (Biometrika 34, 1947), and a wrong model has another error in each
    motion, part of which all pieces of a motion share, so that pieces cannot show it: what they show beyond white noise
    counts four times. That is our assumption, which simulated motions suggest (`docs/figures.md`).
    """
    off = [x.without - x.values for x in (first, second)]
    parts = [off[1] - off[0]] if paired else off
    variances, counts = [], []
    for x in parts:
        alike = likeness(x[:, np.isfinite(x).all(axis=0)])
        variances.append(spread(x) ** 2 * (1 + alike) / (1 - alike))
        counts.append(len(x) * (1 - alike) / (1 + alike))
    if not paired:  # of the first and the second
        variances = [
            v + OTHER_MOTION * np.maximum(v - np.diag(x.covariance), 0.0)
            for v, x in zip(variances, (first, second), strict=True)
        ]
    white = np.diag(first.covariance + second.covariance)
    total = np.maximum(np.sum(variances, axis=0), SMALL**2 * white)  # of a result beside itself it is zero
    freedom = 1 / sum((v / total + SMALL) ** 2 / max(n - 1, 1e-3) for v, n in zip(variances, counts, strict=True))
    return Certainty(np.sqrt(total), (counts[0], counts[-1]), freedom)


@dataclass(frozen=True)
class _Singles:
    """Changes of one parameter alone, s different ones."""

    columns: list[np.ndarray]  # of each: parameters whose changes look alike
    project: np.ndarray  # (s, k) from a change of the base parameters to that of the parameter alone, by least squares
    along: np.ndarray  # (s, k) unit vectors in the space of white differences
    white: np.ndarray  # (k, k) makes differences white


def _singles(A: np.ndarray, first: Known, second: Known) -> _Singles:
    """What a change of each parameter alone does to base combinations A (k, p)."""
    size = np.sqrt(np.diag(first.covariance + second.covariance))
    values, vectors = np.linalg.eigh((first.covariance + second.covariance) / np.outer(size, size))
    white = (vectors / np.sqrt(np.maximum(values, SMALL * values.max()))).T / size
    seen = white @ A
    length = np.linalg.norm(seen, axis=0)
    shown = np.flatnonzero(length > SMALL * length.max())
    unit = (seen / np.where(length > 0, length, 1.0))[:, shown]
    same = np.abs(unit.T @ unit) > 1 - SMALL
    heads = np.flatnonzero(np.argmax(same, axis=1) == np.arange(len(shown)))
    return _Singles(
        [shown[same[h]] for h in heads], (unit[:, heads] / length[shown[heads]]).T @ white, unit[:, heads].T, white
    )


def _share(first: Known, second: Known, found: Certainty) -> float:
    """Share of white rows that coloured ones are worth: the median of the parameters."""
    return float(np.median(np.diag(first.covariance + second.covariance) / found.deviations**2))


def _cause(singles: _Singles, change: np.ndarray, each: Certainty, p: np.ndarray, worth: float) -> Cause | None:
    """The single parameter that explains the change best, and those that explain it hardly worse."""
    if not (p < UNLIKELY).any():
        return None
    explained = (singles.along @ (singles.white @ change)) ** 2
    best = int(np.argmax(np.where(p < UNLIKELY, explained, -1.0)))
    near = np.flatnonzero((explained > explained[best] - ALIKE / worth) & (np.arange(len(p)) != best))
    order = near[np.argsort(-explained[near])]
    return Cause(
        np.concatenate([singles.columns[k] for k in (best, *order)]), float((singles.project @ change)[best]),
        float(each.reach()[best]), float(p[best]), float(explained[best] / np.sum((singles.white @ change) ** 2)),
    )  # fmt: skip


def holm(p: np.ndarray) -> np.ndarray:
    """Probabilities corrected for as many looks as there are; of all below a level, none is false but for that level."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
