"""The command `plan`: the fastest motion along a path within the limits of a robot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robodyn_pin.commands.options import JsonOption, OutOption, answer, folder_of, verdict
from robodyn_pin.output.console import print_table
from robodyn_pin.output.progress import bar, status

if TYPE_CHECKING:
    from robodyn_pin.robot.robot import Robot


def plan_command(
    run: Annotated[Path, typer.Argument(help="Plan file (.yaml): robot, payload, path, limits.")],
    out: OutOption = None,
    controller: Annotated[
        Path | None,
        typer.Option(help="Controller file (.yaml) under which the motion is also simulated; as for simulate."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Plan the fastest motion along a path that keeps all limits: joints, motors, struts, end-effector.

    Writes a table for the controller (it is also a log, for show and forces), result.json, figures and a film. If no
    motion keeps the limits, it says where on the path and which limit forbids it, and ends with exit code 3.

    Example: robodyn plan examples/irb360_u_turn.yaml --out results/irb360_u_turn
    """
    from robodyn_pin.errors import InfeasiblePlan
    from robodyn_pin.files import read_yaml
    from robodyn_pin.output.plan import write_infeasible, write_plan
    from robodyn_pin.planning.plan_file import PlanFile
    from robodyn_pin.planning.task import plan_task, read_task
    from robodyn_pin.simulation.controller_file import ControllerFile
    from robodyn_pin.simulation.controllers import estimator_settings, known_model
    from robodyn_pin.simulation.following import simulate_planned

    settings = read_yaml(run, PlanFile)
    controller_file = None if controller is None else read_yaml(controller, ControllerFile)
    task = read_task(settings, run.parent)
    folder = folder_of(run, settings, out)
    try:
        with status() as progress:
            result = plan_task(task, progress)
    except InfeasiblePlan as error:
        report = write_infeasible(settings, error, folder)
        answer(as_json, report, print, f"NO MOTION: {error}\nresult: {folder / 'result.json'}")
        verdict(False)
        return
    simulated = None
    if controller_file is not None and controller is not None:
        if controller_file.torque_limits is True:  # the robot's, where the plan file gives none
            controller_file = controller_file.model_copy(update={"torque_limits": result.torque_limits})
        with bar("simulating") as step:
            model = known_model(controller_file, controller.parent, task.robot)
            told = estimator_settings(controller_file, controller.parent)
            course = result.course(controller_file.rate)
            simulated = simulate_planned(task.robot, course, controller_file, model, step, told)
    report = write_plan(result, simulated, folder)
    answer(as_json, report, _print_result, report, task.robot, folder)


def _print_result(report: dict[str, Any], robot: "Robot", folder: Path) -> None:
    closest = sorted(
        report["limits"], key=lambda row: (-row["active [% of the path's points]"], -row["largest use [%]"])
    )
    print_table(f"Limits that hold the motion of {report['robot']} (margins taken off)", closest[:10])
    if report["costs [s]"] is not None:
        costs = sorted(
            ((kind, x) for kind, x in report["costs [s]"].items() if x is not None), key=lambda cost: -cost[1]
        )
        print("time that each kind of limit costs: " + ", ".join(f"{kind} {1e3 * x:.3g} ms" for kind, x in costs))
    for use in report["struts"]:
        print(
            f"largest strut force, {use['model']} model: {use['largest force [N]']:.4g} N in {use['strut']}"
            + _margin_text(use["margin to the limit [N]"])
        )
    if (simulated := report["simulation"]) is not None:
        slides = dict(zip(robot.motors.names, robot.slides(robot.motors.S), strict=True))
        errors = ", ".join(
            f"{motor} {1e3 * x:.2g} {'mm' if slides[motor] else 'mrad'}"
            for motor, x in simulated["largest error [rad or m]"].items()
        )
        print(f"SIMULATED under the controller: largest errors {errors}")
        deviations = ", ".join(f"{name} {x:.2g}" for name, x in simulated["rms acceleration error"].items())
        print(f"SIMULATED under the controller: rms error of accelerations {deviations}")
    print(
        f"{report['time [s]']:.4f} s, planned in {report['planning [s]']:.2f} s; largest violation of a limit "
        f"{max(0.0, report['largest violation [%]']):.2g} % between the points"
    )
    for caution in report["cautions"]:
        print(f"caution: {caution}")
    print(f"table for the controller, pictures and film: {folder}")


def _margin_text(margin: float | None) -> str:
    if margin is None:
        return ""
    return f", {margin:.3g} N below the limit" if margin >= 0 else f", {-margin:.3g} N OVER the limit"
