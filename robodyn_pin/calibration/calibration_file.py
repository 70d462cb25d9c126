"""What the run file (YAML) of a calibration may say."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from robodyn_pin.calibration.calibration_units import CalibrationUnits
from robodyn_pin.calibration.correction import DrawnPathSpec
from robodyn_pin.calibration.geometry_errors import Tolerances
from robodyn_pin.calibration.measured_loads import DriveSpringsSpec, MeasuredLoadSpec
from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.files import Strict


class CalibrationFile(Strict):
    """Run file of `robodyn calibrate`."""

    robot: str
    measurements: Path  # CSV: a column for each coordinate, and NAME_x, NAME_y, NAME_z, ... for each target
    columns: dict[
        str, str | int
    ] = {}  # of the CSV under other names than ours; of one without a header their numbers, from 1
    units: CalibrationUnits = CalibrationUnits()
    coordinates: list[str] | None = (
        None  # joints or motors whose positions the file has; default: the motors, where they are as many as needed
    )
    targets: Annotated[dict[str, TargetSpec], Field(min_length=1)]  # what is measured, by name
    calibrate: Annotated[list[str], Field(min_length=1)] = [
        "offsets",
        "joints",
        "closures",
        "lengths",
        "base",
        "tool",
    ]  # groups, or single errors by name
    tolerances: Tolerances = Tolerances()  # by how much the machine may differ from its drawing
    drives: DriveSpringsSpec | None = None  # springs in the drives; default: they are rigid
    load: MeasuredLoadSpec | None = None  # where loads act; goes with `drives`
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.25  # share of the poses that no fit sees
    path: DrawnPathSpec | None = None  # a path to correct for a controller that keeps the drawn geometry
    output: Path | None = None

    @model_validator(mode="after")
    def _together(self) -> "CalibrationFile":
        if (self.drives is None) != (self.load is None):
            missing = "drives: {stiffness: ...}" if self.drives is None else "load: {frame: ...}"
            raise ValueError(f"'drives' and 'load' go together: loads deflect drives that yield; add '{missing}'")
        return self
