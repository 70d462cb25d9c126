"""Joint stiffness of the IRB 6660: deviations by hand, designs against chance, honest ellipsoids, a corrected path."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from make import Row, Section
from test_deviation import FORCE, PRIOR, by_hand, poses

from robodyn_pin.closures import kernel_choice
from robodyn_pin.elastic.design import Design, optimal_design
from robodyn_pin.elastic.design_file import DesignFile
from robodyn_pin.elastic.deviation import DeviationModel, deviation
from robodyn_pin.elastic.elastic_file import Form, StiffnessPriorSpec
from robodyn_pin.elastic.inference import InferenceSettings, estimate_stiffness, stiffness_of, stiffness_prior
from robodyn_pin.elastic.measurements import Measurements
from robodyn_pin.elastic.path_correction import LoadedPathSpec, correct_path, read_loaded_path
from robodyn_pin.elastic.springs import SpringLayout, Springs, Tool, coordinates_of, springs_in
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.bayes import Gaussian
from robodyn_pin.robot.robot import load

EXAMPLES = Path(__file__).parents[1] / "examples"
TOOL = Tool(frame="flange", at=(0.20, 0, 0.30))
SIGMA = 5e-6  # [m]
CAMPAIGNS = 500
PATHS = 50
LAYOUTS: tuple[tuple[SpringLayout, str, float, float], ...] = (
    ("joints", "springs as printed, on relative angles", 3.0, 1.9), ("motors", "springs on the motors", 5.0, 2.0),
)  # fmt: skip


def study() -> Section:
    rows, designs = deviation_rows(), {}
    for layout, what, anywhere, full in LAYOUTS:
        found, seconds, spent = searched(layout)
        designs[layout] = found
        rows += design_rows(found, what, anywhere, full)
        rows.append(Row(f"{what}: search, 12 starts from {len(found.random_sizes)} designs, processor time of one thread [s]", "< 60",
                        f"{spent:.0f} (wall {seconds:.0f}, load {os.getloadavg()[0]:.1f})", spent < 60))  # fmt: skip
    rows += [
        *coverage_rows(designs["motors"]),
        *path_rows(designs["motors"], searched("motors", "compliance")[0]),
        inference_row(designs["motors"]),
    ]
    return Section(
        "Stiffness", "python figures/make.py stiffness", tuple(rows),
        "All measurements are SIMULATED. Assumed: prior 2.0, 3.0, 2.5, 0.8, 0.6, 0.4 times 1e6 N m/rad with a spread of half of each, tool point "
        "0.20 0 0.30 m from the flange, sensor 5 µm. Designs: five measurements in four orientations at (1.30, 0.20, 1.00) m, three along y, two along x, "
        "tool within 80 degrees of the level line from the base; random ones keep the same rules and limits. Truths are drawn from the prior, negative ones "
        "drawn again. Traces are of the covariance of k.",
    )  # fmt: skip


def deviation_rows() -> list[Row]:
    worst, linear = 0.0, 0.0
    q, force = poses(200, seed=11)
    for layout, *_ in LAYOUTS:
        springs = springs_in(load("irb6660"), TOOL, layout)
        c = coordinates_of(springs, q)
        values = {m: deviation(springs, c, force, PRIOR, m).values for m in ("linear", "unloaded", "loaded")}
        for model in ("unloaded", "loaded"):
            expected = np.array([by_hand(a, f, layout, model) for a, f in zip(q, force, strict=True)])
            worst = max(worst, float(np.abs(values[model] - expected).max() / np.abs(expected).max()))
            off = np.linalg.norm(values["linear"] - values[model], axis=1) / np.linalg.norm(values[model], axis=1)
            linear = max(linear, float(off.max()))
    return [
        Row("deviations against a chain of frames with turned joints, 200 poses, both layouts, torques unloaded and loaded, part of the largest",
            "<= 1e-9", f"{worst:.1e}", worst <= 1e-9),
        Row(f"linear deviations at {FORCE:g} N, the same poses, worst [%]", "<= 0.1", f"{100 * linear:.3f}", linear <= 1e-3),
    ]  # fmt: skip


def searched(layout: SpringLayout, form: Form = "stiffness") -> tuple[Design, float, float]:
    run = read_yaml(EXAMPLES / "irb6660_design.yaml", DesignFile)
    names = [f"{'m' if layout == 'motors' else 'j'}{i}" for i in range(1, 7)]
    prior = StiffnessPriorSpec(stiffness=dict(zip(names, PRIOR.tolist(), strict=True)))
    wall, spent = time.perf_counter(), time.process_time()
    found = optimal_design(
        run.model_copy(update={"springs": layout, "prior": prior, "form": form, "simulate": None}), EXAMPLES
    )
    return found, time.perf_counter() - wall, time.process_time() - spent


def design_rows(found: Design, what: str, anywhere: float, full: float) -> list[Row]:
    inside, bound = (float(np.median(x) / found.size) for x in (found.random_sizes, found.full_force_sizes))
    x, y = (found.direction_sizes[name] / found.size for name in ("x", "y"))
    worse = "X worse, as the paper finds" if x > y else "Y worse; the paper finds X worse"
    return [
        Row(f"{what}: median trace of {len(found.random_sizes)} random designs, forces inside ±300 N, over the design's", f">= {anywhere:g}",
            f"{inside:.2f}", inside >= anywhere),
        Row(f"{what}: the same, all forces 300 N", f">= {full:g}", f"{bound:.2f}", bound >= full),
        Row(f"{what}: trace of X only and Y only over that of all five", ">= 1.8 each; which is worse", f"{x:.2f} and {y:.2f}: {worse}",
            min(x, y) >= 1.8),
    ]  # fmt: skip


def drawn(prior: Gaussian, rng: np.random.Generator) -> np.ndarray:
    """Parameters from the prior, all positive."""
    while (theta := rng.multivariate_normal(prior.mean, prior.covariance)).min() <= 0:
        pass
    return np.asarray(theta)


def measured(found: Design, k: np.ndarray, model: DeviationModel, rng: np.random.Generator) -> Measurements:
    springs, n = found.springs, len(found.q)
    moved = deviation(springs, coordinates_of(springs, found.q), found.force, k, model).values
    noisy = moved + rng.normal(0, SIGMA, moved.shape)
    return Measurements("simulated", found.q, found.force, noisy, np.full(n, SIGMA), tuple(range(1, n + 1)), True)


def prior_in(springs: Springs, form: Form) -> Gaussian:
    return stiffness_prior(
        StiffnessPriorSpec(stiffness=dict(zip(springs.names, PRIOR.tolist(), strict=True))), springs, form
    )


def covered(found: Design, form: Form, model: DeviationModel, seed: int) -> float:
    """Part of the campaigns whose 95 % ellipsoid holds the truth."""
    rng, prior, hits = np.random.default_rng(seed), prior_in(found.springs, form), 0
    settings = InferenceSettings(prior, form, model=model)
    with kernel_choice.preferred():
        for _ in range(CAMPAIGNS):
            truth = drawn(prior, rng)
            m = measured(found, stiffness_of(truth, form), model, rng)
            hits += bool(estimate_stiffness(found.springs, m, settings).posterior.inside(truth))
    return hits / CAMPAIGNS


def coverage_rows(found: Design) -> list[Row]:
    exact, linear = (covered(found, "compliance", model, 21) for model in ("loaded", "linear"))
    stiff = covered(found, "stiffness", "linear", 22)
    what = f"95 % ellipsoid, {CAMPAIGNS} campaigns (SIMULATED), truth from the prior each time"
    return [
        Row(f"{what}: in compliance, loaded model [%]", "93 to 97", f"{100 * exact:.1f}", 0.93 <= exact <= 0.97),
        Row(f"{what}: in compliance, linear model [%]", "93 to 97", f"{100 * linear:.1f}", 0.93 <= linear <= 0.97),
        Row(f"{what}: in stiffness, linear model [%]", "shown", f"{100 * stiff:.1f}"),
    ]  # fmt: skip


def path_rows(found: Design, in_compliance: Design) -> list[Row]:
    """Deviations are linear in compliance: a design for that is the one to correct paths with."""
    what = f"path corrected from five measurements, {PATHS} robots (SIMULATED), rms deviation down by, median and worst [%]"
    (middle, worst), other = corrected(in_compliance), corrected(found)
    x, y = (in_compliance.direction_sizes[name] / in_compliance.size for name in ("x", "y"))
    return [
        Row(f"{what}: poses designed for compliance", ">= 90", f"{middle:.1f} and {worst:.1f}", worst >= 90),
        Row(f"{what}: poses designed for stiffness", "shown", f"{other[0]:.1f} and {other[1]:.1f}"),
        Row("design for compliance, springs on the motors: trace of X only and Y only over that of all five", "shown", f"{x:.2f} and {y:.2f}"),
    ]  # fmt: skip


def corrected(found: Design) -> tuple[float, float]:
    """The example's cut by robots with springs from the prior, corrected by what five measurements say of each: median, worst [%]."""
    file = EXAMPLES / "irb6660_stiffness" / "path.csv"
    springs, prior = found.springs, prior_in(found.springs, "compliance")
    path, rng, remaining = read_loaded_path(file, springs, LoadedPathSpec(file=file)), np.random.default_rng(31), []
    with kernel_choice.preferred():
        for _ in range(PATHS):
            truth = 1 / drawn(prior, rng)
            e = estimate_stiffness(springs, measured(found, truth, "loaded", rng), InferenceSettings(prior))
            share = correct_path(springs, e.stiffness, e.covariance, path, truth).remaining_share
            assert share is not None
            remaining.append(share)
    return float(100 * (1 - np.median(remaining))), 100 * (1 - max(remaining))


def inference_row(found: Design) -> Row:
    springs, prior = found.springs, prior_in(found.springs, "compliance")
    m = measured(found, PRIOR, "loaded", np.random.default_rng(1))

    def infer() -> object:
        return estimate_stiffness(springs, m, InferenceSettings(prior), samples=4000)

    infer()
    seconds, spent = timed(infer)
    return Row("inference with sampling check, loaded model, wall [s]", "< 1", f"{seconds:.2f} (processor {spent:.2f}, load {os.getloadavg()[0]:.1f})",
               seconds < 1)  # fmt: skip


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, spent = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - spent
