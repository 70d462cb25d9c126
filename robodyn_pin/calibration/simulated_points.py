"""Measurements of a robot with known errors of its geometry, to see whether a calibration finds them again."""

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.measured_loads import FORCE, MOMENT
from robodyn_pin.calibration.points_file import Observations


def simulate_observations(
    robot: ErringRobot, e: np.ndarray, c: np.ndarray, rng: np.random.Generator, wrench: np.ndarray | None = None
) -> Observations:
    """What is measured at coordinates c (N, d) of a robot with errors e (k,), with normal noise of each target's sigma.

    Loads (N, 6) act on a robot whose drives yield [N, N m], axes of its base.

    Raises:
        ClosureFailed: a pose is out of reach.
    """
    found = robot.predict(e, c, robot.nominal(c), slopes=False, wrench=wrench)
    values = {}
    for name, spec in robot.targets.items():
        sigma = np.full(spec.rows, spec.sigma)
        sigma[3:] = spec.sigma_angle
        noise = sigma * rng.normal(size=found.values[name].shape)
        values[name] = found.values[name] + noise
        if spec.kind == "pose":
            turned = [
                pin.log3(place[:3, :3] @ pin.exp3(own))
                for place, own in zip(found.places[name], noise[:, 3:], strict=True)
            ]
            values[name][:, 3:] = turned
    return Observations("simulated poses", c, values, tuple(range(1, len(c) + 1)), True, wrench)


def columns_of_observations(
    robot: ErringRobot, seen: Observations, parts: Mapping[str, tuple[str, ...]]
) -> dict[str, np.ndarray]:
    """The columns of a file that `read_observations` reads, by name."""
    found = dict(zip(robot.robot.coordinates.names, seen.c.T, strict=True))
    for name, spec in robot.targets.items():
        found |= {f"{name}_{part}": seen.values[name][:, k] for k, part in enumerate(parts[spec.kind])}
    if seen.wrench is not None:
        found |= dict(zip((*FORCE, *MOMENT), seen.wrench.T, strict=True))
    return found
