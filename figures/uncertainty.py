"""Coverage of the 95 % intervals on the SIMULATED IRB 360: weighted least squares, and the feasible fit apart."""

import numpy as np
from make import ROOT, Row, Section

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.constraints import still_met
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.feasible_intervals import feasible_intervals
from robodyn_pin.identification.fold import Factor, empty, fold_rows, triangle
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.identification.uncertainty import freedom, intervals
from robodyn_pin.log_to_robot.fit_data import independent_share
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.rows import filtered, observe
from robodyn_pin.log_to_robot.run_file import RowsSpec, RunFile
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

SEEDS, FEASIBLE_SEEDS = 200, 40
NOISE = np.array([1.5, 1.5, 1.6, 0.16])  # [N m]


def study() -> Section:
    run = read_yaml(ROOT / "examples/irb360.yaml", RunFile)
    white = run.model_copy(update={"rows": RowsSpec(cut=200)})
    rows = [
        *least_squares("every sample, exact encoders", white, None),
        *least_squares("filtered rows of the example, exact encoders", run, None),
        *least_squares("filtered rows of the example, 15 bit encoders", run, 15),
        *feasible(run),
    ]
    return Section(
        "Uncertainty", "python figures/make.py uncertainty", tuple(rows),
        f"SIMULATED IRB 360, motion of the example, white torque noise 1.5 1.5 1.6 0.16 N m, {SEEDS} seeds; noise of each motor "
        f"estimated, Student's t. Feasible fit: {FEASIBLE_SEEDS} seeds, prior and bounds of the example; its intervals contain "
        "the estimate's own misfit, hence more than 95 %.",
    )  # fmt: skip


def least_squares(what: str, run: RunFile, bits: int | None) -> list[Row]:
    truth, seeds, share = folded(run, bits, SEEDS)
    held, base = [], None
    for groups in seeds:
        estimate = weighted_least_squares(groups, base, share)
        base = estimate.base
        low, high = intervals(estimate, freedom(estimate, sum(g.rows for g in groups), share)).T
        held.append((low <= base.of(truth)) & (base.of(truth) <= high))
    each, pooled = 100 * np.mean(held, axis=0), 100 * np.mean(held)
    return [
        Row(f"WLS, {what}: pooled over {base.size} base parameters [%]", "94 to 96", f"{pooled:.2f}", 94 <= pooled <= 96),
        Row(f"WLS, {what}: each base parameter [%]", "90 to 99", f"{each.min():.1f} to {each.max():.1f}",
            each.min() >= 90 and each.max() <= 99),
    ]  # fmt: skip


def feasible(run: RunFile) -> list[Row]:
    robot = load("irb360")
    bounds, prior, layout = bounds_of(run, robot), prior_of(run, robot), columns(robot).layout
    truth, seeds, share = folded(run, None, FEASIBLE_SEEDS)
    held, left, failed, narrower = [], 0, 0, []
    for groups in seeds:
        wls = weighted_least_squares(groups, None, share)
        fit = fit_feasible(groups, wls.sigma, layout, bounds, prior)
        many = freedom(wls, sum(g.rows for g in groups), share)
        found = feasible_intervals(wls.base.matrix, fit, wls, layout, bounds, many)
        value = wls.base.of(truth)
        held.append((found.ends[:, 0] <= value) & (value <= found.ends[:, 1]))
        failed += int(np.isnan(found.ends).sum())
        ends = found.bodies[np.isfinite(found.ends)]
        left += sum(not still_met(body, layout, bounds) for body in ends)
        narrower.append(np.diff(found.ends) / np.diff(intervals(wls, many)))
    each, ratio = 100 * np.mean(held, axis=0), np.median(narrower)
    return [
        Row("feasible fit: pooled over base parameters, least of each [%]", "reported apart",
            f"{100 * np.mean(held):.2f}, {each.min():.1f}"),
        Row("feasible fit: ends outside the cone or the bounds, without an end", "0, 0", f"{left}, {failed} of {2 * np.size(held)}",
            left == 0 and failed == 0),
        Row("feasible fit: width over that of WLS, median, least", "reported",
            f"{ratio:.2f}, {np.min(narrower):.2f}"),
    ]  # fmt: skip


def folded(run: RunFile, bits: int | None, seeds: int) -> tuple[np.ndarray, list[list[Factor]], float]:
    """True parameters, the factors per motor of each noise seed, and the share of independent rows.

    The noise enters the rows linearly: those of all seeds are folded beside W and the exact torque, in one pass.
    """
    robot = load("irb360")
    log = simulate(robot, read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion), Noise(0 * NOISE, bits))
    truth = columns(robot).values
    p, lowpass = len(truth), run.rows.filter
    noise = np.random.default_rng(5).normal(size=(log.size, len(NOISE), seeds)) * NOISE[:, None]
    noise = lowpass.apply(noise, log.rate, "noise") if lowpass else noise
    factors = [empty(p + seeds) for _ in NOISE]
    for block in observe(robot, log, run.preparation, [lowpass]):
        W, known, measured = filtered(block, lowpass, log)
        index = block.begin + np.arange(len(W))
        kept = (index >= run.rows.cut) & (index < log.size - run.rows.cut) & (index % run.rows.every == 0)
        for j, factor in enumerate(factors):
            wide = np.concatenate([W[kept, j], noise[index[kept], j]], axis=1)
            factors[j] = fold_rows(factor, wide, (measured - known)[kept, j])
    each = [
        [Factor(triangle(np.column_stack([f.R[:, :p], f.R[:, -1] + f.R[:, p + s]])), f.rows) for f in factors]
        for s in range(seeds)
    ]
    return truth, each, independent_share(run, log.rate)
