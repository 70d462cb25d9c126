"""How reliable and how fast the feasible fits are: over subsets of a log, by two ways to one optimum, after folding."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from estimators import RUN, SAMPLES, SEEDS, rms_difference
from make import Row, Section
from simulated import MOTION, SIGMA, exact_rows, fold_seeds, noise_of

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import SolverFailed
from robodyn_pin.files import resolve
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import FeasibleEstimate, fit_feasible
from robodyn_pin.identification.fold import Factor, empty, fold_rows
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.identification.log_cholesky_fit import LogCholeskyEstimate, fit_log_cholesky
from robodyn_pin.identification.parameters import Layout, smallest_eigenvalues
from robodyn_pin.identification.prior import Distance, Prior
from robodyn_pin.identification.solving import SOLVERS
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.cross_validation import choose
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.rows import filtered, observe
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.log_to_robot.run_file import ChooseSpec, RunFile
from robodyn_pin.logs.stored_log import AnyLog, open_log
from robodyn_pin.robot.robot import load

RUNS = Path(__file__).parents[1] / "tests/runs"
SUBSETS = 20
WEIGHTS = (0.1, 0.01, 0.001)
LEAST, MOST = 0.02, 0.8  # share of the log's rows that a subset has, drawn evenly in its logarithm


@dataclass(frozen=True)
class Problem:
    """Folded rows, and all else that a feasible fit takes."""

    groups: list[Factor]
    sigma: np.ndarray
    layout: Layout
    bounds: Bounds
    prior: Prior

    def convex(self) -> FeasibleEstimate:
        return fit_feasible(self.groups, self.sigma, self.layout, self.bounds, self.prior)

    def log_cholesky(self) -> LogCholeskyEstimate:
        return fit_log_cholesky(self.groups, self.sigma, self.layout, self.bounds, self.prior)


def study() -> Section:
    mtm, panda = measured("mtm"), measured("panda")
    rows = [*robust(*mtm), *second_opinion(), *fast(mtm[0], panda[0])]
    return Section(
        "Solvers", "python figures/make.py solvers", tuple(rows),
        f"MTM and Panda: measured logs, settings of `tests/runs` with nothing chosen. IRB 360: simulated as in the section "
        f"on estimators. Subsets: {100 * LEAST:g} to {100 * MOST:g} % of the rows, drawn at random. Times: wall clock and "
        f"process time, best of 3, after folding, one thread; load of the machine {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} cores.",
    )  # fmt: skip


def measured(name: str) -> tuple[Problem, RunFile, AnyLog]:
    """The fit data of a run file, folded as its settings stand."""
    path = RUNS / f"{name}.yaml"
    run = read_run(path).model_copy(update={"choose": ChooseSpec()})
    robot, spec = load(resolve(path.parent, run.robot)), run.fit[0]
    log = open_log(run, resolve(path.parent, spec.file), robot)
    log = log.window(*(spec.rows or (0, log.size)))
    fitted = choose(robot, run, [log], lambda stage: None)
    groups = pooled(fitted.rows)
    sigma = weighted_least_squares(groups).sigma
    return Problem(groups, sigma, fitted.settings.layout, bounds_of(run, robot), prior_of(run, robot)), run, log


def robust(whole: Problem, run: RunFile, log: AnyLog) -> list[Row]:
    """Random subsets of the MTM log: every status must be `optimal`, every body is looked at once more."""
    robot = choose(load(resolve(RUNS, run.robot)), run, [log], lambda stage: None).settings.robot
    parts = [filtered(b, run.rows.filter, log) for b in observe(robot, log, run.preparation, [run.rows.filter])]
    W, known, measured = (np.concatenate(x)[run.rows.cut : -run.rows.cut] for x in zip(*parts, strict=True))
    rng, d, p = np.random.default_rng(0), W.shape[1], W.shape[2]
    problems = []
    for _ in range(SUBSETS):
        size = int(len(W) * np.exp(rng.uniform(np.log(LEAST), np.log(MOST))))
        drawn = rng.choice(len(W), size, replace=False)
        groups = [fold_rows(empty(p), W[drawn, j], (measured - known)[drawn, j]) for j in range(d)]
        problems.append(replace(whole, groups=groups, sigma=weighted_least_squares(groups).sigma))
    return [subsets(problems, distance) for distance in ("euclidean", "relative", "entropic")]


def subsets(problems: list[Problem], distance: Distance) -> Row:
    good, smallest = [], np.inf
    for weight in WEIGHTS:
        found = [optimum(problem, distance, weight) for problem in problems]
        good.append(sum(x is not None for x in found))
        bodies = np.concatenate([x[: problems[0].layout.first_scalar].reshape(-1, 10) for x in found if x is not None])
        smallest = min(smallest, smallest_eigenvalues(bodies).min())
    return Row(
        f"MTM, random subsets, {distance} prior of weight {', '.join(map(str, WEIGHTS))}: `optimal` by the first solver; "
        "smallest eigenvalue (1 kg, 0.1 m)", f"{SUBSETS} of {SUBSETS}; >= 1e-4",
        f"{', '.join(map(str, good))} of {SUBSETS}; {smallest:.3e}", min(good) == SUBSETS and bool(smallest >= 1e-4),
    )  # fmt: skip


def optimum(problem: Problem, distance: Distance, weight: float) -> np.ndarray | None:
    """Parameters (p,) where the first solver says `optimal`, else None."""
    try:
        found = replace(problem, prior=replace(problem.prior, distance=distance, weight=weight)).convex()
    except SolverFailed:
        return None
    return found.values if (found.status, found.solver) == ("optimal", SOLVERS[0]) else None


def second_opinion() -> list[Row]:
    """Log-Cholesky against the convex program on the simulated IRB 360, same prior, compared on held-out rows."""
    problems = irb360(SEEDS)
    (unseen,) = fold_seeds(exact_rows(load("irb360"), begin=0.7), np.zeros((SAMPLES, len(SIGMA), 1)))
    apart, converged = [], 0
    for problem in problems:
        try:
            x, y = problem.convex().values, problem.log_cholesky().values
        except SolverFailed:
            continue
        converged += 1
        apart.append([rms_difference(f, x, y) for f in unseen] / SIGMA)
    worst = float(np.max(apart))
    return [
        Row("log-Cholesky, IRB 360 (SIMULATED): converged", f"{SEEDS} of {SEEDS}", f"{converged} of {SEEDS}", converged == SEEDS),
        Row("log-Cholesky against LMI, same prior: RMS of the torque's difference over the noise, worst seed and motor",
            "<= 1 %", f"{100 * worst:.2g} %", worst <= 0.01),
    ]  # fmt: skip


def irb360(seeds: int, seconds: float = MOTION.duration) -> list[Problem]:
    """The simulated robot's fit problem with the noise of each seed; longer logs repeat the motion."""
    robot, motion = load("irb360"), MOTION.model_copy(update={"duration": seconds})
    samples = round(seconds * MOTION.rate)
    layout, bounds, prior = columns(robot).layout, bounds_of(RUN, robot), prior_of(RUN, robot)
    folded = fold_seeds(exact_rows(robot, motion, end=0.7), noise_of(range(seeds), samples))
    return [Problem(groups, weighted_least_squares(groups).sigma, layout, bounds, prior) for groups in folded]


