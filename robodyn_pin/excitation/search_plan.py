"""What all motions of a search share: the robot, its limits and noise, where random motions begin, and how large they are."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadFile, ClosureFailed, RobodynError, UnknownName
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.model import ExcitationModel, noisy
from robodyn_pin.excitation.workspace import Workspace, translations, workspace
from robodyn_pin.files import resolve
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.excitation import ExcitingSeries, largest_amplitude, log_information, scaled
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.bearing_axes import refuse_bearing
from robodyn_pin.robot.efforts import refuse_warmth
from robodyn_pin.robot.limits import limits_of, torque_limits
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.sources import DESCRIPTIONS

SEARCH, CHECK = 32, 100  # samples in the shortest period of the series: while searching, and to compare motions
ASSUMED_NOISE = 0.01  # of each torque limit, where the run file says nothing of the noise


@dataclass(frozen=True)
class SearchPlan:
    """What all motions of a search share."""

    run: ExcitationFile
    model: ExcitationModel
    series: ExcitingSeries
    base: BaseSet
    region: Workspace | None
    centre: np.ndarray  # (d,) of random motions
    unit: np.ndarray  # (d,) typical amplitudes

    @cached_property
    def rough(self) -> np.ndarray:
        """Return the basis at the times of the search."""
        return self.series.basis(self.series.clock(SEARCH * self.run.harmonics))

    @cached_property
    def fine(self) -> np.ndarray:
        """Return the basis at the times at which motions are compared."""
        return self.series.basis(self.series.clock(CHECK * self.run.harmonics))

    def information(self, X: np.ndarray) -> float:
        return log_information(self.model.rows(*(self.fine @ X)))

    def factor(self, X: np.ndarray, basis: np.ndarray, most: float, first: float = 1.0) -> float:
        """Return how much larger the amplitudes of X can be within the limits, at most `most`; `first`: where to begin."""

        def load(factor: float) -> np.ndarray:
            samples = basis if factor else basis[:, :1]  # at rest one says all
            try:
                return self.model.loads(*(samples @ scaled(X, factor)))
            except ClosureFailed:
                return np.array(np.inf)

        return largest_amplitude(load, most, first)

    def fitted(self, X: np.ndarray, most: float = 1.0) -> np.ndarray:
        """Return X, its amplitudes smaller where the limits ask for that, or up to `most` times as large where they do not."""
        return scaled(X, self.factor(X, self.fine, most))

    def written(self, X: np.ndarray, note: str) -> FourierMotion:
        run, names = self.run, self.model.robot.coordinates.names
        parts = (dict(zip(names, part.T.tolist(), strict=True)) for part in self.series.amplitudes(X))
        series = dict(zip(("centre", "sin", "cos"), parts, strict=True))
        times = {"rate": run.rate, "duration": run.period, "period": run.period, "coordinates": run.coordinates}
        note = f"robodyn excite, seed {run.seed}: {note}"
        return FourierMotion.model_validate(times | series | {"note": note})


def planned(run: ExcitationFile, folder: Path) -> SearchPlan:
    """Return what a run file asks for, paths from `folder`; raises as `excite`."""
    path = resolve(folder, run.robot)
    identified = path.is_dir() and any(path.glob("*_identified.yaml"))
    robot = load(path if path.suffix in DESCRIPTIONS or identified else run.robot)
    refuse_bearing(robot.efforts, "excite")
    refuse_warmth(robot.efforts, "excite")
    _check_bandwidth(run)
    labels = columns(robot).layout.labels
    for name in run.asked:
        if name not in labels:
            raise UnknownName("parameter", name, "'asked' of the run file", labels)
    moved = robot if run.coordinates is None else robot.with_coordinates(run.coordinates)
    base, limits = check(robot).base, limits_of(robot, run.limits, run.margin)
    model = ExcitationModel(moved, robot, limits, _noise(run, robot), base.columns)
    region = workspace(moved, limits) if translations(moved) else None
    series, centre = ExcitingSeries(run.period, run.harmonics), _centre(run, model, region)
    return SearchPlan(run, model, series, base, region, centre, _amplitudes(run, model, region))


def _check_bandwidth(run: ExcitationFile) -> None:
    fastest = run.harmonics / run.period
    if fastest > run.bandwidth:
        raise BadFile(
            f"{run.harmonics} harmonics of a period of {run.period:g} s reach {fastest:.4g} Hz, the drives follow up to "
            f"{run.bandwidth:g} Hz ('bandwidth'); make the period at least {run.harmonics / run.bandwidth:.4g} s"
        )


def _noise(run: ExcitationFile, robot: Robot) -> np.ndarray:
    names = noisy(robot).names
    for name in run.noise:
        if name not in names:
            raise UnknownName(
                "motor" if names == robot.motors.names else "coordinate", name, "noise of the run file", names
            )
    if run.noise:
        missing = [name for name in names if name not in run.noise]
        if missing:
            raise BadFile(f"noise of the run file: {', '.join(missing)} missing; name all of {', '.join(names)}")
        return np.array([run.noise[name] for name in names])
    limits = dict(zip(robot.motors.names, torque_limits(robot, run.limits), strict=True))
    if not all(np.isfinite(limits.get(name, np.inf)) for name in names):
        raise BadFile(f"the run file needs 'noise' of {', '.join(names)} [N m or N]: not all have a torque limit")
    return np.array([ASSUMED_NOISE * limits[name] for name in names])


def _centre(run: ExcitationFile, model: ExcitationModel, region: Workspace | None) -> np.ndarray:
    """Return where random motions begin: as the run file says, else in the middle of the limits, else at home."""
    axes = model.robot.coordinates
    for name in run.centre:
        if name not in axes.names:
            raise UnknownName("coordinate", name, "centre of the run file", axes.names)
    home = axes.S @ model.robot.home + axes.offset
    positions = [b for b in model.limits.bounds if b.kind == "position"]
    middle = {name: centre for b in positions for name, centre in zip(b.names, b.centre, strict=True)}
    if region is not None:
        middle |= dict(zip(_platform(model.robot), region.hemisphere.centroid.tolist(), strict=True))
    still, worst = np.zeros((1, len(home))), -1
    for default in (middle, {}):
        c = np.array([run.centre.get(n, default.get(n, h)) for n, h in zip(axes.names, home, strict=True)])
        try:
            loads = np.abs(model.loads(c[None], still, still)[0])
        except ClosureFailed:
            continue
        if loads.max(initial=0.0) < 1:
            return c
        worst = int(loads.argmax())
    if worst < 0:
        raise RobodynError("the centre of the motion is out of reach; give 'centre' in the run file, within the limits")
    (kind, name), (low, high) = model.limits.labels[worst], model.limits.ranges[worst]
    raise RobodynError(
        f"the limits forbid any motion: at rest in the centre of the motion {kind} of {name!r} is outside [{low:.4g}, "
        f"{high:.4g}] ({100 * run.margin:g} % kept free); widen the limit or give another 'centre'"
    )


def _amplitudes(run: ExcitationFile, model: ExcitationModel, region: Workspace | None) -> np.ndarray:
    """Return the typical amplitude of each coordinate (d,): half its range, less where its speed limit asks for less."""
    half = {(b.kind, name): float(h) for b in model.limits.bounds for name, h in zip(b.names, b.half, strict=True)}
    if region is not None:
        half |= {("position", name): region.hemisphere.radius / 2 for name in _platform(model.robot)}
    fastest = 2 * np.pi * run.harmonics / run.period
    names = model.robot.coordinates.names
    position, velocity = (np.array([half.get((kind, n), np.inf) for n in names]) for kind in ("position", "velocity"))
    return np.minimum(np.minimum(position, velocity / fastest), 1e2)


def _platform(robot: Robot) -> list[str]:
    return [robot.coordinates.names[k] for k in translations(robot)]
