"""Paths: curves c(s) in the coordinates of a robot, s in [0, 1], smooth enough for a finite jerk.

A time-optimal motion needs c, c', c'' and c''' by s (Gnad et al. (IRB 360), eqs. (38) to (40)): every curve made here
has three continuous derivatives. Sharp corners are rounded (`lines`) or passed at a distance (`control`); a corner that
cannot be rounded raises an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.interpolate import BSpline, PPoly, make_interp_spline

from robodyn_pin.errors import BadPath

DEGREE = 5  # of splines; it gives four continuous derivatives
SAME = 1e-9  # [m or rad] points that are no further apart count as one point
BACK = -1 + 1e-6  # cosine of the angle between segments below which the path turns back on itself
GRID = 1001  # points at which a curve is checked and its length is summed


@dataclass(frozen=True)
class Geometry:
    """A path at N points."""

    s: np.ndarray  # (N,) path parameter in [0, 1], strictly rising
    c: np.ndarray  # (N, d) coordinates [rad or m]
    c1: np.ndarray  # (N, d) derivatives by s
    c2: np.ndarray
    c3: np.ndarray


@dataclass(frozen=True)
class Path:
    """A curve in the space of some coordinates."""

    names: tuple[str, ...]  # of the coordinates
    curve: BSpline | PPoly  # c(s) on [0, 1], (d,)
    sliding: np.ndarray  # (d,) which coordinates are in metres

    def at(self, s: np.ndarray) -> Geometry:
        """Return the path at s (N,) in [0, 1]."""
        s = np.asarray(s, float)
        c, c1, c2, c3 = (curve(s) for curve in self._derivatives)
        return Geometry(s, c, c1, c2, c3)

    @cached_property
    def _derivatives(self) -> tuple[BSpline | PPoly, ...]:
        return self.curve, *(self.curve.derivative(n) for n in (1, 2, 3))

    @cached_property
    def length(self) -> float:
        """Length of the path: [m] of the sliding coordinates, [rad] where none slides."""
        nodes, weights = np.polynomial.legendre.leggauss(8)
        ends = np.linspace(0, 1, GRID)
        s = (ends[:-1, None] + (1 + nodes) / 2 * np.diff(ends)[:, None]).ravel()
        return float(lengths_of(self.at(s).c1, self.sliding).reshape(-1, len(nodes)) @ weights @ np.diff(ends) / 2)


def lengths_of(moves: np.ndarray, sliding: np.ndarray) -> np.ndarray:
    """Return the lengths (N,) of moves (N, d) of the coordinates: [m] where a coordinate slides, else [rad]."""
    metres = np.linalg.norm(moves[:, sliding], axis=1)
    return np.where(metres > SAME, metres, np.linalg.norm(moves[:, ~sliding], axis=1))


def control(names: Sequence[str], points: np.ndarray, sliding: np.ndarray) -> Path:
    """Return a quintic B-spline with uniform knots and control points (n, d). It meets the first and the last one only.

    Raises:
        BadPath: too few points, a segment without length, or a curve that turns back on itself.
    """
    points = _points(names, points, sliding, DEGREE + 1)
    knots = np.linspace(0, 1, len(points) - DEGREE + 1)
    curve = BSpline(np.concatenate([np.zeros(DEGREE), knots, np.ones(DEGREE)]), points, DEGREE)
    return _smooth(Path(tuple(names), curve, sliding))


def through(names: Sequence[str], points: np.ndarray, sliding: np.ndarray) -> Path:
    """Return a quintic spline through points (n, d), with a parameter in proportion to the distance between them.

    Raises:
        BadPath: as `control`.
    """
    points = _points(names, points, sliding, 2)
    if len(points) == 2:
        line = PPoly(np.stack([points[1] - points[0], points[0]])[:, None], [0.0, 1.0])
        return _smooth(Path(tuple(names), line, sliding))
    s = np.append(0.0, np.cumsum(lengths_of(np.diff(points, axis=0), sliding)))
    straight = [(n, np.zeros(points.shape[1])) for n in (2, 3)]  # of few points: c'' = c''' = 0 at both ends
    ends = (straight, straight) if len(points) <= DEGREE else None
    return _smooth(Path(tuple(names), make_interp_spline(s / s[-1], points, DEGREE, bc_type=ends), sliding))


def lines(names: Sequence[str], points: np.ndarray, sliding: np.ndarray, radius: float | Sequence[float]) -> Path:
    """Return straight lines between points (n, d) with rounded corners.

    The path leaves a line `radius` r before a corner and joins the next line r behind it. With directions a and b and
    the signed distance l from the corner P, the sharp path is P + l (a + b) / 2 + |l| (b - a) / 2. The rounding
    replaces |l| by a polynomial of degree 6 with second derivative 15/8 (1 - (l / r)^2)^2 / r. It has three continuous
    derivatives and misses the corner by 5/16 r |b - a| / 2.

    Args:
        radius: [m, or rad where no coordinate slides] of all corners, or one for each point but the first and the last.

    Raises:
        BadPath: a segment without length, a corner without radius, a path that turns back, radii that overlap.
    """
    points = _points(names, points, sliding, 2)
    moves = np.diff(points, axis=0)
    lengths = lengths_of(moves, sliding)
    slopes = moves / lengths[:, None]
    radii = _radii(points, slopes, lengths, radius, sliding)
    at = np.append(0.0, np.cumsum(lengths))
    breaks, pieces = [0.0], []
    for k in range(len(slopes)):
        end = at[k + 1] - radii[k + 1]
        if end > breaks[-1] + SAME:
            pieces.append(_line(points[k] + (breaks[-1] - at[k]) * slopes[k], slopes[k]))
            breaks.append(end)
        if radii[k + 1]:
            pieces.append(_corner(points[k + 1], slopes[k], slopes[k + 1], radii[k + 1]))
            breaks.append(at[k + 1] + radii[k + 1])
    scale = at[-1] ** np.arange(6, -1, -1.0)[:, None, None]  # makes the parameter 1 at the end
    curve = PPoly(np.stack(pieces, axis=1) * scale, np.array(breaks) / at[-1])
    return _smooth(Path(tuple(names), curve, sliding))


def u_turn(
    names: Sequence[str], start: np.ndarray, width: np.ndarray, height: np.ndarray, turn: np.ndarray, spacing: float,
    sliding: np.ndarray,
) -> Path:  # fmt: skip
    """Return a path up, across and down: the pick and place of Gnad et al. (IRB 360), section 6.6, as a B-spline.

    Its control points lie on the sharp U, about every `spacing` [m]: each side is divided into equal parts.

    Args:
        start: (d,) the lower end where the path begins.
        width, height: (d,) the moves across and up.
        turn: (d,) a further move that is spread evenly over the whole path, such as a rotation.

    Raises:
        BadPath: a move without length, or a spacing too large for it; as `control`.
    """
    for name, move in (("up", height), ("across", width)):
        if lengths_of(move[None], sliding)[0] <= SAME:
            raise BadPath(f"the move {name!r} of the U-turn has no length; expected one above {SAME:g}")
    corners = np.cumsum([start, height, width, -height], axis=0)
    points = [start[None]]
    for a, b in pairwise(corners):
        steps = max(1, round(float(lengths_of((b - a)[None], sliding)[0]) / spacing))
        points.append(a + np.linspace(0, 1, steps + 1)[1:, None] * (b - a))
    stacked = np.concatenate(points)
    if len(stacked) <= DEGREE:
        raise BadPath(
            f"a spacing of {spacing:g} leaves the U-turn {len(stacked)} control points: it needs {DEGREE + 1}; "
            "make it smaller"
        )
    return control(names, stacked + np.linspace(0, 1, len(stacked))[:, None] * turn, sliding)


def _points(names: Sequence[str], points: np.ndarray, sliding: np.ndarray, least: int) -> np.ndarray:
    """Return the points as an array of at least `least` rows, or raise BadPath."""
    points = np.asarray(points, float)
    if points.ndim != 2 or points.shape[1] != len(names):
        raise BadPath(
            f"points of a path have shape {points.shape}, expected (n, {len(names)}): "
            f"one column for each of {', '.join(names)}"
        )
    if not np.isfinite(points).all():
        raise BadPath(f"point {int(np.argwhere(~np.isfinite(points))[0, 0]) + 1} of the path is not finite")
    if len(points) < least:
        raise BadPath(f"a path of {len(points)} points: such a curve needs at least {least}")
    short = np.flatnonzero(lengths_of(np.diff(points, axis=0), sliding) <= SAME)
    if len(short):
        k = int(short[0]) + 1
        raise BadPath(f"points {k} and {k + 1} of the path are the same; leave one of them out")
    return points


def _radii(
    points: np.ndarray, slopes: np.ndarray, lengths: np.ndarray, radius: float | Sequence[float], sliding: np.ndarray
) -> np.ndarray:
    """Return the radius of the rounding at each point (n,); zero at the ends and where the path is straight."""
    inner = len(points) - 2
    given = np.full(inner, radius) if isinstance(radius, float | int) else np.asarray(radius, float)
    if given.shape != (inner,) or (given < 0).any():
        raise BadPath(
            f"{given.size} radii for {inner} corners; expected one, or one for each inner point, none negative"
        )
    bent = np.linalg.norm(np.diff(slopes, axis=0), axis=1) > SAME
    for k in np.flatnonzero(bent):
        a, b = (slope[sliding] if sliding.any() else slope for slope in slopes[k : k + 2])
        cosine = float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), SAME))
        if cosine < BACK:
            raise BadPath(f"the path turns back on itself at point {k + 2}: plan two paths, each from rest to rest")
        if not given[k]:
            turned = f"turns by {np.degrees(np.arccos(min(cosine, 1.0))):.3g} degrees"
            raise BadPath(
                f"the path has a kink at point {k + 2} ({turned}): give it a radius, "
                "or plan two paths, each from rest to rest"
            )
    radii = np.concatenate([[0.0], np.where(bent, given, 0.0), [0.0]])
    taken = radii[:-1] + radii[1:]
    if (taken > lengths * (1 + 1e-12)).any():
        i = int(np.argmax(taken / lengths))
        raise BadPath(
            f"the corners at points {i + 1} and {i + 2} take {taken[i]:.4g} of the {lengths[i]:.4g} between them; "
            "make the radius smaller"
        )
    return radii


def _line(begin: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the polynomial (7, d), highest power first, of the distance from `begin`."""
    piece = np.zeros((7, len(begin)))
    piece[5:] = slope, begin
    return piece


