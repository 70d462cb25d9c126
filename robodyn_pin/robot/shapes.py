"""Bodies of simple shape in a file: balls, cylinders, hollow cylinders."""

from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from robodyn_pin.files import NotNegative, Positive, Strict
from robodyn_pin.identification.simple_bodies import ball, cylinder, moved


class ShapeSpec(Strict):
    """A body of simple shape: a ball; with `length` a cylinder; with `inner` too, a hollow one."""

    mass: Positive = 1.0  # [kg]
    radius: NotNegative = 0.1  # [m], 0: a point, where other parts have extent
    length: Positive | None = None  # [m]
    inner: Positive | None = None  # [m] radius of the hole
    axis: Literal["x", "y", "z"] = "z"  # along the cylinder; of the joint's frame, of a payload of its link's
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m] centre in the same frame

    @model_validator(mode="after")
    def _exists(self) -> Self:
        if self.inner is not None and self.length is None:
            raise ValueError(
                f"a shape with an inner radius of {self.inner:g} m needs a length: it is a hollow cylinder"
            )
        if self.inner is not None and self.inner >= self.radius:
            raise ValueError(
                f"a hollow cylinder has inner radius {self.inner:g} m and outer {self.radius:g} m; swap them?"
            )
        return self


def shape(spec: ShapeSpec) -> np.ndarray:
    """Return the parameters (10,) of a body of simple shape, about the joint's frame."""
    if spec.length is None:
        still = ball(spec.mass, spec.radius)
    else:
        still = cylinder(spec.mass, spec.radius, spec.length, spec.axis, spec.inner or 0.0)
    return moved(still, np.array(spec.at)) if any(spec.at) else still
