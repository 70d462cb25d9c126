"""Repair published parameters that no body can have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from robodyn_pin.commands.options import JsonOption, RobotArg, answer
from robodyn_pin.output.console import print_table

if TYPE_CHECKING:
    from robodyn_pin.dynamics.repair import Repair


def repair_command(
    robot: RobotArg,
    metric: Annotated[
        Literal["euclidean", "torque"],
        typer.Option(
            help="Distance that is minimised: of the bodies' pseudo-inertias about their centres of mass, or of the torques of random motions."
        ),
    ] = "euclidean",
    thinnest: Annotated[
        float,
        typer.Option(
            help="Least thickness of a repaired body, over its largest radius of gyration.", min=1e-4, max=0.5
        ),
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="Seed of the random motions.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder to write; default: results/ROBOT_repaired.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Replace bodies that cannot exist by the nearest ones that can, and show how the motors' torques change.

    Bodies that can exist stay as they are. The euclidean metric keeps masses and centres of mass; the metric `torque`
    changes both if that keeps the torques. Writes a robot (URDF and YAML) and repair.json.

    Example: robodyn repair irb2400_printed
    """
    from robodyn_pin.dynamics.repair import repair_robot
    from robodyn_pin.files import prepare_folder
    from robodyn_pin.robot.robot import load

    model = load(robot)
    found = repair_robot(model, metric, thinnest, seed)
    if not any(found.found.reasons):
        answer(
            as_json, found.summary(), print, f"every body of {model.name} can exist; nothing to repair, nothing written"
        )
        return
    folder = out or Path("results") / f"{model.name}_repaired"
    prepare_folder(folder)
    files = found.write(folder)
    answer(as_json, found.summary(), _print_repair, found, files)


def _print_repair(found: "Repair", files: list[Path]) -> None:
    from robodyn_pin.robot.units import motor_units

    summary = found.summary()
    for body in summary["repaired"]:
        print(f"{body['body']}: {body['reason']}")
    changed = [
        {"body": body["body"], "quantity": name, "before": f"{round(old, 12) + 0.0:.5g}", "after": f"{round(new, 12) + 0.0:.5g}"}
        for body in summary["repaired"]
        for name, new in body["after"].items()
        if abs(new - (old := body["before"].get(name, float("nan")))) > 1e-9 * max(map(abs, body["after"].values())) or old != old
    ]  # fmt: skip
    print_table(f"Nearest bodies that can exist ({summary['metric']}); the others stay as they are", changed)
    units = motor_units(found.robot)
    torques = [{"motor": row["motor"], "unit": units[row["motor"]]} | row for row in summary["torques"]]
    print_table("Torques of random motions within the limits", torques)
    print(", ".join(str(path) for path in files))
