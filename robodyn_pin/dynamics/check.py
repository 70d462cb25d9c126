"""What a robot file describes: degrees of freedom, loops, what a log can show of it, bodies that cannot exist."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.kernel_choice import not_loaded_for_this
from robodyn_pin.closures.kinds import Coupling
from robodyn_pin.dynamics.base_parameters import bodies_base, random_rows
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.fold import triangle
from robodyn_pin.identification.parameters import why_not_physical
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.dense_bodies import too_dense
from robodyn_pin.robot.masses import any_parameter
from robodyn_pin.robot.other_units import other_units
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.urdf_tree import body_joints, body_name

MOVED = (
    1e-3  # [rad or m] by which closing the loops may move a joint at home: far above the round-off of written numbers
)


@dataclass(frozen=True)
class Report:
    """The findings of a check."""

    joints: int
    mobility: int
    motors: int
    closure_rows: int
    redundant_rows: int
    residual: float  # largest closure residual at home [m or rad]
    shift: float  # how far closing the loops moved home, of the joint that moved most [rad or m]
    moved: dict[str, tuple[float, float]]  # joint -> position asked for and found, where they differ by more than MOVED
    bodies: int  # with inertia
    base: BaseSet
    base_labels: list[str]
    inertial: int  # base parameters of bodies; the others are friction and the like
    not_physical: dict[str, str]  # body -> reason
    assumed: list[str]
    unused: list[str]  # what the URDF says and nothing here reads
    dense: dict[str, str]  # body -> why it is denser than any material
    other_units: list[str]  # what is so large that its unit is in doubt


def check(robot: Robot, seed: int = 0) -> Report:
    """Examine a robot; the base parameters come from random states near home."""
    base, labels, inertial = _base(robot, seed)
    bodies = {
        body_name(robot.model, j): robot.model.inertias[j].toDynamicParameters() for j in body_joints(robot.model)
    }
    names, asked = list(robot.model.names)[1:], asked_home(robot)
    away = np.abs(robot.home - asked)
    reasons = {name: why_not_physical(x) for name, x in bodies.items()}
    return Report(
        joints=robot.model.nv,
        mobility=len(robot.coordinates.names),
        motors=len(robot.motors.names),
        closure_rows=robot.loops.size,
        redundant_rows=robot.redundancy,
        residual=float(np.abs(robot.loops.at(robot.home[None]).residual()).max(initial=0.0)),
        shift=float(away.max()),
        moved={names[k]: (float(asked[k]), float(robot.home[k])) for k in np.flatnonzero(away > MOVED)},
        base=base,
        base_labels=labels,
        inertial=inertial,
        bodies=len(bodies),
        not_physical={name: reason for name, reason in reasons.items() if reason},
        assumed=[f"{what}: {text}" for what, text in robot.file.sources.items() if text.startswith("assumed")],
        unused=list(robot.unused),
        dense={name: reason for name, reason in too_dense(robot).items() if not reasons[name]},
        other_units=other_units(robot),
    )


def asked_home(robot: Robot) -> np.ndarray:
    """Joint positions (nv,) that the files ask for: zero or `home`, and what couplings make of them.

    A coupling with an offset moves a joint by that offset; a loop that closes somewhere else may be mistyped.
    """
    q = np.array([robot.file.home.get(name, 0.0) for name in list(robot.model.names)[1:]])
    couplings = [closure for closure in robot.loops.closures if isinstance(closure, Coupling)]
    rows, missing = np.zeros((len(couplings), len(q))), np.zeros(len(couplings))
    for row, coupling in zip(rows, couplings, strict=True):
        for joint, factor in coupling.joints.items():
            row[joint_index(robot.model, joint)] += factor
    missing[:] = [coupling.offset for coupling in couplings] - rows @ q
    K = np.concatenate([rows, robot.coordinates.S])
    return np.asarray(q + np.linalg.lstsq(K, np.concatenate([missing, np.zeros(len(K) - len(rows))]))[0])


def _base(robot: Robot, seed: int) -> tuple[BaseSet, list[str], int]:
    """The base set, its labels, and how many of it are of bodies; all empty where there is nothing to identify."""
    if not any_parameter(robot):
        none = np.zeros(0, int)
        return BaseSet(none, none, np.zeros((0, 0)), 1.0), [], 0
    layout = columns(robot).layout
    with not_loaded_for_this():
        rows = random_rows(robot, np.random.default_rng(seed))
    base = base_set(bodies_base(robot, rows).cleaned(triangle(rows)), layout.order)
    return base, base.labels(layout.labels), int((base.columns < layout.first_scalar).sum())
