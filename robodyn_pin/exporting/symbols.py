"""Expressions as entries of NumPy arrays: CasADi's scalars, wrapped so that NumPy takes them for numbers."""

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np


class X:
    """A scalar: a number, or an expression of CasADi.

    Zeros and ones fold away as expressions grow. CasADi folds them, too, each by a call that takes ten times as long, and most entries of a
    robot's tables are such.
    """

    __slots__ = ("entry",)

    def __init__(self, entry: Any):
        self.entry = entry

    def __add__(self, other: Any) -> Any:
        return _acted(_sum, self, other)

    def __sub__(self, other: Any) -> Any:
        return _acted(_difference, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _acted(_difference, other, self)

    def __mul__(self, other: Any) -> Any:
        return _acted(_product, self, other)

    def __truediv__(self, other: Any) -> Any:
        return _acted(_quotient, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _acted(_quotient, other, self)

    def __neg__(self) -> "X":
        return X(-self.entry)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def is_zero(self) -> bool:
        """Whether it is known to be zero."""
        return self.entry == 0 if type(self.entry) is float else bool(self.entry.is_zero())

    @property
    def is_constant(self) -> bool:
        """Whether it is known to be a number."""
        return type(self.entry) is float or bool(self.entry.is_constant())


def _acted(act: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return NotImplemented  # NumPy asks entry by entry
    return X(act(_entry(a), _entry(b)))


def _entry(x: Any) -> Any:
    """The number or expression that an X or a number is."""
    return x.entry if isinstance(x, X) else float(x)


def _sum(a: Any, b: Any) -> Any:
    if type(a) is float and type(b) is float:
        return a + b
    if type(a) is float and a == 0:
        return b
    return a if type(b) is float and b == 0 else _by_casadi(casadi.OP_ADD, a, b)


def _difference(a: Any, b: Any) -> Any:
    if type(a) is float and type(b) is float:
        return a - b
    return a if type(b) is float and b == 0 else _by_casadi(casadi.OP_SUB, a, b)


def _product(a: Any, b: Any) -> Any:
    if type(a) is float and type(b) is float:
        return a * b
    for one, other in ((a, b), (b, a)):
        if type(one) is float and one in (0.0, 1.0):
            return other if one else 0.0
    return _by_casadi(casadi.OP_MUL, a, b)


def _quotient(a: Any, b: Any) -> Any:
    return _by_casadi(casadi.OP_DIV, a, b)


def _by_casadi(operation: int, a: Any, b: Any) -> Any:
    """As its operators, which look at shapes first and take six times as long."""
    return casadi.SX.binary(operation, of(a), of(b))


def of(x: Any) -> Any:
    """CasADi's expression of a number, an X or an expression."""
    entry = x.entry if isinstance(x, X) else x
    return entry if isinstance(entry, casadi.SX) else casadi.SX(float(entry))


def applied(name: str, *of_what: Any) -> X:
    """A function of CasADi, `sin` or `copysign`, of numbers and expressions."""
    return X(getattr(casadi, name)(*map(of, of_what)))


def constant(value: float) -> X:
    """A number as an expression."""
    return X(float(value))


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
    return sum(parts, X(0.0))


def cross_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b (3,)."""
    found = np.empty(3, object)
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        found[i] = a[j] * b[k] - a[k] * b[j]
    return found
