"""Forward and inverse kinematics of a robot, and its distance to singular poses."""

from pathlib import Path
from typing import Annotated, Any

import typer

from robodyn_pin.commands.options import JsonOption, RobotArg, ToolOption, answer, number_list, robot_of
from robodyn_pin.errors import RobodynError
from robodyn_pin.output.console import print_table

SIX = ("x [m]", "y [m]", "z [m]", "roll", "pitch", "yaw")


def pose_command(
    robot: RobotArg,
    at: Annotated[
        str | None,
        typer.Option(help="Coordinates, '0.1,0.2,...' \\[rad or m]; default: home. Shows the poses of the frames."),
    ] = None,
    reach: Annotated[
        str | None,
        typer.Option(
            help="Pose of the frame in the base: x,y,z \\[m], roll,pitch,yaw. Shows all branches of the inverse kinematics."
        ),
    ] = None,
    frame: Annotated[
        str | None,
        typer.Option(help="A link, or a frame of the robot file; default: all of these, with --reach the flange."),
    ] = None,
    velocity: Annotated[
        str | None,
        typer.Option(
            help="With --at: velocity of the frame, vx,vy,vz \\[m/s], wx,wy,wz \\[rad/s] in the base. Shows the motors' rates, damped near singular poses."
        ),
    ] = None,
    motion: Annotated[
        Path | None, typer.Option(help="Log (.csv, .parquet). Shows how close it comes to singular poses, and when.")
    ] = None,
    tool: ToolOption = None,
    degrees: Annotated[bool, typer.Option("--degrees", help="Angles are given and shown in degrees.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Poses of the frames and distance to singular poses, all solutions of the inverse kinematics, or singular poses of a motion.

    Roll, pitch and yaw are rotations about x, then y, then z of the base. Inverse kinematics is available for arms with a
    spherical wrist, with a parallelogram or without; for a pose out of reach it names the limit that is in the way.

    Example: robodyn pose irb2400 --at 10,20,-10,30,40,0 --degrees

    Example: robodyn pose irb2400 --at 10,20,-10,30,1,0 --degrees --velocity 0,0.1,0,0,0,0

    Example: robodyn pose irb2400 --motion results/irb2400_log.csv

    Example: robodyn pose irb2400 --reach 0.9,0.2,0.6,180,0,180 --frame T --degrees
    """
    import numpy as np

    from robodyn_pin.logs.reading import read_as
    from robodyn_pin.poses.report import FLANGE, in_units, moving, nearness_along, pose_of, reaching, standing

    if sum(x is not None for x in (at, reach, motion)) > 1:
        raise RobodynError("--at, --reach and --motion ask for different things; give one of them")
    if velocity is not None and (reach is not None or motion is not None):
        raise RobodynError("--velocity asks for rates at one pose of the motors; give it with --at")
    (model, run), unit = robot_of(robot, None, tool), np.pi / 180 if degrees else 1.0
    if reach is not None:
        six = number_list(reach, "--reach", "x,y,z,roll,pitch,yaw")
        summary = reaching(model, pose_of(np.array(six) * np.repeat([1.0, unit], 3)), frame or FLANGE)
        answer(as_json, summary, _print_branches, summary, unit)
        return
    if motion is not None:
        summary = nearness_along(model, read_as(run, motion, model, torque=False), frame or FLANGE)
        answer(as_json, summary, _print_along, summary, unit)
        return
    axes = model.coordinates
    home = axes.S @ model.home + axes.offset
    c = home if at is None else np.array(number_list(at, "--at", ",".join(axes.names))) * in_units(model, unit)
    summary = standing(model, c, frame)
    if velocity is not None:
        asked = np.array(number_list(velocity, "--velocity", "vx,vy,vz,wx,wy,wz"))
        summary["motion"] = moving(model, c, asked, frame or FLANGE)
    answer(as_json, summary, _print_standing, summary, unit)


def _print_standing(summary: dict[str, Any], unit: float) -> None:
    rows = [
        {"frame": name}
        | {what: round(x / (unit if k > 2 else 1), 9) + 0.0 for k, (what, x) in enumerate(zip(SIX, six, strict=True))}
        for name, six in summary["frames"].items()
    ]
    print_table(f"Frames of {summary['robot']} in its base, angles in {_named(unit)}", rows)
    print(f"smallest singular value of the loops {summary['smallest singular value of the loops']:.3g}")
    for name in ("shoulder", "elbow", "wrist") if (found := summary["singular poses"]) else ():
        family = found[name]
        angle = family["unit"] == "rad"
        away = f"{family['away'] / unit:.4g} {_named(unit)}" if angle else f"{family['away']:.4g} m"
        print(f"{name:9s}{away} from where {family['where']}{' (nearest)' if name == found['nearest'] else ''}")
    if motion := summary.get("motion"):
        rates = ", ".join(f"{name} {rate:.4g}" for name, rate in motion["rates"].items())
        print(f"rates of the coordinates {rates} rad/s or m/s")
        if motion["damped"]:
            missed = ", ".join(f"{x:.2g}" for x in motion["missed"])
            print(f"the pose is near a singular one, so the rates are damped; they miss {missed} of the velocity")


def _print_along(summary: dict[str, Any], unit: float) -> None:
    print(f"{summary['robot']}, {summary['rows']} rows{' of a SIMULATED log' if summary['simulated'] else ''}")
    for name, family in summary["families"].items():
        nearest = (
            f"{family['nearest'] / unit:.4g} {_named(unit)}"
            if family["unit"] == "rad"
            else f"{family['nearest']:.4g} m"
        )
        print(f"{name:9s}{nearest} from where {family['where']}, at {family['at']:.4g} s")
    print(f"smallest singular value of the Jacobian {summary['smallest singular value']:.3g}, at {summary['at']:.4g} s")


def _print_branches(summary: dict[str, Any], unit: float) -> None:
    rows = [
        dict(part.split(" ", 1) for part in found["branch"].split(", ")) | {name: x / unit for name, x in found["coordinates"].items()}
        | {"limits": "kept" if not found["beyond its limits"] else "beyond: " + ", ".join(found["beyond its limits"])}
        for found in summary["branches"]
    ]  # fmt: skip
    print_table(f"Poses in which {summary['robot']} has {summary['frame']} there, in {_named(unit)}", rows)
    print(f"{len(summary['with whole turns'])} solutions within limits, counting whole turns of the axes")


def _named(unit: float) -> str:
    return "rad" if unit == 1.0 else "degrees"
