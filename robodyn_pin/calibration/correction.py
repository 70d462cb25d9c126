"""Motor positions for a controller that keeps the drawn geometry, so that the calibrated robot's tool goes where it should.

A robot of d coordinates places its tool in d directions: those of the drawn robot count, positions before turns (as far as the
tool's place leaves them free). In these the tool of the calibrated robot stands where it should; what a geometry with errors does in
the others, no motor can take back, and it is told. Newton on all points at once, with the closed robot's own Jacobian.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.calibration.calibration_units import CalibrationUnits
from robodyn_pin.calibration.targets import Vector
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.errors import BadFile, SolverFailed
from robodyn_pin.files import Strict
from robodyn_pin.logs.numbers_of_cells import column
from robodyn_pin.logs.table import check_header, open_table
from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.kinematics import end_effector, tree_jacobians
from robodyn_pin.robot.robot import Robot

PLACE, TURN = ("x", "y", "z"), ("rx", "ry", "rz")
STEPS = 40
FARTHEST = 0.2  # [rad or m] a correction may move a coordinate
LONGEST = 0.3  # [rad or m] of one step of a coordinate
REACHED = 1e-11  # [m or rad]
ALMOST = 1e-9  # [m or rad] where round-off stops the steps before that
STAGES = 8  # from home to the places of a tool path
FREE = 1e-6  # of the largest singular value: below it a robot does not move its tool that way
BEYOND = 1e-6  # [m or rad] a pose of a tool path may lie beyond what the drawn robot can do


class DrawnPathSpec(Strict):
    """A path to correct, in columns of a CSV file.

    Either a column for each coordinate, as they were planned on the drawn robot, or x, y, z and rx, ry, rz (rotation vector) of the
    tool in the axes of the robot's base; the turns may be missing where the robot turns its tool in no way of its own. Optionally t.
    """

    file: Path
    frame: str | None = None  # of the tool; default: the end effector
    at: Vector = (0.0, 0.0, 0.0)  # where in that frame the tool is [m]
    units: CalibrationUnits = CalibrationUnits()


@dataclass(frozen=True)
class ToolPoint:
    """A point fixed to a frame."""

    frame: str
    at: np.ndarray  # (3,) [m]


@dataclass(frozen=True)
class DrawnPath:
    """N points of a path, as the drawn robot takes it."""

    t: np.ndarray | None  # (N,) [s]
    c: np.ndarray  # (N, d) coordinates of the drawn robot [rad or m]
    places: np.ndarray  # (N, 4, 4) of the tool in the base


@dataclass(frozen=True)
class CorrectedPath:
    """What to command along a path, and where the tool is."""

    path: DrawnPath
    tool: ToolPoint
    c: np.ndarray  # (N, d) coordinates to command [rad or m]
    q: np.ndarray  # (N, nv) joints of the calibrated robot where its tool is right
    uncorrected: (
        np.ndarray
    )  # (N, 6) where the tool is without correction minus where it should [m, rad], axes of the base
    left: np.ndarray  # (N, 6) the same with correction: what no motor can take back


def tool_of(robot: Robot, spec: DrawnPathSpec) -> ToolPoint:
    """The tool of a path; raises UnknownName, or BadFile where no frame is named and the robot has no end effector."""
    frame = spec.frame or end_effector(robot)
    if frame is None:
        raise BadFile(f"'path' names no 'frame' of the tool, and {robot.name!r} has no end effector; add 'frame'")
    frame_number(robot.model, frame, "'path'")
    return ToolPoint(frame, np.array(spec.at))


def read_path(path: Path, spec: DrawnPathSpec, robot: Robot, tool: ToolPoint) -> DrawnPath:
    """Read a path; the drawn robot takes it.

    Raises:
        BadLog, UnknownName: the file; names column and row. ClosureFailed, BeyondLimits, BadFile: a point is out of reach.
    """
    table = open_table(path)
    names = robot.coordinates.names
    planned = not set(PLACE) <= set(table.headers) or set(names) <= set(table.headers)
    turned = not planned and any(name in table.headers for name in TURN)
    headers = list(names) if planned else [*PLACE, *(TURN if turned else ())]
    length, angle = spec.units.factors
    sizes = np.where(robot.slides(robot.coordinates.S), length, angle) if planned else np.repeat([length, angle], 3)
    timed = ["t"] if "t" in table.headers else []
    for header in [*headers, *timed]:
        check_header(table, header)
    cells = table.read([*headers, *timed])
    units = dict(zip(headers, sizes, strict=False))
    read = [column(cells[name], str(path), table.line, unit=float(units[name])) for name in headers]
    if not len(read[0]):
        raise BadFile(f"{path}: no points below the header")
    t = column(cells["t"], str(path), table.line, clock=True) if timed else None
    x = np.stack(read, axis=1)
    c = x if planned else _reach_from_home(robot, tool, x, path.name)
    q = _closed(robot, c, f"point {{}} of {path.name}")
    check_positions(robot, q, lambda i: f"point {i + 1} of {path.name}")
    return DrawnPath(t, c, _placed(robot, q, tool))


def correct_for_geometry(drawn: Robot, calibrated: Robot, path: DrawnPath, tool: ToolPoint) -> CorrectedPath:
    """Coordinates (N, d) at which the calibrated robot's tool is where the drawn one's is along a path.

    Both robots have the same coordinates: what their controller reads and commands.

    Raises:
        ClosureFailed, BeyondLimits: a corrected point is out of reach. SolverFailed: near a singular pose; names the point.
    """
    label = "corrected point {}"
    asked = _directions(_jacobian(drawn, _closed(drawn, path.c, "point {}"), tool))
    uncorrected = away_from(_placed(calibrated, _closed(calibrated, path.c, "point {}"), tool), path.places)
    c, q, off = _reach(calibrated, tool, path.places, path.c, label, asked)
    moved = np.abs(c - path.c)
    if moved.max() > FARTHEST:
        i, k = divmod(int(moved.argmax()), moved.shape[1])
        raise SolverFailed(
            f"{label.format(i + 1)}: {drawn.coordinates.names[k]!r} would have to move by {moved[i, k]:.2g} rad or m; keep the path away from "
            "singular poses",
            "",
        )
    check_positions(calibrated, q, lambda i: label.format(i + 1))
    return CorrectedPath(path, tool, c, q, uncorrected, off)


def _reach(
    robot: Robot,
    tool: ToolPoint,
    places: np.ndarray,
    c: np.ndarray,
    label: str,
    asked: np.ndarray | None,
    rough: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, joints and what is left (N, 6) of a tool at `places` in the asked directions (N, 6, 6), by Newton from c.

    Without `asked`, in those that the robot has at every step. `rough`: two steps only.
    """
    for step in range(STEPS):
        q = _closed(robot, c, label)
        off, J = away_from(_placed(robot, q, tool), places), _jacobian(robot, q, tool)
        A = _directions(J) if asked is None else asked
        missing = np.einsum("nij,nj->ni", A, off)
        size = np.abs(missing).max(axis=1)
        if size.max() < REACHED or (rough and step == 2):
            return c, q, off
        change = -np.einsum("ndi,ni->nd", np.linalg.pinv(A @ J, rcond=1e-9), missing)
        largest = np.abs(change).max(axis=1, keepdims=True)
        if largest.max() < 1e-14 and size.max() < ALMOST:
            return c, q, off
        c = c + change * np.minimum(1.0, LONGEST / np.maximum(largest, 1e-300))
    if size.max() < ALMOST:
        return c, q, off
    i = int(size.argmax())
    raise SolverFailed(
        f"{label.format(i + 1)}: {size[i]:.2g} m or rad were left after {STEPS} steps; keep the path away from singular poses",
        "",
    )


