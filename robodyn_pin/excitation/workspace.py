"""Where the platform can be: a grid under all joint and telescope limits, and the largest hemisphere inside it.

Gnad et al. (IRB 360), Fig. 5, approximate the task space by a hemisphere, so that an excitation may be planned in it.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.ndimage import label
from scipy.spatial import cKDTree

from robodyn_pin.closures.closing import reachable
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot

GRID = 40  # points along the longest axis
CHUNK = 20_000


@dataclass(frozen=True)
class Hemisphere:
    """A half ball with a level face."""

    centre: np.ndarray  # (3,) of the face [m]
    radius: float  # [m]
    up: bool  # the dome is above the face

    @property
    def centroid(self) -> np.ndarray:
        """Return the centre of its volume (3,) [m]."""
        return self.centre + np.array([0, 0, (0.375 if self.up else -0.375) * self.radius])


@dataclass(frozen=True)
class Workspace:
    """A grid of the platform's positions, the other coordinates at home."""

    axes: tuple[np.ndarray, np.ndarray, np.ndarray]  # coordinates of the grid along x, y, z [m]
    allowed: np.ndarray  # (nx, ny, nz) within reach and all position limits
    tightest: np.ndarray  # (nx, ny, nz) number of the position limit that is used most; -1 out of reach
    labels: tuple[str, ...]  # of the position limits
    hemisphere: Hemisphere  # in the coordinates, as the axes
    origin: np.ndarray  # (3,) where the platform is in the world at coordinates zero [m]

    @property
    def points(self) -> np.ndarray:
        """Return all grid points (nx ny nz, 3) [m], in the order of `allowed.ravel()`."""
        return np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, 3)


def translations(robot: Robot) -> list[int]:
    """Return the three coordinates that slide along x, y and z, which place the platform; an empty list where there are not three."""
    model, found = robot.model, {}
    for k, row in enumerate(robot.coordinates.S):
        (joints,) = np.nonzero(row)
        kind = model.joints[int(joints[0]) + 1].shortname() if len(joints) == 1 else ""
        if kind in ("JointModelPX", "JointModelPY", "JointModelPZ"):
            found[kind[-1]] = k
    return [found[axis] for axis in "XYZ"] if len(found) == 3 else []


def workspace(robot: Robot, limits: Limits, points: int = GRID) -> Workspace:
    """Return the grid and hemisphere of a robot whose coordinates slide along x, y and z, within their position limits.

    Raises:
        RobodynError: no such coordinates, or nothing is in reach.
    """
    slides = translations(robot)
    if not slides:
        raise RobodynError(f"no platform that slides along x, y, z among {', '.join(robot.coordinates.names)}")
    (position,) = (b for b in limits.bounds if b.kind == "position")
    spans = [position.names.index(robot.coordinates.names[k]) for k in slides]
    low, high = position.centre[spans] - position.half[spans], position.centre[spans] + position.half[spans]
    step = (high - low).max() / (points - 1)
    x, y, z = (np.arange(a, b + step / 2, step) for a, b in zip(low, high, strict=True))
    axes = x, y, z
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    grid[:, 1::2] = grid[:, 1::2, ::-1]  # up and down in turns: every point is beside the one before
    c = np.tile(robot.coordinates.S @ robot.home + robot.coordinates.offset, (grid[..., 0].size, 1))
    c[:, slides] = grid.reshape(-1, 3)
    used, S, offset = [], robot.coordinates.S, robot.coordinates.offset
    for begin in range(0, len(c), CHUNK):
        q, closed = reachable(robot.loops, S, offset, c[begin : begin + CHUNK], robot.home)
        load = np.abs((q @ position.S.T - position.centre) / position.half)
        load[~closed] = np.inf
        used.append(load)
    load = np.concatenate(used).reshape(*grid.shape[:3], -1)
    load[:, 1::2] = load[:, 1::2, ::-1]
    free = [k for k in range(len(position.names)) if k not in spans]  # the box that is searched limits nothing
    most = load[..., free].max(axis=-1)
    tightest = np.where(np.isinf(most), -1, np.array(free)[load[..., free].argmax(axis=-1)])
    allowed = _largest_part(most <= 1)
    if not allowed.any():
        raise RobodynError("no position of the platform meets all joint limits")
    return Workspace(axes, allowed, tightest, position.names, hemisphere(axes, allowed), _origin(robot, slides))


def _origin(robot: Robot, slides: list[int]) -> np.ndarray:
    """Return where the last of the sliding joints is in the world with all of them at zero."""
    model, data, q = robot.model, robot.model.createData(), robot.home.copy()
    joints = [int(np.flatnonzero(robot.coordinates.S[k])[0]) for k in slides]
    q[joints] = 0
    pin.forwardKinematics(model, data, q)
    return np.array(data.oMi[max(joints) + 1].translation)


def _largest_part(allowed: np.ndarray) -> np.ndarray:
    """Return the largest connected part, because the other parts cannot be reached from it."""
    parts, count = label(allowed)
    return np.asarray(parts == 1 + np.argmax([(parts == k + 1).sum() for k in range(count)])) if count else allowed


def hemisphere(axes: tuple[np.ndarray, ...], allowed: np.ndarray) -> Hemisphere:
    """Return the largest half ball with a level face, centred over the allowed region's middle, that no forbidden point enters.

    What lies beyond the grid is forbidden. The radius is less by half a cell's diagonal: between points the grid says nothing.
    """
    step = float(axes[0][1] - axes[0][0])
    padded = np.pad(allowed, 1)
    wide = [np.concatenate([[a[0] - step], a, [a[-1] + step]]) for a in axes]
    points = np.stack(np.meshgrid(*wide, indexing="ij"), axis=-1)
    middle = points[padded].mean(axis=0)
    best = Hemisphere(middle, 0.0, False)
    for up in (False, True):
        for z in wide[2]:
            beyond = points[~padded & ((points[..., 2] >= z) if up else (points[..., 2] <= z))]
            centre = np.array([middle[0], middle[1], z])
            radius = float(cKDTree(beyond).query(centre)[0]) - np.sqrt(3) / 2 * step if len(beyond) else 0.0
            if radius > best.radius:
                best = Hemisphere(centre, radius, up)
    return best
