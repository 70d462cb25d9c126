"""How far a process force moves the tool over a workspace: a grid of places, each in the pose that deviates least."""

from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from robodyn_pin.elastic.deviation import DeviationModel, deviation_at
from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.pose_rules import Region
from robodyn_pin.elastic.springs import Springs, pose_kinematics
from robodyn_pin.errors import BadFile
from robodyn_pin.families.inverse_kinematics import inverse_kinematics
from robodyn_pin.files import Strict

MOST_PLACES = 20_000


class MapSpec(Strict):
    """The grid of a map and the force."""

    force: Vector  # [N] on the tool, axes of the base
    region: Region  # [m] x, y, z of the tool's point; a range may have length zero
    step: Annotated[float, Field(gt=0)] = 0.1  # [m]
    rpy: Vector = (0.0, 0.0, 0.0)  # [rad] orientation of the tool's frame in the base


@dataclass(frozen=True)
class DeviationMap:
    """Deviations on a grid."""

    spec: MapSpec
    axes: tuple[np.ndarray, np.ndarray, np.ndarray]  # x, y, z of the grid [m]
    points: np.ndarray  # (P, 3) places within reach [m]
    cells: np.ndarray  # (P,) their numbers in the grid, z fastest
    q: np.ndarray  # (P, nv) of all joints
    deviation: np.ndarray  # (P, 3) [m], axes of the base

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the deviations (P,) [m]."""
        return np.asarray(np.linalg.norm(self.deviation, axis=1))

    @property
    def grid(self) -> np.ndarray:
        """Lengths over x, y, z [m], NaN out of reach."""
        shape = tuple(map(len, self.axes))
        lengths = np.full(int(np.prod(shape)), np.nan)
        lengths[self.cells] = self.lengths
        return lengths.reshape(shape)


def deviation_map(springs: Springs, k: np.ndarray, model: DeviationModel, spec: MapSpec) -> DeviationMap:
    """The map for stiffness k (n,) [N m/rad]; of all poses within limits at a place it takes the one that deviates least.

    Raises:
        NoClosedForm: the robot has no closed-form inverse kinematics.
        BadFile: the force is zero, the grid is too fine, no place is within reach.
    """
    if not np.any(spec.force):
        raise BadFile("map.force is zero; a map needs a process force")
    counts = [round((high - low) / spec.step) + 1 for low, high in spec.region]
    if min(counts) < 1 or prod(counts) > MOST_PLACES:
        raise BadFile(
            f"map: the grid has {' by '.join(map(str, counts))} places, at most {MOST_PLACES} are drawn; give each range from low to high, and a wider 'step'"
        )
    x, y, z = (np.linspace(*ends, n) for ends, n in zip(spec.region, counts, strict=True))
    places = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1).reshape(-1, 3)
    rotation = Rotation.from_euler("xyz", spec.rpy).as_matrix()
    frames = np.tile(np.eye(4), (len(places), 1, 1))
    frames[:, :3, :3], frames[:, :3, 3] = rotation, places - rotation @ np.array(springs.tool.at)
    branches = inverse_kinematics(springs.robot, frames, springs.tool.frame)
    cell, branch = np.nonzero(branches.inside)
    if not len(cell):
        raise BadFile(f"map: no place is in reach with this orientation of the tool: {branches.why_not(0)}")
    poses = pose_kinematics(springs, branches.c[cell, branch])
    force = np.broadcast_to(np.array(spec.force), (len(cell), 3))
    moved = deviation_at(springs, poses, force, k, model).values
    order = np.lexsort((np.linalg.norm(moved, axis=1), cell))
    best = order[np.unique(cell[order], return_index=True)[1]]
    return DeviationMap(spec, (x, y, z), places[cell[best]], cell[best], poses.q[best], moved[best])
