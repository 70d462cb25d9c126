"""A payload: a body fixed to a link in some logs only, so that the rest tell it from the link; and known ones, and tools.

The rows of unloaded and loaded logs are [W_a 0; W_b W_l], Briot et al. (DualV), equation 49. The columns W_l are those of
a body on the joint that moves the link. All numbers of a payload count in the frame of the link, or of the frame, that is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.identification.base import BaseSet
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.knowledge import shape
from robodyn_pin.robot import Payload, Robot, build
from robodyn_pin.run_file import ShapeSpec
from robodyn_pin.tool import ToolFile
from robodyn_pin.urdf_tree import body_name
from robodyn_pin.urdf_writer import loaded_urdf

ALONE = 1e-6  # smallest weight with which another parameter counts in a combination, as in the labels
QUANTITIES = {
    "mass": "kg", "centre x": "m", "centre y": "m", "centre z": "m", "Ixx about the centre": "kg m²",
    "Ixy about the centre": "kg m²", "Iyy about the centre": "kg m²", "Ixz about the centre": "kg m²",
    "Iyz about the centre": "kg m²", "Izz about the centre": "kg m²",
}  # fmt: skip


class LoadSpec(ShapeSpec):
    """A known payload, for simulation: a body of simple shape on a link or frame, along and from its axes."""

    link: str


@dataclass(frozen=True)
class Quantity:
    """One number of a payload, in the frame of the link that it is fixed to."""

    name: str
    unit: str
    feasible: float
    wls: float | None  # None: the logs do not show it by itself; the feasible value then leans on the prior
    deviation: float | None  # standard deviation of `wls`


def carrying(robot: Robot, name: str, link: str) -> Robot:
    """The robot with ten more columns, those of an unknown payload on a link, after its own bodies.

    Raises:
        UnknownName: no such link or frame. BadFile: it does not move; the name is taken.
    """
    place = _place(robot, link)
    if name in {f.name for f in robot.model.frames}:
        raise BadFile(f"the payload is called {name!r} like a part of robot {robot.name!r}; give it another 'name'")
    body = body_name(robot.model, place.parentJoint)
    return replace(robot, payload=Payload(name, link, body, place.parentJoint, place.placement))


def loaded(robot: Robot, load: LoadSpec) -> Robot:
    """The robot with a known payload in its URDF.

    Raises:
        UnknownName: no such link or frame. BadFile: it does not move.
    """
    place, name = _place(robot, load.link), f"payload_{robot.model.nframes}"  # another one for a second payload
    body = body_name(robot.model, place.parentJoint)
    urdf = loaded_urdf(robot.urdf_xml, body, name, shape(load), place.placement)
    return build(robot.name, robot.file.apart(body), urdf, robot.urdf_path)


def with_tool(robot: Robot, tool: ToolFile) -> Robot:
    """The robot with a tool: its frames, and its body where that is known.

    Raises:
        BadFile: no such link; a name that is taken; a body that cannot exist.
    """
    file = robot.file.model_copy(update={"tools": {**robot.file.tools, tool.name: tool}})
    return build(robot.name, file, robot.urdf_xml, robot.urdf_path)


def _place(robot: Robot, link: str) -> pin.Frame:
    """Where a payload sits: on a link, or at a frame of the robot file or of a tool."""
    places = {f.name: f for f in robot.model.frames if f.type in (pin.FrameType.BODY, pin.FrameType.OP_FRAME)}
    if link not in places:
        raise UnknownName("link or frame", link, f"robot {robot.name!r}, which the payload is on", list(places))
    if places[link].parentJoint == 0:
        raise BadFile(f"the payload is on {link!r} of robot {robot.name!r}, which never moves; no log shows it")
    return places[link]


def check_sign(robot: Robot, wls: BaseEstimate) -> None:
    """Swapped logs show as a payload that is taken away.

    Raises:
        BadLog: the mass, or the moment of inertia where no mass is seen, is below zero by more than two of its standard
            deviations.
    """
    if robot.payload is None:
        return
    alone, first = _alone(wls.base), robot.payload_columns.start
    for name, entry in {"mass": 0, "Izz": 9, "Iyy": 6, "Ixx": 4}.items():
        if (row := alone.get(first + entry)) is None:
            continue
        if wls.values[row] < -2 * wls.deviations[row]:
            found = f"{wls.values[row]:.3g} {'kg' if name == 'mass' else 'kg m²'}"
            raise BadLog(f"{robot.payload.name} {name} is negative ({found}): are loaded and unloaded logs swapped?")
        return


def quantities(robot: Robot, feasible: np.ndarray, wls: BaseEstimate) -> list[Quantity]:
    """What an identification says of the payload; feasible (p,)."""
    columns, alone = robot.payload_columns, _alone(wls.base)
    own = [(c - columns.start, row) for c, row in alone.items() if columns.start <= c < columns.stop]
    seen, rows = np.array(own, int).reshape(-1, 2).T
    x, covariance = np.full(10, np.nan), np.zeros((10, 10))
    x[seen] = wls.values[rows]
    covariance[np.ix_(seen, seen)] = wls.covariance[np.ix_(rows, rows)]
    values, J = about_centre(x), _slope(x)
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", J, covariance, J))
    found = zip(QUANTITIES.items(), about_centre(feasible[columns]), values, deviations, strict=True)
    return [
        Quantity(name, unit, float(f), *((None, None) if np.isnan(w) else (float(w), float(s))))
        for (name, unit), f, w, s in found
    ]


def payload_summary(
    robot: Robot, labels: Sequence[str], base: BaseSet, found: Sequence[Quantity]
) -> dict[str, object] | None:
    """What `result.json` holds of the payload; labels (r,) of the base parameters."""
    if robot.payload is None:
        return None
    own = range(*robot.payload_columns.indices(robot.payload_columns.stop))
    return {
        "name": robot.payload.name, "link": robot.payload.link, "frame": robot.payload.link,
        "shown": [label for column, label in zip(base.columns, labels, strict=True) if column in own],
        "quantities": {
            q.name: {"unit": q.unit, "feasible": q.feasible, "wls": q.wls, "deviation": q.deviation} for q in found
        },
    }  # fmt: skip


def about_centre(x: np.ndarray) -> np.ndarray:
    """Mass, centre of mass and inertia about it (10,), from mass, first moments and inertia about the joint's frame."""
    m, h = x[0], x[1:4]
    S = np.outer(h, h) / m
    steiner = [S[1, 1] + S[2, 2], -S[0, 1], S[0, 0] + S[2, 2], -S[0, 2], -S[1, 2], S[0, 0] + S[1, 1]]
    return np.concatenate([[m], h / m, x[4:] - steiner])


def _slope(x: np.ndarray) -> np.ndarray:
    """Jacobian (10, 10) of `about_centre`, exact: the step is imaginary, so nothing cancels."""
    step = 1e-30
    return np.stack([about_centre(x + 1j * step * unit).imag / step for unit in np.eye(10)], axis=1)


def _alone(base: BaseSet) -> dict[int, int]:
    """Columns that the log shows by themselves, none regrouped with them, and which base parameter each is."""
    lonely = ~(np.abs(base.regroup) > ALONE).any(axis=1)
    return {int(c): k for k, c in enumerate(base.columns) if lonely[k]}
