"""What a robot file describes: degrees of freedom, loops, what a log can show of it, bodies that cannot exist."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.base_parameters import bodies_base, random_rows
from robodyn_pin.identification.base import BaseSet, base_set
from robodyn_pin.identification.fold import triangle
from robodyn_pin.identification.parameters import why_not_physical
from robodyn_pin.regression import columns
from robodyn_pin.robot import Robot
from robodyn_pin.urdf_tree import body_joints, body_name


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


def check(robot: Robot, seed: int = 0) -> Report:
    """Examine a robot; the base parameters come from random states near home."""
    layout = columns(robot).layout
    rows = random_rows(robot, np.random.default_rng(seed))
    base = base_set(bodies_base(robot, rows).cleaned(triangle(rows)), layout.order)
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
    )
