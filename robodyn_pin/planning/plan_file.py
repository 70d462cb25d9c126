"""The plan file (YAML): the robot and its load, the path, the limits, and the settings of the plan and its table."""

from pathlib import Path as FilePath
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from robodyn_pin.errors import BadPath
from robodyn_pin.files import Positive, Strict
from robodyn_pin.planning.end_grading import End
from robodyn_pin.planning.path import Path, control, lines, through, u_turn
from robodyn_pin.robot.payload import LoadSpec
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import Limit

NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Point = list[float]  # one number for each coordinate [rad or m]
LimitKind = Literal["velocity", "acceleration", "jerk", "torque", "force", "end_effector"]


class PointsSpec(Strict):
    """A path by points: lines with rounded corners, a spline through the points, or a B-spline controlled by them."""

    kind: Literal["lines", "through", "control"]
    coordinates: list[str] | None = None  # joints or motors; default: the robot's
    points: list[Point]
    radius: NotNegative | list[NotNegative] | None = None  # of lines: from a corner to where its rounding begins

    @model_validator(mode="after")
    def _rounded(self) -> Self:
        if self.kind == "lines" and self.radius is None:
            raise ValueError("a path of lines needs a 'radius' [m, or rad where nothing slides] for its corners")
        if self.kind != "lines" and self.radius is not None:
            raise ValueError(f"a path of kind {self.kind!r} has no corners; leave 'radius' out")
        return self


class UTurnSpec(Strict):
    """A pick-and-place path: up, across and down."""

    kind: Literal["u_turn"]
    coordinates: list[str] | None = None
    start: Point  # the lower end where the path begins
    up: Point  # the move up; down is the opposite
    across: Point  # the move across
    turn: Point | None = None  # a further move, spread evenly over the path, such as a rotation; default: none
    spacing: Positive = 0.045  # [m] between the control points on the sharp U


PathSpec = Annotated[PointsSpec | UTurnSpec, Field(discriminator="kind")]


class EndEffectorLimits(Strict):
    """The largest load of the joint that carries the end-effector."""

    force: Positive | None = None  # [N] of each component
    torque: Positive | None = None  # [N m] of each component


class Margins(Strict):
    """Shares of the limits that are kept free."""

    velocity: Share = 0.0
    acceleration: Share = 0.0
    jerk: Share = 0.0
    torque: Share = 0.0
    force: Share = 0.0  # of the struts
    end_effector: Share = 0.0


class PlanFile(Strict):
    """The fastest motion along a path."""

    robot: str
    params: FilePath | None = None  # result folder of an identification
    payload: list[LoadSpec] = []
    path: PathSpec
    limits: dict[str, Limit] = {}  # by joint, motor or strut, `struts` for all; before those of the robot's files
    end_effector: EndEffectorLimits = EndEffectorLimits()
    margins: Margins = Margins()
    without: list[LimitKind] = []  # limits left out
    reduced: bool = False  # strut forces by the reduced model (arms of two struts), not by the full model's multipliers
    ends: tuple[End, End] = ("rest", "rest")  # the speed is zero at both ends; "rest": the acceleration, too
    objective: Literal["time", "speed"] = "time"  # speed: the integral of (ds/dt)^2, Gnad et al. (IRB 360), eq. (43)
    points: Annotated[int, Field(ge=10)] = 300  # number of intervals of the path
    cycle: Annotated[float, Field(ge=1e-5, le=0.1)] = 400e-6  # [s] of the controller that plays the table
    table: Literal["csv", "parquet"] = "csv"
    costs: bool = True  # plan again without each kind of limit, to tell how much time it costs
    output: FilePath | None = None


def path_of(spec: PointsSpec | UTurnSpec, robot: Robot) -> Path:
    """Return the path of a plan file, in the coordinates of the robot.

    Raises:
        BadPath: points of the wrong length, kinks, segments without length.
    """
    names = robot.coordinates.names
    sliding = robot.slides(robot.coordinates.S)
    if isinstance(spec, UTurnSpec):
        moves = {"start": spec.start, "up": spec.up, "across": spec.across, "turn": spec.turn or [0.0] * len(names)}
        start, up, across, turn = (_point(names, what, p) for what, p in moves.items())
        return u_turn(names, start, across, up, turn, spec.spacing, sliding)
    points = np.array([_point(names, f"point {k + 1}", p) for k, p in enumerate(spec.points)])
    if spec.kind == "lines":
        return lines(names, points, sliding, spec.radius or 0.0)
    return (through if spec.kind == "through" else control)(names, points, sliding)


def _point(names: tuple[str, ...], what: str, point: Point) -> np.ndarray:
    if len(point) != len(names):
        raise BadPath(f"{what} of the path has {len(point)} numbers, expected {len(names)}: {', '.join(names)}")
    return np.array(point, float)
