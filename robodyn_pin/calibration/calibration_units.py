"""Units of the files of a calibration."""

from typing import Literal

import numpy as np

from robodyn_pin.files import Strict


class CalibrationUnits(Strict):
    """Units of a file of measurements, or of a path."""

    length: Literal["m", "mm"] = "m"  # of points, distances and sliding joints
    angle: Literal["rad", "deg"] = "rad"  # of turning joints and of rotation vectors

    @property
    def factors(self) -> tuple[float, float]:
        """A length and an angle of the file in m and rad."""
        return 1e-3 if self.length == "mm" else 1.0, np.pi / 180 if self.angle == "deg" else 1.0
