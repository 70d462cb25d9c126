"""The loops of the catalogue's assumed robots in closed form, for any numbers: floats, arrays of them, or a finite field.

Lengths are those that the robots' files call assumed. A turn is (cosine, sine); `of` makes a number of a string, `root` is a
square root. Vectors in a plane of turns about y are (z, x), so that a positive turn leads from the first to the second axis.
"""

from collections.abc import Callable, Sequence
from typing import Any

Number = Any  # float, array or element of a field
Turn = tuple[Number, Number]
Joints = dict[str, Any]  # Turn of a joint that turns, Number of one that slides


def turned(turn: Turn, a: Sequence[Number]) -> list[Number]:
    """The vector a of the plane, turned."""
    c, s = turn
    return [c * a[0] - s * a[1], s * a[0] + c * a[1]]


def between(a: Sequence[Number], b: Sequence[Number]) -> Turn:
    """The turn from a to b, of one length."""
    n = a[0] * a[0] + a[1] * a[1]
    return (a[0] * b[0] + a[1] * b[1]) / n, (a[0] * b[1] - a[1] * b[0]) / n


def less(a: Turn, b: Turn) -> Turn:
    return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1]


def minus(a: Sequence[Number], b: Sequence[Number]) -> list[Number]:
    return [x - y for x, y in zip(a, b, strict=True)]


def meet(a: Sequence[Number], b: Sequence[Number], to_a: Number, to_b: Number, root: Callable) -> list[Number]:
    """The point at squared distances to_a, to_b from a and b, on the side of the first axis turned to the second."""
    D = minus(b, a)
    n = D[0] * D[0] + D[1] * D[1]
    t = (to_a - to_b + n) / (n + n)
    h = root(to_a / n - t * t)
    return [a[0] + t * D[0] - h * D[1], a[1] + t * D[1] + h * D[0]]


def fivebar(j1: Turn, j2: Turn, of: Callable, root: Callable) -> Joints:
    """Cranks of 0.17, rods of 0.30; the pin hangs below."""
    zero, drawn = of("0"), {1: (["-0.15", "-0.08"], ["-0.24", "0.18"]), 2: (["-0.15", "0.08"], ["-0.24", "-0.18"])}
    joints, tips = {"j1": j1, "j2": j2}, []
    for motor, turn, (crank, _) in zip(("-0.1", "0.1"), (j1, j2), drawn.values(), strict=True):
        tip = turned(turn, [of(x) for x in crank])
        tips.append([zero + tip[0], of(motor) + tip[1]])
    pin = meet(tips[0], tips[1], of("0.09"), of("0.09"), root)
    for k, turn in ((1, j1), (2, j2)):
        joints[f"p{k}"] = less(between([of(x) for x in drawn[k][1]], minus(pin, tips[k - 1])), turn)
    return joints


def slider_crank(crank: Turn, of: Callable, root: Callable) -> Joints:
    tip = turned(crank, [of("0.05"), of("0")])
    x = tip[1] + root(of("0.0169") - tip[0] * tip[0])
    rod = between([of("-0.05"), of("0.12")], minus([of("0"), x], tip))
    return {"crank": crank, "rod_pin": less(rod, crank), "slide": x - of("0.12")}


def fourbar_leg(roll: Turn, pitch: Turn, crank: Turn, of: Callable, root: Callable) -> Joints:
    zero = of("0")
    knee, tip = turned(pitch, [of("-0.35"), zero]), turned(crank, [zero, of("0.06")])
    lever, rod = [of("0.014"), of("0.03")], [of("-0.336"), of("-0.03")]
    held = meet(knee, tip, *(a[0] * a[0] + a[1] * a[1] for a in (lever, rod)), root)
    shank, rod_turn = between(lever, minus(held, knee)), between(rod, minus(held, tip))
    joints = {"hip_roll": roll, "hip_pitch": pitch, "knee_motor": crank}
    return joints | {"shin_pin": less(shank, pitch), "rod_pin": less(rod_turn, crank)}


