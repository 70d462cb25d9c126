"""A tree and its loops as plain arrays: all that the compiled kernels know of a robot. Joint j moves with q[j - 1]."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.elimination import EliminationPlan
from robodyn_pin.closures.kinds import KINDS, Closure, Coupling


class Tree(NamedTuple):
    """Joints in Pinocchio's order; joint 0 is the world."""

    parent: np.ndarray  # (joints,)
    turns: np.ndarray  # (joints,) revolute, else prismatic
    axis: np.ndarray  # (joints, 3) in the joint's frame
    turn: np.ndarray  # (joints, 3, 3, 3) rotation to the parent: turn[0] + sin(q) turn[1] + (1 - cos(q)) turn[2]
    origin: np.ndarray  # (joints, 3) in the parent's frame
    slide: np.ndarray  # (joints, 3) of the origin per q, in the parent's frame


class LoopTable(NamedTuple):
    """Closures; the joints of closure k are those between start[k] and start[k + 1], its own first (elimination.py)."""

    formula: np.ndarray  # (k,) FRAMES, DISTANCE or COUPLING of kinds.py
    held: np.ndarray  # (k, 6) which row of the closure holds x, y, z, rx, ry, rz of b against a; -1: none
    coincident: np.ndarray  # (k,) velocities of points are compared at a, else at b
    first_row: np.ndarray  # (k,)
    n_rows: np.ndarray  # (k,)
    n_own: np.ndarray  # (k,) joints that no other closure and no coordinate sees
    a: np.ndarray  # (k,) joints that carry the frames
    b: np.ndarray
    turn_a: np.ndarray  # (k, 3, 3) placements in the joints' frames
    at_a: np.ndarray  # (k, 3)
    turn_b: np.ndarray
    at_b: np.ndarray
    length: np.ndarray  # (k,) of a rod; offset of a coupling
    start: np.ndarray  # (k + 1,)
    joint: np.ndarray  # that moves frame a or b, not both
    sign: np.ndarray  # 1: moves b, -1: moves a; of a coupling its factors
    place: np.ndarray  # position among the shared unknowns; -1: own, or a coordinate itself
    known: np.ndarray  # unknowns that are a coordinate themselves, up to a factor
    known_row: np.ndarray  # which coordinate
    mixed: np.ndarray  # coordinates that combine several joints
    shared: np.ndarray  # unknowns of the shared system
    n_left: int  # equations of the shared system
    size: int  # equations of all closures
    rows: int  # most equations of a closure or of the shared system
    columns: int  # most unknowns of either


def tree_table(model: pin.Model) -> Tree | None:
    """The tree of a model; None if a joint is neither revolute nor prismatic with one degree of freedom."""
    n = model.njoints
    table = Tree(
        np.array(list(model.parents), np.int64), np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3, 3, 3)), np.zeros((n, 3)),
        np.zeros((n, 3)),
    )  # fmt: skip
    for j in range(1, n):
        joint = model.joints[j]
        if (joint.nq, joint.nv, joint.idx_v) != (1, 1, j - 1):
            return None
        data = joint.createData()
        joint.calc(data, np.zeros(model.nq))
        S = np.asarray(data.S).reshape(6)
        table.turns[j] = np.linalg.norm(S[:3]) < 1e-12
        axis = S[3:] if table.turns[j] else S[:3]
        if abs(np.linalg.norm(axis) - 1) > 1e-9 or (S[:3].any() and S[3:].any()):
            return None
        placement = model.jointPlacements[j]
        table.axis[j], table.origin[j], table.turn[j, 0] = axis, placement.translation, placement.rotation
        if table.turns[j]:
            table.turn[j, 1] = placement.rotation @ pin.skew(axis)
            table.turn[j, 2] = placement.rotation @ pin.skew(axis) @ pin.skew(axis)
        else:
            table.slide[j] = placement.rotation @ axis
    return table


def chains(
    model: pin.Model, closures: Sequence[Closure | Coupling], anchors: Sequence[pin.RigidConstraintModel]
) -> list[dict[int, float]]:
    """For each closure its joints with 1 where they move frame b, -1 where frame a; of a coupling its factors.

    `anchors` are Pinocchio's, of the closures that have one.
    """
    found, remaining = [], iter(anchors)
    for closure in closures:
        if isinstance(closure, Coupling):
            found.append({model.getJointId(name): factor for name, factor in closure.joints.items()})
            continue
        anchor = next(remaining)
        moves_a, moves_b = (set(list(model.supports[joint])[1:]) for joint in (anchor.joint1_id, anchor.joint2_id))
        found.append({j: 1.0 if j in moves_b else -1.0 for j in sorted(moves_a ^ moves_b)})
    return found


def loop_table(
    closures: Sequence[Closure | Coupling],
    anchors: Sequence[pin.RigidConstraintModel],
    signs: Sequence[dict[int, float]],
    plan: EliminationPlan,
) -> LoopTable:
    """The closures for the kernels; `signs` as `chains` finds them."""
    k, remaining, kinds = len(closures), iter(anchors), [KINDS[c.kind] for c in closures]
    joints, turn, at, length = np.zeros((2, k), np.int64), np.zeros((2, k, 3, 3)), np.zeros((2, k, 3)), np.zeros(k)
    for i, closure in enumerate(closures):
        if isinstance(closure, Coupling):
            length[i] = closure.offset
            continue
        length[i], anchor = closure.length, next(remaining)
        ends = (anchor.joint1_id, anchor.joint1_placement), (anchor.joint2_id, anchor.joint2_placement)
        for side, (joint, placement) in enumerate(ends):
            joints[side, i], turn[side, i], at[side, i] = joint, placement.rotation, placement.translation
    held = np.full((k, 6), -1)
    for row, kind in zip(held, kinds, strict=True):
        row[kind.kept] = np.arange(len(kind.rows))
    order = [
        [(int(c) + 1, int(p)) for c, p in zip(plan.columns[i, :n], plan.place[i], strict=False)]
        for i, n in enumerate(plan.n_columns)
    ]
    return LoopTable(
        formula=np.array([kind.formula for kind in kinds], np.int64), held=held,
        coincident=np.array([kind.coincident for kind in kinds], bool),
        first_row=np.cumsum([0, *plan.n_rows[:-1]])[:k].astype(np.int64), n_rows=plan.n_rows, n_own=plan.n_own,
        a=joints[0], b=joints[1], turn_a=turn[0], at_a=at[0], turn_b=turn[1], at_b=at[1], length=length,
        start=np.cumsum([0, *plan.n_columns]).astype(np.int64),
        joint=np.array([j for chain in order for j, _ in chain], np.int64),
        sign=np.array([signs[i][j] for i, chain in enumerate(order) for j, _ in chain], float),
        place=np.array([p for chain in order for _, p in chain], np.int64),
        known=plan.known, known_row=plan.known_row, mixed=plan.mixed, shared=plan.shared, n_left=plan.n_left,
        size=int(plan.n_rows.sum()), rows=max([*plan.n_rows.tolist(), plan.n_left]),
        columns=max([*plan.n_columns.tolist(), len(plan.shared)]),
    )  # fmt: skip
