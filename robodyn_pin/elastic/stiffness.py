"""A stiffness identification, from its run file to its result."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.elastic.campaigns import Campaign, check_rows, compare_campaigns
from robodyn_pin.elastic.deviation_map import DeviationMap, deviation_map
from robodyn_pin.elastic.inference import (
    InferenceSettings,
    StiffnessEstimate,
    deviation_function,
    estimate_stiffness,
    stiffness_prior,
    values_by_spring,
)
from robodyn_pin.elastic.measurements import Measurements, read_measurements, with_tool_forces
from robodyn_pin.elastic.path_correction import LoadedPathSpec, PathCorrection, correct_path, read_loaded_path
from robodyn_pin.elastic.springs import Springs, springs_in
from robodyn_pin.elastic.stiffest_pose import StiffestPose, stiffest_pose
from robodyn_pin.elastic.stiffness_file import StiffnessFile
from robodyn_pin.errors import SolverFailed
from robodyn_pin.files import resolve
from robodyn_pin.identification.bayes import Observed, infer
from robodyn_pin.robot.robot import load_named

SAME_POSE = 1e-4  # [rad or m]
IMPLAUSIBLE = 1e-3  # probability below which measurements, model, noise and prior contradict each other


@dataclass(frozen=True)
class StiffnessResult:
    """The result of a run."""

    run: StiffnessFile
    springs: Springs
    estimate: StiffnessEstimate
    campaigns: tuple[Campaign, ...]
    validation: Measurements | None
    complaints: tuple[str, ...]  # why the result is not accepted
    cautions: tuple[str, ...]
    map: DeviationMap | None
    task: StiffestPose | None
    correction: PathCorrection | None

    @property
    def accepted(self) -> bool:
        """Whether measurements, model, noise and prior agree."""
        return not self.complaints

    @property
    def simulated(self) -> bool:
        """Whether any of the measurements are marked as simulated."""
        return self.estimate.measurements.simulated or (self.validation is not None and self.validation.simulated)


def identify_stiffness(run: StiffnessFile, folder: Path) -> StiffnessResult:
    """Read the measurements, infer the stiffness and use it as the run asks; paths start from `folder`.

    Raises:
        RobodynError: files, poses or measurements are wrong; the message says which.
    """
    springs = springs_in(load_named(run.robot, folder), run.tool, run.springs)
    settings = InferenceSettings(stiffness_prior(run.prior, springs, run.form), run.form, run.gamma, run.model)
    m = _read(run, folder, run.measurements, springs)
    if run.use is not None:
        check_rows(m, run.use, "'use'")
    used = m if run.use is None else m.subset(run.use)
    estimate = estimate_stiffness(springs, used, settings, run.samples, run.seed)
    validation = None if run.validation is None else _read(run, folder, run.validation, springs)
    campaigns = compare_campaigns(springs, m, settings, run.campaigns, validation)
    complaints = _complaints(run, springs, estimate)
    cautions = [f"{name} {reason}" for name, reason in estimate.undetermined.items()]
    cautions += [
        f"the measurements alone would make {springs.names[i]} infinitely stiff or its stiffness negative: it stands at a bound"
        for i in np.flatnonzero(estimate.posterior.at_bound)
    ]
    if validation is not None:
        cautions += _validation_overlap(m, validation)
    k = estimate.stiffness
    return StiffnessResult(
        run, springs, estimate, tuple(campaigns), validation, tuple(complaints), tuple(cautions),
        map=None if run.map is None else deviation_map(springs, k, run.model, run.map),
        task=None if run.task is None else stiffest_pose(springs, k, run.model, run.task, run.seed),
        correction=None if run.path is None else _correct(run.path, folder, springs, estimate),
    )  # fmt: skip


def _correct(spec: LoadedPathSpec, folder: Path, springs: Springs, estimate: StiffnessEstimate) -> PathCorrection:
    true_k = None if spec.truth is None else values_by_spring(spec.truth, springs, "path.truth")
    path = read_loaded_path(resolve(folder, spec.file), springs, spec)
    return correct_path(springs, estimate.stiffness, estimate.covariance, path, true_k)


def _read(run: StiffnessFile, folder: Path, path: Path, springs: Springs) -> Measurements:
    m = read_measurements(resolve(folder, path), springs.robot, run.sigma)
    return with_tool_forces(m, springs, run.tool_mass, run.force_frame)


def _validation_overlap(m: Measurements, validation: Measurements) -> list[str]:
    """Cautions about validation poses that are among the measured ones: they say nothing about other poses."""
    same = np.abs(validation.q[:, None] - m.q).max(axis=2) < SAME_POSE
    return [
        f"{validation.label(i)} is at the pose of {m.label(j)}: it validates nothing"
        for i, j in np.argwhere(same).tolist()
    ]


def _complaints(run: StiffnessFile, springs: Springs, estimate: StiffnessEstimate) -> list[str]:
    """What a misfit beyond chance may come from: forces in the axes of another frame, if these would fit."""
    if (probability := estimate.posterior.plausibility) >= IMPLAUSIBLE:
        return []
    m = estimate.measurements
    angles = _direction_errors(springs, estimate)
    worst = int(angles.argmax())
    text = (
        f"measurements and model contradict each other (probability of such a misfit {probability:.1g}): at {m.label(worst)} the tool "
        f"moved {angles[worst]:.0f} degrees off the expected direction"
    )
    if run.force_frame is None and (frame := _fitting_frame(run, springs, estimate)):
        return [
            f"{text}; forces in the axes of frame {frame!r} would fit: is the file's force in the base's axes? (force_frame: {frame})"
        ]
    return [
        f"{text}; check the force's axes and sign, the tool's point, sigma, and the standard deviation of the prior"
    ]


def _direction_errors(springs: Springs, estimate: StiffnessEstimate) -> np.ndarray:
    """Angles (N,) between measured deviations and those that the prior predicts [degrees]."""
    m = estimate.measurements
    predict = deviation_function(springs, estimate.poses, m.force, estimate.form, "linear")
    values = predict(estimate.prior.mean)[0].reshape(-1, 3)
    cosine = (values * m.deviation).sum(axis=1)
    cosine /= np.maximum(np.linalg.norm(values, axis=1) * np.linalg.norm(m.deviation, axis=1), 1e-300)
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def _fitting_frame(run: StiffnessFile, springs: Springs, estimate: StiffnessEstimate) -> str | None:
    """The tool's frame, if forces read in its axes agree with the measured deviations."""
    m, frame = estimate.measurements, run.tool.frame
    weight = run.tool_mass * np.asarray(springs.robot.model.gravity.linear)
    force = np.einsum("nij,nj->ni", estimate.poses.rotation, m.force + weight) - weight
    predict = deviation_function(springs, estimate.poses, force, run.form, "linear")
    try:
        posterior = infer(predict, Observed(m.deviation.ravel(), np.repeat(m.sigma, 3), estimate.prior, run.gamma))
    except SolverFailed:
        return None
    return frame if posterior.plausibility >= IMPLAUSIBLE else None
