"""Units of efforts and parameters, for labels: joints may turn or slide."""

import re

import numpy as np
import pinocchio as pin

from robodyn_pin.identification.parameters import INERTIAL
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import MEMORY, coefficient_names
from robodyn_pin.robot.robot import Robot

POSITION_UNITS = {"N m": "rad", "N": "m"}  # of what an effort acts along, by the unit of the effort
INERTIAL_UNITS = dict(zip(INERTIAL, ["kg", *["kg m"] * 3, *["kg m²"] * 6], strict=True))
# Of a coefficient along something that turns, along something that slides.
COEFFICIENT_UNITS = dict.fromkeys(
    ("coulomb", "coulomb_forward", "coulomb_back", "stribeck", "saturating", "offset"), ("N m", "N")
) | {
    "quadratic": ("N m s²/rad²", "N s²/m²"),
    "cbrt": ("N m (s/rad)^(1/3)", "N (s/m)^(1/3)"),
    "load": ("1", "1"),  # of the load
    "armature": ("kg m²", "kg"),
    "stiffness": ("N m/rad", "N/m"),
}
COEFFICIENT_UNITS |= dict.fromkeys(("viscous", "viscous_forward", "viscous_back"), ("N m s/rad", "N s/m"))


def effort_unit(model: pin.Model, row: np.ndarray) -> str:
    """Return the unit of the effort along x = row q, row (nv,): `N m`, `N`, or both where the row does not tell."""
    kinds = {"P" in model.joints[j].shortname().removeprefix("JointModel") for j in _joints(model, row)}
    if kinds == {False}:
        return "N m"
    # A motor may turn to make a joint slide; only a joint itself is known to slide.
    return "N" if kinds == {True} and np.abs(row).sum() == 1 else "N m or N"


def _joints(model: pin.Model, row: np.ndarray) -> list[int]:
    return [j for j in range(1, model.njoints) if row[model.joints[j].idx_v]]


def coordinate_units(robot: Robot) -> list[str]:
    """Return the units of the efforts along the robot's coordinates."""
    return [effort_unit(robot.model, row) for row in robot.coordinates.S]


def motor_units(robot: Robot) -> dict[str, str]:
    """Return the unit of each motor's effort, by name."""
    return {name: effort_unit(robot.model, row) for name, row in zip(robot.motors.names, robot.motors.S, strict=True)}


def effort_units(robot: Robot) -> dict[str, str]:
    """Return the unit of the effort along each motor and each coordinate, by name."""
    return motor_units(robot) | dict(zip(robot.coordinates.names, coordinate_units(robot), strict=True))


def unit_along(robot: Robot, effort: Effort) -> str:
    """Return the unit that all axes of an effort share, as `effort_unit` does for one; the members of closures turn."""
    units = {effort_unit(robot.model, row) for row in effort.rows} | ({"N m"} if effort.closures else set())
    return units.pop() if len(units) == 1 else "N m or N"


def coefficient_units(robot: Robot, effort: Effort) -> list[str]:
    """Return the units of an effort's coefficients, in the order of its labels."""
    along = unit_along(robot, effort)
    if effort.carriers:  # of a force: a friction radius, where it turns
        return [{"N m": "m", "N": "1"}.get(along, "m or 1")]
    spec, warmth = effort.spec.model_copy(update={"warmth": None}), effort.spec.warmth
    tail = " per K" if warmth and warmth.column else ""
    return [_coefficient_unit(name, spec.model, along) + tail for name in coefficient_names(spec)]


def _coefficient_unit(name: str, model: str, along: str) -> str:
    if model == "lever_spring":  # of the spring itself, between its two ends
        return "N/m"
    if model in (MEMORY, "position", "cogging"):
        turning, sliding = "N m", "N"
    elif name.startswith("x^"):
        power = int(name[2:])
        tail = raised(f"^{power}") if power > 1 else ""
        turning, sliding = ("N m", "N") if power == 0 else (f"N m/rad{tail}", f"N/m{tail}")
    else:
        turning, sliding = COEFFICIENT_UNITS[name]
    return {"N m": turning, "N": sliding}.get(along, f"{turning} or {sliding}" if turning != sliding else turning)


def raised(text: str) -> str:
    """Write powers as readers know them: x^2 becomes x²."""
    return re.sub(r"\^(\d+)", lambda power: power[1].translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")), text)


def parameter_units(robot: Robot) -> list[str]:
    """Return the units of the columns of the regressor, as `columns(robot)` labels them."""
    bodies = [unit for _ in robot.body_groups for unit in INERTIAL_UNITS.values()]
    return bodies + [unit for e in robot.efforts if not e.spec.known for unit in coefficient_units(robot, e)]
