"""Correct a path for the elastic deviation: motor positions from which the process force pulls the tool onto the plan.

The loaded robot shall stand in the planned pose, so the spring torques are known there: q = q_planned - B K^-1 J' F with
B, K and J of the planned pose. This takes no iteration. Position and orientation of the tool come out as planned, as far
as the stiffness is right.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.elastic.deviation import deviation_at, linear_deflection
from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.measurements import AXES, FORCE, motor_headers
from robodyn_pin.elastic.springs import PoseKinematics, Springs, coordinates_of, pose_kinematics
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict
from robodyn_pin.logs.table import columns_of, open_table
from robodyn_pin.logs.writing import write_table


class LoadedPathSpec(Strict):
    """A path under a process force."""

    file: Path  # CSV: motor positions q1, q2, ...; optionally t; fx, fy, fz [N] unless `force` gives the force
    force: Vector | None = None  # [N] constant force on the tool, axes of the base
    truth: dict[str, float] | None = None  # springs of a SIMULATED robot that follows both paths [N m/rad]


@dataclass(frozen=True)
class LoadedPath:
    """N points of a path with the force on the tool."""

    t: np.ndarray | None  # (N,) [s]
    q: np.ndarray  # (N, n_motors) planned [rad or m]
    force: np.ndarray  # (N, 3) [N]


@dataclass(frozen=True)
class PathCorrection:
    """A path and its correction."""

    path: LoadedPath
    planned: PoseKinematics
    q: np.ndarray  # (N, n_motors) corrected [rad or m]
    deviation: np.ndarray  # (N, 3) expected without correction [m]
    remaining_deviation: np.ndarray  # (N,) standard deviation after correction, from that of the stiffness [m]
    simulated: tuple[np.ndarray, np.ndarray] | None  # (N, 3) SIMULATED deviations without and with correction [m]

    @property
    def remaining_share(self) -> float | None:
        """Rms of the SIMULATED deviation with correction over that without."""
        if self.simulated is None:
            return None
        without, corrected = self.simulated
        return float(np.sqrt((corrected**2).sum() / (without**2).sum()))


def read_loaded_path(path: Path, springs: Springs, spec: LoadedPathSpec) -> LoadedPath:
    """Read a path file.

    Raises:
        BadLog, UnknownName, BadFile: the file lacks something or has numbers that cannot be; the message says which.
    """
    table, motors = open_table(path), motor_headers(springs.robot)
    q = np.stack(columns_of(table, motors), axis=1)
    if not len(q):
        raise BadFile(f"{path}: no points below the header")
    if spec.force is not None:
        force = np.tile(np.array(spec.force), (len(q), 1))
    elif FORCE[0] in table.headers:
        force = np.stack(columns_of(table, FORCE), axis=1)
    else:
        raise BadFile(f"{path}: no columns fx, fy, fz [N]; add them, or 'force' to 'path' in the run file")
    if not force.any():
        raise BadFile(f"{path}: the force is zero all along; there is nothing to correct")
    t = columns_of(table, ["t"])[0] if "t" in table.headers else None
    return LoadedPath(t, q, force)


def correct_path(
    springs: Springs, k: np.ndarray, covariance: np.ndarray, path: LoadedPath, true_k: np.ndarray | None = None
) -> PathCorrection:
    """Correct a path for springs of stiffness k (n,) with covariance (n, n).

    Args:
        true_k: (n,) springs of a robot that is simulated on both paths [N m/rad].

    Raises:
        ClosureFailed, BadFile: a planned or corrected point is out of reach; the message names the limit.
    """
    planned = pose_kinematics(springs, coordinates_of(springs, path.q))
    check_positions(springs.robot, planned.q, lambda i: f"point {i + 1} of the path")
    expected = deviation_at(springs, planned, path.force, k, "loaded")
    B = motor_map(springs.robot, planned.state)
    q = path.q - np.einsum("nmd,nd->nm", B, linear_deflection(planned, path.force, k))
    commanded = pose_kinematics(springs, coordinates_of(springs, q))
    check_positions(springs.robot, commanded.q, lambda i: f"point {i + 1} of the corrected path")
    remaining = np.sqrt(np.einsum("nxi,ij,nxj->n", expected.slopes, covariance, expected.slopes))
    simulated = None
    if true_k is not None:
        without = deviation_at(springs, planned, path.force, true_k, "loaded").values
        deflection = deviation_at(springs, commanded, path.force, true_k, "loaded").values
        simulated = without, commanded.point - planned.point + deflection
    return PathCorrection(path, planned, q, expected.values, remaining, simulated)


def write_corrected_path(path: Path, correction: PathCorrection, springs: Springs) -> None:
    """Write the corrected path as CSV; raises as `write_table`."""
    loaded = correction.path
    columns = {} if loaded.t is None else {"t": loaded.t}
    columns |= dict(zip(motor_headers(springs.robot), correction.q.T, strict=True))
    columns |= {f"f{axis}": loaded.force[:, i] for i, axis in enumerate(AXES)}
    columns |= {f"planned_{axis}": correction.planned.point[:, i] for i, axis in enumerate(AXES)}
    columns |= {f"expected_d{axis}": correction.deviation[:, i] for i, axis in enumerate(AXES)}
    columns |= {"uncertainty": correction.remaining_deviation}
    note = (
        f"corrected path of {springs.robot.name}: q [rad or m] motor positions from which the force f [N] pulls the tool to the planned point "
        "[m]; expected_d [m] deviation without correction; uncertainty [m] standard deviation after correction; axes of the base"
    )
    write_table(path, columns, note)
