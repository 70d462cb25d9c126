"""Friction of a motor that turns freely, from logs that hold one speed after the other: points, curves, files.

Protocol: hold each speed, slow to fast, in both directions, long enough that the torque settles (1 s and longer, one
turn and longer), while the other motors stand still. `robodyn simulate` takes such a motion as `speeds:`.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field

from robodyn_pin.effort_models import WIDTH, EffortSpec, basis, coefficient_names
from robodyn_pin.errors import BadLog, RobodynError, UnknownName
from robodyn_pin.files import Strict, resolve, write_json, write_text, write_whole
from robodyn_pin.identification.friction_curve import CurveFit, Points, fit_curve, friction_points
from robodyn_pin.identification.steady import steady_parts
from robodyn_pin.motion import Log, Units, read_log, uniform
from robodyn_pin.robot import Robot
from robodyn_pin.run_file import LogSpec, Positive, rows_of

Curve = Literal["linear", "stribeck", "saturating"]
# What a robot file calls the efforts of each curve; one of them bends with a speed.
COULOMB, VISCOUS = {"of": "x", "model": "coulomb", "width": WIDTH}, {"of": "x", "model": "viscous"}
BENT = {"of": "x", "width": WIDTH, "speed": 1.0}
EFFORTS: dict[Curve, tuple[EffortSpec, ...]] = {
    "linear": (EffortSpec.model_validate(COULOMB), EffortSpec.model_validate(VISCOUS)),
    "stribeck": (EffortSpec.model_validate({"model": "stribeck"} | BENT),),
    "saturating": (EffortSpec.model_validate({"model": "saturating"} | BENT),),
}
ONE_TURN = 2 * np.pi


class SteadySpec(Strict):
    """What counts as constant speed."""

    shortest: Positive = 0.3  # [s]
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.02  # change of speed, relative
    slowest: Positive = 0.05  # [rad/s or m/s], slower is standing still


class FrictionFile(Strict):
    """A friction curve: from logs of constant speeds to coefficients."""

    robot: str
    logs: list[LogSpec] = Field(min_length=1)
    motor: str
    model: Curve = "saturating"  # the others are fitted for comparison
    columns: dict[str, str] = {}
    units: Units = Units()
    steady: SteadySpec = SteadySpec()
    output: Path | None = None


@dataclass(frozen=True)
class FrictionResult:
    """Points and curves of one motor."""

    robot: str
    motor: str
    unit: str  # of the effort
    model: Curve
    points: Points
    fits: dict[Curve, CurveFit]
    left_out: dict[Curve, str]  # curves for comparison that the points do not give, and why
    warnings: tuple[str, ...]
    simulated: bool

    @property
    def efforts(self) -> list[dict[str, object]]:
        """Entries for the robot file's `efforts:`."""
        fit, found, k = self.fits[self.model], [], 0
        for spec in EFFORTS[self.model]:
            count = len(coefficient_names(spec))
            values = [float(f"{x:.6g}") for x in fit.coefficients[k : k + count]]
            entry: dict[str, object] = {"of": self.motor, "model": spec.model}
            entry["initial"] = values if count > 1 else values[0]
            if spec.width is not None:
                entry["width"] = spec.width
            if spec.speed is not None and fit.shape is not None:
                entry["speed"] = float(f"{fit.shape:.6g}")
            found.append(entry)
            k += count
        return found

    def summary(self) -> dict[str, object]:
        """What `friction.json` holds."""
        found = {
            name: {
                "coefficients": dict(zip(names(name), fit.coefficients.tolist(), strict=True)),
                "deviations": dict(zip(names(name), [_number(x) for x in fit.deviations], strict=True)),
                "speed": fit.shape,
                "speed_deviation": _number(fit.shape_deviation),
                "rmse": fit.rmse,
            }
            for name, fit in self.fits.items()
        }
        return {
            "robot": self.robot, "motor": self.motor, "simulated": self.simulated, "unit": self.unit, "model": self.model,
            "points": len(self.points.speed), "warnings": list(self.warnings),
            "fits": found,
            "left out": {**self.left_out},
            "efforts": self.efforts,
        }  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write `friction.csv` (points), `friction.svg` and, last, `friction.json`."""
        from robodyn_pin.viz.friction import friction_figure
        from robodyn_pin.viz.plots import svg_file

        p = self.points
        named = {"speed": p.speed, "effort": p.effort, "deviation": p.deviation, "error_of_mean": p.error,
                 "samples": p.samples.astype(int)}  # fmt: skip
        table = pl.DataFrame(named | {str(name): fit.predicted for name, fit in self.fits.items()})
        write_whole(folder / "friction.csv", table.write_csv)
        write_text(folder / "friction.svg", svg_file(friction_figure(self), "friction"))
        write_json(folder / "friction.json", self.summary())


def _number(x: float | None) -> float | None:
    """JSON knows no infinity: what is not shown is null."""
    return float(x) if x is not None and np.isfinite(x) else None


def names(curve: Curve) -> list[str]:
    """Names of a curve's coefficients."""
    return [name for spec in EFFORTS[curve] for name in coefficient_names(spec)]


