"""What changed between two estimates of base parameters from different logs, and whether chance explains it.

How far chance goes is told by pieces of the logs (`block_jackknife`), so residuals may be coloured and the model may be
wrong, as long as its errors differ from piece to piece. Where both logs repeat one motion, the same piece is left out of both:
an error of the model that comes back with the motion then moves both estimates alike and cancels in their difference.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.block_jackknife import likeness, spread

COMMON = 1e-6  # of a combination's size: what the other estimate may lack of it
UNLIKELY = 0.05
ALIKE = 1e-3  # shares of the change that two parameters explain equally well


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
class Evidence:
    """How sure differences are."""

    deviations: np.ndarray  # (k,) of the differences; NaN where a single piece of a log is all that shows a parameter
    pieces: tuple[float, float]  # independent ones that those of each estimate count as
    freedom: np.ndarray  # (k,) degrees of freedom of the deviations

    def reach(self) -> np.ndarray:
        """Half widths (k,) of 95 % intervals."""
        return self.deviations * student.ppf(1 - UNLIKELY / 2, self.freedom)


@dataclass(frozen=True)
class Cause:
    """Parameters of which one alone explains most of a change; they cannot be told apart."""

    columns: np.ndarray  # (m,) indices of parameters
    size: float  # by how much they changed
    reach: float  # half width of its 95 % interval
    share: float  # of the change that it explains, in units of the white noise


@dataclass(frozen=True)
class Change:
    """Base parameters that both estimates know, in the first one's combinations."""

    rows: np.ndarray  # (k,) indices of the first estimate's base parameters
    first: np.ndarray  # (k,)
    second: np.ndarray  # (k,)
    evidence: Evidence
    probability: np.ndarray  # (k,) of a change at least as large by chance, corrected for k looks (Holm 1979)
    cause: Cause | None  # None: nothing changed

    @property
    def significant(self) -> np.ndarray:
        """Which parameters changed (k,): of estimates of one robot, 5 % have any."""
        return self.probability < UNLIKELY


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
    found = evidence(first, second, paired)
    sure = np.flatnonzero(np.isfinite(found.deviations))
    rows, first, second = rows[sure], first.along(np.eye(len(rows))[sure]), second.along(np.eye(len(rows))[sure])
    found = evidence(first, second, paired)
    p = holm(2 * student.sf(np.abs(second.values - first.values) / found.deviations, found.freedom))
    cause = _cause(A[rows], first, second, paired) if (p < UNLIKELY).any() else None
    return Change(rows, first.values, second.values, found, p, cause)


def evidence(first: Known, second: Known, paired: bool) -> Evidence:
    """How sure the differences of two estimates of the same k parameters are.

    Not paired, the degrees of freedom are those of Welch (Biometrika 34, 1947).
    """
    off = [x.without - x.values for x in (first, second)]
    parts = [off[1] - off[0]] if paired else off
    variances, counts = [], []
    for x in parts:
        alike = likeness(x[:, np.isfinite(x).all(axis=0)])
        variances.append(spread(x) ** 2 * (1 + alike) / (1 - alike))
        counts.append(len(x) * (1 - alike) / (1 + alike))
    total = np.sum(variances, axis=0)
    freedom = total**2 / sum(v**2 / max(n - 1, 1e-3) for v, n in zip(variances, counts, strict=True))
    return Evidence(np.sqrt(total), (counts[0], counts[-1]), freedom)


def _cause(A: np.ndarray, first: Known, second: Known, paired: bool) -> Cause:
    """The one parameter, of base combinations A (k, p), whose change alone explains most of the change."""
    weight = np.linalg.pinv(first.covariance + second.covariance, hermitian=True)
    change = second.values - first.values
    strength = np.einsum("kp,kl,lp->p", A, weight, A)
    share = (A.T @ weight @ change) ** 2 / np.where(strength > 0, strength, np.inf) / (change @ weight @ change)
    best = int(np.argmax(share))
    project = (A[:, best] @ weight / strength[best])[None]
    reach = evidence(first.along(project), second.along(project), paired).reach()[0]
    return Cause(
        np.flatnonzero(share > share[best] - ALIKE), float((project @ change)[0]), float(reach), float(share[best])
    )


def holm(p: np.ndarray) -> np.ndarray:
    """Probabilities corrected for as many looks as there are; of all below a level, none is false but for that level."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
