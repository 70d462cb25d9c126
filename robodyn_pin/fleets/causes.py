"""What may differ between robots of one type: a coefficient of friction, an entry of a body, a whole body, a motor's constant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import parameter_units

SEEN = 1e-9  # of a direction, in units of what all logs leave open: below, no log shows it


@dataclass(frozen=True)
class PossibleCause:
    """Something that one robot may have otherwise than the others."""

    name: str
    unit: str  # of its size; empty: a share of itself
    direction: np.ndarray  # (r,) change of the base parameters for a size of one; empty for a motor's constant
    usual: float  # of the type, in the same unit
    motor: int = -1  # whose torques all grow by the size

    @property
    def wears(self) -> bool:
        """Whether it may change while the robot works."""
        return self.motor >= 0 or ("(" in self.name and not self.unit.startswith("kg"))

    def says(self, size: float, deviation: float) -> str:
        """A sentence on a difference of so many of its units."""
        if not self.unit:
            return f"{self.name} {100 * size:+.1f} % (+- {196 * deviation:.1f} %)"
        share = f", {100 * size / self.usual:+.0f} %" if abs(self.usual) > 1e-12 * abs(size) else ""
        return f"{self.name} {size:+.3g} {self.unit} (+- {1.96 * deviation:.2g}{share})"


def causes_of(
    robot: Robot, layout: Layout, base: BaseSet, values: np.ndarray, drawn: np.ndarray, open_: np.ndarray
) -> list[PossibleCause]:
    """All causes that the logs show.

    What a share of a whole body is the robot's files say: logs show sums of bodies, which they do not tell apart.

    Args:
        values: (p,) of the type. drawn: (p,) of the robot's files. open_: (r,) standard deviations of the type's base parameters.
    """
    B, units, labels = base.matrix, parameter_units(robot), layout.labels
    found = [
        PossibleCause(label, unit, B[:, k], float(values[k]))
        for k, (label, unit) in enumerate(zip(labels, units, strict=True))
    ]
    for i, body in enumerate(layout.bodies):
        own = slice(10 * i, 10 * i + 10)
        found.append(PossibleCause(f"body {body}", "", B[:, own] @ drawn[own], 1.0))
    shown = [cause for cause in found if np.linalg.norm(cause.direction / open_) > SEEN * len(open_)]
    return shown + [
        PossibleCause(f"motor constant of {name}", "", np.zeros(0), 1.0, k) for k, name in enumerate(scalable(robot))
    ]


def scalable(robot: Robot) -> Sequence[str]:
    """Motors whose torque is the effort along a coordinate of its own: only there a log's factor tells what their constant does."""
    square = np.array_equal(robot.motors.S, robot.coordinates.S)
    return robot.motors.names if square else ()
