"""A film of a motion with its loads: struts coloured by force over limit with arrows at their balls, or motors with their torques.

log ─► loads ─► animation tracks of colour and scale ─► Scene, with a legend over it
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import meshcat
import meshcat.geometry as g
import numpy as np
import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.families.reduced_delta import Lump
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.reading import read_as
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.arrows import AROUND, STEPS, TURN, arc, arc_head, rod, straight_arrow
from robodyn_pin.viz.film_loads import DrawnLoads, motor_film_loads, strut_film_loads
from robodyn_pin.viz.meshcat_page import animation_track
from robodyn_pin.viz.motion_scene import played
from robodyn_pin.viz.overlays import Playing
from robodyn_pin.viz.plots import LOADS, STOPS
from robodyn_pin.viz.scene import Scene, clip, pose_tracks, scene_of_robot

COLOURS = LOADS / 255
ARROW = 0x202428
LEAST = 1e-4  # scale of an arrow without load: a scale of zero cannot be inverted
THICK = 0.012  # radius of a strut over its length
AT_LIMIT = 0.22  # length of an arrow at its limit over that of its strut
MOTOR = 0.12  # radius of a motor's curved arrow over the size of the robot
OVERLAY = Path(__file__).with_name("film.html")


def film_of(
    robot: Robot,
    log_path: Path,
    run: RunFile | None,
    limit: float | None = None,
    reduced: Lump | None = None,
    covariance: np.ndarray | None = None,
) -> Scene:
    """The film of a log, with the forces in the struts, or the torques of the motors if the robot has no struts.

    Args:
        run: gives columns, units and preparation of the log. limit: of every strut or motor [N] or [N m]; None: that of the
            robot file. reduced: use the reduced model of Deltas, with the bar's mass lumped there; None: the full multipliers.
        covariance: (p, p) of the robot's parameters, for the intervals of strut forces; None: not known.

    Raises:
        RobodynError: with `reduced`, the robot is no Delta.
        BadLog, ClosureFailed: the log cannot be read or leaves the workspace; names the time and the joint.
    """
    if limit is not None and limit <= 0:
        raise RobodynError(f"--limit is the largest force or torque allowed and must be positive, got {limit:g}")
    log = read_as(run, log_path, robot, torque=False)
    preparation = run.preparation if run else Preparation()
    t, q = played(robot, log, preparation)
    check_positions(robot, q, lambda i: f"{log_path} at {t[i]:.4g} s")
    of_struts = bool(robot.file.struts or reduced)
    loads = (
        strut_film_loads(robot, log, preparation, limit, reduced, covariance)
        if of_struts
        else motor_film_loads(robot, log, preparation, limit)
    )
    inside = (t >= loads.t[0]) & (t <= loads.t[-1])
    t, q = t[inside], q[inside]
    if len(t) < 2:
        raise BadLog(f"{log_path}: {log.t[-1] - log.t[0]:.3g} s are too short for a film")
    seen = (loads.t >= t[0]) & (loads.t <= t[-1])
    far = None if loads.reach is None else loads.reach[:, seen]
    loads = replace(loads, t=loads.t[seen] - t[0], ends=loads.ends[:, seen], reach=far)
    return motion_film(robot, t - t[0], q, loads, " (SIMULATED log)" if log.simulated else "", float(t[0]))


def motion_film(
    robot: Robot,
    t: np.ndarray,
    q: np.ndarray,
    loads: DrawnLoads,
    about: str = "",
    start: float = 0.0,
    slow: float = 1.0,
) -> Scene:
    """The film of a motion with loads over time.

    Args:
        t: (n,) [s] from zero. q: (n, nv) joints, loops closed. loads: from zero to the motion's end, of the struts of the
            robot's file or else of its motors.
        about: appended to the title. start: what the film's clock shows at time zero [s]. slow: factor by which the film
            is slower than the motion.
    """
    scene = scene_of_robot(robot, f"{robot.name}: {loads.what}{about}", pale=True)
    scene.display(q[0])
    t, loads = slow * t, replace(loads, t=slow * loads.t)
    draw = _struts if set(loads.names) == set(robot.file.struts) else _motors
    clips = list(draw(scene, robot, loads, t, scene.placements(q)))
    scene.animate(t, q, further=clips)
    scene.clock = Playing(float(t[-1]), start, slow)
    scene.overlay = _overlay(loads)
    return scene


def colours(load: np.ndarray) -> np.ndarray:
    """Red, green and blue (n, 3) of loads over their limits (n,); beyond the limits as at them."""
    return np.column_stack([np.interp(load, STOPS, channel) for channel in COLOURS.T])


def _struts(
    scene: Scene, robot: Robot, loads: DrawnLoads, times: np.ndarray, placements: np.ndarray
) -> Iterator[dict[str, Any]]:
    """A rod from ball to ball, and at both balls the force on what the strut holds there."""
    for k, name in enumerate(loads.names):
        upper, lower = (_points(robot, placements, end) for end in robot.file.struts[name])
        length = np.linalg.norm(lower - upper, axis=1)
        long = float(length.mean())
        thick, keys = THICK * long, loads.keys(k)
        at = loads.t[keys]
        for end, pose in enumerate((_from_to(upper, lower), _from_to(lower, upper))):
            node = _node(scene, name, ("upper", "lower")[end])
            node.set_transform(pose[0])
            yield clip(node, pose_tracks(times, pose))
            arrow, force = node["arrow"], loads.ends[end, keys, k] / loads.full[k]
            arrow.set_object(straight_arrow(), g.MeshPhongMaterial(color=ARROW, flatShading=True))
            reach = AT_LIMIT * long * force
            width = np.minimum(1.5 * thick, 0.14 * np.abs(reach))  # short arrows are slim, not flat
            yield _stretched(arrow, at, width, width, reach)
        node = _node(scene, name, "upper")
        node["body"].set_object(rod(), g.MeshBasicMaterial(color=0xFFFFFF, side=0))
        yield _stretched(node["body"], times, thick, thick, length)
        yield clip(node["body"]["<object>"], [_colour_track(at, loads.worst[keys, k] / loads.full[k])])
        label = np.eye(4)
        label[2, 3] = long * (0.38, 0.6)[k % 2]  # neighbours at different heights
        node["label"].set_transform(label)


def _motors(
    scene: Scene, robot: Robot, loads: DrawnLoads, times: np.ndarray, placements: np.ndarray
) -> Iterator[dict[str, Any]]:
    """At each motor's joint, or the first of those that it drives, its torque about the axis or its force along it."""
    size = float(np.linalg.norm(np.ptp(placements[0, :, :3, 3], axis=0)))
    radius, lines = MOTOR * size, list[np.ndarray]()
    for k, name in enumerate(loads.names):
        column = int(np.flatnonzero(robot.motors.S[k])[0])
        joint = placements[:, column + 1]
        axis = joint[:, :3, :3] @ _axis(robot, column) * np.sign(robot.motors.S[k, column])
        line = np.array([joint[0, :3, 3], 10 * size * axis[0]])
        beside = sum(np.linalg.norm(line - other) < radius for other in lines)  # motors on one axis, drawn side by side
        lines.append(line)
        start = joint[:, :3, 3] + 1.5 * radius * beside * axis
        pose = _from_to(start, start + axis)
        keys = loads.keys(k)
        at, load = loads.t[keys], loads.worst[keys, k] / loads.full[k]
        node = _node(scene, name, "motor")
        node.set_transform(pose[0])
        yield clip(node, pose_tracks(times, pose))
        arrow = node["turn"]
        if robot.loops.sliding[column]:
            drawn = {arrow["body"]: straight_arrow()}
            yield _stretched(arrow, at, THICK * size, THICK * size, 2 * radius * load)
        else:
            drawn = {arrow["body"]: arc(), arrow["head/tip"]: arc_head()}
            yield _stretched(arrow, at, radius, np.copysign(radius, load), radius)
            angle = TURN * np.minimum(np.abs(load), 1)
            turn = np.column_stack([0 * angle, 0 * angle, np.sin(angle / 2), np.cos(angle / 2)])
            yield clip(arrow["head"], [animation_track("quaternion", "quaternion", at, turn)])
            arrow["head/tip"].set_property("position", [1.0, 0.0, 0.0])
            small = np.minimum(1, np.abs(load) / 0.1)  # the head of a short arrow
            yield _stretched(arrow["head/tip"], at, small, small, small)
        for part, mesh in drawn.items():
            # Drawn last and over all bodies, since joints are inside them.
            over = g.MeshBasicMaterial(color=0xFFFFFF, transparent=True, depthTest=False)
            part.set_object(mesh, over)
            yield clip(part["<object>"], [_colour_track(at, load)])
        node["label"].set_transform(np.eye(4))


