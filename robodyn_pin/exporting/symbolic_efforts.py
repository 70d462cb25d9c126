"""Friction, rotor inertia, springs and cables as expressions: what robot/friction_models.py says, at the coefficients of a robot."""

from collections.abc import Mapping, Sequence

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.exporting.symbols import X, applied, constant, dot, objects, total
from robodyn_pin.exporting.twin import Places
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import WIDTH, EffortSpec, coefficient_names, over_position
from robodyn_pin.robot.over_position import OverPosition
from robodyn_pin.robot.robot import Robot

TINY = 1e-30  # under a root, so that nothing is divided by zero, in single precision neither


def check_forms(robot: Robot, given: bool = True) -> None:
    """See that every effort has a form in C.

    Args:
        given: accelerations are; else they are sought.

    Raises:
        RobodynError: one depends on the motion before, on the force along a strut or bearing, or on accelerations that are sought.
    """
    for effort in robot.efforts:
        if effort.memory or effort.carriers or (effort.bears and not given):
            what = (
                ""
                if given or effort.memory or effort.carriers
                else " where accelerations are sought, which it grows with"
            )
            raise RobodynError(
                f"friction {effort.spec.model!r} of {effort.name!r} has no form in C yet{what}; give robot {robot.name!r} 'coulomb' friction there, or "
                "identify it so"
            )


def effort_terms(
    robot: Robot,
    at: Places,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    loads: Mapping[bytes, np.ndarray] | None = None,
) -> np.ndarray:
    """What the efforts ask of the tree's joints (nv,); those that grow with warmth are those of a warm robot, nothing.

    Args:
        loads: of the rows of each effort that grows with them, by its `load_key`.
    """
    found = objects(np.zeros(len(q)))
    for effort in robot.efforts:
        if effort.spec.warmth is None:
            borne = loads[effort.load_key] if effort.bears and loads is not None else None
            found = found + _along_axes(effort, q, v, a, borne) + _in_closures(effort, at, v)
    return found


def _along_axes(effort: Effort, q: np.ndarray, v: np.ndarray, a: np.ndarray, borne: np.ndarray | None) -> np.ndarray:
    found = objects(np.zeros(len(q)))
    for i, (row, shift) in enumerate(zip(effort.rows, effort.shifts, strict=True)):
        x, xd, xdd = (total(k * y for k, y in zip(row, motion, strict=True) if k) for motion in (q, v, a))
        force = _force(effort, x + float(shift), xd, xdd)
        if borne is not None:
            force = force * borne[i]
        for j in np.flatnonzero(row):
            found[j] = found[j] + row[j] * force
    return found


def _in_closures(effort: Effort, at: Places, v: np.ndarray) -> np.ndarray:
    """Friction of balls and pins, against the turning w of their members: w/|w| f(|w|)."""
    found, none = objects(np.zeros(len(v))), constant(0.0)
    for name in effort.closures:
        sign = effort.loops.turning(name)
        turning = np.flatnonzero(sign)
        axes = {j: sign[j] * at.s[j + 1][3:] for j in turning}
        w = sum((axes[j] * v[j] for j in turning), objects(np.zeros(3)))
        speed = applied("sqrt", dot(w, w) + TINY)
        moment = w * (_force(effort, none, speed, none) / speed)
        for j in turning:
            found[j] = found[j] + dot(axes[j], moment)
    return found


def _force(effort: Effort, x: X, xd: X, xdd: X) -> X:
    return total(f * k for k, f in zip(effort.initial, model_columns(effort.spec, x, xd, xdd), strict=True) if k)


def model_columns(spec: EffortSpec, x: X, xd: X, xdd: X) -> list[X]:
    """The columns of a model, as `friction_models.basis`."""
    one = constant(1.0)
    sign = applied("tanh", xd / (spec.width or WIDTH))
    ways = [lambda f: applied("fmax", f, 0.0), lambda f: applied("fmin", f, 0.0)]
    match spec.model:
        case "viscous":
            return [xd]
        case "coulomb" | "load":  # for a load of one
            return [sign]
        case "stribeck":
            ratio = xd / float(spec.speed or 1.0)
            return [sign, sign * applied("exp", -(ratio * ratio)), xd]
        case "saturating":
            return [sign, applied("tanh", xd / float(spec.speed or 1.0))]
        case "quadratic":
            return [xd * applied("fabs", xd)]
        case "cbrt":
            return [applied("copysign", applied("power", applied("fabs", xd), 1 / 3), xd)]
        case "directional":
            return [way(f) for f in (sign, xd) for way in ways]
        case "position":
            shapes = _over_position(x, over_position(spec))
            return [part * f for part in ([way(sign) for way in ways] if spec.each_way else [sign]) for f in shapes]
        case "cogging":
            return [applied(wave, x * n) for n in spec.waves or [] for wave in ("sin", "cos")]
        case "offset":
            return [one]
        case "armature":
            return [xdd]
        case "spring":
            return [x - spec.rest]
        case "lever_spring":
            return [_lever_spring(spec, x)]
        case "polynomial":
            powers = [one]
            while len(powers) < len(coefficient_names(spec)):
                powers.append(powers[-1] * x)
            return powers
    raise RobodynError(f"effort {spec.model!r} has no form in C yet")


def _over_position(x: X, over: OverPosition) -> list[X]:
    """The shape functions of friction over position."""
    if over.waves:
        return [constant(1.0), *(applied(wave, x * n) for n in over.waves for wave in ("sin", "cos"))]
    if over.degree == 1:
        return _hats(x, over.places)
    first, last = over.places[0], over.places[-1]
    inside = applied("fmax", applied("fmin", x, last), first)
    beyond = [inside - first, *(applied("fmax", inside - place, 0.0) for place in over.places[1:-1])]
    powers = [constant(1.0)]
    for k, base in enumerate(beyond):
        raised = [base]
        while len(raised) < over.degree:
            raised.append(raised[-1] * base)
        powers += raised if k == 0 else raised[-1:]
    return [total(float(c) * power for c, power in zip(row, powers, strict=True) if c) for row in over.in_powers]


def _hats(x: X, places: Sequence[float]) -> list[X]:
    """One at their place, zero at the others, straight between them; the outer ones are one beyond them."""
    found = []
    for k, place in enumerate(places):
        hat = constant(1.0)
        if k > 0:
            hat = applied("fmin", hat, (x - places[k - 1]) / (place - places[k - 1]))
        if k + 1 < len(places):
            hat = applied("fmin", hat, (places[k + 1] - x) / (places[k + 1] - place))
        found.append(applied("fmax", hat, 0.0))
    return found


def _lever_spring(spec: EffortSpec, x: X) -> X:
    assert spec.radii is not None
    r, h = spec.radii
    angle = x * spec.turn + spec.angle
    length = applied("sqrt", r**2 + h**2 - 2 * r * h * applied("cos", angle))
    return (length - spec.free_length) * (spec.turn * r * h * applied("sin", angle)) / length
