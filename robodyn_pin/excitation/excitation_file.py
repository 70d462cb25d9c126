"""What the run file of an exciting motion (YAML) may say."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from robodyn_pin.files import Positive, Strict
from robodyn_pin.robot.robot_file import Limit


class ControllerSpec(Strict):
    """The table that a controller plays."""

    rate: Positive = 250.0  # [Hz]
    angle: Literal["rad", "deg"] = "rad"  # prismatic motors stay in m


class ExcitationFile(Strict):
    """What a motion for identification shall be."""

    robot: str
    coordinates: list[str] | None = None  # that the series describe; default: the robot's
    period: Positive  # [s] length of the motion
    harmonics: Annotated[int, Field(ge=2)] = 5  # one alone cannot start and end at rest
    bandwidth: Positive = 10.0  # [Hz] up to which the drives follow
    centre: dict[str, float] = {}  # where random motions begin; default: the middle of the limits, or home
    limits: dict[str, Limit] = {}  # by joint or motor, and `struts`; before those of the robot's files
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.05  # part of every limit that is kept free
    # Of one sample [N m or N], by coordinate of the robot; with more motors than coordinates by motor.
    noise: dict[str, Positive] = {}
    asked: dict[str, Positive] = {}  # standard deviation wanted of parameters, by label as `robodyn check` prints them
    random: Annotated[int, Field(ge=1)] = 200  # motions that are drawn to begin with, and to compare with
    starts: Annotated[int, Field(ge=1)] = 2  # of the best, from which a search begins
    iterations: Annotated[int, Field(ge=1)] = 160  # of the one that does best after 20
    rate: Positive = 1000.0  # [Hz] of the log, and of the last check
    controller: ControllerSpec = ControllerSpec()
    output: Path | None = None
    seed: int = 0
