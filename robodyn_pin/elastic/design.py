"""Which poses to load, from a run file to the best design found."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.closures import fast
from robodyn_pin.elastic.design_file import DesignFile, Direction
from robodyn_pin.elastic.deviation import deviation_at
from robodyn_pin.elastic.experiments import Plan, Setting, forces, problem, setting_of
from robodyn_pin.elastic.inference import by_spring, covariance_of, prior_of, unobservable, untold
from robodyn_pin.elastic.measurements import Measurements, simulated
from robodyn_pin.elastic.random_designs import draw
from robodyn_pin.elastic.springs import Springs, motors_of, place, springs_in
from robodyn_pin.errors import BadFile
from robodyn_pin.files import read_text, resolve
from robodyn_pin.identification.bayes import Gaussian
from robodyn_pin.identification.design import Criterion, posterior, search, size
from robodyn_pin.robot import load_named


@dataclass(frozen=True)
class Design:
    """The best design found, m measurements in G poses, and what others would leave."""

    run: DesignFile
    springs: Springs
    setting: Setting
    plan: Plan
    c: np.ndarray  # (G, d) coordinates of the poses
    q: np.ndarray  # (m, n_motors) motor positions of each measurement
    force: np.ndarray  # (m, 3) [N]
    deviation: np.ndarray  # (m, 3) expected [m]
    posterior: Gaussian  # of theta, expected
    size: float  # of its covariance, as the criterion has it, theta in the setting's unit
    before: float  # of the prior
    reached: np.ndarray  # (starts,) from each start
    random: np.ndarray  # (r,) of designs by chance
    random_full: np.ndarray  # (r,) of the same with all forces at their bounds
    alone: dict[str, float]  # of the measurements in one direction only
    untold: dict[str, str]  # springs that would keep their prior, and why

    @property
    def deviations(self) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviation of each spring's stiffness before and after (n,) [N m/rad]."""
        before, after = (covariance_of(x, self.run.form) for x in (self.setting.prior, self.posterior))
        return np.sqrt(np.diag(before)), np.sqrt(np.diag(after))


def design(run: DesignFile, folder: Path, progress: Callable[[float], None] = lambda share: None) -> Design:
    """Search for the best design; paths start from `folder`.

    Raises:
        RobodynError: what is wrong in the file, no pose that can be reached, no closed form of the robot.
    """
    springs = springs_in(load_named(run.robot, folder), run.tool, run.springs)
    prior = _believed(run, springs) if run.given is None else given(resolve(folder, run.given), springs, run)
    setting, rng = setting_of(run, springs, prior), np.random.default_rng(run.seed)
    cases, random, full = [], [], []
    for directions, poses in _asked(run):
        drawn = draw(setting, directions, poses, run.random, rng)
        random.append(size(drawn.covariances, run.criterion))
        full.append(size(drawn.full, run.criterion))
        for i in drawn.best(run.criterion, run.starts):
            plan, cut = drawn.plans[i], poses * len(setting.where.low)
            start = np.concatenate([drawn.u[i][:cut], np.sign(drawn.u[i][cut:])])
            cases.append((plan, problem(setting, plan), start))
    with fast.preferred():
        which, found = search([case[1:] for case in cases], run.criterion, run.steps, progress)
    best, task, _ = cases[which]
    after = Gaussian(setting.prior.mean, found.covariance * np.outer(setting.unit, setting.unit))
    plan, c, force = _in_order(setting, best, found.u)
    at = place(springs, c[list(plan.pose)])
    # One more measurement need not tell every spring, but no measurement tells one that cannot be observed.
    told = unobservable(springs, at) if run.mode == "next" else untold(springs, at, force, setting.prior, after)
    return Design(
        run=run, springs=springs, setting=setting, plan=plan, c=c, q=motors_of(springs, at), force=force,
        deviation=deviation_at(springs, at, force, setting.believed, "loaded").values, posterior=after, size=found.size,
        before=float(size(np.linalg.inv(setting.precision), run.criterion)), reached=found.sizes,
        random=np.concatenate(random), random_full=np.concatenate(full),
        alone=_alone(setting, best, task.rows(found.u)[0], run.criterion), untold=told,
    )  # fmt: skip


def _believed(run: DesignFile, springs: Springs) -> Gaussian:
    """The prior of theta, its weight gamma included."""
    prior = prior_of(run.prior, springs, run.form)
    return Gaussian(prior.mean, prior.covariance / run.gamma)


def _asked(run: DesignFile) -> list[tuple[list[Direction], int]]:
    """Directions and number of poses; one more measurement: each direction by itself."""
    if run.mode == "batch":
        return [(run.experiments.directions, run.experiments.poses)]
    return [([name], 1) for name in run.experiments.forces]


def _alone(setting: Setting, plan: Plan, rows: np.ndarray, criterion: Criterion) -> dict[str, float]:
    """What the measurements in one direction only would leave, from the rows (3 m, p) of all."""
    each, p = rows.reshape(len(plan.pose), 3, -1), rows.shape[1]
    return {
        name: float(size(posterior(each[[x == name for x in plan.directions]].reshape(-1, p), setting.precision), criterion))
        for name in dict.fromkeys(plan.directions)
    }  # fmt: skip


def _in_order(setting: Setting, plan: Plan, u: np.ndarray) -> tuple[Plan, np.ndarray, np.ndarray]:
    """The plan, coordinates (G, d) and forces (m, 3) of inputs, poses in the order of their first measurement."""
    c, F = u[: plan.poses * len(setting.where.low)].reshape(plan.poses, -1), forces(setting, plan, u)
    order = list(dict.fromkeys(plan.pose))
    largest = np.take_along_axis(F, np.abs(F).argmax(axis=1)[:, None], axis=1)
    F = (F * np.where(largest < 0, -1.0, 1.0)).round(9) + 0.0  # either way along a line tells the same
    return Plan(plan.directions, tuple(order.index(g) for g in plan.pose)), c[order], F


def given(path: Path, springs: Springs, run: DesignFile) -> Gaussian:
    """The posterior of a stiffness run, from its result.json or its folder.

    Raises:
        BadFile: not such a file, other springs, another form.
    """
    path = path / "result.json" if path.is_dir() else path
    try:
        found = json.loads(read_text(path))
        names, form = tuple(found["names"]), found["form"]
        posterior = Gaussian(np.array(found["posterior"]["mean"]), np.array(found["posterior"]["covariance"]))
    except (ValueError, KeyError, TypeError):
        raise BadFile(f"{path}: 'given' expects the result.json of `robodyn stiffness`") from None
    if names != springs.names:
        raise BadFile(f"{path} is about springs {', '.join(names)}, this run about {', '.join(springs.names)}")
    if form != run.form:
        raise BadFile(f"{path} was inferred in {form}, this run is in {run.form}; set 'form: {form}'")
    return posterior


def tried(found: Design) -> Measurements | None:
    """Simulated measurements of the design, where the run file asks for them.

    Raises:
        UnknownName, BadFile: springs without a value, values without a spring.
    """
    spec = found.run.simulate
    if spec is None:
        return None
    k = by_spring(spec.stiffness, found.springs, "simulate.stiffness")
    return simulated(found.springs, "measurements.csv", found.q, found.force, k, found.run.sigma, spec.seed)
