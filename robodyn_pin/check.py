"""What a robot file describes: degrees of freedom, loops, what a log can show of it, bodies that cannot exist."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dense_bodies import too_dense
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.identification.base import BaseSet, base_set
from robodyn_pin.identification.fold import triangle
from robodyn_pin.identification.parameters import why_not_physical
from robodyn_pin.regression import columns, state_regressor
from robodyn_pin.robot import Robot
from robodyn_pin.urdf_tree import body_joints, body_name

STATES = 400  # random states that show which parameters can be told apart
AROUND = 0.3  # [rad or m] of home


@dataclass(frozen=True)
class Report:
    """The findings of a check."""

    joints: int
    mobility: int
    closure_rows: int
    redundant_rows: int
    residual: float  # largest closure residual at home [m or rad]
    base: BaseSet
    base_labels: list[str]
    inertial: int  # base parameters of bodies; the others are friction and the like
    not_physical: dict[str, str]  # body -> reason
    assumed: list[str]
    dense: dict[str, str]  # body -> why it is denser than any material


def check(robot: Robot, seed: int = 0) -> Report:
    """Examine a robot; the base parameters come from random states near home."""
    layout = columns(robot).layout
    base = base_set(triangle(random_rows(robot, np.random.default_rng(seed))), layout.order)
    bodies = {
        body_name(robot.model, j): robot.model.inertias[j].toDynamicParameters() for j in body_joints(robot.model)
    }
    reasons = {name: why_not_physical(x) for name, x in bodies.items()}
    return Report(
        joints=robot.model.nv,
        mobility=len(robot.coordinates.names),
        closure_rows=robot.loops.size,
        redundant_rows=robot.redundancy,
        residual=float(np.abs(robot.loops.evaluate(robot.home[None]).phi).max(initial=0.0)),
        base=base,
        base_labels=base.labels(layout.labels),
        inertial=int((base.columns < layout.first_scalar).sum()),
        not_physical={name: reason for name, reason in reasons.items() if reason},
        assumed=[f"{what}: {text}" for what, text in robot.file.sources.items() if text.startswith("assumed")],
        dense={name: reason for name, reason in too_dense(robot).items() if not reasons[name]},
    )


def random_rows(robot: Robot, rng: np.random.Generator) -> np.ndarray:
    """Rows of the regressor (n, p) at random states around home; states out of reach are drawn nearer."""
    d = len(robot.coordinates.names)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c, around = np.empty((0, d)), AROUND
    while True:
        c = home + around * rng.uniform(-1, 1, (STATES, d))
        try:
            state = robot.close(c, rng.normal(size=c.shape), rng.normal(size=c.shape))
        except ClosureFailed:
            around /= 2
            continue
        W = state_regressor(robot, state)
        return W.reshape(-1, W.shape[2])
