"""The estimators on simulated IRB 360 logs, whose truth is known: the published parameters."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from make import Row, Section
from simulated import SIGMA, Rows, exact_rows, fold_seeds, measured_rows, noise_of, rows_of
from workspaces import WORKSPACES

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import known_noise, known_ratios, ordinary, weighted_least_squares
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.robot.robot import Robot, load

SEEDS, BITS, SAMPLES, FIT = 20, 15, 20_000, 0.7
RUN = read_run(Path(__file__).parents[1] / "examples/irb360.yaml")
LIMITS = np.array([120.0, 120.0, 120.0, 10.0])  # [N m] largest torques, of the robot's file


def study() -> Section:
    robot = load("irb360")
    rows = [*consistent(robot), *efficient(robot), *without_noise(), *weights(robot)]
    return Section(
        "Estimators, SIMULATED IRB 360", "python figures/make.py estimators", tuple(rows),
        f"Truth: the published parameters of `urdf/irb360.urdf`. Motion: `examples/irb360_motion.yaml`, the first 70 % "
        f"fitted. Torque noise white, {' '.join(f'{s:g}' for s in SIGMA)} N m, seeds 0 to {SEEDS - 1}. Filters, prior and "
        "bounds of `examples/irb360.yaml`, none of them tuned to the truth.",
    )  # fmt: skip


def consistent(robot: Robot) -> list[Row]:
    """Fitted and held out as a measured log: angles from encoders, rates by filtered differences."""
    lowpass, cut = RUN.rows.filter, RUN.rows.cut
    white = noise_of(range(SEEDS), SAMPLES)
    passed = lowpass.apply(white[: int(FIT * SAMPLES)], 1000.0, "noise")
    prepared = RUN.preparation
    fit = fold_seeds(measured_rows(robot, BITS, prepared, lowpass, RUN.rows.every, cut, end=FIT), passed)
    unseen = fold_seeds(measured_rows(robot, BITS, prepared, None, 1, cut, begin=FIT), white)
    layout, bounds, prior = columns(robot).layout, bounds_of(RUN, robot), prior_of(RUN, robot)
    smallest, ratio, apart = [], [], []
    for seed in range(SEEDS):
        wls = weighted_least_squares(fit[seed])
        x = fit_feasible(fit[seed], wls.sigma, layout, bounds, prior).values
        bodies = x[: layout.first_scalar].reshape(-1, 10)
        spectra = [np.linalg.eigvalsh(pin.PseudoInertia.FromDynamicParameters(b).toMatrix()) for b in bodies]
        friction = x[layout.first_scalar :][np.array(layout.nonnegative)]
        smallest.append(np.min(spectra) if (friction >= 0).all() else -np.inf)
        ratio.append([np.sqrt(f.residual(x) / f.rows) for f in unseen[seed]] / SIGMA)
        apart.append([rms_difference(f, x, wls.full(layout.size)) for f in unseen[seed]])
    good, off = sum(s > 0 for s in smallest), np.abs(np.array(ratio) - 1).max()
    per_motor = " ".join(f"{m:.4f}" for m in np.mean(ratio, axis=0))
    return [
        Row("consistent: eigenvalues of every body positive, friction not negative (Pinocchio)", f"{SEEDS} of {SEEDS}",
            f"{good} of {SEEDS}, smallest eigenvalue {min(smallest):.1e} (SI)", good == SEEDS),
        Row("held-out RMSE over the noise, 15-bit encoders", "within 3 % in every seed and motor",
            f"worst off by {100 * off:.2f} %; mean of the seeds {per_motor}", off <= 0.03),
        Row("held-out torque, feasible fit against base parameters, RMS, worst seed and motor", "<= 0.1 N m",
            f"{np.max(apart):.3f} N m", bool(np.max(apart) <= 0.1)),
    ]  # fmt: skip


def rms_difference(factor: Factor, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square of W x - W y over the rows."""
    return float(np.linalg.norm(factor.R[:, :-1] @ (x - y)) / np.sqrt(factor.rows))


