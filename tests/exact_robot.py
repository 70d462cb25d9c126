"""A robot of the catalogue over a finite field: the URDF as a tree, closed joints from loops_by_hand.py, its exact energies.

Lengths are decimals, right angles and angles of 3-4-5 triangles exact; square roots exist in the field's extension by one.
"""

import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from fractions import Fraction

import finite_field as field
import numpy as np
from finite_field import P

from robodyn_pin.robot.robot import Robot

FINE = 1000  # denominators of cosines and sines


class F:
    """a + b i modulo P, where i i = -1 has no root: every number of the field itself has a root here."""

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: int = 0):
        self.a, self.b = a % P, b % P

    def __add__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = _as_f(other)
        return F(self.a + other.a, self.b + other.b)

    def __sub__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = _as_f(other)
        return F(self.a - other.a, self.b - other.b)

    def __mul__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = _as_f(other)
        return F(self.a * other.a - self.b * other.b, self.a * other.b + self.b * other.a)

    def __truediv__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * pow(_as_f(other), -1, P)

    def __rsub__(self, other):
        return _as_f(other) - self

    def __neg__(self):
        return F(-self.a, -self.b)

    def __pow__(self, exponent, modulus=P):
        if exponent == 2:
            return self * self
        assert exponent == -1
        n = pow(self.a * self.a + self.b * self.b, -1, P)
        return F(self.a * n, -self.b * n)

    def __mod__(self, modulus):
        return self

    def __bool__(self):
        return bool(self.a or self.b)

    def __eq__(self, other):
        other = _as_f(other)
        return self.a == other.a and self.b == other.b

    __hash__ = None
    __radd__, __rmul__ = __add__, __mul__


def _as_f(x) -> F:
    return x if isinstance(x, F) else F(x)


def of(x: str) -> F:
    return F(field.of(x))


def root(x: F) -> F:
    assert x.b == 0
    found = field.root(x.a)
    return F(found) if found is not None else F(0, field.root(-x.a % P))


def unit(rng: random.Random) -> tuple[F, F]:
    c, s = field.unit(rng.randrange(P))
    return F(c), F(s)


def numbers(element: ET.Element | None, key: str) -> np.ndarray:
    text = "0 0 0" if element is None else element.get(key, "0 0 0")
    return np.array([of(x) for x in text.split()], object)


def about(axis: np.ndarray, turn: tuple[F, F]) -> np.ndarray:
    """Rotation about a unit axis."""
    c, s = turn
    x, y, z = axis
    K = np.array([[F(0), -z, y], [z, F(0), -x], [-y, x, F(0)]], object)
    return np.array([[F(int(i == j)) for j in range(3)] for i in range(3)], object) + s * K + (F(1) - c) * (K @ K)


def fixed(joint: ET.Element) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and translation of a joint at zero."""
    origin, R = joint.find("origin"), about(np.array([F(0)] * 3, object), (F(1), F(0)))
    rpy = [float(x) for x in (origin.get("rpy", "0 0 0") if origin is not None else "0 0 0").split()]
    for k, angle in enumerate(rpy):
        turn = [Fraction(float(f(angle))).limit_denominator(FINE) for f in (np.cos, np.sin)]
        assert turn[0] ** 2 + turn[1] ** 2 == 1  # exact, or the geometry would be another one
        axis = np.array([F(int(i == k)) for i in range(3)], object)
        R = about(axis, tuple(of(str(x)) for x in turn)) @ R
    return R, numbers(origin, "xyz")


def cross(a, b) -> np.ndarray:
    return np.array([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)], object)


def energy(robot: Robot, joints: dict, rng: random.Random) -> list[F]:
    """The energy's columns, ten for each body or group of identical bodies, at closed joints and random rates on the loops."""
    urdf = ET.fromstring(robot.urdf_path.read_text())
    place = {"base": (about(np.array([F(0)] * 3, object), (F(1), F(0))), numbers(None, ""))}
    chain: dict[str, list[str]] = {"base": []}
    axes: dict[str, tuple[bool, np.ndarray, np.ndarray]] = {}  # turns, axis, point
    for joint in urdf.findall("joint"):
        (R0, p0), (R, p), name = place[joint.find("parent").get("link")], fixed(joint), joint.get("name")
        p, R = p0 + R0 @ p, R0 @ R
        child, parents = joint.find("child").get("link"), chain[joint.find("parent").get("link")]
        if joint.get("type") != "fixed":
            axis = numbers(joint.find("axis"), "xyz")
            axis = axis * (F(1) / root(axis @ axis))
            axes[name] = (joint.get("type") == "revolute", R @ axis, p)
            parents = [*parents, name]
            R, p = (R @ about(axis, joints[name]), p) if axes[name][0] else (R, p + R @ axis * joints[name])
        place[child], chain[child] = (R, p), parents
    names = list(axes)

    def velocity(link: str, rates: dict[str, F]) -> tuple[np.ndarray, np.ndarray]:
        v, w = numbers(None, ""), numbers(None, "")
        for name in chain[link]:
            turns, axis, point = axes[name]
            if turns:
                v, w = v + cross(axis, place[link][1] - point) * rates[name], w + axis * rates[name]
            else:
                v = v + axis * rates[name]
        return v, w

    rows = []
    for closure in robot.file.closures:
        if closure.kind == "coupling":
            rows.append([of(str(closure.of.get(name, 0))) for name in names])
            continue
        assert closure.kind in ("point", "planar_point")
        first, second = closure.between
        assert not any(place[first][1] - place[second][1])  # closed
        columns = []
        for name in names:
            one = {other: F(int(other == name)) for other in names}
            columns.append(velocity(second, one)[0] - velocity(first, one)[0])
        rows += [list(row) for row in zip(*columns, strict=True)]
    rates = dict(zip(names, nullspace(rows, len(names), rng), strict=True))
    groups = {name: group[0] for group in robot.file.identical for name in group}
    found: dict[str, list[F]] = {}
    for link in urdf.findall("link"):
        name = link.get("name")
        if link.find("inertial") is None:
            continue
        (R, p), (v, w) = place[name], velocity(name, rates)
        columns = field.body([*(R.T @ v)], [*(R.T @ w)], p[2], [*R[2]])
        before = found.get(groups.get(name, name), [F(0)] * 10)
        found[groups.get(name, name)] = [x + y for x, y in zip(before, columns, strict=True)]
    return [x for ten in found.values() for x in ten]


def nullspace(rows: list[list[F]], n: int, rng: random.Random) -> list[F]:
    """A random vector that all rows send to zero."""
    pivots: list[int] = []
    rows = [list(row) for row in rows]
    for column in range(n):
        k = next((i for i in range(len(pivots), len(rows)) if rows[i][column]), None)
        if k is None:
            continue
        at = len(pivots)
        rows[at], rows[k] = rows[k], rows[at]
        inverse = pow(rows[at][column], -1, P)
        rows[at] = [x * inverse for x in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[column]:
                rows[i] = [x - row[column] * y if y else x for x, y in zip(row, rows[at], strict=True)]
        pivots.append(column)
    x = [F(rng.randrange(P)) for _ in range(n)]
    for row, column in zip(rows, pivots, strict=False):
        x[column] = F(0)
        x[column] = -sum((a * b for a, b in zip(row, x, strict=True) if a), F(0))
    return x


def count(robot: Robot, joints: Callable[[random.Random], dict], states: int, seed: int = 1) -> int:
    """Rank of the energies of so many states, less what is constant."""
    rng = random.Random(seed)
    return field.rank([energy(robot, joints(rng), rng) for _ in range(states)])
