"""Motions as Fourier series."""

import numpy as np
from pydantic import Field

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import Strict
from robodyn_pin.motions.samples import samples_of


class FourierMotion(Strict):
    """Coordinates c(t) = centre + sum_k a_k sin(k w t) + b_k cos(k w t), w = 2 pi / period."""

    rate: float = Field(gt=0)  # [Hz]
    duration: float = Field(gt=0)  # [s]
    period: float = Field(gt=0)  # [s]
    coordinates: list[str] | None = None  # that the series describe; default: the robot's
    centre: dict[str, float]  # [rad or m]
    sin: dict[str, list[float]] = {}
    cos: dict[str, list[float]] = {}
    note: str = ""


def fourier(motion: FourierMotion, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time (N,) and coordinates, rates, accelerations (N, d) of a Fourier motion.

    Raises:
        UnknownName: a series for a coordinate that is not there.
        BadFile: a coordinate without a centre.
    """
    for series in (motion.centre, motion.sin, motion.cos):
        for name in series:
            if name not in names:
                raise UnknownName("coordinate", name, "the motion file", names)
    for name in names:
        if name not in motion.centre:
            raise BadFile(f"the motion file gives no centre for coordinate {name!r}")
    t = np.arange(samples_of(motion.duration, motion.rate)) / motion.rate
    c = np.tile([motion.centre[name] for name in names], (len(t), 1)).astype(float)
    cd, cdd = np.zeros_like(c), np.zeros_like(c)
    for j, name in enumerate(names):
        for k, a in enumerate(motion.sin.get(name, []), start=1):
            w = 2 * np.pi * k / motion.period
            s, o = np.sin(w * t), np.cos(w * t)
            c[:, j] += a * s
            cd[:, j] += a * w * o
            cdd[:, j] -= a * w**2 * s
        for k, b in enumerate(motion.cos.get(name, []), start=1):
            w = 2 * np.pi * k / motion.period
            s, o = np.sin(w * t), np.cos(w * t)
            c[:, j] += b * o
            cd[:, j] -= b * w * s
            cdd[:, j] -= b * w**2 * o
    return t, c, cd, cdd
