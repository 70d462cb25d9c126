"""Friction over speed: plan the sweeps to record, and fit curves to recorded ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of, verdict
from robodyn_pin.output.console import SIMULATED, print_table
from robodyn_pin.output.progress import status

if TYPE_CHECKING:
    from robodyn_pin.friction_tests.breakaway_ramps import BreakawayResult
    from robodyn_pin.friction_tests.ramp_plan import RampProtocol
    from robodyn_pin.friction_tests.result import FrictionResult
    from robodyn_pin.friction_tests.sweep_plan import Protocol


def friction_command(
    run: Annotated[Path, typer.Argument(help="Friction file (.yaml): robot; motor, sweeps or breakaway; logs, model.")],
    out: OutOption = None,
    protocol: Annotated[
        bool, typer.Option("--protocol", help="Instead, plan the sweeps or ramps: the motion to record.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure friction over speed, from logs of constant speeds in both directions, or static friction, from ramps of effort.

    A motor that turns freely ('motor') holds one speed after the other. A motor that carries a load ('sweeps') passes a
    reference angle at each speed, back and forth, while the others stand where gravity loads it least; the mean over both
    directions at equal positions removes gravity. A stretch counts where the mean speed stays within a share of itself over a
    travel ('steady'); ripple does not matter. Each gives one point; three models are fitted, and one that bends counts only where
    the points show that it does. What the log does not show is said, and no robot file is written with it as known.

    'breakaway' takes the effort that rises at standstill until a motor moves: static friction and the stiffness before the
    break, by place: breakaway: {at: {x: [0.05, 0.1, 0.15]}}.

    Ends with exit code 3 where friction would drive a motor, or shows in the torque of another: a sign or a column is wrong.

    Example: robodyn friction examples/irb2400_friction.yaml --protocol --out results/irb2400_sweeps

    Example: robodyn friction examples/irb2400_breakaway.yaml --protocol --out results/irb2400_breakaway

    Example: robodyn friction examples/irb360_campaign/3_friction.yaml --out results/irb360_campaign/friction
    """
    from robodyn_pin.files import read_yaml
    from robodyn_pin.friction_tests.friction_file import FrictionFile
    from robodyn_pin.robot.robot import load_named

    settings = read_yaml(run, FrictionFile)
    folder = folder_of(run, settings, out)
    robot = load_named(settings.robot, run.parent)
    if protocol and settings.breakaway:
        from robodyn_pin.friction_tests.ramp_plan import plan_ramps

        ramps = plan_ramps(settings, robot)
        ramps.write(folder)
        answer(as_json, ramps.summary(), _print_ramps, ramps, folder)
    elif protocol:
        from robodyn_pin.friction_tests.sweep_plan import plan_sweeps

        with status() as say:
            planned = plan_sweeps(settings, robot, say)
        planned.write(folder)
        answer(as_json, planned.summary(), _print_protocol, planned, folder)
    elif settings.breakaway:
        from robodyn_pin.friction_tests.breakaway_ramps import measure_breakaway
        from robodyn_pin.output.friction import write_breakaway

        with status() as say:
            broken = measure_breakaway(settings, run.parent, robot, say)
        write_breakaway(broken, folder)
        answer(as_json, broken.summary(), _print_breakaway, broken, folder)
    elif settings.sweeps:
        from robodyn_pin.friction_tests.loaded_motor import measure_sweeps
        from robodyn_pin.output.friction import write_sweeps

        with status() as say:
            swept = measure_sweeps(settings, run.parent, robot, say)
        write_sweeps(swept, folder)
        title = f"Friction of {swept.robot.name}, half of the difference of both directions"
        files = f"points, curves, pictures: {folder / 'friction.csv'}, friction.json, friction_M.svg, passages_M.svg\n"
        if swept.known:
            files += f"the robot with this friction: {folder / swept.robot.name}_friction.yaml"
        elif swept.mistaken:
            files += "no robot file is written: put the columns of the log right first"
        else:
            files += "no robot file is written, as the logs show no friction; sweep slower and faster, and longer"
        answer(as_json, swept.summary(), _print_friction, swept.motors, title, swept.simulated, files)
        verdict(not swept.mistaken)
    else:
        from robodyn_pin.friction_tests.free_motor import measure
        from robodyn_pin.output.friction import write_friction

        with status() as say:
            result = measure(settings, run.parent, robot, say)
        write_friction(result, folder)
        files = f"points, curves and picture: {folder / 'friction.csv'}, friction.json, friction.svg"
        title = f"Friction of {result.motor}"
        answer(as_json, result.summary(), _print_friction, {result.motor: result}, title, result.simulated, files)
        verdict(not result.mistakes)


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
    for result in motors.values():
        for text in result.mistakes:
            print(f"NOT GOOD: {text}")


def _print_ramps(planned: "RampProtocol", folder: Path) -> None:
    spec = planned.spec
    for name, places in spec.at.items():
        listed = ", ".join(f"{x:g}" for x in places)
        print(
            f"{name}: {spec.repeats} ramps to each side at {listed} {planned.units[name]}, {spec.seconds:g} s each after {spec.rest:g} s "
            f"of rest, until it has moved by {spec.slip:g} {planned.units[name]}"
        )
    print(f"{planned.duration / 60:.0f} minutes under a soft position servo: {folder / 'ramps.yaml'}")
    print(f"for a drive that takes efforts: {folder / 'ramps.csv'}; protocol.json")


def _print_breakaway(result: "BreakawayResult", folder: Path) -> None:
    if result.simulated:
        print(SIMULATED)
    for name, places in result.places.items():
        rows = [
            {f"place [{result.units[name].position}]": f"{p.at:g}", "ramps": len(p.ramps)}
            | {f"{q.name} [{q.unit}]": q.bare for q in p.found}
            for p in places
        ]
        print_table(f"Breakaway of {result.robot}: {name}, with half widths of 95 % intervals", rows)
    for warning in result.warnings:
        print(f"note: {warning}")
    print(f"every ramp, results, pictures: {folder / 'breakaway.csv'}, breakaway.json, breakaway_M.svg")
