"""Errors of a geometry over a finite field and over p-adic numbers: rows of what is measured, exact ranks, and counts by hand.

Where the whole pose of a platform is measured, the rows of a pose may be multiplied by the Jacobian that closes its rods: the rank of what is
measured is that of the rods' own equations, d . (dA - dB) = L dL, with d the vector of the rod and L its length. Base and tool move all elbows,
or all balls, which their own errors do, too. Vischer and Clavel calibrate a Delta with 54 numbers where its platform may tilt, and with 24 where it
stays level (Robotica 16, 1998).

By hand, of one arm with turn t (c, s) and a level platform, d the same of both rods, x, y, z the axes of its shoulder: a rod's length gives the
function 1, its ball dx, dy, dz, its elbow c dx - s dz and s dx + c dz (and dy again), six of each rod; the shoulder's place and the encoder give
nothing new, its tilt gives s dy and c dy to both at once: 14 of each arm, 42. What both rods have in common gives 8 of each arm: 24. With errors the
platform tilts and no function is met twice but one: an encoder turns both elbows. 19 numbers less one of each arm are 54.
"""

import random

import numpy as np
from finite_field import P, cross, dot, of, over, root, unit
from loops_by_hand import LOW, TOP

from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, possible_errors
from robodyn_pin.calibration.shown_errors import shown
from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.robot.robot import Robot

DIGITS = 8
MODULUS = P**DIGITS
DELTAS = {"delta3": ("0.15", "0.05", "0.03", "0.2", "0.4"), "irb360": ("0.2", "0.048", "0.05", "0.5", "1.106")}
POSES = 20
AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def powers(x: int) -> int:
    """How often p divides x."""
    count = 0
    while x % P == 0:
        x, count = x // P, count + 1
    return count