def fast(mtm: Problem, panda: Problem) -> list[Row]:
    lengths = {seconds: irb360(1, seconds)[0] for seconds in (2.0, 20.0, 200.0)}
    limits = [("MTM", mtm, 0.5), ("Panda", panda, 0.5), ("IRB 360 (SIMULATED)", lengths[20.0], 2.0)]
    rows = [timed(f"{name}: feasible fit", problem.convex, limit) for name, problem, limit in limits]
    rows += [timed(f"{name}: log-Cholesky fit", problem.log_cholesky, 5.0) for name, problem, _ in limits]
    spent = {seconds: seconds_of(problem.convex)[1] for seconds, problem in lengths.items()}
    shown = ", ".join(f"{1e3 * s:.0f} ms ({0.7 * seconds * MOTION.rate:.0f} rows)" for seconds, s in spent.items())
    alike = max(spent.values()) <= 1.5 * min(spent.values())  # steps of the solver differ by one or two
    return [*rows, Row("IRB 360 (SIMULATED): feasible fit over the log's length", "independent of it", shown, alike)]


def timed(what: str, function: Callable[[], object], limit: float) -> Row:
    wall, process = seconds_of(function)
    return Row(what, f"< {limit:g} s", f"{wall:.3f} s ({process:.3f} s of the process)", wall < limit)


def seconds_of(function: Callable[[], object]) -> tuple[float, float]:
    """Wall clock and process time of a call [s], each the best of three."""
    spent = []
    for _ in range(3):
        begin = time.perf_counter(), time.process_time()
        function()
        spent.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    wall, process = np.min(spent, axis=0)
    return float(wall), float(process)