def _reach_from_home(robot: Robot, tool: ToolPoint, x: np.ndarray, name: str) -> np.ndarray:
    """Coordinates (N, d) of the drawn robot with its tool at x (N, 3 or 6), in home's mode: all points go there from home at once."""
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    J, start = _jacobian(robot, robot.home[None], tool)[0], _placed(robot, robot.home[None], tool)[0]
    if x.shape[1] == 3 and np.linalg.matrix_rank(J, FREE) > np.linalg.matrix_rank(J[:3], FREE):
        raise BadFile(
            f"{name}: the robot turns its tool, too; add columns rx, ry, rz [rad], the rotation vector of the tool"
        )
    R = np.stack([pin.exp3(turn) for turn in x[:, 3:]]) if x.shape[1] == 6 else np.tile(start[:3, :3], (len(x), 1, 1))
    turns = np.stack([pin.log3(one @ start[:3, :3].T) for one in R])
    c = np.tile(home, (len(x), 1))
    label = f"point {{}} of {name}"
    for share in np.linspace(0, 1, STAGES + 1)[1:]:
        places = np.tile(np.eye(4), (len(x), 1, 1))
        places[:, :3, 3] = (1 - share) * start[:3, 3] + share * x[:, :3]
        places[:, :3, :3] = [pin.exp3(share * turn) @ start[:3, :3] for turn in turns]
        c, _, off = _reach(robot, tool, places, c, label, None, rough=share < 1)
    off = off if x.shape[1] == 6 else off[:, :3]
    if np.abs(off).max() > BEYOND:
        i = int(np.abs(off).max(axis=1).argmax())
        raise BadFile(
            f"{label.format(i + 1)} is not one that the drawn robot can take: it stays {1e3 * np.linalg.norm(off[i, :3]):.3g} mm and "
            f"{1e3 * np.linalg.norm(off[i, 3:]):.3g} mrad away; correct the pose, 'frame' or 'at'"
        )
    return c


