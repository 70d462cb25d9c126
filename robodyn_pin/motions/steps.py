"""Motions in steps: poses that are held (noise, gravity) and speeds that are held (friction), smooth ramps between them."""

from typing import Self

import numpy as np
from pydantic import model_validator
from scipy.interpolate import BPoly

from robodyn_pin.errors import UnknownName
from robodyn_pin.files import Positive, Strict
from robodyn_pin.motions.samples import samples_of


class StepMotion(Strict):
    """Coordinates that hold one pose, or turn at one speed, after the other; what a step does not name is at its centre."""

    rate: Positive  # [Hz]
    hold: Positive  # [s] each step
    ramp: Positive  # [s] between two steps, without a jump of the acceleration
    centre: dict[str, float] = {}  # [rad or m], zero where not named
    poses: list[dict[str, float]] = []  # [rad or m]
    speeds: list[dict[str, float]] = []  # [rad/s or m/s], from rest to rest
    note: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.poses) == bool(self.speeds):
            raise ValueError("a motion in steps has either 'poses' or 'speeds', one entry a step")
        return self


def stepped(motion: StepMotion, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time (N,) and coordinates, rates, accelerations (N, d) of a motion in steps.

    Raises:
        UnknownName: a coordinate that is not there.
    """
    steps = motion.poses or motion.speeds
    for step in (motion.centre, *steps):
        for name in step:
            if name not in names:
                raise UnknownName("coordinate", name, "the motion file", names)
    centre = np.array([motion.centre.get(name, 0.0) for name in names])
    if motion.poses:
        held = [[step.get(name, x) for name, x in zip(names, centre, strict=True)] for step in steps]
        begins = np.arange(len(steps)) * (motion.hold + motion.ramp)
    else:
        held = [[step.get(name, 0.0) for name in names] for step in ({}, *steps, {})]
        begins = np.arange(len(held)) * (motion.hold + motion.ramp)
    knots = np.column_stack([begins, begins + motion.hold]).ravel()
    values = np.repeat(np.array(held, float), 2, axis=0)
    # Quintic pieces: value given, its first two derivatives zero at both ends of every hold.
    profile = BPoly.from_derivatives(knots, np.stack([values, 0 * values, 0 * values], axis=1))
    t = np.arange(samples_of(float(knots[-1]), motion.rate)) / motion.rate
    if motion.poses:
        return t, profile(t), profile(t, 1), profile(t, 2)
    return t, centre + profile.antiderivative()(t), profile(t), profile(t, 1)
