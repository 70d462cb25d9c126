"""What is measured at a robot's poses: points, full poses, distances, touched planes, further encoders."""

from typing import Literal

from pydantic import model_validator

from robodyn_pin.files import Positive, Strict

Vector = tuple[float, float, float]
COLUMNS = {
    "point": ("x", "y", "z"),
    "pose": ("x", "y", "z", "rx", "ry", "rz"),
    "distance": ("distance",),
    "plane": ("height",),
    "encoder": ("angle",),
}


class TargetSpec(Strict):
    """One thing that is measured; its columns are NAME_x, NAME_y, ... of its name, an empty cell was not measured."""

    kind: Literal["point", "pose", "distance", "plane", "encoder"] = "point"
    frame: str | None = None  # frame of the robot that it is fixed to; not of an encoder
    at: Vector = (0.0, 0.0, 0.0)  # where in that frame [m]
    to: Vector = (0.0, 0.0, 0.0)  # the other end of a distance, at rest [m, axes of the measurements]
    normal: Vector = (0.0, 0.0, 1.0)  # of a plane that is touched, axes of the measurements
    joint: str | None = None  # whose position an encoder reads
    sigma: Positive = 2e-5  # standard deviation of each number [m; rad of an encoder]
    sigma_angle: Positive = 1e-4  # of each angle of a pose [rad]

    @model_validator(mode="after")
    def _whole(self) -> "TargetSpec":
        if self.kind == "encoder" and (self.joint is None or self.frame is not None):
            raise ValueError("an encoder has a 'joint' and no 'frame'")
        if self.kind != "encoder" and (self.frame is None or self.joint is not None):
            raise ValueError(f"a {self.kind} has a 'frame' of the robot and no 'joint'")
        if not any(self.normal):
            raise ValueError("'normal' is zero and has no direction")
        return self

    @property
    def rows(self) -> int:
        """How many numbers a pose gives."""
        return len(COLUMNS[self.kind])
