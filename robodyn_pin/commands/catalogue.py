"""What there is to work with: the catalogue, and what the files of a robot say."""

from typing import TYPE_CHECKING, Any

from robodyn_pin.commands.options import JsonOption, RobotArg, answer, verdict
from robodyn_pin.console import print_table

if TYPE_CHECKING:
    from robodyn_pin.check import Report


def robots(as_json: JsonOption = False) -> None:
    """List the catalogue.

    Example: robodyn robots
    """
    from robodyn_pin.robot import load
    from robodyn_pin.urdf import catalogue

    loaded = [load(name) for name in catalogue()]
    rows = [
        {"name": r.name, "joints": r.model.nv, "degrees of freedom": len(r.coordinates.names), "motors": len(r.motors.names),
         "loops": len(r.loops.closures), "closure equations": r.loops.size}
        for r in loaded
    ]  # fmt: skip
    answer(as_json, rows, print_table, "Robots of the catalogue", rows)


def check(robot: RobotArg, as_json: JsonOption = False) -> None:
    """Do the loops close? What can a log show of the robot? Which bodies cannot exist, and why?

    Ends with exit code 3 if a body cannot exist.

    Example: robodyn check irb360
    """
    from robodyn_pin.check import check as examine
    from robodyn_pin.robot import load

    found = examine(load(robot))
    facts: dict[str, Any] = {
        "tree joints": found.joints, "degrees of freedom": found.mobility, "closure equations": found.closure_rows,
        "redundant closure equations": found.redundant_rows, "closure residual at home [m or rad]": found.residual,
        "base parameters": found.base.size, "of bodies": found.inertial,
        "of friction and the like": found.base.size - found.inertial,
    }  # fmt: skip
    summary = facts | {"base": found.base_labels, "not physical": found.not_physical, "assumed": found.assumed,
                       "too dense": found.dense}  # fmt: skip
    answer(as_json, summary, _print_check, found, facts)
    verdict(not found.not_physical)


def _print_check(found: "Report", facts: dict[str, Any]) -> None:
    for what, value in facts.items():
        print(f"{what:38s}{value:.3g}" if isinstance(value, float) else f"{what:38s}{value}")
    for name, reason in found.not_physical.items():
        print(f"{name} cannot exist: {reason}")
    print("robodyn repair finds the nearest that can" if found.not_physical else "every body can exist")
    for name, reason in found.dense.items():
        print(f"caution: {name}: {reason}")
    if found.assumed:
        print("assumed, not measured or published:")
        print("\n".join(f"  {line}" for line in found.assumed))
