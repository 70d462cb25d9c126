"""A robot whose files name bodies that cannot exist: the nearest that can, and what that changes in its torques."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robodyn_pin.dynamics.base_parameters import AROUND, gears
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.regressor import body_regressor, group_name
from robodyn_pin.errors import BadFile, ClosureFailed, RobodynError
from robodyn_pin.files import write_json, write_text
from robodyn_pin.identification.parameters import smallest_eigenvalues
from robodyn_pin.identification.repair import THINNEST, Metric, Repaired, repaired
from robodyn_pin.identification.simple_bodies import QUANTITIES, about_centre
from robodyn_pin.robot.export import urdf_with
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.robot.urdf_tree import body_joints, body_name

MOTIONS, SAMPLES, SECONDS, HARMONICS = 20, 200, 10.0, 3
RANGE = 0.8  # of position and velocity limits that random motions use


@dataclass(frozen=True)
class Repair:
    """What was repaired, and what it changes; torques of bodies alone, friction does not change."""

    robot: Robot
    groups: tuple[tuple[str, ...], ...]
    before: np.ndarray  # (groups, 10)
    found: Repaired
    metric: Metric
    torque: np.ndarray  # (motors,) rms over random motions [N m or N]
    change: np.ndarray  # (motors,) rms
    largest: np.ndarray  # (motors,)

    def summary(self) -> dict[str, Any]:
        """What `repair.json` holds."""
        broken = [i for i, reason in enumerate(self.found.reasons) if reason]
        motors = zip(self.robot.motors.names, self.torque, self.change, self.largest, strict=True)
        return {
            "robot": self.robot.name,
            "metric": self.metric,
            "solver": self.found.solver,
            "kept": [group_name(g) for g, reason in zip(self.groups, self.found.reasons, strict=True) if not reason],
            "repaired": [
                {
                    "body": group_name(self.groups[i]),
                    "reason": self.found.reasons[i],
                    "distance in its own units": float(self.found.distance[i]),
                    "before": _named(self.before[i]),
                    "after": _named(self.found.bodies[i]),
                }
                for i in broken
            ],
            "torques": [
                {"motor": name, "rms": float(tau), "rms change": float(d), "largest change": float(most)}
                for name, tau, d, most in motors
            ],
        }

    def write(self, folder: Path) -> list[Path]:
        """NAME_repaired.urdf and .yaml, a robot like any other, and repair.json.

        Raises:
            RobodynError: nothing was to be repaired. NotPhysical: a body does not survive being written.
        """
        name = f"{self.robot.name}_repaired"
        wanted = {
            body: x for group, x, reason in zip(self.groups, self.found.bodies, self.found.reasons, strict=True)
            if reason for body in group
        }  # fmt: skip
        if not wanted:
            raise RobodynError(f"every body of robot {self.robot.name!r} can exist; there is nothing to repair")
        smallest = float(smallest_eigenvalues(np.array(list(wanted.values()))).min())
        urdf = urdf_with(self.robot, wanted, smallest / 2)
        sources = {f"bodies {', '.join(wanted)}": f"derived: nearest that can exist ({self.metric}), by robodyn repair"}
        file = self.robot.file.model_copy(
            update={"urdf": Path(f"{name}.urdf"), "sources": sources | self.robot.file.sources}
        )
        content = file.model_dump(mode="json", exclude_defaults=True)
        texts = {
            f"{name}.urdf": urdf,
            f"{name}.yaml": f"# {self.robot.name} with repaired bodies; see repair.json beside it.\n"
            + yaml.safe_dump(content, sort_keys=False, width=120),
        }
        for path, text in texts.items():
            write_text(folder / path, text)
        write_json(folder / "repair.json", self.summary())
        return [folder / path for path in (*texts, "repair.json")]


def _named(x: np.ndarray) -> dict[str, float]:
    """Mass, centre of mass and inertia about it, by name and unit; without mass there is no centre."""
    if x[0] <= 0:
        return {"mass [kg]": float(x[0])}
    return {f"{name} [{unit}]": float(v) for (name, unit), v in zip(QUANTITIES.items(), about_centre(x), strict=True)}


def repair_robot(robot: Robot, metric: Metric = "euclidean", thinnest: float = THINNEST, seed: int = 0) -> Repair:
    """Find the nearest bodies that can exist, and what they change over random motions within the limits.

    Raises:
        BadFile: no bodies; identical bodies that are not. ClosureFailed: no random motion stays on the loops.
        SolverFailed: the metric `torque` found no optimum.
    """
    if not robot.bodies:
        raise BadFile(f"robot {robot.name!r}: no moving link has an <inertial>, so there is nothing to repair")
    before, rng = _bodies(robot), np.random.default_rng(seed)
    W = np.concatenate([_motor_regressor(robot, random_motion(robot, rng)) for _ in range(MOTIONS)])
    rms = _rms(W @ before.ravel())
    rows = W / np.maximum(rms, 1e-9 * rms.max())[:, None]
    found = repaired(before, metric, rows.reshape(-1, before.size), thinnest)
    change = W @ (found.bodies - before).ravel()
    return Repair(robot, robot.body_groups, before, found, metric, rms, _rms(change), np.abs(change).max(axis=0))


def _bodies(robot: Robot) -> np.ndarray:
    """Parameters (groups, 10) of the bodies, one for identical ones; raises as `repair_robot`."""
    joints = {body_name(robot.model, j): j for j in body_joints(robot.model)}
    own = {name: robot.model.inertias[j].toDynamicParameters() for name, j in joints.items()}
    for group in robot.body_groups:
        for name in group[1:]:
            if not np.allclose(own[name], own[group[0]], rtol=1e-9, atol=0):
                raise BadFile(
                    f"robot {robot.name!r}: bodies {group[0]!r} and {name!r} are identical by the robot file, not by the URDF"
                )
    return np.array([own[group[0]] for group in robot.body_groups])


def _motor_regressor(robot: Robot, state: State) -> np.ndarray:
    """Motor torques per parameter (N, motors, p), of least norm where there are more motors than degrees of freedom."""
    W = body_regressor(robot, state.q, state.v, state.a)
    return np.linalg.pinv(motor_map(robot, state).transpose(0, 2, 1)) @ W


def _rms(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((x**2).mean(axis=0)))


def random_motion(robot: Robot, rng: np.random.Generator) -> State:
    """Sums of sines within the limits of the coordinates, as large as the loops let them be.

    Raises:
        ClosureFailed: not even a small one stays on the loops.
    """
    names, axes = robot.coordinates.names, robot.coordinates
    home = axes.S @ robot.home + axes.offset
    limits = limits_of(robot, {}, 0.0)
    bounds = dict(zip(limits.labels, limits.ranges, strict=True))
    each = list(zip(names, home, gears(robot), strict=True))
    ranges = np.array([bounds.get(("position", n), (x - AROUND * k, x + AROUND * k)) for n, x, k in each])
    fastest = np.array([bounds.get(("velocity", n), (-k, k))[1] for n, _, k in each])
    w = 2 * np.pi / SECONDS * np.arange(1, HARMONICS + 1)
    t = np.linspace(0, SECONDS, SAMPLES, endpoint=False)[:, None] * w
    a, b = rng.normal(size=(2, HARMONICS, len(names)))
    x, xd, xdd = (
        np.sin(t) @ a + np.cos(t) @ b,
        w * np.cos(t) @ a - w * np.sin(t) @ b,
        -(w**2) * np.sin(t) @ a - w**2 * np.cos(t) @ b,
    )
    half, middle = (ranges[:, 1] - ranges[:, 0]) / 2, ranges.mean(axis=1)
    size = RANGE * np.minimum(half / np.abs(x).max(axis=0), fastest / np.abs(xd).max(axis=0))
    position = next((b for b in limits.bounds if b.kind == "position"), None)
    share = 1.0
    while True:
        try:
            state = robot.close(home + share * (middle + size * x - home), share * size * xd, share * size * xdd)
            beyond = position is not None and (np.abs(state.q @ position.S.T - position.centre) > position.half).any()
            if not beyond or share < 0.05:
                return state
        except ClosureFailed:
            if share < 0.05:
                raise
        share *= 0.8
