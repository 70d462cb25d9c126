"""How far predicted efforts are from measured ones, each motor by itself, as Obal & Gierlak (IRB 2400), Table 6, has it."""

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Accuracy:
    """Of n motors or coordinates; two of them add up to that of both sets of samples.

    Source: Obal & Gierlak (IRB 2400), eqs. (75)-(77); (76) with a mean of squares, where the paper prints the square of a sum.
    """

    samples: int
    absolute: np.ndarray  # (n,) sum of |predicted - measured|
    squares: np.ndarray  # (n,) sum of squares of the same
    effort: np.ndarray  # (n,) sum of |measured|
    total: np.ndarray  # (n,) sum of measured
    energy: np.ndarray  # (n,) sum of squares of measured

    @property
    def spread(self) -> np.ndarray:
        """Root mean square (n,) of the measured effort about its mean [N m or N]: the error of a model that knows the mean only."""
        count = max(self.samples, 1)
        return np.asarray(np.sqrt(np.maximum(self.energy / count - (self.total / count) ** 2, 0.0)))

    @property
    def mae(self) -> np.ndarray:
        """Mean absolute error (n,) [N m or N]."""
        return self.absolute / max(self.samples, 1)

    @property
    def rmse(self) -> np.ndarray:
        """Root mean square error (n,) [N m or N]."""
        return np.asarray(np.sqrt(self.squares / max(self.samples, 1)))

    @property
    def mean(self) -> np.ndarray:
        """Mean absolute measured effort (n,) [N m or N]."""
        return self.effort / max(self.samples, 1)

    @property
    def percent(self) -> np.ndarray:
        """RMSE over mean effort (n,); infinite for a motor that never has any."""
        percent = np.full_like(self.mean, np.inf)
        return np.asarray(np.divide(100 * self.rmse, self.mean, out=percent, where=self.mean > 0))

    def __add__(self, other: "Accuracy") -> "Accuracy":
        return Accuracy(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def table(self, names: list[str]) -> list[dict[str, object]]:
        """Table 6, a row a motor, for JSON and for printing."""
        columns = zip(names, *(x.tolist() for x in (self.mae, self.rmse, self.mean, self.percent)), strict=True)
        heads = ("motor", "MAE", "RMSE", "mean |measured|", "RMSE / mean [%]")
        return [
            dict(zip(heads, [name, *(x if np.isfinite(x) else None for x in row)], strict=True))
            for name, *row in columns
        ]


def accuracy(measured: np.ndarray, predicted: np.ndarray) -> Accuracy:
    """Of efforts (N, n) [N m or N]."""
    away = np.abs(predicted - measured)
    summed = (away, away**2, np.abs(measured), measured, measured**2)
    return Accuracy(len(measured), *(x.sum(axis=0) for x in summed))