def efficient(robot: Robot) -> list[Row]:
    """Errors of weighted least squares against the Cramer-Rao bound, and what angles and filters add as bias."""
    seeds = fold_seeds(exact_rows(robot, end=FIT), noise_of(range(SEEDS), SAMPLES))
    base = ordinary(seeds[0]).base
    truth, bound = base.of(columns(robot).values), known_noise(seeds[0], SIGMA, base).deviations
    errors = np.array([(weighted_least_squares(s, base).values - truth) / bound for s in seeds])
    rms = np.sqrt(np.mean(errors**2))
    lowpass, every = RUN.rows.filter, RUN.rows.every
    raw = Preparation(differentiation="filter")
    return [
        Row("WLS, exact motion: RMS over parameters and seeds of error / Cramer-Rao bound", "0.9 to 1.15", f"{rms:.3f}",
            0.9 <= rms <= 1.15),
        Row("the same, bias: exact angles, filter 40 Hz and differences", "reported",
            bias(measured_rows(robot, None, RUN.preparation, lowpass, every, RUN.rows.cut, end=FIT), base, truth, bound)),
        Row("the same, bias: 15-bit encoders before the gear, filter 40 Hz and differences", "reported",
            bias(measured_rows(robot, BITS, RUN.preparation, lowpass, every, RUN.rows.cut, end=FIT), base, truth, bound)),
        Row("the same, bias: 15-bit encoders, plain differences of 1 kHz angles, no filter", "reported",
            bias(measured_rows(robot, BITS, raw, None, 1, RUN.rows.cut, end=FIT), base, truth, bound)),
    ]  # fmt: skip


def bias(rows: Iterator[Rows], base: BaseSet, truth: np.ndarray, bound: np.ndarray) -> str:
    """What is left without torque noise: least squares is linear, so this is the mean over all noise."""
    factors = fold_seeds(rows, np.zeros((SAMPLES, len(SIGMA), 1)))[0]
    off = (known_noise(factors, SIGMA, base).values - truth) / bound
    return f"RMS {np.sqrt(np.mean(off**2)):.4f}, largest {np.abs(off).max():.4f} of the bound"


def without_noise() -> list[Row]:
    """Random states and rates, torques by recursive Newton-Euler: the base parameters of every robot of the catalogue."""
    relative, zero = {}, []
    for name, sampler in sorted(WORKSPACES.items()):
        robot, rng = load(name), np.random.default_rng(1)
        c = sampler(rng, 3000).c
        cd, cdd = rng.normal(size=c.shape) * 2, rng.normal(size=c.shape) * 20
        found = ordinary(fold_seeds(rows_of(robot, c, cd, cdd), np.zeros((*c.shape, 1)))[0])
        truth = found.base.of(columns(robot).values)
        nothing, error = np.abs(truth) < 1e-9, np.abs(found.values - truth)
        relative[name] = (error[~nothing] / np.abs(truth[~nothing])).max()
        zero.append(error[nothing].max(initial=0.0))
    worst = max(relative, key=lambda name: relative[name])
    return [
        Row(f"noise-free, {len(relative)} robots of the catalogue (SIMULATED), linear friction: base parameters, relative",
            "<= 1e-6", f"{relative['irb360']:.1e} (irb360), worst {relative[worst]:.1e} ({worst}); those that are zero: "
            f"{max(zero):.1e} SI", relative[worst] <= 1e-6),
    ]  # fmt: skip


def weights(robot: Robot) -> list[Row]:
    """Weights from the noise's deviations and from the largest torques, disassembled and assembled."""
    noise = noise_of(range(SEEDS), SAMPLES)
    alone = fold_seeds(exact_rows(load("irb360_arms"), end=FIT), noise)
    apart = max(np.abs(known_ratios(s, LIMITS).values / known_noise(s, SIGMA).values - 1).max() for s in alone)
    assembled = fold_seeds(exact_rows(robot, end=FIT), noise)
    base = ordinary(assembled[0]).base
    by_noise = [known_noise(s, SIGMA, base) for s in assembled]
    by_limit = [known_ratios(s, LIMITS, base) for s in assembled]
    plain = [ordinary(s, base) for s in assembled]

    def off(others: list) -> np.ndarray:
        return np.array([(o.values - n.values) / n.deviations for o, n in zip(others, by_noise, strict=True)])

    return [
        Row("irb360_arms: weights from Sigma and from tau_max, relative difference of the estimates", "<= 1e-9",
            f"{apart:.1e}", bool(apart <= 1e-9)),
        Row("irb360, assembled: the same, in standard deviations of the estimates", "different",
            f"RMS {np.sqrt(np.mean(off(by_limit) ** 2)):.3f}, largest {np.abs(off(by_limit)).max():.2f}; no weights at all: "
            f"RMS {np.sqrt(np.mean(off(plain) ** 2)):.2f}", bool(np.abs(off(by_limit)).max() > 1e-3)),
    ]  # fmt: skip
