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


def skew_efforts(smooth: Robot, q: np.ndarray, cd: np.ndarray, along: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """M c'' + C(c, c') w + gravity and springs along the coordinates (N, d), where dM/dt - 2 C is skew.

    The bias h is quadratic in the rates and C w its polar form: C(c') w = h((c' + w) / 2) - h((c' - w) / 2). That is the matrix of
    Christoffel's symbols, of bodies and loops alike; it need not be built.

    Args:
        smooth: a robot without friction. q: closed joint positions (N, nv). cd: rates c' (N, d). along: w (N, d). cdd: c'' (N, d).

    Source: Slotine & Li 1987; Ortega & Spong 1989.
    """
    none = np.zeros_like(cd)
    rates, accelerations = np.concatenate([(cd + along) / 2, (cd - along) / 2, none]), np.concatenate([cdd, none, none])
    state = smooth.state(np.tile(q, (3, 1)), rates, accelerations)
    plus, minus, still = coordinate_efforts(smooth, state).reshape(3, *cd.shape)
    return np.asarray(plus - minus + still)
