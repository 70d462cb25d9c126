"""Base parameters: the combinations that the rows determine (Gautier 1991), by rank-revealing QR."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

# Structural dependence leaves round-off (about 1e-13), the weakest excited column of our logs 1e-5 of its own length.
INDEPENDENT = 1e-8
TIE = 1e-6  # columns as close as this are a tie: far above round-off, far below what would matter


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

    def labels(self, names: list[str], smallest: float = 1e-6) -> list[str]:
        """Readable combinations, `Izz(a) + 0.0784 m(b)`."""
        return [
            names[i]
            + "".join(
                f" {'+' if w > 0 else '-'} {abs(w):.6g} {names[j]}"
                for w, j in zip(row, self.dropped, strict=True)
                if abs(w) > smallest
            )
            for i, row in zip(self.columns, self.regroup, strict=True)
        ]


def base_set(R: np.ndarray, preferred: np.ndarray | None = None) -> BaseSet:
    """Base set of rows with triangular factor R (n, p).

    Columns are scaled to length one first, zero columns dropped, so that units do not decide. Which columns stay is
    decided by pivoting; `preferred` (p,) multiplies the scaled columns before it, larger ones are kept rather.
    """
    length = np.linalg.norm(R, axis=0)
    alive = np.flatnonzero(length > 1e-12 * length.max(initial=0.0))
    zero = np.setdiff1d(np.arange(R.shape[1]), alive)
    if not len(alive):
        return BaseSet(alive, zero, np.zeros((0, len(zero))), 1.0)
    scaled = R[:, alive] / length[alive]
    # Symmetric motion makes columns that are equal but for round-off: the earlier one is kept, on every machine.
    favour = 1 - TIE * alive / R.shape[1] if preferred is None else preferred[alive]
    triangular, pivots = qr(scaled * favour, mode="r", pivoting=True)[:2]
    diagonal = np.abs(np.diag(triangular))
    rank = int((diagonal > INDEPENDENT * diagonal[0]).sum())
    keep, drop = np.sort(pivots[:rank]), np.sort(pivots[rank:])
    Q, triangular = np.linalg.qr(scaled[:, keep])
    mix = solve_triangular(triangular, Q.T @ scaled[:, drop])
    mix = mix / length[alive[keep]][:, None] * length[alive[drop]]
    dropped = np.concatenate([alive[drop], zero])
    order = np.argsort(dropped)
    regroup = np.concatenate([mix, np.zeros((rank, len(zero)))], axis=1)[:, order]
    return BaseSet(alive[keep], dropped[order], regroup, float(np.linalg.cond(scaled[:, keep])))
