"""The covariance of the parameters of an identified robot, from its result folder."""

from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadFile
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.posterior import posterior
from robodyn_pin.log_to_robot.compare import read_result
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.payload import carrying
from robodyn_pin.robot.robot import Robot


def covariance_of(
    folder: Path, robot: Robot, run: RunFile, loaded: Robot | None = None
) -> tuple[np.ndarray | None, str]:
    """Covariance (p, p) of the parameters of an identified robot; None, and why it is not known.

    Args:
        loaded: the robot with tools and payloads; their parameters count as known.

    Returns:
        In the order of `columns(loaded)`, or of `columns(robot)`.
    """
    try:
        stored = read_result(folder)
    except BadFile as error:
        return None, f"how sure these forces are is not known: {error}"
    fitted = carrying(robot, run.payload.name, run.payload.link) if run.payload else robot
    a, labels, own = stored.arrays, columns(fitted).layout.labels, columns(robot).layout.labels
    if list(a["labels"]) != labels:
        odd = sorted(set(a["labels"]) ^ set(labels))
        return None, (
            f"how sure these forces are is not known: the parameters in {folder} are not those of its robot "
            f"({', '.join(odd[:3])})"
        )
    estimate = BaseEstimate(stored.base, a["wls"], a["wls_covariance"], a["wls_sigma"])
    sigma = posterior(estimate, a["feasible"], prior_of(run, fitted), bounds_of(run, fitted))
    index = [labels.index(label) for label in own]  # without the payload's
    own_sigma = sigma[np.ix_(index, index)]
    return (own_sigma if loaded is None else _of_loaded(own_sigma, robot, loaded)), ""


def _of_loaded(covariance: np.ndarray, robot: Robot, loaded: Robot) -> np.ndarray:
    """The covariance for a robot that carries something. A body that a load makes unlike its copies keeps their covariance."""
    place = {name: 10 * k for k, group in enumerate(robot.body_groups) for name in group}
    begins = [place.get(group[0]) for group in loaded.body_groups]
    first, last = 10 * len(begins), 10 * len(robot.body_groups)
    shared = np.zeros((first + len(covariance) - last, len(covariance)))
    for k, begin in enumerate(begins):
        if begin is not None:  # other bodies are carried, and their parameters count as known
            shared[10 * k : 10 * k + 10, begin : begin + 10] = np.eye(10)
    shared[first:, last:] = np.eye(len(covariance) - last)
    return shared @ covariance @ shared.T
