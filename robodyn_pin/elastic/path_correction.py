"""A path that bends into the planned one: motor positions against which the process force pulls the tool into place.

With the torques of the planned pose, which the loaded robot shall take: motors = planned - B K^-1 J' F. No iteration is
needed, and position and orientation of the tool both come out as planned, if the springs are what they are believed to be.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.elastic.deviation import deviation_at, yielding
from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.measurements import AXES, FORCE, motor_headers
from robodyn_pin.elastic.springs import Placed, Springs, coordinates_of, place
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict
from robodyn_pin.logs.table import column, read_table
from robodyn_pin.logs.writing import write_table


class PathSpec(Strict):
    """A path under a process force."""

    file: Path  # CSV: t where there is one, q1.. of the motors, fx fy fz [N] where they are not `force`
    force: Vector | None = None  # [N] on the tool all along, axes of the base
    truth: dict[str, float] | None = None  # springs of a SIMULATED robot that follows both paths [N m/rad]


@dataclass(frozen=True)
class Course:
    """N points of a path."""

    t: np.ndarray | None  # (N,) [s]
    q: np.ndarray  # (N, n_motors) planned [rad or m]
    force: np.ndarray  # (N, 3) [N]


@dataclass(frozen=True)
class Correction:
    """A path and its correction."""

    course: Course
    planned: Placed
    q: np.ndarray  # (N, n_motors) corrected [rad or m]
    deviation: np.ndarray  # (N, 3) expected without correction [m]
    unsure: np.ndarray  # (N,) standard deviation of what is left, from that of the stiffness [m]
    truth: (
        tuple[np.ndarray, np.ndarray] | None
    )  # (N, 3) SIMULATED deviations from plan, without and with correction [m]

    @property
    def part_left(self) -> float | None:
        """SIMULATED: rms deviation left, part of that without correction."""
        if self.truth is None:
            return None
        before, after = self.truth
        return float(np.sqrt((after**2).sum() / (before**2).sum()))


def read_course(path: Path, springs: Springs, spec: PathSpec) -> Course:
    """A path file.

    Raises:
        BadLog, UnknownName, BadFile: what is wrong in it.
    """
    table, notes = read_table(path)
    first = notes.count("\n") + 2
    q = np.stack([column(table, name, path, first) for name in motor_headers(springs.robot)], axis=1)
    if not len(q):
        raise BadFile(f"{path}: no points below the header")
    if spec.force is None and FORCE[0] not in table.columns:
        raise BadFile(f"{path}: no columns fx, fy, fz [N]; add them, or 'force' to 'path' in the run file")
    if spec.force is not None:
        force = np.tile(np.array(spec.force), (len(q), 1))
    else:
        force = np.stack([column(table, name, path, first) for name in FORCE], axis=1)
    if not force.any():
        raise BadFile(f"{path}: the force is zero all along; there is nothing to correct")
    return Course(column(table, "t", path, first) if "t" in table.columns else None, q, force)


def correct(
    springs: Springs, k: np.ndarray, covariance: np.ndarray, course: Course, truth: np.ndarray | None = None
) -> Correction:
    """The corrected path for stiffness k (n,) with its covariance (n, n); truth (n,): springs of a simulated robot.

    Raises:
        ClosureFailed, BadFile: a point out of reach, planned or corrected; names the limit.
    """
    planned = place(springs, coordinates_of(springs, course.q))
    check_positions(springs.robot, planned.q, lambda i: f"point {i + 1} of the path")
    found = deviation_at(springs, planned, course.force, k, "loaded")
    motors = springs.robot.motors.S @ planned.T
    q = course.q - np.einsum("nmd,nd->nm", motors, yielding(planned, course.force, k))
    commanded = place(springs, coordinates_of(springs, q))
    check_positions(springs.robot, commanded.q, lambda i: f"point {i + 1} of the corrected path")
    unsure = np.sqrt(np.einsum("nxi,ij,nxj->n", found.slopes, covariance, found.slopes))
    simulated = None
    if truth is not None:
        before = deviation_at(springs, planned, course.force, truth, "loaded").values
        after = deviation_at(springs, commanded, course.force, truth, "loaded").values
        simulated = before, commanded.point - planned.point + after
    return Correction(course, planned, q, found.values, unsure, simulated)


def write_course(path: Path, found: Correction, springs: Springs) -> None:
    """Write the corrected path as CSV; raises as `write_table`."""
    course = found.course
    named = {} if course.t is None else {"t": course.t}
    named |= dict(zip(motor_headers(springs.robot), found.q.T, strict=True))
    named |= {f"f{axis}": course.force[:, i] for i, axis in enumerate(AXES)}
    named |= {f"planned_{axis}": found.planned.point[:, i] for i, axis in enumerate(AXES)}
    named |= {f"expected_d{axis}": found.deviation[:, i] for i, axis in enumerate(AXES)} | {"unsure": found.unsure}
    note = (
        f"corrected path of {springs.robot.name}: q [rad or m] of the motors, against which the force f [N] pulls the tool to the planned point "
        "[m]; expected_d [m]: deviation without correction, unsure [m]: standard deviation of what is left; axes of the base"
    )
    write_table(path, named, note)
