"""How the columns of an effort change with the motion along its axis: derivatives of `friction_models.basis`."""

import numpy as np

from robodyn_pin.robot.friction_models import WIDTH, EffortSpec, basis, coefficient_names, faded, over_position

SMALLEST = 1e-12  # [rad/s or m/s] the cube root has no slope at rest: it is taken here


def motion_slopes(spec: EffortSpec, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
    """Return the derivatives (3, ..., k) of the columns of `basis` by x, x' and x''.

    Where a column has a kink, at the places of `position` and at rest of `directional`, one of its two slopes.
    """
    found = np.zeros((3, *np.shape(x), len(coefficient_names(spec))))
    by_x, by_xd, by_xdd = found
    width = spec.width or WIDTH
    sign, rise = np.tanh(xd / width), (1 - np.tanh(xd / width) ** 2) / width
    match spec.model:
        case "viscous":
            by_xd[..., 0] = 1
        case "coulomb" | "load":
            by_xd[..., 0] = rise
        case "stribeck":
            assert spec.speed is not None
            by_xd[..., 0], by_xd[..., 2] = rise, 1
            by_xd[..., 1] = faded(xd / spec.speed) * (rise - sign * 2 * xd / spec.speed**2)
        case "saturating":
            assert spec.speed is not None
            by_xd[..., 0], by_xd[..., 1] = rise, (1 - np.tanh(xd / spec.speed) ** 2) / spec.speed
        case "quadratic":
            by_xd[..., 0] = 2 * np.abs(xd)
        case "cbrt":
            by_xd[..., 0] = 1 / (3 * np.cbrt(np.maximum(np.abs(xd), SMALLEST)) ** 2)
        case "directional":
            for k, forward in ((0, True), (1, False)):
                way = (xd > 0) if forward else (xd < 0)
                by_xd[..., k], by_xd[..., 2 + k] = way * rise, way
        case "position":
            _over_places(spec, x, xd, sign, rise, by_x, by_xd)
        case "cogging":
            waves = basis(spec, x, xd, xdd)
            for k, n in enumerate(spec.waves or []):
                by_x[..., 2 * k], by_x[..., 2 * k + 1] = n * waves[..., 2 * k + 1], -n * waves[..., 2 * k]
        case "armature":
            by_xdd[..., 0] = 1
        case "spring":
            by_x[..., 0] = 1
        case "lever_spring":
            by_x[..., 0] = _lever_spring(spec, x)
        case "polynomial":
            for k in range(1, by_x.shape[-1]):
                by_x[..., k] = k * x ** (k - 1)
    return found


def _over_places(
    spec: EffortSpec,
    x: np.ndarray,
    xd: np.ndarray,
    sign: np.ndarray,
    rise: np.ndarray,
    by_x: np.ndarray,
    by_xd: np.ndarray,
) -> None:
    over = over_position(spec)
    levels, steep, m = over.at(x), over.slopes(x), len(over.names)
    ways = [(xd > 0), (xd < 0)] if spec.each_way else [np.ones_like(xd)]
    for k, way in enumerate(ways):
        columns = slice(k * m, (k + 1) * m)
        by_x[..., columns], by_xd[..., columns] = (way * sign)[..., None] * steep, (way * rise)[..., None] * levels


def _lever_spring(spec: EffortSpec, x: np.ndarray) -> np.ndarray:
    """Return d2V/dx2 per stiffness: l' l' + (l - free) l''."""
    assert spec.radii is not None
    r, h = spec.radii
    angle = spec.angle + spec.turn * x
    length = np.sqrt(r**2 + h**2 - 2 * r * h * np.cos(angle))
    rate = spec.turn * r * h * np.sin(angle) / length
    bend = (r * h * np.cos(angle) - rate**2) / length
    return rate**2 + (length - spec.free_length) * bend
