"""What is to be said of a pose: where the frames are, how near it is to singular ones, how it is reached."""

from typing import Any

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.families.inverse_kinematics import BRANCHES, SLACK, OutOfReach, inverse_kinematics
from robodyn_pin.families.singular_poses import FAMILIES, NEAR, damped_rates, nearness
from robodyn_pin.families.spherical_wrist import NoClosedForm
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.kinematics import forward_kinematics
from robodyn_pin.robot.robot import Robot

FLANGE = "flange"


def standing(robot: Robot, c: np.ndarray, frame: str | None) -> dict[str, Any]:
    """Frames and nearness to singular poses at the coordinates c (d,): one frame, or those that the robot file names.

    Raises:
        ShapeMismatch: not (d,). UnknownName: no such frame. ClosureFailed: out of reach.
    """
    names = robot.coordinates.names
    if c.shape != (len(names),):
        raise ShapeMismatch(f"found {len(c)} numbers, expected {len(names)}: one for each of {', '.join(names)}")
    links = [f.name for f in robot.model.frames if f.type == pin.FrameType.BODY]
    shown = [frame] if frame else list(robot.file.frames) or links
    poses = forward_kinematics(robot, c[None], *shown).reshape(-1, 4, 4)
    return {
        "robot": robot.name,
        "coordinates": dict(zip(names, c.tolist(), strict=True)),
        "frames": {name: _six(pose) for name, pose in zip(shown, poses, strict=True)},
        "smallest singular value of the loops": float(robot.singularity(c[None])[0]),
        "singular poses": _families(robot, c, frame or FLANGE),
    }


def _families(robot: Robot, c: np.ndarray, frame: str) -> dict[str, Any] | None:
    """The three families of an arm with a spherical wrist; None where the frame is carried by no such arm."""
    if not robot.model.existFrame(frame):
        return None
    try:
        near = nearness(robot, c[None], frame)
    except NoClosedForm:
        return None
    away = {"shoulder": near.shoulder, "elbow": near.elbow, "wrist": near.wrist}
    return {
        "nearest": near.nearest[0],
        **{
            name: {"where": where, "away": float(away[name][0]), "unit": "m" if name == "shoulder" else "rad"}
            for name, where in FAMILIES.items()
        },
    }


def reaching(robot: Robot, pose: np.ndarray, frame: str) -> dict[str, Any]:
    """All branches that put a frame at a pose (4, 4), and what keeps each from it.

    Raises:
        OutOfReach: none is within limits; names the limit. UnknownName, NoClosedForm, ShapeMismatch: as `inverse_kinematics`.
    """
    found = inverse_kinematics(robot, pose, frame)
    if not found.inside.any():
        raise OutOfReach(found.why_not())
    names, answers = robot.coordinates.names, []
    for k, name in enumerate(BRANCHES):
        if np.isnan(found.c[0, k, 0]):
            continue
        broken: dict[bytes, str] = {}  # a joint that a motor turns directly is named once, as the motor
        for m in np.flatnonzero(found.excess[0, k] > SLACK):
            broken.setdefault(found.limits.S[m].tobytes(), found.limits.names[m])
        c = dict(zip(names, found.c[0, k].tolist(), strict=True))
        answers.append({"branch": name, "coordinates": c, "beyond its limits": list(broken.values())})
    asked = {"robot": robot.name, "frame": frame, "pose": _six(pose)}
    return asked | {"branches": answers, "with whole turns": found.solutions().tolist()}


def moving(robot: Robot, c: np.ndarray, velocity: np.ndarray, frame: str) -> dict[str, Any]:
    """Rates of the coordinates for a velocity (6,) of a frame at the coordinates c (d,), damped near singular poses.

    Raises:
        UnknownName: no such frame. ShapeMismatch: not (6,).
    """
    found = damped_rates(robot, c[None], velocity[None], frame)
    return {
        "velocity": velocity.tolist(),
        "rates": dict(zip(robot.coordinates.names, found.rates[0].tolist(), strict=True)),
        "missed": found.missed[0].tolist(),
        "smallest singular value": float(found.smallest[0]),
        "damped": bool(found.smallest[0] < NEAR),
    }


def nearness_along(robot: Robot, log: Log, frame: str) -> dict[str, Any]:
    """How near a log's motion comes to each family of singular poses, and when.

    Raises:
        UnknownName, NoClosedForm: as `nearness`. ClosureFailed: the log leaves the workspace.
    """
    by_motors = robot.with_coordinates(robot.motors.names)
    near = nearness(by_motors, log.q, frame)
    smallest = damped_rates(by_motors, log.q, np.zeros((log.size, 6)), frame).smallest
    families = {
        name: {"where": where, "nearest": float(x.min()), "unit": unit, "at": float(log.t[x.argmin()])}
        for (name, where), x, unit in zip(
            FAMILIES.items(), (near.shoulder, near.elbow, near.wrist), ("m", "rad", "rad"), strict=True
        )
    }
    least = {"smallest singular value": float(smallest.min()), "at": float(log.t[smallest.argmin()])}
    return {
        "robot": robot.name,
        "frame": frame,
        "simulated": log.simulated,
        "rows": log.size,
        "families": families,
        **least,
    }


def in_units(robot: Robot, unit: float) -> np.ndarray:
    """`unit` for each coordinate (d,) that is an angle, 1 for each that slides."""
    slides = np.abs(robot.coordinates.S[:, robot.loops.sliding]).any(axis=1)
    return np.where(slides, 1.0, unit)


def pose_of(six: np.ndarray) -> np.ndarray:
    """A pose (4, 4) from x, y, z [m] and turns about x, then y, then z of the base [rad]."""
    return np.asarray(pin.SE3(pin.rpy.rpyToMatrix(six[3:]), six[:3]).homogeneous)


def _six(pose: np.ndarray) -> list[float]:
    """x, y, z [m] and roll, pitch, yaw [rad] of a pose (4, 4)."""
    return [*pose[:3, 3].tolist(), *pin.rpy.matrixToRpy(pose[:3, :3]).tolist()]
