"""The bearing of a joint that turns, as a tree that can give way there along the joint's axis.

A slide without mass and motion before the joint has as its effort the force that the bearing carries along the axis. So everything
that works out efforts of trees, kernels included, works out bearings, too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Closure, Coupling
from robodyn_pin.closures.loops import Loops


class Bearing(NamedTuple):
    """A tree with one more joint, and the same closures."""

    loops: Loops
    joints: np.ndarray  # (joints,) of the tree without the slide, in this tree; 0 is the world
    slide: int  # place of the slide in v

    def moved(self, x: np.ndarray) -> np.ndarray:
        """Positions, rates or accelerations (N, nv) of this tree, of those of the tree without the slide (N, nv - 1)."""
        found = np.zeros((len(x), self.loops.model.nv))
        found[:, self.joints[1:] - 1] = x
        return found

    def bodies(self, parameters: np.ndarray) -> np.ndarray:
        """Ten parameters of each joint's body (joints, 10) of this tree, of those of the tree without the slide."""
        found = np.zeros((self.loops.model.njoints, 10))
        found[self.joints] = parameters
        return found


def bearing_of(model: pin.Model, closures: Sequence[Closure | Coupling], name: str) -> Bearing:
    """The bearing of a joint that turns, by name."""
    own, tree = model.getJointId(name), pin.Model()
    tree.gravity = model.gravity
    joints = np.zeros(model.njoints, np.int64)
    for j in range(1, model.njoints):
        parent, placement = int(joints[model.parents[j]]), model.jointPlacements[j]
        if j == own:
            axis = model.joints[j].createData().S[3:].ravel()
            slide = tree.addJoint(parent, pin.JointModelPrismaticUnaligned(*axis), placement, f"{name} along its axis")
            parent, placement = slide, pin.SE3.Identity()
        joints[j] = tree.addJoint(parent, model.joints[j], placement, model.names[j])
        tree.appendBodyToJoint(int(joints[j]), model.inertias[j], pin.SE3.Identity())
    for frame in model.frames:
        if not tree.existFrame(frame.name):
            tree.addFrame(pin.Frame(frame.name, int(joints[frame.parentJoint]), frame.placement, frame.type))
    return Bearing(Loops(tree, closures), joints, tree.joints[slide].idx_v)
