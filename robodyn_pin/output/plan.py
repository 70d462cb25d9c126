"""The result folder of a plan: result.json, the table, figures, a film, and a copy of the plan file."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from robodyn_pin.errors import InfeasiblePlan
from robodyn_pin.files import remove, write_json, write_text
from robodyn_pin.forces.strut_history import StrutHistory
from robodyn_pin.planning.plan_file import PlanFile
from robodyn_pin.planning.table import write_motion
from robodyn_pin.planning.task import PlanResult
from robodyn_pin.simulation.following import SimulatedPlan

if TYPE_CHECKING:
    from robodyn_pin.viz.film_loads import DrawnLoads

Label = tuple[str, str]
FIGURES = ("phase_plane", "quantities", "strut_forces", "costs", "acceleration")
SLOW_MOTION = 20.0  # the film is so many times slower than the motion
OVER = 0.001  # largest violation of a limit, as a share of it, without a caution
SCALED = 0.005  # largest share of the time by which the whole motion may be slowed without a caution
FRAMES = 400  # of the film at most


def write_plan(result: PlanResult, simulated: SimulatedPlan | None, folder: Path) -> dict[str, Any]:
    """Write all files of a planned motion, and return what `result.json` holds.

    Raises:
        BadFile: the folder cannot be written.
    """
    from robodyn_pin.viz.film import motion_film

    settings, robot, motion = result.task.settings, result.task.robot, result.motion
    unit_of, loads = units(result), _drawn_loads(result)
    found = _summary(result, unit_of, simulated)
    figures = _figures(result, unit_of, simulated)
    _clear(folder)
    for name, text in figures.items():
        write_text(folder / f"{name}.svg", text)
    shown = np.unique(np.linspace(0, len(motion.t) - 1, min(FRAMES, len(motion.t))).astype(int))
    with motion_film(robot, motion.t[shown], motion.joints[0][shown], loads, " (PLANNED)", slow=SLOW_MOTION) as scene:
        scene.write_html(folder / "film.html")
    note = (
        f"SIMULATED by robodyn_pin, not measured: planned motion of {robot.name}, rows every {settings.cycle:g} s, "
        "SI units; c_ the path's coordinates, d by time, upper_ and lower_ axial strut forces by the full model, "
        "tension positive"
    )
    write_motion(folder / f"table.{settings.table}", robot, motion, note)
    _write_settings(settings, folder)
    write_json(folder / "result.json", found)
    return found


def write_infeasible(settings: PlanFile, error: InfeasiblePlan, folder: Path) -> dict[str, Any]:
    """Write and return the result of a task without motion: where on the path, which limit, by how much."""
    found = {"robot": settings.robot, "feasible": False, "reason": str(error)}
    found |= {"s": error.s, "limit": " ".join(error.label), "excess": error.excess}
    _clear(folder)
    _write_settings(settings, folder)
    write_json(folder / "result.json", found)
    return found


def _summary(result: PlanResult, unit_of: dict[Label, str], simulated: SimulatedPlan | None) -> dict[str, Any]:
    """Return what `result.json` holds."""
    task, plan, motion, used = result.task, result.plan, result.motion, result.largest_use
    settings, knots = task.settings, len(result.curves.active)
    active = Counter(label for at_knot in result.curves.active for label in at_knot)
    found = {"robot": task.robot.name, "simulated": True, "feasible": True, "time [s]": plan.time}
    found |= {"path length [m or rad]": result.length, "ends": list(settings.ends), "objective": settings.objective}
    found |= {"intervals": settings.points, "rows": len(motion.t), "cycle [s]": settings.cycle}
    found |= {"planning [s]": result.seconds, "iterations": len(plan.history), "converged": plan.converged}
    found |= {"time scaling [%]": 100 * plan.scaling_cost, "largest violation [%]": 100 * (max(used.values()) - 1)}
    limits, share = [], "active [% of the path's points]"
    for label, (low, high) in zip(task.limits.labels, task.limits.ranges.tolist(), strict=True):
        limit = {"kind": label[0], "name": label[1], "least": low, "greatest": high, "unit": unit_of[label]}
        use = {"largest use [%]": 100 * used[label], share: 100 * active[label] / knots}
        limits.append(limit | use)
    struts = [
        {"model": use.model, "largest force [N]": use.force, "strut": use.strut, "at [s]": use.at}
        | {"margin to the limit [N]": use.margin}
        for use in result.struts
    ]
    simulation = None if simulated is None else simulated.summary()
    found |= {"limits": limits, "struts": struts, "costs [s]": result.costs, "cautions": _cautions(result)}
    return found | {"simulation": simulation}


def _cautions(result: PlanResult) -> list[str]:
    plan, found = result.plan, []
    if not plan.converged:
        found.append("the search ended before the optimum: the motion keeps all limits, but may not be the fastest")
    over = max(result.largest_use.values()) - 1
    if over > OVER:
        found.append(
            f"a limit is exceeded by {100 * over:.2g} % between the points of the plan; more 'points' may reduce that"
        )
    if plan.scaling_cost > SCALED:
        found.append(
            f"the whole motion was slowed by {100 * plan.scaling_cost:.2g} % to keep the limits between the points of "
            "the plan; more 'points' may avoid that"
        )
    return found


def units(result: PlanResult) -> dict[Label, str]:
    """Return the unit of every limited quantity."""
    from robodyn_pin.robot.units import effort_unit

    robot = result.task.robot

    def unit(kind: str, name: str, row: np.ndarray) -> str:
        if kind == "force" or (kind == "end_effector" and "force" in name):
            return "N"
        if kind == "end_effector":
            return "N m"
        if kind == "torque" and name in robot.motors.names:
            return effort_unit(robot.model, robot.motors.S[robot.motors.names.index(name)])
        if kind == "torque":  # of a joint; its row (n_motors,) names the motors that drive it
            return "N" if robot.slides(robot.motors.S[row != 0]).all() else "N m"
        base = "m" if robot.slides(row[None])[0] else "rad"
        return base + {"position": "", "velocity": "/s", "acceleration": "/s²", "jerk": "/s³"}[kind]

    return {
        (b.kind, name): unit(b.kind, name, row)
        for b in result.task.limits.bounds
        for name, row in zip(b.names, b.S, strict=True)
    }


def _figures(result: PlanResult, unit_of: dict[Label, str], simulated: SimulatedPlan | None) -> dict[str, str]:
    from robodyn_pin.viz.planning import acceleration_figure, costs_figure, phase_figure, quantities_figure
    from robodyn_pin.viz.plots import svg_file
    from robodyn_pin.viz.struts import force_figure

    task, drawn, name = result.task, result.curves, result.task.robot.name
    title = f"{name}, planned: {result.plan.time:.4g} s"
    figures = {
        "phase_plane": phase_figure(drawn.s, drawn.z, drawn.max_z, drawn.active, title),
        "quantities": quantities_figure(drawn.t, drawn.values, task.limits, unit_of, f"{title}, share of the limits"),
    }
    if (struts := result.motion.struts) is not None:
        kept = f" with a margin of {100 * margin:g} %" if (margin := task.settings.margins.force) else ""
        history = StrutHistory("full", result.motion.t, struts.names, struts.lower, struts.upper)
        # The limit is drawn if it is the same for all struts.
        limit = task.strut_limits[0] if len(set(task.strut_limits)) == 1 else None
        figures["strut_forces"] = force_figure(history, limit, f"{name}, planned{kept}")
    if costs := {kind: cost for kind, cost in (result.costs or {}).items() if cost is not None}:
        figures["costs"] = costs_figure(costs, result.plan.time)
    if simulated is not None:
        s, title = simulated, f"{name}: acceleration"
        figures["acceleration"] = acceleration_figure(s.names, s.units, s.t, s.planned, s.accelerations, title)
    return {name: svg_file(figure, name) for name, figure in figures.items()}


def _drawn_loads(result: PlanResult) -> "DrawnLoads":
    """Return what the film shows of a motion: its strut forces, or its motor torques if it has no struts."""
    from robodyn_pin.robot.units import motor_units
    from robodyn_pin.viz.film_loads import DrawnLoads

    robot, motion = result.task.robot, result.motion
    if motion.struts is not None:
        names, ends = motion.struts.names, np.stack([motion.struts.upper, motion.struts.lower])
        unit, limits = ("N",) * len(names), result.task.strut_limits
        return DrawnLoads("axial strut force, full model", names, unit, motion.t, ends, limits)
    unit, limits = tuple(motor_units(robot).values()), result.task.torque_limits
    return DrawnLoads("motor torque", robot.motors.names, unit, motion.t, motion.tau[None], limits)


def _clear(folder: Path) -> None:
    """Delete the files of an earlier plan: its table must not stand beside another plan's result."""
    for name in ("table.csv", "table.parquet", "film.html", *(f"{figure}.svg" for figure in FIGURES)):
        remove(folder / name)


def _write_settings(settings: PlanFile, folder: Path) -> None:
    content = settings.model_dump(mode="json", exclude_defaults=True)
    write_text(folder / "plan.yaml", yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