def _corner(corner: np.ndarray, a: np.ndarray, b: np.ndarray, r: float) -> np.ndarray:
    """Return the polynomial (7, d), highest power first, of the distance from the point r before the corner."""
    rounded = np.zeros(7)  # replaces |u| for u = l / r from -1 to 1
    rounded[[0, 2, 4, 6]] = 1 / 16, -5 / 16, 15 / 16, 5 / 16
    shift = np.poly1d(rounded)(np.poly1d([1 / r, -1.0])).coeffs  # u from the distance since u = -1
    piece = r * shift[:, None] * (b - a) / 2
    piece[5] += (a + b) / 2
    piece[6] += corner - r * (a + b) / 2
    return piece


def _smooth(path: Path) -> Path:
    """Return the path; raise BadPath where its direction jumps or its tangent vanishes, as a motion must stop there."""
    s = np.linspace(0, 1, GRID)
    tangent = path.at(s).c1
    scale = np.abs(tangent).max(axis=0)
    tangent = tangent[:, scale > 0] / scale[scale > 0]
    size = np.linalg.norm(tangent, axis=1)
    cosine = np.sum(tangent[1:] * tangent[:-1], axis=1) / np.maximum(size[1:] * size[:-1], 1e-300)
    kinks = np.flatnonzero(np.append(size[:-1] < 1e-6, False) | np.append(cosine < 0.5, size[-1] < 1e-6))
    if len(kinks):
        raise BadPath(
            f"the path has a kink at s = {s[kinks[0]]:.4g}, where it stops or turns back: move the points there apart, "
            "or plan two paths, each from rest to rest"
        )
    return path
