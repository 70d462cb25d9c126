"""Units of the files of a calibration."""

from typing import Literal

import numpy as np

from robodyn_pin.files import Strict


class CalibrationUnits(Strict):
    """Units of a file of measurements, or of a path."""

    length: Literal["m", "mm"] = "m"  # of points, distances and sliding joints
    angle: Literal["rad", "deg"] = "rad"  # of turning joints and of rotation vectors
    force: Literal["N", "kN"] = "N"  # of loads; their moments in N m or kN m

    @property
    def factors(self) -> tuple[float, float]:
        """A length and an angle of the file in m and rad."""
        return 1e-3 if self.length == "mm" else 1.0, np.pi / 180 if self.angle == "deg" else 1.0

    @property
    def newton(self) -> float:
        """A force of the file in N."""
        return 1e3 if self.force == "kN" else 1.0
