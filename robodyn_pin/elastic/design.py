"""Optimal experiments: the poses and forces whose measured deviations determine the stiffness best."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.elastic.design_file import DesignFile, Direction
from robodyn_pin.elastic.design_problem import DesignSetting, MeasurementPlan, design_problem, design_setting, forces_of
from robodyn_pin.elastic.deviation import deviation_at
from robodyn_pin.elastic.inference import (
    InferenceSettings,
    stiffness_covariance,
    stiffness_prior,
    undetermined_springs,
    unobservable_springs,
    values_by_spring,
)
from robodyn_pin.elastic.measurements import Measurements, simulate_measurements
from robodyn_pin.elastic.random_designs import draw_designs
from robodyn_pin.elastic.springs import Springs, motors_of, pose_kinematics, springs_in
from robodyn_pin.errors import BadFile
from robodyn_pin.files import parse_json, read_text, resolve
from robodyn_pin.identification.bayes import Gaussian
from robodyn_pin.identification.experiment_design import Criterion, design_posterior, search, size
from robodyn_pin.robot.robot import load_named


@dataclass(frozen=True)
class Design:
    """The best design found, m measurements in G poses, and the designs it is compared with.

    A size is that of a covariance of theta in the setting's unit, as the criterion measures it.
    """

    run: DesignFile
    springs: Springs
    setting: DesignSetting
    plan: MeasurementPlan
    c: np.ndarray  # (G, d) coordinates of the poses
    q: np.ndarray  # (m, n_motors) motor positions of each measurement
    force: np.ndarray  # (m, 3) [N]
    deviation: np.ndarray  # (m, 3) expected [m]
    posterior: Gaussian  # expected, of theta
    size: float  # of the expected posterior covariance
    prior_size: float
    start_sizes: np.ndarray  # (starts,) reached from each start
    random_sizes: np.ndarray  # (r,) of random designs
    full_force_sizes: np.ndarray  # (r,) of the same designs with all forces at their bounds
    direction_sizes: dict[str, float]  # of the measurements in one direction only
    undetermined: dict[str, str]  # springs that would keep their prior, with the reason

    @property
    def deviations(self) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviation of each spring's stiffness (n,) in the prior and in the expected posterior [N m/rad]."""
        before, after = (stiffness_covariance(x, self.run.form) for x in (self.setting.prior, self.posterior))
        return np.sqrt(np.diag(before)), np.sqrt(np.diag(after))


def optimal_design(run: DesignFile, folder: Path, progress: Callable[[float], None] = lambda share: None) -> Design:
    """Search for the best design; paths start from `folder`.

    Raises:
        RobodynError: the file is wrong, no pose is within reach, or the robot has no closed-form inverse kinematics.
    """
    springs = springs_in(load_named(run.robot, folder), run.tool, run.springs)
    if run.given is None:
        prior = InferenceSettings(stiffness_prior(run.prior, springs, run.form), run.form, run.gamma).weighted_prior
    else:
        prior = read_posterior(resolve(folder, run.given), springs, run)
    setting, rng = design_setting(run, springs, prior), np.random.default_rng(run.seed)
    cases, random_sizes, full_force_sizes = [], [], []
    for directions, poses in _alternatives(run):
        drawn = draw_designs(setting, directions, poses, run.random, rng)
        random_sizes.append(size(drawn.covariances, run.criterion))
        full_force_sizes.append(size(drawn.full_force, run.criterion))
        for i in drawn.best(run.criterion, run.starts):
            plan, cut = drawn.plans[i], poses * len(setting.rules.low)
            start = np.concatenate([drawn.u[i][:cut], np.sign(drawn.u[i][cut:])])
            cases.append((plan, design_problem(setting, plan), start))
    with kernel_choice.preferred():
        which, found = search([case[1:] for case in cases], run.criterion, run.steps, progress)
    best, problem, _ = cases[which]
    expected = Gaussian(setting.prior.mean, found.covariance * np.outer(setting.unit, setting.unit))
    plan, c, force = _ordered(setting, best, found.u)
    placed = pose_kinematics(springs, c[list(plan.pose)])
    if run.mode == "next":  # one more measurement need not determine every spring
        undetermined = unobservable_springs(springs, placed)
    else:
        undetermined = undetermined_springs(springs, placed, force, setting.prior, expected)
    return Design(
        run=run, springs=springs, setting=setting, plan=plan, c=c, q=motors_of(springs, placed), force=force,
        deviation=deviation_at(springs, placed, force, setting.prior_stiffness, "loaded").values, posterior=expected,
        size=found.size, prior_size=float(size(np.linalg.inv(setting.precision), run.criterion)), start_sizes=found.sizes,
        random_sizes=np.concatenate(random_sizes), full_force_sizes=np.concatenate(full_force_sizes),
        direction_sizes=_direction_sizes(setting, best, problem.rows(found.u)[0], run.criterion), undetermined=undetermined,
    )  # fmt: skip


