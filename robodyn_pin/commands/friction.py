"""Friction over speed: plan the sweeps to record, and fit curves to recorded ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of
from robodyn_pin.output.console import SIMULATED, print_table

if TYPE_CHECKING:
    from robodyn_pin.friction_tests.loaded_motor import SweepResult
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
        answer(as_json, swept.summary(), _print_sweeps, swept, folder)
    else:
        from robodyn_pin.friction_tests.free_motor import measure
        from robodyn_pin.output.friction import write_friction

        result = measure(settings, run.parent, robot)
        write_friction(result, folder)
        answer(as_json, result.summary(), _print_curves, result, folder)


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


def _print_sweeps(swept: "SweepResult", folder: Path) -> None:
    from robodyn_pin.friction_tests.result import friction_quantities

    if swept.simulated:
        print(SIMULATED)
    rows = []
    for name, result in swept.motors.items():
        fit = result.fits[result.model]
        found = {q.name: _with_reach(q.value, q.reach) for q in friction_quantities(fit, result.model)}
        rms = f"{fit.rmse:.2g} {result.unit}"
        rows.append({"motor": name, **found, "rms": rms, "speeds": len(result.points.speed)})
    model = next(iter(swept.motors.values())).model
    print_table(f"Friction of {swept.robot.name}, {model}, with half widths of 95 % intervals [SI]", rows)
    for name, result in swept.motors.items():
        for warning in result.warnings:
            print(f"note: {name}: {warning}")
    print(f"points, curves and pictures: {folder / 'friction.csv'}, friction.json, friction_M.svg, passages_M.svg")
    print(f"the robot with this friction: {folder / swept.robot.name}_friction.yaml")


def _with_reach(value: float, reach: float) -> str:
    return f"{value:.4g} +- {reach:.2g}" if reach != float("inf") else f"{value:.4g} (not determined)"


def _print_curves(result: "FrictionResult", folder: Path) -> None:
    from robodyn_pin.friction_tests.result import names

    if result.simulated:
        print(SIMULATED)
    rows = []
    for curve, fit in result.fits.items():
        values = zip(names(curve), fit.coefficients, fit.deviations, strict=True)
        found = [f"{name} {x:.4g} +- {s:.1g}" for name, x, s in values]
        if fit.shape is not None:
            shown = f"+- {fit.shape_deviation:.1g}" if fit.shape_deviation != float("inf") else "(not determined)"
            found.append(f"shape speed {fit.shape:.4g} {shown}")
        chosen = " (chosen)" if curve == result.model else ""
        rows.append(
            {"model": curve + chosen, "found [SI]": "\n".join(found), f"rms [{result.unit}]": f"{fit.rmse:.2g}"}
        )
    print_table(f"Friction of {result.motor}, {len(result.points.speed)} speeds", rows)
    for curve, why in result.left_out.items():
        print(f"{curve}: {why}")
    for warning in result.warnings:
        print(f"note: {warning}")
    print(f"points, curves and picture: {folder / 'friction.csv'}, friction.json, friction.svg")
