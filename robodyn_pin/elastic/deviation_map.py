"""How far a process force moves the tool, over a workspace: a grid of places, each reached in its least moving way."""

from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from robodyn_pin.elastic.deviation import Model, deviation_at
from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.pose_rules import Region
from robodyn_pin.elastic.springs import Springs, place
from robodyn_pin.errors import BadFile
from robodyn_pin.families.inverse_kinematics import inverse_kinematics
from robodyn_pin.files import Strict


class MapSpec(Strict):
    """Where to look, and what pushes."""

    force: Vector  # [N] on the tool, axes of the base
    region: Region  # [m] x, y, z of the tool's point; one length may be zero
    step: Annotated[float, Field(gt=0)] = 0.1  # [m]
    rpy: Vector = (0.0, 0.0, 0.0)  # [rad] of the tool's frame in the base


@dataclass(frozen=True)
class DeviationMap:
    """Deviations on a grid."""

    spec: MapSpec
    axes: tuple[np.ndarray, np.ndarray, np.ndarray]  # x, y, z of the grid [m]
    points: np.ndarray  # (P, 3) that are reached [m]
    cells: np.ndarray  # (P,) number of each in the grid, z fastest
    q: np.ndarray  # (P, nv) of all joints
    deviation: np.ndarray  # (P, 3) [m], axes of the base

    @property
    def lengths(self) -> np.ndarray:
        """(P,) [m]."""
        return np.asarray(np.linalg.norm(self.deviation, axis=1))

    @property
    def grid(self) -> np.ndarray:
        """Lengths over x, y, z [m], NaN out of reach."""
        shape = tuple(map(len, self.axes))
        out = np.full(int(np.prod(shape)), np.nan)
        out[self.cells] = self.lengths
        return out.reshape(shape)


MOST = 20_000  # places


def deviation_map(springs: Springs, k: np.ndarray, model: Model, spec: MapSpec) -> DeviationMap:
    """The map for stiffness k (n,) [N m/rad]; of all ways to a place within limits, that in which the tool moves least.

    Raises:
        NoClosedForm: no inverse kinematics of the robot. BadFile: no force, too fine a grid, no place in reach.
    """
    if not np.any(spec.force):
        raise BadFile("map.force is zero; a map needs a process force")
    counts = [round((high - low) / spec.step) + 1 for low, high in spec.region]
    if min(counts) < 1 or prod(counts) > MOST:
        raise BadFile(
            f"map: the grid has {' by '.join(map(str, counts))} places, at most {MOST} are drawn; give each range from low to high, and a wider 'step'"
        )
    x, y, z = (np.linspace(*ends, n) for ends, n in zip(spec.region, counts, strict=True))
    places = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1).reshape(-1, 3)
    turn = Rotation.from_euler("xyz", spec.rpy).as_matrix()
    poses = np.tile(np.eye(4), (len(places), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = turn, places - turn @ np.array(springs.tool.at)
    ways = inverse_kinematics(springs.robot, poses, springs.tool.frame)
    cell, branch = np.nonzero(ways.inside)
    if not len(cell):
        raise BadFile(f"map: no place is in reach with this orientation of the tool: {ways.why_not(0)}")
    at = place(springs, ways.c[cell, branch])
    force = np.broadcast_to(np.array(spec.force), (len(cell), 3))
    moved = deviation_at(springs, at, force, k, model).values
    order = np.lexsort((np.linalg.norm(moved, axis=1), cell))
    best = order[np.unique(cell[order], return_index=True)[1]]
    return DeviationMap(spec, (x, y, z), places[cell[best]], cell[best], at.q[best], moved[best])
