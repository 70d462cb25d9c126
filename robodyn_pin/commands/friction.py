"""Friction over speed: plan the sweeps to record, and fit curves to recorded ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of
from robodyn_pin.output.console import SIMULATED, print_table

if TYPE_CHECKING:
    from robodyn_pin.friction_tests.result import FrictionResult
    from robodyn_pin.friction_tests.sweep_plan import Protocol


def friction_command(
    run: Annotated[Path, typer.Argument(help="Friction file (.yaml): robot, motor or sweeps, logs, model.")],
    out: OutOption = None,
    protocol: Annotated[
        bool, typer.Option("--protocol", help="Instead, plan the sweeps: the motion to record, one motor at a time.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure friction over speed, from logs of constant speeds in both directions.

    A motor that turns freely ('motor') holds one speed after the other. A motor that carries a load ('sweeps') passes a
    reference angle at each speed, back and forth, while the others stand where gravity loads it least; the mean over both
    directions at equal positions removes gravity. The steady parts of the log give one point per speed; three models are fitted.

    Example: robodyn friction examples/irb2400_friction.yaml --protocol --out results/irb2400_sweeps

    Example: robodyn friction examples/irb360_campaign/3_friction.yaml --out results/irb360_campaign/friction
    """
    from robodyn_pin.files import read_yaml
    from robodyn_pin.friction_tests.friction_file import FrictionFile
    from robodyn_pin.robot.robot import load_named

    settings = read_yaml(run, FrictionFile)
    folder = folder_of(run, settings, out)
    robot = load_named(settings.robot, run.parent)
    if protocol:
        from robodyn_pin.friction_tests.sweep_plan import plan_sweeps

        planned = plan_sweeps(settings, robot)
        planned.write(folder)
        answer(as_json, planned.summary(), _print_protocol, planned, folder)
    elif settings.sweeps:
        from robodyn_pin.friction_tests.loaded_motor import measure_sweeps
        from robodyn_pin.output.friction import write_sweeps

        swept = measure_sweeps(settings, run.parent, robot)
        write_sweeps(swept, folder)
        title = f"Friction of {swept.robot.name}, half of the difference of both directions"
        files = f"points, curves, pictures: {folder / 'friction.csv'}, friction.json, friction_M.svg, passages_M.svg\n"
        files += f"the robot with this friction: {folder / swept.robot.name}_friction.yaml"
        answer(as_json, swept.summary(), _print_friction, swept.motors, title, swept.simulated, files)
    else:
        from robodyn_pin.friction_tests.free_motor import measure
        from robodyn_pin.output.friction import write_friction

        result = measure(settings, run.parent, robot)
        write_friction(result, folder)
        files = f"points, curves and picture: {folder / 'friction.csv'}, friction.json, friction.svg"
        title = f"Friction of {result.motor}"
        answer(as_json, result.summary(), _print_friction, {result.motor: result}, title, result.simulated, files)


def _print_protocol(planned: "Protocol", folder: Path) -> None:
    speeds = planned.motion.sweeps[0].speeds
    rows = [
        {"motor": p.sweep.of, "reference [rad or m]": f"{p.sweep.at:g}", "others stand at [rad or m]": ", ".join(f"{m} {x:.3g}" for m, x in p.sweep.others.items()),
         "gravity [rms]": f"{round(p.load, 6):.3g} {p.unit}", "range over poses of the others": f"{round(p.range[0], 6):.3g} to {round(p.range[1], 6):.3g}"}
        for p in planned.posed
    ]  # fmt: skip
    print_table(
        f"Sweeps of {planned.robot}: effort of gravity over each sweep, and its range over the poses of the other motors",
        rows,
    )
    print(
        f"{len(speeds)} speeds from {speeds[0]:g} to {speeds[-1]:g} rad/s or m/s, back and forth, "
        f"{planned.duration / 60:.0f} minutes"
    )
    if heavy := planned.heavy:
        print(
            f"no pose of the others removes gravity from {', '.join(heavy)}: the mean over both directions at equal positions removes it"
        )
    print(f"motion and table for a controller: {folder / 'sweeps.yaml'}, passages.csv, protocol.json")


def _print_friction(motors: "Mapping[str, FrictionResult]", title: str, simulated: bool, written: str) -> None:
    """What is found of each motor, what counted as constant speed, and the other curves."""
    from robodyn_pin.friction_tests.strokes import even_text

    if simulated:
        print(SIMULATED)
    rows = [
        {"motor": name if k == 0 else "", "quantity": q.name, "found, with half width of 95 %": str(q)}
        for name, result in motors.items()
        for k, q in enumerate(result.quantities)
    ]
    print_table(title, rows)
    for name, result in motors.items():
        curves = ", ".join(
            f"{curve} {fit.rmse:.2g}{' (counts)' if curve == result.model else ''}"
            for curve, fit in result.fits.items()
        )
        print(f"{name}: {len(result.points.speed)} points; rms of the curves [{result.unit.effort}]: {curves}")
        for curve, why in result.left_out.items():
            print(f"{name}: {curve}: {why}")
        for warning in result.warnings:
            print(f"note: {name}: {warning}")
    for even in dict.fromkeys(even_text(result.even, result.unit) for result in motors.values()):
        print(even)
    print(written)