def rank(rows: list[list[int]], modulus: int = P) -> int:
    """Rank of rows over the field, or of p-adic numbers with so many digits: pivots with the fewest powers of p first."""
    rows, found = [list(row) for row in rows], 0
    while entries := [(powers(x), i, k) for i, row in enumerate(rows) for k, x in enumerate(row) if x % modulus]:
        least, i, k = min(entries)
        assert least <= 2  # there are digits enough
        pivot, found = rows.pop(i), found + 1
        inverse = pow(pivot[k] // P**least, -1, modulus)
        rows = [
            [(x - row[k] // P**least * inverse * y) % modulus for x, y in zip(row, pivot, strict=True)] for row in rows
        ]
        if modulus != P:
            rows = [[0 if x % P ** (DIGITS - 3) == 0 else x for x in row] for row in rows]
    return found


def turn_of(t: int) -> tuple[int, int]:
    """Cosine and sine of twice the angle whose tangent is t, with all digits."""
    n = pow(1 + t * t, -1, MODULUS)
    return (1 - t * t) * n % MODULUS, 2 * t * n % MODULUS


def about_y(turn: tuple[int, int], a) -> list[int]:
    c, s = turn
    return [c * a[0] + s * a[2], a[1], c * a[2] - s * a[0]]


def about_z(turn: tuple[int, int], a) -> list[int]:
    c, s = turn
    return [c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]]


def vector(a, b) -> list[int]:
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]


def cayley(w, a) -> list[int]:
    """(1 - [w])^-1 (1 + [w]) a."""
    n, first = pow(1 + sum(x * x for x in w), -1, MODULUS), vector(w, a)
    return [(x + 2 * n * (b + c)) % MODULUS for x, b, c in zip(a, first, vector(w, first), strict=True)]


def solved(A: list[list[int]], b: list[int]) -> list[int]:
    """A x = b over the field."""
    rows = [[*row, y] for row, y in zip(A, b, strict=True)]
    for k in range(len(rows)):
        i = next(i for i in range(k, len(rows)) if rows[i][k] % P)
        rows[k], rows[i] = rows[i], rows[k]
        inverse = pow(rows[k][k], -1, P)
        rows[k] = [x * inverse % P for x in rows[k]]
        rows = [
            row if i == k else [(x - row[k] * y) % P for x, y in zip(row, rows[k], strict=True)]
            for i, row in enumerate(rows)
        ]
    return [row[-1] for row in rows]


class Delta:
    """A Delta as drawn, or with errors of any size times p of everything, which a number with few digits does not see."""

    def __init__(self, name: str, rng: random.Random, erring: bool):
        base, platform, half, arm, rod = (of(x) for x in DELTAS[name])
        sides = [(k, side) for k in range(3) for side in (1, -1)]

        def off() -> int:
            return P * rng.randrange(P) if erring else 0

        self.rng, self.drawn, self.third = rng, (base, platform, arm, rod), turn_of(root(3))
        self.shoulder = [[base + off(), off(), off()] for _ in range(3)]
        self.elbow = [[arm + off(), side * half + off(), off()] for _, side in sides]
        self.ball = [[platform + off(), side * half + off(), off()] for _, side in sides]
        self.length = [rod + off() for _ in sides]

    def in_arm(self, k: int, a) -> list[int]:
        """A vector in the axes of arm k."""
        for _ in range(k):
            a = about_z((self.third[0], -self.third[1]), a)
        return a

    def pose(self) -> tuple[list[int], list[tuple[int, int]]]:
        """A place of the level platform, and the arms' turns there, as drawn: random ones until all roots exist."""
        base, platform, arm, rod = self.drawn
        while True:
            place, turns = [self.rng.randrange(P) for _ in range(3)], []
            for k in range(3):
                x, y, z = self.in_arm(k, place)
                u = x + platform - base
                n = u * u + z * z
                K = over(n + y * y + arm * arm - rod * rod, 2 * arm)
                q = root(n - K * K)
                if q is None:
                    break
                c, s = over(K * u + z * q, n), over(u * q - K * z, n)
                turns.append(turn_of(over(s, 1 + c)))
            else:
                return place, turns

    def rods(self, x, turns) -> list[tuple[list[int], list[int], list[list[int]]]]:
        """Of each rod, in the axes of its arm: its vector, its elbow from the shoulder, the axes of the platform; x: place, tilt."""
        found = []
        for i, (elbow, ball) in enumerate(zip(self.elbow, self.ball, strict=True)):
            k = i // 2
            place, w = self.in_arm(k, x[:3]), self.in_arm(k, x[3:])
            out = about_y(turns[k], elbow)
            end = cayley(w, ball)
            d = [(a + b - c - p) % MODULUS for a, b, c, p in zip(self.shoulder[k], out, end, place, strict=True)]
            found.append((d, out, [cayley(w, axis) for axis in AXES]))
        return found

    def gaps(self, x, turns) -> list[int]:
        rods = zip(self.rods(x, turns), self.length, strict=True)
        return [(sum(a * a for a in d) - length**2) % MODULUS for (d, _, _), length in rods]

    def closed(self) -> tuple[list[int], list[tuple[int, int]]]:
        """A random closed pose, digit by digit (Hensel)."""
        place, turns = self.pose()
        x = [*place, 0, 0, 0]
        before = self.gaps(x, turns)
        columns = []
        for k in range(6):
            after = self.gaps([y + P * (j == k) for j, y in enumerate(x)], turns)
            columns.append([(b - a) // P for a, b in zip(before, after, strict=True)])
        slopes = [list(row) for row in zip(*columns, strict=True)]
        for digit in range(1, DIGITS):
            gaps = self.gaps(x, turns)
            assert not any(gap % P**digit for gap in gaps)
            change = solved(slopes, [-gap // P**digit for gap in gaps])
            x = [y + P**digit * c for y, c in zip(x, change, strict=True)]
        assert not any(self.gaps(x, turns))
        return x, turns

    def rows(self, common: bool) -> list[list[int]]:
        """Of each rod at a closed pose: shoulder, tilt, encoder, elbow, ball and length, 19 columns of each arm; common: of both rods one."""
        found, (x, turns) = [], self.closed()
        for i, (d, out, axes) in enumerate(self.rods(x, turns)):
            k, side = divmod(i, 2)
            own = [*(sum(a * b for a, b in zip(d, about_y(turns[k], axis), strict=True)) for axis in AXES),
                   *(sum(a * b for a, b in zip(d, axis, strict=True)) for axis in axes), self.length[i]]  # fmt: skip
            arm = [d[0], d[2], *(sum(a * b for a, b in zip(d, vector(axis, out), strict=True)) for axis in AXES)]
            row = [0] * (3 * 19)
            row[19 * k : 19 * k + 5] = arm
            begin = 19 * k + 5 + (0 if common else 7 * side)
            row[begin : begin + 7] = own
            found.append([entry % MODULUS for entry in row])
        return found


def exact(name: str, erring: bool, common: bool = False) -> int:
    delta = Delta(name, random.Random(2), erring)
    rows = [row for _ in range(POSES) for row in delta.rows(common)]
    if common:  # a level platform follows one rod of each arm
        rows = rows[::2]
    return rank(rows, MODULUS) if erring else rank([[x % P for x in row] for row in rows])


def names_of(name: str) -> list[str]:
    """The errors of a Delta with perfect balls, as the package names them."""
    rod, found = ("strut" if name == "irb360" else "rod"), []
    for k in "123":
        found += [f"phi{k} {error}" for error in ("tx", "tz", "rx", "rz", "offset")]
        for side in "ab":
            found += [f"{rod}_{k}{side}_y tx", f"{rod}_{k}{side}_y tz", f"{rod}_{k}{side}_z ty", f"ball_{k}{side} a tx"]
            found += [f"ball_{k}{side} b t{axis}" for axis in "xyz"]
    return found


def floating(robot: Robot, wanted: list[str], kind: str, frame: str, size: float, poses: int = 40) -> tuple[int, float]:
    """Rank of the package's slopes, and the gap below it; with errors of so many tolerances."""
    targets = {"tool": TargetSpec(kind=kind, frame=frame)}
    errors = possible_errors(robot, robot.coordinates.names, targets, wanted, Tolerances())
    rng, erring = np.random.default_rng(0), ErringRobot(robot, errors, targets)
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c = c + rng.uniform(-0.4, 0.4, (poses, len(c)))
    tolerance = np.array([error.tolerance for error in errors])
    own = np.array([error.group not in ("base", "tool") for error in errors])
    e = size * tolerance * own * rng.normal(size=len(errors))
    slopes = erring.predict(e, c, erring.nominal(c)).slopes["tool"]
    found = shown((slopes * tolerance).reshape(-1, len(errors)))
    return found.rank, found.gap


PUMA = [
    ("0 0 0", "z"),
    ("0 0.2435 0", "y"),
    ("0.4318 -0.0934 0", "y"),
    ("-0.0203 0 0.4331", "z"),
    ("0 0 0", "y"),
    ("0 0 0", "z"),
]
LIMIT = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'


def puma_rows(rng: random.Random) -> list[list[int]]:
    """Velocity and angular velocity of the tool of a PUMA 560 for base, encoders, joints and tool, axes of the base, at a random pose."""
    R, p = [list(axis) for axis in AXES], [0, 0, 0]  # columns
    screws = [(axis, None, True) for axis in AXES] + [(axis, [0, 0, 0], False) for axis in AXES]

    def along(a) -> list[int]:
        return [sum(column[i] * x for column, x in zip(R, a, strict=True)) % P for i in range(3)]

    for place, name in PUMA:
        p = [(x + y) % P for x, y in zip(p, along([of(x) for x in place.split()]), strict=True)]
        axis = AXES["xyz".index(name)]
        screws += [(along(a), None, True) for a in AXES if a != axis] + [
            (along(a), p, False) for a in AXES
        ]  # across, and all turns
        turn = unit(rng.randrange(P))
        turned = {"y": about_y, "z": about_z}[name]
        R = [along(turned(turn, a)) for a in AXES]
    tool = [(x + y) % P for x, y in zip(p, along([of("0.1"), of("0.05"), of("0.2")]), strict=True)]
    screws += [(along(a), None, True) for a in AXES] + [(along(a), tool, False) for a in AXES]
    columns = []
    for axis, point, slides in screws:
        if slides:
            columns.append([*axis, 0, 0, 0])
        else:
            columns.append([x % P for x in (*cross(axis, [a - b for a, b in zip(tool, point, strict=True)]), *axis)])
    return [list(row) for row in zip(*columns, strict=True)]


def hexapod_rows(rng: random.Random) -> list[list[int]]:
    """Of each leg at a random pose of the platform: lower anchor, upper anchor, length; poses are random until all lengths are numbers."""

    while True:
        place, w, rows = [rng.randrange(P) for _ in range(3)], [rng.randrange(P) for _ in range(3)], []
        for k, (low, top) in enumerate(zip(LOW, TOP, strict=True)):
            ball = cayley(w, [of(top[0]), of(top[1]), 0])
            d = [(p + b - a) % P for p, b, a in zip(place, ball, [of(low[0]), of(low[1]), 0], strict=True)]
            length = root(dot(d, d))
            if length is None:
                break
            row = [0] * 42
            row[7 * k : 7 * k + 7] = [*d, *(dot(d, [x % P for x in cayley(w, axis)]) for axis in AXES), length]
            rows.append(row)
        else:
            return rows
