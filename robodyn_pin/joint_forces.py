"""Force and moment in every joint and closure along a log: constraint wrenches, as bearings and pins carry them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.closures.kinds import KINDS, Closure
from robodyn_pin.differentiation import Preparation, rates_of
from robodyn_pin.edges import edge_rows, edge_text, inside
from robodyn_pin.files import write_json, write_text
from robodyn_pin.forces import ConstraintForces, constraint_forces_at, reactions
from robodyn_pin.loads import check_positions
from robodyn_pin.log_files import write_table
from robodyn_pin.motion import Log, resample, uniform
from robodyn_pin.observations import blocks, close_log
from robodyn_pin.robot import Robot, State

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
    forces = constraint_forces_at(robot, state)
    carried = reactions(robot, state, forces) | _in_closures(robot, forces)
    return tuple(carried), np.stack(list(carried.values()), axis=1)


def _in_closures(robot: Robot, forces: ConstraintForces) -> dict[str, np.ndarray]:
    """Multipliers of the closures between two frames as force and moment (N, 6)."""
    found = {}
    for closure in robot.loops.closures:
        if isinstance(closure, Closure):
            lam = forces.multipliers[closure.name]
            found[closure.name] = np.zeros((len(lam), 6))
            found[closure.name][:, KINDS[closure.kind].kept] = lam
    return found


def joint_history(robot: Robot, log: Log, preparation: Preparation) -> JointHistory:
    """Wrenches in all joints and closures along a log with positions.

    Raises:
        ClosureFailed, BeyondLimits: the log leaves the workspace; names the row. BadFile: a tool of unknown inertia.
    """
    even = uniform(log)
    rates, found = rates_of(even, preparation), []
    names: tuple[str, ...] = ()
    for low, begin, end, high in blocks(even, rates, [], 0, even.size, BLOCK):
        section = even.section(low, high)
        state = close_log(robot, section, rates)
        check_positions(robot, state.q, section.row)
        names, part = joint_wrenches(robot, state)
        found.append(part[begin - low : end - low])
    wrenches = np.concatenate(found)
    if even is not log:
        flat = resample(log.t, even.t, wrenches.reshape(even.size, -1))
        wrenches = flat.reshape(len(log.t), -1, 6)
    return JointHistory(log.t, names, wrenches, edge_rows(log, preparation))


def joint_forces_of_log(robot: Robot, log: Log, preparation: Preparation, out: Path) -> dict[str, Any]:
    """Compute wrenches along a log, write table, plot and summary, and return the summary; raises as `joint_history`."""
    from robodyn_pin.viz.joint_plot import joint_figure
    from robodyn_pin.viz.plots import svg_file

    whole = joint_history(robot, log, preparation)
    history = whole.inside
    summary = {
        "robot": robot.name, "simulated": log.simulated, "rows": len(history.t), "joints": extremes(history),
        "edge rows": whole.edge, "edge": edge_text(log.size, whole.edge), "columns not used": list(log.quality.unused),
        "files": [out.with_suffix(s).name for s in (".svg", ".json")],
    }  # fmt: skip
    named = {"t": history.t} | {
        f"{component}_{name}": history.wrenches[:, k, i]
        for k, name in enumerate(history.names)
        for i, component in enumerate(SIX)
    }
    simulated = ", SIMULATED log" if log.simulated else ""
    write_table(out, named, f"force [N] and moment [N m] in joints, along the body's axes{simulated}")
    title = f"{robot.name}{' (SIMULATED log)' if log.simulated else ''}"
    write_text(out.with_suffix(".svg"), svg_file(joint_figure(history, title), "joints"))
    write_json(out.with_suffix(".json"), summary)
    return summary


def extremes(history: JointHistory) -> list[dict[str, Any]]:
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
