"""Friction over the position of its axis: shape functions of x that multiply the change of sign; coefficients are levels of friction.

Three forms. Hats: one at their place, zero at the others, straight between them. B-splines with knots at the places, clamped at the
outer ones (de Boor, A Practical Guide to Splines); of degree 3 there are two more than places. Waves: one, and sin(n x), cos(n x).
Beyond the outer places hats and splines stay as they are there.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.interpolate import BSpline


@dataclass(frozen=True)
class OverPosition:
    """Shape functions over an axis' position x [rad or m]: waves where there are any, else splines."""

    places: tuple[float, ...]
    degree: int = 1  # of the splines; 1: hats
    waves: tuple[float, ...] = ()  # [1/rad or 1/m]

    @property
    def names(self) -> list[str]:
        """What tells them apart: `1`, `2`, or `mean`, `sin_3`, `cos_3`."""
        if self.waves:
            return ["mean", *(f"{wave}_{n:g}" for n in self.waves for wave in ("sin", "cos"))]
        return [str(k + 1) for k in range(len(self.places) + self.degree - 1)] if self.places else []

    @property
    def positive(self) -> list[bool]:
        """Which of them are never negative, so that friction with coefficients that are not either brakes."""
        return [not self.waves or name == "mean" for name in self.names]

    @property
    def middles(self) -> np.ndarray:
        """Where each hat or spline stands (m,): its place, or the mean of its inner knots (Greville)."""
        t, d = self._knots, self.degree
        return np.array([t[k + 1 : k + 1 + d].mean() for k in range(len(t) - d - 1)])

    def at(self, x: np.ndarray) -> np.ndarray:
        """The shape functions at x (...), shape (..., m)."""
        if self.waves:
            return np.stack([np.ones_like(x), *(f(n * x) for n in self.waves for f in (np.sin, np.cos))], axis=-1)
        if self.degree == 1:
            return np.stack([np.interp(x, self.places, one) for one in np.eye(len(self.places))], axis=-1)
        return np.asarray(self._splines(np.clip(x, self.places[0], self.places[-1])))

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Their derivatives by x (..., m); at the places of hats one of the two."""
        if self.waves:
            waves = [slope for n in self.waves for slope in (n * np.cos(n * x), -n * np.sin(n * x))]
            return np.stack([np.zeros_like(x), *waves], axis=-1)
        places = np.array(self.places)
        inside = (x > places[0]) & (x < places[-1])
        if self.degree > 1:
            slopes = self._splines.derivative()(np.clip(x, places[0], places[-1]))
            return np.asarray(slopes * np.asarray(inside)[..., None])
        piece = np.clip(np.searchsorted(places, x, side="right") - 1, 0, len(places) - 2)
        steep, rise = np.zeros((*np.shape(x), len(places))), inside / np.diff(places)[piece]
        np.put_along_axis(steep, piece[..., None], -rise[..., None], axis=-1)
        np.put_along_axis(steep, piece[..., None] + 1, rise[..., None], axis=-1)
        return steep

    @property
    def in_powers(self) -> np.ndarray:
        """Splines as sums of powers (m, degree + 1 + inner places), between the outer places: factors of (x - first)^k, k from 0 to
        the degree, then of max(x - place, 0)^degree of each inner place."""
        from scipy.interpolate import PPoly

        found, d = [], self.degree
        for one in np.eye(len(self.names)):
            c = PPoly.from_spline((self._knots, one, d)).c
            c = c[:, d : c.shape[1] - d]  # without the empty intervals of repeated knots
            found.append(np.concatenate([c[::-1, 0], np.diff(c[0])]))
        return np.array(found)

    @property
    def _knots(self) -> np.ndarray:
        outer = [np.full(self.degree, x) for x in (self.places[0], self.places[-1])]
        return np.concatenate([outer[0], self.places, outer[1]])

    @cached_property
    def _splines(self) -> "BSpline":
        from scipy.interpolate import BSpline

        return BSpline(self._knots, np.eye(len(self.names)), self.degree)
