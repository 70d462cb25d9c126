"""Expressions as entries of NumPy arrays: CasADi's scalars, wrapped so that NumPy takes them for numbers."""

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np


class X:
    """A scalar expression; zeros and ones fold away as expressions grow."""

    __slots__ = ("sx",)

    def __init__(self, sx: Any):
        self.sx = sx

    def _with(self, other: Any, act: Callable[[Any, Any], Any]) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else X(act(self.sx, of(other)))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __neg__(self) -> "X":
        return X(-self.sx)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def is_zero(self) -> bool:
        """Whether it is known to be zero."""
        return bool(self.sx.is_zero())


def of(x: Any) -> Any:
    """CasADi's expression of a number or an X."""
    return x.sx if isinstance(x, X) else casadi.SX(float(x))


def applied(name: str, *of_what: Any) -> X:
    """A function of CasADi, `sin` or `copysign`, of numbers and expressions."""
    return X(getattr(casadi, name)(*map(of, of_what)))


def constant(value: float) -> X:
    """A number as an expression."""
    return X(casadi.SX(float(value)))


def objects(values: Any) -> np.ndarray:
    """Numbers as expressions; what is one already stays."""
    values = np.asarray(values)
    found = np.empty(values.shape, object)
    for place, value in np.ndenumerate(values):
        found[place] = value if isinstance(value, X) else constant(value)
    return found


def unknowns(name: str, size: int) -> tuple[Any, np.ndarray]:
    """A column of symbols, and its entries (size,)."""
    column = casadi.SX.sym(name, size)
    found = np.empty(size, object)
    for k in range(size):
        found[k] = X(column[k])
    return column, found


def as_column(values: np.ndarray) -> Any:
    """Expressions as one column of CasADi; a matrix row by row."""
    return casadi.vertcat(*(of(x) for x in values.ravel())) if values.size else casadi.SX(0, 1)


def dot(a: np.ndarray, b: np.ndarray) -> X:
    """a'b."""
    return total(x * y for x, y in zip(a, b, strict=True))


def total(parts: Any) -> X:
    """Their sum."""
    return sum(parts, X(casadi.SX(0)))


def cross_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b (3,)."""
    found = np.empty(3, object)
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        found[i] = a[j] * b[k] - a[k] * b[j]
    return found
