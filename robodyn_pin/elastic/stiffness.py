"""A stiffness identification, from its run file to its result."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.elastic.campaigns import Campaign, campaigns, check_rows
from robodyn_pin.elastic.deviation_map import DeviationMap, deviation_map
from robodyn_pin.elastic.inference import Estimate, by_spring, estimate, expected, prior_of
from robodyn_pin.elastic.measurements import Measurements, on_the_tool, placed, read_measurements
from robodyn_pin.elastic.path_correction import Correction, PathSpec, correct, read_course
from robodyn_pin.elastic.springs import Springs, springs_in
from robodyn_pin.elastic.stiffest_pose import Task, stiffest
from robodyn_pin.elastic.stiffness_file import StiffnessFile
from robodyn_pin.errors import SolverFailed
from robodyn_pin.files import resolve
from robodyn_pin.identification.bayes import Evidence, infer
from robodyn_pin.robot.robot import load_named

SAME = 1e-4  # [rad or m]
IMPLAUSIBLE = 1e-3  # chance below which measurements, model, noise and prior do not go together


@dataclass(frozen=True)
class Stiffness:
    """What a run found."""

    run: StiffnessFile
    springs: Springs
    estimate: Estimate
    left: np.ndarray  # (N, 3) measured less expected deviations [m]
    campaigns: tuple[Campaign, ...]
    validation: Measurements | None
    complaints: tuple[str, ...]  # why not to trust the result
    cautions: tuple[str, ...]
    map: DeviationMap | None
    task: Task | None
    correction: Correction | None

    @property
    def accepted(self) -> bool:
        """Whether measurements, model, noise and prior go together."""
        return not self.complaints

    @property
    def simulated(self) -> bool:
        """Whether any of the measurements says so."""
        return self.estimate.measurements.simulated or (self.validation is not None and self.validation.simulated)


def identify_stiffness(run: StiffnessFile, folder: Path) -> Stiffness:
    """Read, infer, compare; paths start from `folder`.

    Raises:
        RobodynError: what is wrong with the files, the poses or the measurements.
    """
    springs = springs_in(load_named(run.robot, folder), run.tool, run.springs)
    prior = prior_of(run.prior, springs, run.form)
    m = _measured(run, folder, run.measurements, springs)
    if run.use is not None:
        check_rows(m, run.use, "'use'")
    used = m if run.use is None else m.taken(run.use)
    found = estimate(springs, used, prior, run.form, run.gamma, run.model, run.samples, run.seed)
    at = placed(used, springs)
    values = expected(springs, at, used.force, run.form, run.model)(found.posterior.mean)[0]
    validation = None if run.validation is None else _measured(run, folder, run.validation, springs)
    compared = campaigns(springs, m, prior, run.form, run.gamma, run.model, run.campaigns, validation)
    complaints = _complaints(run, springs, found)
    cautions = [f"{name} {why}" for name, why in found.untold.items()]
    cautions += [f"the measurements would make {springs.names[i]} infinitely stiff or negative: it stands at a bound"
                 for i in np.flatnonzero(found.posterior.at_bound)]  # fmt: skip
    if validation is not None:
        cautions += _used_already(m, validation)
    left = used.deviation - values.reshape(-1, 3)
    k = found.stiffness
    seen = None if run.map is None else deviation_map(springs, k, run.model, run.map)
    task = None if run.task is None else stiffest(springs, k, run.model, run.task, run.seed)
    corrected = None if run.path is None else _corrected(run.path, folder, springs, found)
    return Stiffness(
        run,
        springs,
        found,
        left,
        tuple(compared),
        validation,
        tuple(complaints),
        tuple(cautions),
        seen,
        task,
        corrected,
    )


def _corrected(spec: PathSpec, folder: Path, springs: Springs, found: Estimate) -> Correction:
    truth = None if spec.truth is None else by_spring(spec.truth, springs, "path.truth")
    course = read_course(resolve(folder, spec.file), springs, spec)
    return correct(springs, found.stiffness, found.covariance, course, truth)


def _measured(run: StiffnessFile, folder: Path, path: Path, springs: Springs) -> Measurements:
    m = read_measurements(resolve(folder, path), springs.robot, run.sigma)
    return on_the_tool(m, springs, run.tool_mass, run.force_frame)


def _used_already(m: Measurements, validation: Measurements) -> list[str]:
    """Validation poses that are among the measured ones: they say nothing about other poses."""
    near = np.abs(validation.q[:, None] - m.q).max(axis=2) < SAME
    return [
        f"{validation.row(i)} is at the pose of {m.row(j)}: it validates nothing" for i, j in np.argwhere(near).tolist()
    ]


def _complaints(run: StiffnessFile, springs: Springs, found: Estimate) -> list[str]:
    """What a misfit beyond chance may come from; of forces in the wrong axes, which axes would fit."""
    if (chance := found.posterior.plausibility) >= IMPLAUSIBLE:
        return []
    m = found.measurements
    off = _directions(springs, found)
    worst = int(off.argmax())
    what = (
        f"measurements and model do not go together (chance {chance:.1g}): at {m.row(worst)} the tool moved {off[worst]:.0f} degrees off "
        "the expected direction"
    )
    if run.force_frame is None and (frame := _fitting_frame(run, springs, found)):
        return [f"{what}; forces in the axes of frame {frame!r} would fit: is the file's force in the base's axes? (force_frame: {frame})"]  # fmt: skip
    return [f"{what}; look at the force's axes and sign, at the tool's point, at sigma and at the spread of the prior"]


def _directions(springs: Springs, found: Estimate) -> np.ndarray:
    """Angles (N,) between measured deviations and those expected by the prior [degrees]."""
    m = found.measurements
    values = expected(springs, placed(m, springs), m.force, found.form, "linear")(found.prior.mean)[0].reshape(-1, 3)
    cosine = (values * m.deviation).sum(axis=1)
    cosine /= np.maximum(np.linalg.norm(values, axis=1) * np.linalg.norm(m.deviation, axis=1), 1e-300)
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def _fitting_frame(run: StiffnessFile, springs: Springs, found: Estimate) -> str | None:
    """The tool's frame, if forces read in its axes go together with the measurements."""
    m, frame = found.measurements, run.tool.frame
    at = placed(m, springs)
    weight = run.tool_mass * np.asarray(springs.robot.model.gravity.linear)
    force = np.einsum("nij,nj->ni", at.turn, m.force + weight) - weight
    model = expected(springs, at, force, run.form, "linear")
    try:
        other = infer(model, Evidence(m.deviation.ravel(), np.repeat(m.sigma, 3), found.prior, run.gamma))
    except SolverFailed:
        return None
    return frame if other.plausibility >= IMPLAUSIBLE else None