LOW = [
    ("0.40", "0.06"),
    ("-0.15", "0.38"),
    ("-0.25", "0.32"),
    ("-0.25", "-0.32"),
    ("-0.15", "-0.38"),
    ("0.40", "-0.06"),
]
TOP = [("0.15", "0.20"), ("0.10", "0.23"), ("-0.25", "0.03"), ("-0.25", "-0.03"), ("0.10", "-0.23"), ("0.15", "-0.20")]


def about_xyz(rx: Turn, ry: Turn, rz: Turn, a: Sequence[Number]) -> list[Number]:
    """Rx Ry Rz a."""
    x, y = turned(rz, a[:2])
    z, x = turned(ry, [a[2], x])
    y, z = turned(rx, [y, z])
    return [x, y, z]


def hexapod(at: Sequence[Number], turns: Sequence[Turn], of: Callable, root: Callable) -> Joints:
    """The platform 0.6 above the base as drawn; a leg turns about x, then y, until it points to its ball."""
    joints = dict(zip(("x", "y", "z", "rx", "ry", "rz"), [*at, *turns], strict=True))
    for k, (low, top) in enumerate(zip(LOW, TOP, strict=True), 1):
        ball = about_xyz(*turns, [of(top[0]), of(top[1]), of("0")])
        drawn = [of(top[0]) - of(low[0]), of(top[1]) - of(low[1]), of("0.6")]
        leg = [p + b - of(x) for p, b, x in zip(at, ball, (low[0], low[1], "-0.6"), strict=True)]
        length, long = (root(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) for a in (leg, drawn))
        u, before = [x / length for x in leg], [x / long for x in drawn]
        z = root(of("1") - u[0] * u[0] - before[1] * before[1])  # after the turn about y
        joints[f"leg_{k}_y"] = between([before[2], before[0]], [z, u[0]])
        joints[f"leg_{k}_x"] = between([before[1], z], [u[1], u[2]])
        joints[f"leg_{k}"] = length - long
    return joints


AZIMUTHS = [("0.8", "0.6"), ("-0.8", "0.6"), ("0", "1"), ("0", "-1")]


def h4(at: Sequence[Number], bar: Turn, of: Callable, root: Callable) -> Joints:
    """Plate a moves by `at` without turning, plate b with the end of the bar; each arm sees the middle of its pair of balls."""
    one, zero = of("1"), of("0")
    straight = one, zero
    joints = {"x": at[0], "y": at[1], "z": at[2], "rx": straight, "ry": straight, "rz": straight}
    joints |= {"hinge_a": bar, "hinge_b": (bar[0], -bar[1])}
    other = [at[0] + of("0.2") * (one - bar[0]), at[1] - of("0.2") * bar[1], at[2]]
    for k, (cosine, sine) in enumerate(AZIMUTHS, 1):
        plate, (c, s) = at if k < 3 else other, (of(cosine), of(sine))
        X = c * plate[0] + s * plate[1] + of("-0.09")  # the balls at 0.11 as drawn, the shoulder at 0.20
        across, Z = c * plate[1] - s * plate[0], plate[2] - of("0.52")
        n = X * X + Z * Z
        K = (n + across * across + of("0.09") - of("0.4225")) / of("0.6")
        q = root(n - K * K)
        phi = (K * X - q * Z) / n, -(K * Z + q * X) / n
        rod = [(X - of("0.3") * phi[0]) / of("0.65"), across / of("0.65"), (Z + of("0.3") * phi[1]) / of("0.65")]
        out = root(one - rod[1] * rod[1])
        along = (phi[0] * rod[0] - phi[1] * rod[2]) / out, -(phi[1] * rod[0] + phi[0] * rod[2]) / out
        joints[f"phi{k}"] = phi
        for side in "ab":
            joints[f"rod_{k}{side}_y"] = less(along, (of("-0.6"), of("0.8")))
            joints[f"rod_{k}{side}_z"] = out, rod[1]
    return joints