def _closed(robot: Robot, c: np.ndarray, label: str) -> np.ndarray:
    return robot.close(c, np.zeros_like(c), np.zeros_like(c), None, lambda i: label.format(i + 1)).q


def _placed(robot: Robot, q: np.ndarray, tool: ToolPoint) -> np.ndarray:
    """Places (N, 4, 4) of the tool in the base."""
    model, data, at = robot.model, robot.model.createData(), pin.SE3(np.eye(3), tool.at)
    number = frame_number(model, tool.frame, f"robot {robot.name!r}")
    places = np.empty((len(q), 4, 4))
    for i, sample in enumerate(q):
        pin.forwardKinematics(model, data, sample)
        places[i] = (pin.updateFramePlacement(model, data, number) * at).homogeneous
    return places


def _jacobian(robot: Robot, q: np.ndarray, tool: ToolPoint) -> np.ndarray:
    """Velocity of the tool and its angular velocity, axes of the base, per rate of each coordinate (N, 6, d)."""
    still = np.zeros((len(q), len(robot.coordinates.names)))
    J = tree_jacobians(robot, q, tool.frame) @ robot.state(q, still, still).T
    arm = _placed(robot, q, tool)[:, :3, :3] @ tool.at
    J[:, :3] += np.cross(np.swapaxes(J[:, 3:], 1, 2), arm[:, None]).swapaxes(1, 2)
    return J


def away_from(places: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Place minus wanted place, and the rotation vector from the wanted one, axes of the base (N, 6) [m, rad]."""
    turns = [pin.log3(R @ W.T) for R, W in zip(places[:, :3, :3], wanted[:, :3, :3], strict=True)]
    return np.concatenate([places[:, :3, 3] - wanted[:, :3, 3], np.array(turns)], axis=1)


def _directions(J: np.ndarray) -> np.ndarray:
    """Projections (N, 6, 6) of an error of the tool on what a robot of Jacobian J (N, 6, d) can move: places, then turns about them."""
    A = np.zeros((len(J), 6, 6))
    U = _range(J[:, :3])
    A[:, :3, :3] = np.swapaxes(U, 1, 2)
    held = np.eye(J.shape[2]) - np.linalg.pinv(J[:, :3], rcond=FREE) @ J[:, :3]
    U = _range(J[:, 3:] @ held, np.linalg.norm(J[:, 3:], axis=(1, 2)))
    A[:, 3:, 3:] = np.swapaxes(U, 1, 2)
    return A


def _range(J: np.ndarray, size: np.ndarray | None = None) -> np.ndarray:
    """Orthonormal directions (N, 3, 3) that J (N, 3, d) reaches, zeros where it has fewer; `size` (N,) is what singular values compare with."""
    U, s, _ = np.linalg.svd(J)
    s = np.pad(s, ((0, 0), (0, 3 - s.shape[1])))
    there = s > FREE * (s[:, :1] if size is None else np.maximum(size, 1e-300)[:, None])
    return np.asarray(U * there[:, None])
