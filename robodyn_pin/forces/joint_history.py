"""Force and moment in every joint and closure along a log: constraint wrenches, as bearings and pins carry them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robodyn_pin.closures.kinds import KINDS, Closure
from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.dynamics.multipliers import Loads, reactions
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_rows, inside
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import at_positions, at_rows, uniform
from robodyn_pin.robot.robot import Robot, State

BLOCK = 5_000  # samples closed at once
SIX = ("fx", "fy", "fz", "mx", "my", "mz")


@dataclass(frozen=True)
class JointHistory:
    """Wrenches at the rows of a log: force [N] and moment [N m] on a joint's body at the joint, along the body's axes.

    Of a closure: on its second member, along the axes of its first; those of a rod along x, the moment of a universal
    joint, which is about the normal of its cross, along z.
    """

    t: np.ndarray  # (N,) [s]
    names: tuple[str, ...]  # joints of the tree, then closures
    wrenches: np.ndarray  # (N, k, 6)
    edge: int = 0  # rows at both ends whose rates miss what lies beyond

    @property
    def inside(self) -> "JointHistory":
        """The history without its edges; of a short log all of it."""
        kept = inside(len(self.t), self.edge)
        return replace(self, t=self.t[kept], wrenches=self.wrenches[kept], edge=0)


def joint_wrenches(robot: Robot, state: State) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of joints and closures, and what they carry (N, k, 6), at closed states; parameters of the robot's files."""
    named = Loads(robot, state).multipliers
    carried = reactions(robot, state, named) | _in_closures(robot, named)
    return tuple(carried), np.stack(list(carried.values()), axis=1)


def _in_closures(robot: Robot, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Multipliers of the closures between two frames as force and moment (N, 6)."""
    found = {}
    for closure in robot.loops.closures:
        if isinstance(closure, Closure):
            lam = named[closure.name]
            found[closure.name] = np.zeros((len(lam), 6))
            found[closure.name][:, KINDS[closure.kind].kept] = lam
    return found


def joint_history(robot: Robot, log: Log, preparation: Preparation) -> JointHistory:
    """Wrenches in all joints and closures along a log with positions.

    Raises:
        ClosureFailed, BeyondLimits: the log leaves the workspace; names the row. BadFile: a tool of unknown inertia.
    """
    log = at_positions(log)
    even = uniform(log)
    found = []
    names: tuple[str, ...] = ()
    for part in along_log(robot, even, preparation, BLOCK):
        check_positions(robot, part.state.q, part.log.row)
        names, wrenches = joint_wrenches(robot, part.state)
        found.append(wrenches[part.keep])
    wrenches = np.concatenate(found)
    if even is not log:
        flat = at_rows(log, wrenches.reshape(even.size, -1))
        wrenches = flat.reshape(len(log.t), -1, 6)
    return JointHistory(log.t, names, wrenches, edge_rows(log, preparation))


def joint_extremes(history: JointHistory) -> list[dict[str, Any]]:
    """Largest force and moment of each joint and when; the edges of the log do not count."""
    history = history.inside
    force, moment = (np.linalg.norm(history.wrenches[:, :, part], axis=2) for part in (slice(3), slice(3, 6)))
    t = history.t
    return [
        {
            "joint": name, "largest force [N]": float(force[:, k].max()), "force at [s]": float(t[force[:, k].argmax()]),
            "largest moment [N m]": float(moment[:, k].max()), "moment at [s]": float(t[moment[:, k].argmax()]),
        }
        for k, name in enumerate(history.names)
    ]  # fmt: skip
