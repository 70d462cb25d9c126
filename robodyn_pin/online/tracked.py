"""The parameters that are tracked of a robot: base parameters, their scales, and their regressor rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.dynamics.base_parameters import bodies_base, random_rows
from robodyn_pin.dynamics.regressor import columns, known_efforts, state_regressor
from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.bounds import Equality, equalities
from robodyn_pin.identification.equal_entries import Structure, proportional, structure
from robodyn_pin.identification.fold import triangle
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.online.track_file import CarriedSpec, TrackFile
from robodyn_pin.robot.bearing_axes import refuse_bearing
from robodyn_pin.robot.efforts import refuse_warmth
from robodyn_pin.robot.payload import loadable
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.robot.urdf_tree import body_name

LEAST_SHARE = (
    1e-3  # of the rms effort: a parameter whose file value explains less is scaled as if it explained that much
)
UNEXPLAINED = 1e-6  # relative residual of a payload's column that round-off leaves


@dataclass(frozen=True)
class Tracked:
    """The r tracked parameters: B'tau = known + rows @ values."""

    robot: Robot
    layout: Layout
    parameters: np.ndarray  # (p,) of the robot's files
    equalities: tuple[Equality, ...]
    structure: Structure  # the parameters that the equalities leave free
    base: BaseSet  # base parameters of these
    values: np.ndarray  # (r,) of the robot's files
    scale: np.ndarray  # (r,) magnitude of each parameter, never zero
    payload: np.ndarray | None  # (r,) change per kilogram of payload; None: not within the tracked parameters
    carrier: str  # link that carries payloads

    @cached_property
    def parameter_map(self) -> np.ndarray:
        """Matrix (p, r) that selects and combines the regressor's columns of the tracked parameters."""
        return self.structure.matrix[:, self.base.columns]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the tracked parameters (r,), each by the first parameter that it combines."""
        names = self.layout.labels
        return [names[self.structure.free[k]] for k in self.base.columns]

    @cached_property
    def combinations(self) -> list[str]:
        """The tracked parameters (r,) with all parameters that each combines."""
        names = self.layout.labels
        return self.base.labels([names[k] for k in self.structure.free])

    def rows(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Rows (N, d, r) and known efforts (N, d) along the coordinates at closed states."""
        W = state_regressor(self.robot, state)
        return W @ self.parameter_map, W @ self.structure.offset + known_efforts(self.robot, state)


def tracked(robot: Robot, settings: TrackFile | None = None) -> Tracked:
    """The parameters that are tracked of a robot; its base parameters come from random states near home.

    Raises:
        UnknownName: the robot lacks a body or link. RobodynError: it has fewer motors than degrees of freedom. BadFile: friction that grows with the load or has warmth.
    """
    refuse_untracked(robot)
    settings = settings or TrackFile()
    named = columns(robot)
    layout, pi = named.layout, named.values
    known = tuple(_equalities(robot, settings, pi))
    found = structure(known, layout.bodies, layout.size)
    rows = random_rows(robot, np.random.default_rng(0))
    base = base_set(triangle(bodies_base(robot, rows).cleaned(rows) @ found.matrix))
    values = base.of(pi[found.free])
    Z = rows @ found.matrix[:, base.columns]
    effort = np.sqrt(np.mean((rows @ pi) ** 2)) or 1.0
    scale = np.maximum(np.abs(values), LEAST_SHARE * effort / np.sqrt(np.mean(Z**2, axis=0)))
    carrier = settings.payload.link or loadable(robot)[0]
    payload = _payload(robot, settings.payload, carrier, rows, Z)
    return Tracked(robot, layout, pi, known, found, base, values, scale, payload, carrier)


def refuse_untracked(robot: Robot) -> None:
    """Raise what `tracked` raises of a robot whatever the settings are."""
    motors, d = len(robot.motors.names), len(robot.coordinates.names)
    if motors < d:
        raise RobodynError(
            f"robot {robot.name!r} has {motors} motor{'s' * (motors != 1)} for {d} degrees of freedom: their positions and torques do not show its "
            "motion; online identification needs at least one motor for each"
        )
    refuse_bearing(robot.efforts, "track")
    refuse_warmth(robot.efforts, "track")


def _equalities(robot: Robot, settings: TrackFile, pi: np.ndarray) -> list[Equality]:
    group_of = {name: i for i, group in enumerate(robot.body_groups) for name in group}
    found: list[Equality] = []
    for name in (*settings.scaled, *settings.symmetry):
        if name not in group_of:
            raise UnknownName("body", name, f"robot {robot.name!r}", list(group_of))
    for name in settings.scaled:
        i = group_of[name]
        found += proportional(i, pi[10 * i : 10 * i + 10])
    for name, texts in settings.symmetry.items():
        i = group_of[name]
        for text in texts:
            found += equalities(i, text, pi[10 * i : 10 * i + 10])
    return found


def _payload(robot: Robot, spec: CarriedSpec, link: str, rows: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    """Change (r,) of the tracked parameters by one kilogram at a point of a link; None if they cannot represent it.

    Args:
        rows: (n, p) of the regressor. Z: (n, r) of the tracked parameters.
    """
    frames = {f.name: f for f in robot.model.frames}
    if link not in frames or frames[link].parentJoint == 0:
        raise UnknownName("moving link", link, f"robot {robot.name!r}, which payloads are on", loadable(robot))
    body = body_name(robot.model, frames[link].parentJoint)
    i = next((i for i, group in enumerate(robot.body_groups) if group == (body,)), None)
    if i is None:
        return None
    at = frames[link].placement.act(np.array(spec.at, float))
    column = rows[:, 10 * i : 10 * i + 10] @ point_mass(at)
    direction = np.linalg.lstsq(Z, column, rcond=None)[0]
    residual = np.linalg.norm(column - Z @ direction)
    return direction if residual <= UNEXPLAINED * np.linalg.norm(column) else None


def point_mass(at: Sequence[float]) -> np.ndarray:
    """Parameters (10,) of one kilogram at a point (3,) [m]."""
    x, y, z = at
    return np.array([1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y])
