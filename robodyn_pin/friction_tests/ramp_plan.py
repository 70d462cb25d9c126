"""The motion that shows breakaway: at each place a motor rests, and its servo's reference goes slowly to one side, then to the other."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import yaml

from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.files import write_json, write_text
from robodyn_pin.friction_tests.friction_file import BreakawaySpec, FrictionFile
from robodyn_pin.friction_tests.strokes import check_motors, unit_of
from robodyn_pin.friction_tests.sweep_plan import check_course
from robodyn_pin.motions.steps import StepMotion, stepped
from robodyn_pin.robot.robot import Robot

PUSHES = 5.0  # times 'slip' that a reference goes: enough that a soft servo breaks loose
COARSE = 20.0  # [Hz] at which limits are looked at: the motion is slow


@dataclass(frozen=True)
class RampProtocol:
    """A motion to be recorded under a soft position servo, and the same ramps for a drive that takes efforts."""

    robot: str
    motion: StepMotion
    spec: BreakawaySpec
    units: dict[str, str]  # of the motors' positions
    duration: float  # [s]

    def summary(self) -> dict[str, object]:
        """What `protocol.json` holds."""
        spec = self.spec
        about = {"robot": self.robot, "places": spec.at, "repeats": spec.repeats, "seconds of a ramp": spec.seconds}
        return about | {"slip": spec.slip, "units": self.units, "duration [s]": self.duration}

    def write(self, folder: Path) -> None:
        """Write `ramps.yaml` (for `robodyn simulate`), `ramps.csv` (for a controller) and, last, `protocol.json`."""
        text = yaml.safe_dump(
            self.motion.model_dump(exclude_defaults=True), sort_keys=False, width=120, default_flow_style=None
        )
        rows = [
            (name, at, sign, self.spec.rest, self.spec.seconds, self.spec.slip)
            for name, places in self.spec.at.items()
            for at in places
            for sign in [1, -1] * self.spec.repeats
        ]
        heads = ["motor", "at", "sign", "rest_seconds", "seconds_to_greatest_effort", "stop_when_moved_by"]
        write_text(folder / "ramps.yaml", text)
        write_text(folder / "ramps.csv", pl.DataFrame(rows, heads, orient="row").write_csv(float_precision=8))
        write_json(folder / "protocol.json", self.summary())


def plan_ramps(run: FrictionFile, robot: Robot) -> RampProtocol:
    """The ramps that a friction file asks for, checked against the robot's limits.

    Raises:
        UnknownName: no such motor or coordinate. RobodynError: a place out of reach, and which limit stops it.
    """
    spec, names = run.breakaway, robot.coordinates.names
    if spec is None:
        raise RobodynError("ramps are planned for 'breakaway: {at: {MOTOR: [PLACE, ...]}}'")
    check_motors(robot, list(spec.at))
    for name in (*spec.at, *spec.pose):
        if name not in names:
            raise UnknownName("coordinate", name, "the robot's coordinates, along which ramps go", names)
    home = (
        dict(zip(names, (robot.coordinates.S @ robot.home + robot.coordinates.offset).tolist(), strict=True))
        | spec.pose
    )
    push, poses = spec.push or PUSHES * spec.slip, []
    for name, places in spec.at.items():
        for at in places:
            for sign in [1, -1] * spec.repeats:
                poses += [home | {name: at}, home | {name: round(at + sign * push, 9)}]
            poses.append(home | {name: at})
    note = f"ramps of {robot.name} at standstill: a soft servo's effort rises until the motor breaks away"
    motion = StepMotion(rate=spec.rate, hold=spec.rest, ramp=spec.seconds, poses=poses, note=note)
    check_course(
        robot, stepped(motion.model_copy(update={"rate": COARSE}), names), "the motion of the ramps", "'breakaway: at'"
    )
    duration = len(poses) * (spec.rest + spec.seconds) - spec.seconds
    units = {name: unit_of(robot, name).position for name in spec.at}
    return RampProtocol(robot.name, motion, spec, units, duration)
