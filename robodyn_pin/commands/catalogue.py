"""The catalogue of robots, and a check of a robot's files."""

from typing import TYPE_CHECKING, Any

from robodyn_pin.commands.options import JsonOption, RobotArg, answer, verdict
from robodyn_pin.output.console import print_table

if TYPE_CHECKING:
    from robodyn_pin.dynamics.check import Report


def robots_command(as_json: JsonOption = False) -> None:
    """List the catalogue.

    Example: robodyn robots
    """
    from robodyn_pin.robot.robot import load
    from robodyn_pin.urdf import catalogue

    loaded = [load(name) for name in catalogue()]
    rows = [
        {"name": r.name, "joints": r.model.nv, "degrees of freedom": len(r.coordinates.names), "motors": len(r.motors.names),
         "loops": len(r.loops.closures), "closure equations": r.loops.size}
        for r in loaded
    ]  # fmt: skip
    answer(as_json, rows, print_table, "Robots of the catalogue", rows)


def check_command(robot: RobotArg, as_json: JsonOption = False) -> None:
    """Check a robot: do its loops close, which parameters can a log determine, which bodies cannot exist, and why?

    Ends with exit code 3 if a body cannot exist.

    Example: robodyn check irb360
    """
    from robodyn_pin.dynamics.check import check as examine
    from robodyn_pin.robot.robot import load

    found = examine(load(robot))
    facts: dict[str, Any] = {
        "tree joints": found.joints, "degrees of freedom": found.mobility, "motors": found.motors,
        "closure equations": found.closure_rows,
        "redundant closure equations": found.redundant_rows, "closure residual at home [m or rad]": found.residual,
        "home moved by closing the loops [rad or m]": found.shift,
        "base parameters": found.base.size, "of bodies": found.inertial,
        "of friction and the like": found.base.size - found.inertial,
    }  # fmt: skip
    moved = {name: {"asked": asked, "found": at} for name, (asked, at) in found.moved.items()}
    summary = facts | {
        "moved": moved, "base": found.base_labels, "not physical": found.not_physical, "too dense": found.dense,
        "other units": found.other_units, "assumed": found.assumed, "unused": found.unused,
    }  # fmt: skip
    answer(as_json, summary, _print_check, found, facts)
    verdict(not found.not_physical)


def _print_check(found: "Report", facts: dict[str, Any]) -> None:
    for what, value in facts.items():
        print(f"{what:45s}{value:.3g}" if isinstance(value, float) else f"{what:45s}{value}")
    if found.moved:
        _print_moved(found)
    if found.motors < found.mobility:
        print(
            f"{found.motors} motor{'s' if found.motors != 1 else ''} for {found.mobility} degrees of freedom: only motions that "
            "these can make have torques; for a log, also name the other measured joints under 'motors', with torques of zero"
        )
    for name, reason in found.not_physical.items():
        print(f"{name} cannot exist: {reason}")
    if not found.bodies:
        print(
            "no moving link has an <inertial>: the robot can be drawn and its loops closed, but its torques are unknown"
        )
    else:
        print(
            "robodyn repair finds the nearest bodies that can exist" if found.not_physical else "every body can exist"
        )
    for name, reason in found.dense.items():
        print(f"caution: {name}: {reason}")
    for text in found.other_units:
        print(f"caution: {text}")
    if found.unused:
        print(f"not used in the URDF: {'; '.join(found.unused)}")
    if found.assumed:
        print("assumed, not measured or published:")
        print("\n".join(f"  {line}" for line in found.assumed))


def _print_moved(found: "Report") -> None:
    """A warning: the loops close, but not where the files put the joints."""
    from robodyn_pin.dynamics.check import MOVED

    rows = [{"joint": name, "in the file": asked, "found": at} for name, (asked, at) in found.moved.items()]
    print_table("Joints that closing the loops moved from home", rows)
    print(
        f"warning: the loops close, but joints had to move by up to {found.shift:.3g} rad or m (more than {MOVED:g}): a length, a "
        "placement or a closure may be mistyped; if 'home' is only a rough start, write the positions found there"
    )
