"""What model-based laws ask of a robot: bodies with the skew Coriolis matrix, friction at rates that do not chatter."""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.robot.friction_models import RUBBING, SHAPES, WIDTH
from robodyn_pin.robot.robot import Robot, State


@dataclass(frozen=True)
class Parts:
    """A robot model as controllers use it: what is smooth in the rates, and friction."""

    whole: Robot
    smooth: Robot  # without friction

    def friction(self, state: State) -> np.ndarray:
        """Friction along the coordinates (N, d) at closed states."""
        return coordinate_efforts(self.whole, state) - coordinate_efforts(self.smooth, state)


def parts(model: Robot, width: float | None) -> Parts:
    """The model taken apart.

    Args:
        width: [rad/s or m/s] over which friction at least takes to change its sign; None: as the model's files say.
    """
    efforts = tuple(
        replace(e, spec=e.spec.model_copy(update={"width": max(width, e.spec.width or WIDTH)}))
        if width and "width" in SHAPES.get(e.spec.model, ())
        else e
        for e in model.efforts
    )
    smooth = tuple(e for e in model.efforts if e.spec.model not in RUBBING)
    return Parts(replace(model, efforts=efforts), replace(model, efforts=smooth))
