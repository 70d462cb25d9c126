"""Which friction each axis has: cross-validation inside the fit data, and the simplest model that is as good as the best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.prior_knowledge import Weigh, bounds_of, prior_of
from robodyn_pin.log_to_robot.rows import Folded
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.bearing_axes import can_bear
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import RUBBING, EffortSpec
from robodyn_pin.robot.offered_friction import models_of
from robodyn_pin.robot.robot import Robot

WORTH = 0.995  # a richer model must bring the cross-validated error below this part of the simpler one's


@dataclass(frozen=True)
class FrictionChoice:
    """The models that were tried on one axis, and the one that was taken."""

    axis: str
    tried: tuple[str, ...]  # coulomb+viscous, ...
    percent: tuple[float, ...]  # cross-validated error, mean over the parts of the fit data
    deviation: tuple[float, ...]  # standard error of what each gains on the model taken before it
    chosen: str

    @property
    def text(self) -> str:
        """One line: what was tried, and what it brought."""
        each = ", ".join(f"{name} {p:.4g}" for name, p in zip(self.tried, self.percent, strict=True))
        return f"friction of {self.axis}: {self.chosen} (cross-validated error [%]: {each})"


def worth_it(choices: Sequence[FrictionChoice]) -> str:
    """Where a richer model than the simplest is worth it, and where the log cannot tell; empty where nothing was chosen."""
    if not choices:
        return ""
    simplest = min((c.tried[0] for c in choices), key=len)
    richer = [f"{c.axis} ({c.chosen})" for c in choices if c.chosen != c.tried[0]]
    same = [c.axis for c in choices if c.chosen == c.tried[0]]
    told = f"a richer model is worth it on {', '.join(richer)}" if richer else "no richer model is worth it"
    return f"friction, chosen by cross-validation inside the fit data: {told}" + (
        f"; on {', '.join(same)} the log does not tell more than {simplest}" if same else ""
    )


@dataclass(frozen=True)
class FoldedFriction:
    """Rows of the fit data with the columns of every model on every axis."""

    robot: Robot  # with all of them
    run: RunFile
    fitted: Folded  # [part][coordinate]
    scored: Folded
    weigh: Weigh


def offered(robot: Robot, entries: Sequence[str]) -> Robot:
    """The robot with every model of `choose: friction` on every axis that has unknown friction; the latter makes way."""
    if not entries:
        return robot
    axes = list(dict.fromkeys(e.name for e in robot.efforts if _replaced(e)))
    models = list(dict.fromkeys(m for entry in entries for m in models_of(entry, ())))
    kept = [e for e in robot.efforts if not _replaced(e)]
    first = {e.name: e for e in reversed(robot.efforts) if _replaced(e)}
    added = [_with_model(first[axis], model) for axis in axes for model in models]
    freedom = len(robot.coordinates.names)
    added = [e for e in added if not e.bears or can_bear(e, robot.motors, freedom, robot.loops)]
    return replace(robot, efforts=(*kept, *added))


def _replaced(effort: Effort) -> bool:
    return effort.spec.model in RUBBING and not effort.spec.known and not effort.closures


def _with_model(effort: Effort, model: str) -> Effort:
    spec = effort.spec
    return replace(effort, spec=EffortSpec.model_validate({"of": spec.of, "name": spec.name, "model": model}))


def choose_friction(
    folded: FoldedFriction, entries: Sequence[str], progress: Callable[[str], None]
) -> tuple[Robot, tuple[FrictionChoice, ...]]:
    """The robot with the friction that each axis is best described by, axis after axis, the others as chosen so far.

    A model further down the list is taken where it lowers the cross-validated error by more than the standard error of the
    gain over the parts of the fit data, and by more than next to nothing.
    """
    robot, choices = folded.robot, []
    axes = list(dict.fromkeys(e.name for e in robot.efforts if _replaced(e)))
    chosen = dict.fromkeys(axes, models_of(entries[0], ()))
    best = _errors(folded, _robot_with(robot, chosen))
    for axis in axes:
        tried, percent, deviation = ["+".join(chosen[axis])], [best.mean()], [0.0]
        for entry in entries[1:]:
            models = models_of(entry, chosen[axis])
            candidate = _robot_with(robot, chosen | {axis: models})
            if columns(candidate).layout.scalars == columns(_robot_with(robot, chosen)).layout.scalars:
                continue  # nothing new: no stop of it slides
            progress(f"choosing friction of {axis}: {'+'.join(models)}")
            found = _errors(folded, candidate)
            gain = best - found
            spread = float(gain.std(ddof=1) / np.sqrt(len(gain)))
            tried.append("+".join(models))
            percent.append(float(found.mean()))
            deviation.append(spread)
            if gain.mean() > spread and found.mean() < WORTH * best.mean():
                chosen[axis], best = models, found
        choices.append(
            FrictionChoice(axis, tuple(tried), tuple(map(float, percent)), tuple(deviation), "+".join(chosen[axis]))
        )
    return _robot_with(robot, chosen), tuple(choices)


def _robot_with(robot: Robot, chosen: dict[str, tuple[str, ...]]) -> Robot:
    kept = [e for e in robot.efforts if not _replaced(e) or e.spec.model in chosen[e.name]]
    return replace(robot, efforts=tuple(kept))


def _errors(folded: FoldedFriction, robot: Robot) -> np.ndarray:
    """Error [%] of the feasible fit on each part of the fit data that it has not seen (parts,), of an average part's torques.

    Of a part's own torques, a part that hardly moves would decide.
    """
    kept, named = _columns_of(folded.robot, robot), columns(robot)
    bounds, prior = bounds_of(folded.run, robot), prior_of(folded.run, robot)
    fitted, scored = ([[*map(partial(_only, kept), part)] for part in rows] for rows in (folded.fitted, folded.scored))
    found = []
    for held in range(len(fitted)):
        groups = pooled([part for k, part in enumerate(fitted) if k != held])
        sigma = folded.weigh(groups, None, 1.0).sigma
        x = fit_feasible(groups, sigma, named.layout, bounds, prior).values
        found.append([factor.residual(x) for factor in scored[held]])
    squares, norms = len(found) * np.array(found), np.array([[f.energy for f in part] for part in scored]).sum(axis=0)
    if folded.run.score.measure == "pooled":
        return np.asarray(100 * np.sqrt(squares.sum(axis=1) / norms.sum()))
    return np.asarray(100 * np.sqrt(squares / np.where(norms > 0, norms, 1.0)).mean(axis=1))


def _columns_of(whole: Robot, part: Robot) -> np.ndarray:
    """Which columns of a robot's rows one with fewer efforts has, and the torques' behind them."""
    begin, ours = columns(whole).layout.first_scalar, {id(e) for e in part.efforts}
    kept = [*range(begin)]
    for effort in whole.efforts:
        if not effort.spec.known:
            kept += range(begin, begin + len(effort.labels)) if id(effort) in ours else []
            begin += len(effort.labels)
    return np.array([*kept, begin])


def _only(kept: np.ndarray, factor: Factor) -> Factor:
    return replace(factor, R=triangle(factor.R[:, kept]))
