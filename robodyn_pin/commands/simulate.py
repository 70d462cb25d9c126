"""Simulate logs of a robot."""

from pathlib import Path
from typing import Annotated, Any

import typer

from robodyn_pin.commands.options import (
    JsonOption,
    ParamsOption,
    PayloadOption,
    RobotArg,
    ToolOption,
    answer,
    carrying_files,
    number_list,
    robot_of,
    table_to_write,
    verdict,
)
from robodyn_pin.errors import RobodynError
from robodyn_pin.output.console import print_tracking
from robodyn_pin.output.progress import bar


def simulate_command(
    robot: RobotArg,
    motion: Annotated[
        Path, typer.Option(help="Motion of the coordinates (.yaml): Fourier series, or held poses or speeds.")
    ],
    out: Annotated[Path, typer.Option(help="Log to write (.csv or .parquet).")],
    params: ParamsOption = None,
    payload: PayloadOption = None,
    tool: ToolOption = None,
    noise: Annotated[
        str | None,
        typer.Option(help="Standard deviation of white torque noise per motor \\[N m or N], '1.5,1.5,1.6,0.16'."),
    ] = None,
    bias: Annotated[
        str | None,
        typer.Option(help="Constant torque error per motor \\[N m or N], as a controller's estimate has."),
    ] = None,
    encoder_bits: Annotated[
        int | None,
        typer.Option(help="Encoder resolution: 2^bits steps per turn of the motor, before the gear.", min=4, max=32),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the noise.", min=0)] = 0,
    internal: Annotated[
        float,
        typer.Option(
            help="Rms of a smooth random internal torque, which moves nothing \\[N m], for robots with more motors than degrees of freedom.",
            min=0,
        ),
    ] = 0.0,
    controller: Annotated[
        Path | None,
        typer.Option(
            help="Controller (.yaml) that moves the robot along the motion; without one the robot follows the motion exactly."
        ),
    ] = None,
    drives: Annotated[
        Path | None,
        typer.Option(
            help="Springs between motors and joints (.yaml), with --controller: what the controller sees and where the tool is differ."
        ),
    ] = None,
    ignore_limits: Annotated[
        bool, typer.Option("--ignore-limits", help="Simulate even if the motion leaves the limits of the robot.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate a log of the robot; the file is marked as simulated. A motion outside the robot's limits is refused.

    With a controller, the tracking errors, what stuck and the balance of energy (.csv or .parquet, .svg, .json) are written
    beside the log; a control loop that is unstable about home ends with exit code 3.

    Example: robodyn simulate irb360 --motion examples/irb360_motion.yaml --out log.csv --noise 1.5,1.5,1.6,0.16 --seed 1

    Example: robodyn simulate dualv --motion examples/dualv_motion.yaml --controller examples/dualv_controller.yaml --out log.csv

    Example: robodyn simulate irb6660 --motion examples/irb6660_motion.yaml --controller examples/irb6660_controller.yaml --drives examples/irb6660_drives.yaml --out log.csv
    """
    import numpy as np

    from robodyn_pin.elastic.drives_file import read_drives
    from robodyn_pin.files import read_yaml
    from robodyn_pin.logs.writing import write_log
    from robodyn_pin.motions.motion_file import read_motion
    from robodyn_pin.output.simulation import Trial, controlled_log
    from robodyn_pin.robot.units import motor_units
    from robodyn_pin.simulation.controller_file import ControllerFile
    from robodyn_pin.simulation.controllers import estimator_settings, known_model
    from robodyn_pin.simulation.simulated_log import Noise
    from robodyn_pin.simulation.simulated_log import simulate as run_simulation

    table_to_write(out, motion, controller, drives, tool, *(payload or ()))
    empty, _ = robot_of(robot, params, tool)
    model, carried = carrying_files(empty, payload)
    sigma = np.array(number_list(noise, "--noise")) if noise else np.zeros(len(model.motors.names))
    constant = np.array(number_list(bias, "--bias")) if bias else None
    course, disturbed = read_motion(motion), Noise(sigma, encoder_bits, seed, internal, constant)
    note = (
        f"SIMULATED by robodyn_pin: {model.name}{carried}, motion {motion.name}, torque noise {noise or 0} (standard deviation), "
        f"encoder bits {encoder_bits or 'exact'}, seed {seed}"
        + (f", torque bias {bias}" if bias else "")
        + (f", internal torque {internal:g} rms" if internal else "")
    )
    if controller is None:
        if drives is not None:
            raise RobodynError(
                "--drives yield under a controller; give one with --controller, or leave the springs out"
            )
        with bar("simulating") as step:
            log = run_simulation(model, course, disturbed, step, ignore_limits)
        write_log(out, log, model, note)
        summary: dict[str, Any] = {"robot": model.name, "simulated": True, "rows": len(log.t), "out": str(out)}
        answer(as_json, summary, print, f"{out}: {len(log.t)} rows, {log.t[-1]:.4g} s, SIMULATED{carried}")
        return
    if internal:
        raise RobodynError(
            "--internal needs an exact motion: with --controller, the controller determines the internal torque"
        )
    law = read_yaml(controller, ControllerFile)
    note += f", under controller {controller.name} ({law.law}, {law.rate:g} Hz)"
    told, springs = estimator_settings(law, controller.parent), None if drives is None else read_drives(drives, model)
    note += "" if drives is None else f", drives that yield as {drives.name}"
    trial = Trial(model, known_model(law, controller.parent, empty), course, law, disturbed, told, springs)
    with bar("simulating") as step:
        summary = controlled_log(trial, out, note, step, ignore_limits)
    answer(as_json, summary, print_tracking, summary, out, carried, motor_units(trial.robot))
    verdict(summary["stable"])
