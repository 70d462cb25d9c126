"""What is known of the bodies besides being bodies: bounds, and linear equalities by which there are fewer variables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import null_space

from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.identification.parameters import INERTIAL

EXACT = 1e-9  # equalities that leave more than this, in parts of their size, contradict each other

_EQUALITY = re.compile(
    r"\s*(\w[\w ]*?)\s*=\s*(?:([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(?:\*\s*(\w+))?|(-?)\s*([A-Za-z]\w*))\s*"
)


@dataclass(frozen=True)
class Equality:
    """row @ pi = value, for one body (10,) in SI."""

    body: int
    row: np.ndarray  # (10,)
    value: float
    text: str  # as it was written


@dataclass(frozen=True)
class Bounds:
    """What is known of the bodies besides being bodies. Bodies are counted from 0, as in the layout."""

    mass: np.ndarray  # (bodies, 2) lightest and heaviest [kg]
    eigenvalue: float = 1e-4  # smallest of every pseudo-inertia, in units of 1 kg and 0.1 m
    total_mass: tuple[float, float] | None = None  # [kg] of all bodies
    copies: np.ndarray | None = None  # (bodies,) how many identical bodies share the parameters; None: one each
    boxes: dict[int, np.ndarray] = field(default_factory=dict)  # body -> (3, 2) [m] where its centre of mass lies
    ellipsoids: dict[int, np.ndarray] = field(default_factory=dict)  # body -> (2, 3) [m] centre and half axes, likewise
    equalities: tuple[Equality, ...] = ()

    @property
    def fixed(self) -> np.ndarray:
        """Bodies (bodies,) whose lightest mass is their heaviest: weighed, they are known."""
        return self.mass[:, 0] == self.mass[:, 1]

    @property
    def linear(self) -> tuple[Equality, ...]:
        """The equalities, those of fixed masses among them."""
        weighed = (e for i in np.flatnonzero(self.fixed) for e in equalities(int(i), f"m={self.mass[i, 0]:.17g}"))
        return (*self.equalities, *weighed)


def copies_of(bounds: Bounds) -> np.ndarray:
    """How many identical bodies (bodies,) share the parameters of each."""
    return np.ones(len(bounds.mass)) if bounds.copies is None else bounds.copies


def equalities(body: int, text: str, prior: np.ndarray | None = None) -> tuple[Equality, ...]:
    """Read `my mz = 0`, `Iyy = Izz`, `mx = 0.553 * m`, `Ixy = -Iyz` or `Ixx = prior`: entries, and what each equals in SI.

    `all` are all ten entries; `prior` is the entry's own value in the prior (10,).

    Raises:
        RobodynError: not of that form. UnknownName: no such entry of a body.
    """
    match = _EQUALITY.fullmatch(text)
    if match is None:
        raise RobodynError(
            f"cannot read the equality {text!r}; expected like 'my mz = 0', 'Iyy = Izz', 'mx = 0.5*m' or 'Ixx = prior'"
        )
    left, number, times, minus, right = match.groups()
    found = []
    for name in INERTIAL if left.strip() == "all" else left.split():
        row, value = np.zeros(10), 0.0
        row[_entry(name)] += 1
        if right == "prior" and prior is not None:
            value = float(prior[_entry(name)])
        elif right:
            row[_entry(right)] -= -1.0 if minus else 1.0
        elif times:
            row[_entry(times)] -= float(number)
        else:
            value = float(number)
        found.append(Equality(body, row, value, text))
    return tuple(found)


def _entry(name: str) -> int:
    if name not in INERTIAL:
        raise UnknownName("entry", name, "a body's parameters", INERTIAL)
    return INERTIAL.index(name)


def check_met(name: str, own: Sequence[Equality], found: np.ndarray, b: np.ndarray) -> None:
    """Raise RobodynError where the values `found` (k,) of a body's equalities are not b (k,)."""
    if np.abs(found - b).max() > EXACT * max(1.0, np.abs(b).max()):
        entries = ", ".join(e.text for e in own)
        raise RobodynError(f"the equalities of body {name!r} contradict each other: {entries}")


def reduction(
    equalities: Sequence[Equality], names: Sequence[str], scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """x0 (p,), N (p, free) with x = x0 + N z for all x that meet the equalities, in units `scale` (p,); None: no equality.

    Raises:
        RobodynError: equalities that contradict each other; names the body and those of it.
    """
    if not equalities:
        return None
    x0, blocks, p = np.zeros(len(scale)), [], len(scale)
    for i, name in enumerate(names):
        own = [e for e in equalities if e.body == i]
        part = slice(10 * i, 10 * i + 10)
        basis = np.eye(10)
        if own:
            A = np.array([e.row * scale[part] for e in own])
            size = np.linalg.norm(A, axis=1)
            A, b = A / size[:, None], np.array([e.value for e in own]) / size
            x0[part] = np.linalg.lstsq(A, b, rcond=None)[0]
            check_met(name, own, A @ x0[part], b)
            basis = null_space(A)
        blocks.append((part, basis))
    blocks.append((slice(10 * len(names), p), np.eye(p - 10 * len(names))))
    N, begin = np.zeros((p, sum(basis.shape[1] for _, basis in blocks))), 0
    for part, basis in blocks:
        N[part, begin : begin + basis.shape[1]] = basis
        begin += basis.shape[1]
    return x0, N
