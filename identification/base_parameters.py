"""Base parameters: the combinations that the rows determine (Gautier 1991), by rank-revealing QR."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from robodyn_pin.errors import ShapeMismatch

# Structural dependence leaves round-off (about 1e-13), the weakest excited column of our logs 1e-5 of its own length.
INDEPENDENT = 1e-8
# Of columns scaled by kind. The numbers of a URDF are often rounded, and a parallelogram or a right angle is then not quite one:
# six digits leave up to 4e-6 in columns that should be zero, while the weakest real one of our robots has 2e-3.
ROUNDED = 1e-4
KINDS = np.array([0, *[1] * 3, *[2] * 6])  # mass, first moments, inertias: entries of a body that have one unit
TIE = 1e-6  # columns as close as this are a tie: far above round-off, far below what would matter
SHARE = 1e-3  # of a dependence that a column must have to be deleted for it; the others would get weights of 1 / SHARE


@dataclass(frozen=True)
class BaseSet:
    """pi_base = pi[columns] + regroup @ pi[dropped]: W pi = W[:, columns] pi_base."""

    columns: np.ndarray  # (r,) indices of independent columns, ascending
    dropped: np.ndarray  # (k,) indices of dependent columns, ascending
    regroup: np.ndarray  # (r, k)
    condition: float  # of the independent columns, each scaled to length one

    @property
    def size(self) -> int:
        return len(self.columns)

    def of(self, x: np.ndarray) -> np.ndarray:
        """Base parameters (r,) of a full vector x (p,)."""
        return x[self.columns] + self.regroup @ x[self.dropped]

    def cleaned(self, R: np.ndarray) -> np.ndarray:
        """Rows R (n, p + ...) whose first p columns depend on each other exactly as this base set says."""
        p = len(self.columns) + len(self.dropped)
        return np.concatenate([R[:, self.columns] @ self.matrix, R[:, p:]], axis=1)

    @property
    def matrix(self) -> np.ndarray:
        """B (r, p) with pi_base = B pi."""
        B = np.zeros((self.size, len(self.columns) + len(self.dropped)))
        B[np.arange(self.size), self.columns] = 1.0
        B[:, self.dropped] = self.regroup
        return B

    def labels(self, names: list[str], smallest: float = 1e-6) -> list[str]:
        """Readable combinations, `Izz(a) + 0.0784 m(b)`."""
        return [
            names[i]
            + "".join(
                f" {'+' if w > 0 else '-'} {_factor(w)}{names[j]}"
                for w, j in zip(row, self.dropped, strict=True)
                if abs(w) > smallest
            )
            for i, row in zip(self.columns, self.regroup, strict=True)
        ]


def _factor(weight: float) -> str:
    """`0.0784 ` before a name, nothing for one."""
    size = f"{abs(weight):.6g}"
    return "" if size == "1" else f"{size} "


def base_set(R: np.ndarray, order: np.ndarray | None = None) -> BaseSet:
    """Base set of rows with triangular factor R (n, p).

    Columns are scaled to length one first, zero columns dropped, so that units do not decide. How many columns stay is
    decided by pivoting, and which ones, too; with `order`, a permutation of the p columns, a column is deleted where it
    depends on those before it, as in Briot et al. (DualV), section 4.1.
    """
    return _base_set(R, np.linalg.norm(R, axis=0), INDEPENDENT, order)


def bodies_base_set(R: np.ndarray) -> BaseSet:
    """Base set of the columns of b bodies, rows with triangular factor R (n, 10 b) that are richly excited.

    Columns are scaled by the longest of their kind, not each to length one: one that is zero but for rounded numbers in a
    URDF stays small, and counts as zero.
    """
    length = np.linalg.norm(R, axis=0).reshape(-1, 10)
    by_kind = np.array([length[:, kind == KINDS].max(initial=0.0) for kind in range(3)])
    return _base_set(R, np.tile(by_kind[KINDS], len(length)), ROUNDED)


def _base_set(R: np.ndarray, length: np.ndarray, independent: float, order: np.ndarray | None = None) -> BaseSet:
    """As `base_set`, columns scaled by `length` (p,), less than the share `independent` of the longest counts as nothing."""
    if not np.isfinite(length).all():  # LAPACK need not end with such numbers
        raise ShapeMismatch("rows that are not finite have no base parameters; check masses, inertias and the motion")
    alive = np.flatnonzero(length > 1e-12 * length.max(initial=0.0))
    zero = np.setdiff1d(np.arange(R.shape[1]), alive)
    if not len(alive):
        return BaseSet(alive, zero, np.zeros((0, len(zero))), 1.0)
    scaled = R[:, alive] / length[alive]
    # Symmetric motion makes columns that are equal but for round-off: the earlier one is kept, on every machine.
    triangular, pivots = qr(scaled * (1 - TIE * alive / R.shape[1]), mode="r", pivoting=True)[:2]
    diagonal = np.abs(np.diag(triangular))
    rank = int((diagonal > independent * diagonal[0]).sum())
    keep, drop = np.sort(pivots[:rank]), np.sort(pivots[rank:])
    if order is not None:
        drop = _last_dependent(_null_space(scaled, keep, drop), np.argsort(np.argsort(order)[alive]))
        keep = np.setdiff1d(np.arange(len(alive)), drop)
    mix = _mix(scaled, keep, drop)
    mix = mix / length[alive[keep]][:, None] * length[alive[drop]]
    dropped = np.concatenate([alive[drop], zero])
    ascending = np.argsort(dropped)
    regroup = np.concatenate([mix, np.zeros((rank, len(zero)))], axis=1)[:, ascending]
    return BaseSet(alive[keep], dropped[ascending], regroup, float(np.linalg.cond(scaled[:, keep])))


def _mix(A: np.ndarray, keep: np.ndarray, drop: np.ndarray) -> np.ndarray:
    """Weights (r, k) with A[:, keep] weights = A[:, drop]."""
    Q, triangular = np.linalg.qr(A[:, keep])
    return solve_triangular(triangular, Q.T @ A[:, drop])


def _null_space(A: np.ndarray, keep: np.ndarray, drop: np.ndarray) -> np.ndarray:
    """Orthonormal basis (p, k) of the columns' dependences."""
    Z = np.zeros((A.shape[1], len(drop)))
    Z[keep], Z[drop] = -_mix(A, keep, drop), np.eye(len(drop))
    return np.linalg.qr(Z)[0]


def _last_dependent(Z: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The last column of `order` in any dependence, then the last one in those that do without it, ..., ascending.

    The dependences Z (p, k) decide, and not the rest that a column leaves over the ones before it: that rest is small
    where two columns are nearly equal, and the round-off of a third one, over it, would pass for independence.
    """
    drop = []
    while Z.shape[1]:
        size = np.linalg.norm(Z, axis=1)[order]
        drop.append(order[np.flatnonzero(size > SHARE * size.max())[-1]])
        Z = Z @ np.linalg.qr(Z[drop[-1]][:, None], mode="complete")[0][:, 1:]
    return np.sort(np.array(drop, int))
