"""The text of a first robot file: what was found and what was assumed stand in it as comments."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from robodyn_pin.robot.limits import UNKNOWN
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import RobotFile

ENDLESS = 1e6  # [rad or m] a range as wide as this is none


@dataclass
class Notes:
    """What is said beside the keys of the file: found, or assumed."""

    found: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)  # key -> comment above it


def counted_as(count: int, what: str) -> str:
    """Return a count with its noun: 1 closure, 2 closures."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def summary(robot: Robot) -> str:
    """Return how many joints, motors, ... a robot has."""
    n = len(robot.coordinates.names)
    return (
        f"{counted_as(robot.model.nv, 'joint')}, {n} degree{'' if n == 1 else 's'} of freedom, "
        f"{counted_as(len(robot.motors.names), 'motor')} ({', '.join(robot.motors.names)}), "
        f"{counted_as(len(robot.loops.closures), 'closure')}"
    )


def note_limits(robot: Robot, notes: Notes) -> None:
    """Say which limits the URDF gives, and of which motors it gives none."""
    model, lacking = robot.model, []
    for name in robot.motors.names:
        if not model.existJointName(name):
            continue
        joint = model.joints[model.getJointId(name)]
        low, high = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
        effort, speed = model.upperEffortLimit[joint.idx_v], model.upperVelocityLimit[joint.idx_v]
        said = [f"position {low:g} to {high:g}"] if high - low < ENDLESS else []
        said += [f"{what} {x:g}" for what, x in (("velocity", speed), ("effort", effort)) if 0 < x < UNKNOWN]
        lacking += [] if 0 < effort < UNKNOWN else [name]
        if said:
            notes.found.append(f"limits of {name}: {', '.join(said)}")
    if lacking:
        notes.assumed.append(f"no limit of the efforts of {', '.join(lacking)}: write them under 'limits'")


def file_text(path: Path, contents: dict[str, Any], spec: RobotFile, robot: Robot, notes: Notes) -> str:
    """Return the file with comments."""
    lines = [
        f"# {robot.name}: made by `robodyn init {path.name}`. SI units: rad, m, s, N m, N, kg.",
        f"# {summary(robot)}.",
        *(f"# found: {what}" for what in notes.found),
        *(f"# assumed: {what}" for what in notes.assumed),
    ]
    dumped = spec.model_dump(mode="json", exclude_unset=True)
    for key in contents:
        value = dumped[key]
        if key in notes.beside:
            lines.append(f"\n# {notes.beside[key]}")
        if key == "frames":
            lines += [f"{key}:", *(f"  {name}: {_flow(entry)}" for name, entry in value.items())]
        elif key in ("closures", "efforts"):
            lines += [f"{key}:", *(f"  - {_flow(entry)}" for entry in value)]
        else:
            lines.append(f"{key}: {_flow(value)}")
    sources = {f"what {path.name} says": f"unverified: read from {path.name}"}
    sources |= dict.fromkeys(notes.assumed, "assumed: by robodyn init")
    lines += ["\nsources:", *(f"  {_flow(what)}: {_flow(said)}" for what, said in sources.items())]
    return "\n".join(lines) + "\n"


def _flow(value: object) -> str:
    """Return a value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**9, sort_keys=False, allow_unicode=True).strip()
    return text.removesuffix("...").strip()