def _axis(robot: Robot, column: int) -> np.ndarray:
    """Axis (3,) of a joint in its own frame."""
    data = robot.model.createData()
    J = pin.computeJointJacobians(robot.model, data, np.zeros(robot.model.nq)).reshape(6, -1)[
        :, column
    ]  # Pinocchio drops a lone column
    return data.oMi[column + 1].rotation.T @ (J[:3] if robot.loops.sliding[column] else J[3:])


def _node(scene: Scene, name: str, part: str) -> meshcat.Visualizer:
    return scene.world["loads"][name.replace("/", "|")][part]


def _points(robot: Robot, placements: np.ndarray, link: str) -> np.ndarray:
    """Origin (N, 3) of a link."""
    frame = robot.model.frames[frame_id(robot.model, link)]
    return placements[:, frame.parentJoint, :3] @ [*frame.placement.translation, 1.0]


def _from_to(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Placements (N, 4, 4) at the start (N, 3), z towards the end."""
    z = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
    x = np.cross(np.eye(3)[np.abs(z[0]).argmin()], z)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    pose = np.tile(np.eye(4), (len(z), 1, 1))
    pose[:, :3, :3], pose[:, :3, 3] = np.stack([x, np.cross(z, x), z], axis=2), start
    return pose


def _stretched(node: meshcat.Visualizer, times: np.ndarray, *scale: np.ndarray | float) -> dict[str, Any]:
    """Animation of the scale of x, y and z; a constant scale needs no track."""
    values = np.column_stack(np.broadcast_arrays(times, *scale)[1:])
    values = np.where(np.abs(values) < LEAST, np.copysign(LEAST, values), values)
    node.set_property("scale", values[0].tolist())
    return clip(
        node, [animation_track("scale", "vector3", times, values)] if np.ptp(values, axis=0).max() > 1e-6 else []
    )


def _colour_track(times: np.ndarray, load: np.ndarray) -> dict[str, Any]:
    return animation_track("material.color", "color", times, colours(load))


def _overlay(loads: DrawnLoads) -> str:
    """film.html with its data: bars, labels and legend."""
    members = []
    for k, name in enumerate(loads.names):
        keys, x = loads.keys(k), loads.worst[:, k]
        worst = int(np.abs(x).argmax())
        members.append({
            "name": name, "unit": loads.units[k], "limit": loads.limits[k], "full": float(loads.full[k]),
            "least": float(x.min()), "greatest": float(x.max()), "worst": float(loads.t[worst]),
            "interval": loads.interval(k),
            "t": _packed(loads.t[keys]), "x": _packed(x[keys]),
        })  # fmt: skip
    film = {
        "what": loads.what,
        "members": members,
        "stops": STOPS.tolist(),
        "colours": COLOURS.tolist(),
        "steps": STEPS,
        "corners": 6 * AROUND,
    }
    data = json.dumps(film).replace("<", "\\u003c")
    return OVERLAY.read_text(encoding="utf-8").replace("{{film}}", data)


def _packed(x: np.ndarray) -> str:
    return base64.b64encode(x.astype("<f4").tobytes()).decode()