def curve_columns(curve: Curve, w: np.ndarray, shape: float) -> np.ndarray:
    """Columns (n, k) of a curve at speeds w (n,) that bends at the speed `shape`."""
    bent = [s.model_copy(update={"speed": shape}) if s.speed is not None else s for s in EFFORTS[curve]]
    return np.concatenate([basis(s, 0 * w, w, 0 * w) for s in bent], axis=1)


def measure(run: FrictionFile, folder: Path, robot: Robot) -> FrictionResult:
    """Points and curves of the logs that a file names; paths start from `folder`.

    Raises:
        UnknownName: no such motor. RobodynError: it cannot turn freely; too few speeds for the model.
        BadLog: nowhere a constant speed.
    """
    motors = robot.motors.names
    if run.motor not in motors:
        raise UnknownName("motor", run.motor, f"robot {robot.name!r}", motors)
    _check_free(robot, run.motor)
    speeds: list[float] = []
    efforts: list[np.ndarray] = []
    simulated = False
    for named in run.logs:
        log = uniform(read_log(resolve(folder, named.file), robot, run.columns, run.units))
        log = log.section(*rows_of(named, log.size))
        simulated |= log.simulated
        found = _steady(log, motors.index(run.motor), run.steady)
        speeds += [speed for speed, _ in found]
        efforts += [effort for _, effort in found]
    if not speeds:
        raise BadLog(
            f"{', '.join(str(named.file) for named in run.logs)}: motor {run.motor!r} turns nowhere for "
            f"{run.steady.shortest:g} s at a constant speed above {run.steady.slowest:g} per second (change below "
            f"{100 * run.steady.tolerance:g} %); hold each speed longer, or set 'steady: {{shortest, tolerance, slowest}}'"
        )
    return fit_curves(run, friction_points(speeds, efforts), robot, simulated)


def fit_curves(run: FrictionFile, points: Points, robot: Robot, simulated: bool) -> FrictionResult:
    """The model that was asked for, which must fit, and the others where the points give them."""
    fits: dict[Curve, CurveFit] = {}
    left_out: dict[Curve, str] = {}
    for curve, specs in EFFORTS.items():
        bends = any(spec.speed is not None for spec in specs)
        try:
            fits[curve] = fit_curve(points, partial(curve_columns, curve), bends, names(curve))
        except RobodynError as error:
            if curve == run.model:
                raise
            left_out[curve] = str(error)
    unit = "N" if _joint_kind(robot, run.motor) == "prismatic" else "N m"
    return FrictionResult(
        robot.name, run.motor, unit, run.model, points, fits, left_out, _warnings(points, fits[run.model]), simulated
    )


def _warnings(points: Points, fit: CurveFit) -> tuple[str, ...]:
    found = []
    if (points.speed > 0).all() or (points.speed < 0).all():
        side = "positive" if (points.speed > 0).all() else "negative"
        found.append(
            f"all speeds are {side}: whether friction is the same in the other direction is unknown, and a constant load "
            "(gravity, an offset of the torque sensor) cannot be told from Coulomb friction"
        )
    if fit.shape is not None and not np.isfinite(fit.shape_deviation or 0.0):
        found.append("the points do not show at which speed the curve bends; hold slower or faster speeds")
    return tuple(found)


def _steady(log: Log, k: int, spec: SteadySpec) -> list[tuple[float, np.ndarray]]:
    """Mean speed and torques of each steady part; whole turns where there is one, so that what repeats averages out."""
    assert log.tau is not None
    q, tau, found = log.q[:, k], log.tau[:, k], []
    for part in steady_parts(q, log.rate, spec.shortest, spec.tolerance, spec.slowest):
        turned = np.abs(q[part] - q[part.start])
        turns = np.floor(turned[-1] / ONE_TURN)
        end = part.start + int(np.searchsorted(turned, turns * ONE_TURN)) if turns else part.stop
        count = end - part.start
        found.append((float(q[end - 1] - q[part.start]) * log.rate / (count - 1), tau[part.start : end]))
    return found


def _check_free(robot: Robot, motor: str) -> None:
    limit = robot.file.limits.get(motor)
    span = limit.position[1] - limit.position[0] if limit and limit.position else np.inf
    if _joint_kind(robot, motor) == "revolute" and span < ONE_TURN:
        raise RobodynError(
            f"motor {motor!r} of robot {robot.name!r} cannot turn freely: its limits are {span:.3g} rad apart, so that it "
            "holds no speed for long and carries more than friction; `robodyn identify` finds its friction from a rich motion"
        )


def _joint_kind(robot: Robot, motor: str) -> str:
    """revolute or prismatic, of the first joint that the motor moves."""
    row = robot.motors.S[robot.motors.names.index(motor)]
    joint = robot.model.joints[1 + int(np.argmax(np.abs(row)))]
    return "prismatic" if "JointModelP" in joint.shortname() else "revolute"
