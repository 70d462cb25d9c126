"""How sure the strut forces of an identified robot are: 95 % intervals from a covariance of all its parameters.

Torques do not show all parameters that strut forces depend on: a covariance of the base parameters alone would promise too
much, and all bodies that physics allows leave thousands of newtons. So what the log does not show is taken to lie as far from
the prior of the run file, in parts of each body's own size, as what it does show: pi ~ N(pi_0, s^2 D) with the s that makes
the base parameters found most likely (empirical Bayes, MacKay 1992), then conditioned on them and their covariance C,

    Sigma = D_s - D_s B' (C + B D_s B')^-1 B D_s,        D_s = s^2 D,        variance of a force R pi: R Sigma R'.

That bodies must be able to exist takes no part: intervals are rather too wide than too narrow. Weighed masses and symmetries do.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

from robodyn_pin.compare import read_result
from robodyn_pin.differentiation import Preparation, rates_of
from robodyn_pin.errors import BadFile
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.prior import Prior, own_size
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.knowledge import bounds_of, prior_of
from robodyn_pin.motion import Log, resample, uniform
from robodyn_pin.observations import blocks, close_log
from robodyn_pin.payload import carrying
from robodyn_pin.reduced import Lump
from robodyn_pin.regression import columns
from robodyn_pin.robot import Robot, State
from robodyn_pin.run_file import RunFile
from robodyn_pin.strut_forces import Reach, StrutHistory, strut_history
from robodyn_pin.strut_regressor import strut_regressor

BLOCK = 250  # samples whose regressors are held at once
SPREADS = (1e-3, 1e2)  # of bodies about the prior, in parts of their own size: where the most likely one is looked for


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
    """The same for a robot that carries something: a body that is no longer identical to others stays as sure as they are."""
    place = {name: 10 * k for k, group in enumerate(robot.body_groups) for name in group}
    begins = [place.get(group[0]) for group in loaded.body_groups]
    first, last = 10 * len(begins), 10 * len(robot.body_groups)
    shared = np.zeros((first + len(covariance) - last, len(covariance)))
    for k, begin in enumerate(begins):
        if begin is not None:  # else all of the body is what is carried
            shared[10 * k : 10 * k + 10, begin : begin + 10] = np.eye(10)
    shared[first:, last:] = np.eye(len(covariance) - last)
    return shared @ covariance @ shared.T


def posterior(estimate: BaseEstimate, values: np.ndarray, prior: Prior, bounds: Bounds) -> np.ndarray:
    """Sigma (p, p) of all parameters, also of those that the log does not show; values (p,) as found, SI."""
    B, C, first = estimate.base.matrix, estimate.covariance, prior.bodies.size
    weights = np.ones(len(prior.bodies)) if prior.factors is None else prior.factors
    sizes = np.array([own_size(body) / w for body, w in zip(prior.bodies, weights, strict=True)]).reshape(-1)
    scalars = np.abs(values[first:]) + np.abs(values[first:]).mean() if len(values) > first else values[first:]
    bodies = _given(np.diag(np.append(sizes, 0 * scalars) ** 2), bounds)
    friction = np.diag(np.append(0 * sizes, scalars) ** 2)
    off = estimate.values - B @ np.append(prior.bodies.ravel(), values[first:])
    told = np.abs(B[:, first:]).max(axis=1, initial=0.0) == 0  # of bodies alone: these say how far bodies are off
    spread = _most_likely(off[told], C[np.ix_(told, told)], (B @ bodies @ B.T)[np.ix_(told, told)])
    D = spread**2 * bodies + friction
    M = C + B @ D @ B.T
    size = np.sqrt(np.diag(M))
    root = np.linalg.solve(np.linalg.cholesky(M / np.outer(size, size)), (B @ D) / size[:, None])
    return np.asarray(D - root.T @ root)


def _given(D: np.ndarray, bounds: Bounds) -> np.ndarray:
    """The covariance of parameters that meet the equalities exactly."""
    rows = np.zeros((len(bounds.linear), len(D)))
    for row, e in zip(rows, bounds.linear, strict=True):
        row[10 * e.body : 10 * e.body + 10] = e.row
    root = np.sqrt(np.diag(D))
    shown = rows * root
    return D - root[:, None] * (np.linalg.pinv(shown) @ shown) * root


def _most_likely(off: np.ndarray, C: np.ndarray, D: np.ndarray) -> float:
    """s with which N(0, C + s^2 D) is most likely to give off (r,)."""

    def unlikely(log_spread: float) -> float:
        M = C + np.exp(2 * log_spread) * D
        size = np.sqrt(np.diag(M))
        M = M / np.outer(size, size)
        z = off / size
        return float(z @ np.linalg.solve(M, z) + np.linalg.slogdet(M)[1] + 2 * np.log(size).sum())

    if not len(off):
        return 1.0
    low, high = np.log(SPREADS)
    return float(np.exp(minimize_scalar(unlikely, bounds=(low, high), method="bounded").x))


def strut_history_with_reach(
    robot: Robot, log: Log, preparation: Preparation, reduced: Lump | None, covariance: np.ndarray | None
) -> StrutHistory:
    """As `strut_history`, of the full model with its intervals where the covariance (p, p) of the parameters is known."""
    history = strut_history(robot, log, preparation, reduced)
    if covariance is None or reduced is not None:
        return history
    return replace(history, reach=force_reach(robot, covariance, log, preparation))


def force_reach(robot: Robot, covariance: np.ndarray, log: Log, preparation: Preparation) -> Reach:
    """Half widths of the intervals along a log, for the full model.

    Args:
        robot: as identified, also with tools and payloads. covariance: (p, p) of its parameters, order of `columns(robot)`.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    even = uniform(log)
    found = [np.linalg.norm(strut_regressor(robot, s) @ root, axis=3) for s in _states(robot, even, preparation)]
    reach = quantile() * np.concatenate(found)
    lower, upper = (reach[:, i] if even is log else resample(log.t, even.t, reach[:, i]) for i in range(2))
    return Reach(lower, upper)


def _states(robot: Robot, log: Log, preparation: Preparation) -> Iterator[State]:
    """The motion of a log on a uniform clock, block by block."""
    rates = rates_of(log, preparation)
    for low, begin, end, high in blocks(log, rates, [], 0, log.size, 20 * BLOCK):
        state = close_log(robot, log.section(low, high), rates)
        for first in range(begin, end, BLOCK):
            i = slice(first - low, min(first + BLOCK, end) - low)
            yield State(state.q[i], state.v[i], state.a[i], state.T[i], state.g[i])