def _alternatives(run: DesignFile) -> list[tuple[list[Direction], int]]:
    """Directions and number of poses to choose from: with mode `next` each direction by itself, else all in one design."""
    if run.mode == "batch":
        return [(run.experiments.directions, run.experiments.poses)]
    return [([name], 1) for name in run.experiments.forces]


def _direction_sizes(
    setting: DesignSetting, plan: MeasurementPlan, rows: np.ndarray, criterion: Criterion
) -> dict[str, float]:
    """Size of the posterior after the measurements in one direction only, from the rows (3 m, p) of all."""
    by_measurement, p = rows.reshape(len(plan.pose), 3, -1), rows.shape[1]
    sizes = {}
    for name in dict.fromkeys(plan.directions):
        own = by_measurement[[x == name for x in plan.directions]].reshape(-1, p)
        sizes[str(name)] = float(size(design_posterior(own, setting.precision), criterion))
    return sizes


def _ordered(
    setting: DesignSetting, plan: MeasurementPlan, u: np.ndarray
) -> tuple[MeasurementPlan, np.ndarray, np.ndarray]:
    """The plan, coordinates (G, d) and forces (m, 3) of inputs, poses in the order of their first measurement."""
    c, F = u[: plan.poses * len(setting.rules.low)].reshape(plan.poses, -1), forces_of(setting, plan, u)
    order = list(dict.fromkeys(plan.pose))
    largest = np.take_along_axis(F, np.abs(F).argmax(axis=1)[:, None], axis=1)
    F = (F * np.where(largest < 0, -1.0, 1.0)).round(9) + 0.0  # the opposite force has the same information
    return MeasurementPlan(plan.directions, tuple(order.index(g) for g in plan.pose)), c[order], F


def read_posterior(path: Path, springs: Springs, run: DesignFile) -> Gaussian:
    """The posterior of a stiffness run, from its result.json or its folder.

    Raises:
        BadFile: the file is no result of a stiffness run, or one of other springs or of another form.
    """
    path = path / "result.json" if path.is_dir() else path
    try:
        result = parse_json(read_text(path))
        names, form = tuple(result["names"]), result["form"]
        distribution = Gaussian(np.array(result["posterior"]["mean"]), np.array(result["posterior"]["covariance"]))
    except (ValueError, KeyError, TypeError):
        raise BadFile(f"{path}: 'given' expects the result.json of `robodyn stiffness`") from None
    if names != springs.names:
        raise BadFile(f"{path} is about springs {', '.join(names)}, this run about {', '.join(springs.names)}")
    if form != run.form:
        raise BadFile(f"{path} was inferred in {form}, this run is in {run.form}; set 'form: {form}'")
    return distribution


def simulate_design(design: Design) -> Measurements | None:
    """Simulated measurements of the design, if the run file asks for them.

    Raises:
        UnknownName, BadFile: as `values_by_spring`.
    """
    spec = design.run.simulate
    if spec is None:
        return None
    k = values_by_spring(spec.stiffness, design.springs, "simulate.stiffness")
    return simulate_measurements(
        design.springs, "measurements.csv", design.q, design.force, k, design.run.sigma, spec.seed
    )
