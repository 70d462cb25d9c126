"""A log as a recording for Rerun: the moving robot, its motors' positions, torques measured and predicted, and what is between them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.files import write_whole
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_rows, inside
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import motor_units
from robodyn_pin.viz.meshes import drawable
from robodyn_pin.viz.motion_scene import played
from robodyn_pin.viz.skeleton import visuals

CLOCK = "log time"


@dataclass(frozen=True)
class RerunFile:
    """What was written."""

    path: Path
    remark: str  # a sentence about what is not drawn; empty if everything is


def write_rerun(robot: Robot, log: Log, preparation: Preparation, path: Path) -> RerunFile:
    """Write a log of a robot as a recording for Rerun (.rrd), completely or not at all.

    Entities: `robot`, posed 30 times a second; `position/MOTOR`, and where the log has torques `torque/MOTOR/measured`, `.../predicted` and
    `residual/MOTOR`, their difference, at the log's rows without its edges. Units stand in the names of the views.

    Raises:
        RobodynError: the extra `rerun` is missing.
        BadLog, ClosureFailed: the log leaves the workspace, or is too short. BadFile: the folder cannot be written.
    """
    rr = _rerun()
    t, q = played(robot, log, preparation)
    kept, tau = inside(log.size, edge_rows(log, preparation)), predict(robot, log, preparation)
    title = f"{robot.name}, SIMULATED log" if log.simulated else robot.name
    found = drawable(robot.urdf_xml, robot.urdf_path.parent)

    def write(part: Path) -> None:
        recording = rr.RecordingStream(f"robodyn_pin {title}")
        recording.save(part, default_blueprint=_views(robot, title, log.tau is not None))
        _draw(recording, robot, found.urdf_xml, t, q)
        at = [rr.TimeColumn(CLOCK, duration=log.t[kept])]
        for k, motor in enumerate(robot.motors.names):
            series = {f"position/{motor}": log.q[:, k], f"torque/{motor}/predicted": tau[:, k]}
            if log.tau is not None:
                series |= {f"torque/{motor}/measured": log.tau[:, k], f"residual/{motor}": log.tau[:, k] - tau[:, k]}
            for name, values in series.items():
                recording.send_columns(name, at, rr.Scalars.columns(scalars=values[kept]))
        recording.flush()
        recording.disconnect()

    write_whole(path, write)
    return RerunFile(path, found.remark)


def _rerun() -> Any:
    try:
        import rerun
    except ImportError:
        raise RobodynError("recordings for Rerun need the extra 'rerun': pip install 'robodyn_pin[rerun]'") from None
    return rerun


def _views(robot: Robot, title: str, measured: bool) -> Any:
    """The robot on the left; positions, torques and residuals on the right, one below the other."""
    import rerun.blueprint as rrb

    slides = robot.slides(robot.motors.S)
    position = "m" if slides.all() else "rad, m" if slides.any() else "rad"
    effort = ", ".join(dict.fromkeys(motor_units(robot).values()))
    plots = {"position": position, "torque": effort} | ({"residual": effort} if measured else {})
    series = [rrb.TimeSeriesView(origin=f"/{name}", name=f"{name} [{unit}]") for name, unit in plots.items()]
    return rrb.Blueprint(rrb.Horizontal(rrb.Spatial3DView(origin="/robot", name=title), rrb.Vertical(*series)))


def _draw(recording: Any, robot: Robot, urdf_xml: str, t: np.ndarray, q: np.ndarray) -> None:
    """The bodies below their joints, and how these move."""
    rr = _rerun()
    model, data = robot.model, robot.model.createData()
    places = np.empty((len(q), model.njoints, 7))
    for k in range(len(q)):
        pin.forwardKinematics(model, data, q[k])
        places[k] = [pin.SE3ToXYZQUAT(place) for place in data.oMi]
    recording.log("robot", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for joint, name in enumerate(model.names):
        moved = rr.Transform3D.columns(translation=places[:, joint, :3], quaternion=places[:, joint, 3:])
        recording.send_columns(_entity(name), [rr.TimeColumn(CLOCK, duration=t)], moved)
    for body in visuals(model, urdf_xml, []).geometryObjects:
        name = f"{_entity(model.names[body.parentJoint])}/{body.name.replace('/', '|')}"
        recording.log(name, _shape(body), static=True)


def _entity(joint: str) -> str:
    return f"robot/{joint.replace('/', '|')}"  # a slash would nest entities


def _shape(body: pin.GeometryObject) -> Any:
    """A body's shape in its joint's frame."""
    rr = _rerun()
    at, quaternion = body.placement.translation, pin.Quaternion(body.placement.rotation).coeffs()
    placed = {"centers": [at], "quaternions": [rr.Quaternion(xyzw=quaternion)]}
    look = {"colors": [body.meshColor], "fill_mode": "solid"}
    shape = body.geometry
    match shape:
        case coal.Box():
            return rr.Boxes3D(half_sizes=[shape.halfSide], **placed, **look)
        case coal.Sphere():
            return rr.Ellipsoids3D(half_sizes=[[shape.radius] * 3], **placed, **look)
        case coal.Cylinder():
            return rr.Cylinders3D(lengths=[2 * shape.halfLength], radii=[shape.radius], **placed, **look)
        case coal.Capsule():
            start = body.placement.act(np.array([0.0, 0.0, -shape.halfLength]))
            placed = {"translations": [start], "quaternions": placed["quaternions"]}
            return rr.Capsules3D(lengths=[2 * shape.halfLength], radii=[shape.radius], **placed, **look)
        case coal.BVHModelBase():
            faces = np.array([[shape.tri_indices(k)[i] for i in range(3)] for k in range(shape.num_tris)])
            corners = shape.vertices() @ body.placement.rotation.T + at
            return rr.Mesh3D(vertex_positions=corners, triangle_indices=faces, albedo_factor=body.meshColor)
    raise BadFile(
        f"the visual body {body.name!r} is a {type(shape).__name__}; box, sphere, cylinder and mesh are drawn"
    )
