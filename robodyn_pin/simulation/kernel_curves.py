"""Efforts along an axis over its position and rate, compiled: friction, springs and cogging (friction_models.py)."""

import numpy as np

from robodyn_pin.closures.kernel_options import inner, sequential
from robodyn_pin.robot.friction_models import FADED
from robodyn_pin.simulation.machine import CODES, Curves

(VISCOUS, COULOMB, LOAD, STRIBECK, SATURATING, QUADRATIC, CBRT, DIRECTIONAL, OFFSET, ARMATURE, SPRING, LEVER_SPRING,
 POLYNOMIAL, COGGING, POSITION_SPLINES, POSITION_WAVES) = range(len(CODES))  # fmt: skip


@inner
def splines(x, places, n, degree, factors, first):
    """A spline at x between its n places as a sum of powers, their factors from `first` on: OverPosition.in_powers."""
    level = 0.0
    for k in range(degree, -1, -1):
        level = level * (x - places[0]) + factors[first + k]
    for k in range(1, n - 1):
        level += factors[first + degree + k] * max(x - places[k], 0.0) ** degree
    return level


@sequential
def curve(c: Curves, e, x, xd, sign):
    """Effort number e at x, x', `sign` the change of sign of its friction: what friction_models.basis does."""
    model, v, points, n = c.model[e], c.values[e], c.points[e], c.points_used[e]
    if model == VISCOUS:
        return v[0] * xd
    if model in (COULOMB, LOAD):
        return v[0] * sign
    if model == STRIBECK:
        ratio = xd / c.speed[e]
        return sign * (v[0] + v[1] * (np.exp(-ratio * ratio) if ratio * ratio < FADED else 0.0)) + v[2] * xd
    if model == SATURATING:
        return v[0] * sign + v[1] * np.tanh(xd / c.speed[e])
    if model == QUADRATIC:
        return v[0] * xd * abs(xd)
    if model == CBRT:
        return v[0] * np.cbrt(xd)
    if model == DIRECTIONAL:
        return v[0] * max(sign, 0.0) + v[1] * min(sign, 0.0) + v[2] * max(xd, 0.0) + v[3] * min(xd, 0.0)
    if model == POSITION_SPLINES:
        d = c.degree[e]
        return sign * splines(
            min(max(x, points[0]), points[n - 1]), points, n, d, v, n + d - 1 if c.each_way[e] and xd <= 0 else 0
        )
    if model == POSITION_WAVES:
        first = 2 * n + 1 if c.each_way[e] and xd <= 0 else 0
        level = v[first]
        for k in range(n):
            level += v[first + 2 * k + 1] * np.sin(points[k] * x) + v[first + 2 * k + 2] * np.cos(points[k] * x)
        return sign * level
    if model == OFFSET:
        return v[0]
    if model == SPRING:
        return v[0] * (x - points[0])
    if model == LEVER_SPRING:
        r, h, free, turn = points[0], points[1], points[2], points[4]
        angle = points[3] + turn * x
        length = np.sqrt(r * r + h * h - 2 * r * h * np.cos(angle))
        return v[0] * (length - free) * turn * r * h * np.sin(angle) / length
    total = 0.0
    if model == POLYNOMIAL:
        for k in range(n - 1, -1, -1):
            total = total * x + v[k]
    if model == COGGING:
        for k in range(n):
            total += v[2 * k] * np.sin(points[k] * x) + v[2 * k + 1] * np.cos(points[k] * x)
    return total
