"""Exciting motions against random ones: inside the limits, more information, and parameters that much surer."""

import os
import time
from dataclasses import replace

import numpy as np
from make import ROOT, Row, Section
from scipy.linalg import eigh

from robodyn_pin.dynamics.loads import limited
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.result import Excitation
from robodyn_pin.excitation.search import excite
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.least_squares import known_noise
from robodyn_pin.log_to_robot.rows import Job, fold_log
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.simulation.simulated_log import Noise, simulate

SEEDS = 20
SECONDS = 120.0


def study() -> Section:
    delta, delta_time = searched("examples/irb360_excite.yaml")
    panda, panda_time = searched("tests/runs/panda_excite.yaml")
    ratio, predicted, single, single_predicted = surer(delta)
    most, plain = highest(delta, 4000.0), plain_condition(panda)
    rows = (
        Row("IRB 360: largest part of a limit that is used, 4 kHz, no margin taken off [%]", "<= 100", f"{100 * most:.2f}", most <= 1),
        Row(f"IRB 360: log det above the best of {len(delta.random)} random motions [nats]", ">= 2", f"{delta.gain:.1f}", delta.gain >= 2),
        Row("IRB 360: processor time of the search, one thread [s]", f"< {SECONDS:g}", delta_time[0], delta_time[1] < SECONDS),
        Row(f"IRB 360 (SIMULATED), {SEEDS} seeds: deviations along the axes of both covariances, best random over found",
            f"exp(gain / 2 / {delta.base.size}) = {predicted:.2f} within 15 %", f"{ratio:.2f} ({100 * (ratio / predicted - 1):+.1f} %)",
            abs(ratio / predicted - 1) <= 0.15),
        Row(f"IRB 360 (SIMULATED), {SEEDS} seeds: deviations of single base parameters, geometric mean",
            f"{single_predicted:.2f} by the covariances, within 15 %", f"{single:.2f} ({100 * (single / single_predicted - 1):+.1f} %)",
            abs(single / single_predicted - 1) <= 0.15),
        Row("Panda: condition number of the base regressor, columns of length one", "<= 120",
            f"{panda.condition:.1f}", panda.condition <= 120),
        Row("Panda: the same, columns and rows in SI units as they are", "<= 120", f"{plain:.1f}", plain <= 120),
        Row("Panda: the same, rows in units of the noise", "", f"{panda.plain_condition:.1f}"),
        Row(f"Panda: log det above the best of {len(panda.random)} random motions [nats]", "", f"{panda.gain:.1f}"),
        Row("Panda: processor time of the search, one thread [s]", f"< {SECONDS:g}", panda_time[0], panda_time[1] < SECONDS),
    )  # fmt: skip
    return Section(
        "Excitation", "python figures/make.py excitation", rows,
        "15 s, 5 harmonics, seeds in the run files; random motions have the same harmonics, start and end at rest too and are as "
        "large as the limits allow. The search uses one thread: processor time is what it takes on a free core. The Panda's "
        "limits are the manufacturer's; the bodies of its URDF are placeholders, so its torques are those of links of 1 kg.",
    )  # fmt: skip


def searched(path: str) -> tuple[Excitation, tuple[str, float]]:
    run = read_yaml(ROOT / path, ExcitationFile)
    wall, spent = time.perf_counter(), time.process_time()
    found = excite(run, (ROOT / path).parent)
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    return found, (f"{spent:.0f} (wall {wall:.0f}, load {os.getloadavg()[0]:.1f})", spent)


def highest(found: Excitation, rate: float) -> float:
    """Largest part of any limit that the motion file uses at another rate than that of the search's own last check."""
    limits = limits_of(found.robot, found.run.limits, 0.0)
    _, *motion = fourier(found.motion.model_copy(update={"rate": rate}), found.moved.coordinates.names)
    centre, half = limits.scale
    worst = 0.0
    for begin in range(0, len(motion[0]), 5000):
        state = found.moved.close(*(x[begin : begin + 5000] for x in motion))
        worst = max(worst, float(np.abs((limited(found.moved, limits, state) - centre) / half).max()))
    return worst


def plain_condition(found: Excitation) -> float:
    """Condition number of the base regressor at every tenth sample, nothing scaled or weighed."""
    state = found.moved.close(*fourier(found.motion, found.moved.coordinates.names)[1:])
    W = state_regressor(found.robot, state[::10])
    return float(np.linalg.cond(W.reshape(-1, W.shape[2])[:, found.base.columns]))


def surer(found: Excitation) -> tuple[float, float, float, float]:
    """How much smaller deviations are than with the best random motion: along common axes, and of single parameters.

    log det is a sum over axes in which both covariances are diagonal, so its prediction is made of them.
    """
    good, rival = (estimates(found, motion) for motion in (found.motion, found.rival))
    _, axes = eigh(rival[1], good[1])  # axes' C axes diagonal for both
    spread = [np.std(values @ axes, axis=0, ddof=1) for values, _ in (good, rival)]
    single = [np.std(values, axis=0, ddof=1) for values, _ in (good, rival)]
    covariances = [np.sqrt(np.diag(covariance)) for _, covariance in (good, rival)]
    predicted = float(np.exp(found.gain / 2 / found.base.size))
    return mean_ratio(spread), predicted, mean_ratio(single), mean_ratio(covariances)


def mean_ratio(pair: list[np.ndarray]) -> float:
    """Geometric mean of the second over the first."""
    return float(np.exp(np.mean(np.log(pair[1] / pair[0]))))


def estimates(found: Excitation, motion: FourierMotion) -> tuple[np.ndarray, np.ndarray]:
    """Base parameters (seeds, r) from noisy logs of a motion, rates from positions, and their covariance (r, r)."""
    robot = found.robot
    sigma = np.array([found.run.noise[name] for name in robot.coordinates.names])
    clean = simulate(robot, motion, Noise(np.zeros(len(sigma))))
    assert clean.tau is not None
    job = Job(None, lambda index, rates: np.zeros(rates.shape, int), 1)
    values = []
    for seed in range(SEEDS):
        noise = np.random.default_rng(1000 + seed).normal(size=clean.tau.shape) * sigma
        groups = fold_log(robot, replace(clean, tau=clean.tau + noise), Preparation(differentiation="filter"), [job])[
            0
        ][0]
        fit = known_noise(groups, sigma, found.base)
        values.append(fit.values)
    return np.array(values), fit.covariance
