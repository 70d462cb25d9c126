"""Which friction each axis has: cross-validation inside the fit data, and the simplest model that is as good as the best."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.likeliest_shapes import columns_kept, likeliest
from robodyn_pin.log_to_robot.prior_knowledge import Weigh, bounds_of, prior_of
from robodyn_pin.log_to_robot.rows import Folded
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.shapes_by_rates import FINER, FINEST, WIDTHS, WITH_WIDTH, sought, with_widths
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import MEMORY, EffortSpec
from robodyn_pin.robot.offered_friction import models_of, offers
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import Milestone

WORTH = 0.995  # a richer model must bring the cross-validated error below this part of the simpler one's
NOTHING = 1e-20  # of a coordinate's torques, squared: round-off
# Friction that may bend the curve beside a width that is sought.
WITHOUT_SHAPE = ("viscous", "quadratic", "cbrt", MEMORY)


@dataclass(frozen=True)
class Tried:
    """One model of an axis: what it reached, and what it had to reach."""

    model: str  # coulomb+viscous, ...
    percent: float  # cross-validated error, mean over the parts of the fit data
    gain: float = 0.0  # on the model that was taken before [%]
    deviation: float = 0.0  # standard error of the gain [%]
    bound: float | None = None  # [%] below which it is taken; None: it was there first


@dataclass(frozen=True)
class FrictionChoice:
    """The models that were tried on one axis, and the one that was taken."""

    axis: str
    tried: tuple[Tried, ...]
    chosen: str

    @property
    def missed(self) -> Tried | None:
        """The richer model that might be worth it although the log does not show that; None: there is none."""
        least = (1 - WORTH) * min(t.percent for t in self.tried)
        unsure = [t for t in self.tried if 0 < t.gain < t.gain + t.deviation and t.gain + t.deviation > least]
        return max((t for t in unsure if t.model != self.chosen), key=lambda t: t.gain, default=None)


def worth_it(choices: Sequence[FrictionChoice]) -> str:
    """Where richer friction is worth it, where the simplest is enough and where the log cannot tell; empty where none was chosen."""
    if not choices:
        return ""
    simplest = min((c.tried[0].model for c in choices), key=len)
    richer = [f"{c.axis} ({c.chosen})" for c in choices if c.chosen != c.tried[0].model]
    same = [(c.axis, c.missed) for c in choices if c.chosen == c.tried[0].model]
    unsure = [f"{axis} ({t.model} gains {t.gain:.2g} +- {t.deviation:.2g} %)" for axis, t in same if t]
    enough = [axis for axis, t in same if not t]
    told = [f"a richer model is worth it on {', '.join(richer)}" if richer else "no richer model is worth it"]
    told += [f"on {', '.join(unsure)} the log cannot tell"] if unsure else []
    told += [f"on {', '.join(enough)} {simplest} is enough"] if enough else []
    return f"friction, chosen by cross-validation inside the fit data: {'; '.join(told)}"


@dataclass(frozen=True)
class FoldedFriction:
    """Rows of the fit data with the columns of every model on every axis."""

    robot: Robot  # with all of them
    run: RunFile
    fitted: Folded  # [part][coordinate]
    scored: Folded
    weigh: Weigh

    @cached_property
    def without(self) -> Folded:
        """The fitted rows without each part, [part][coordinate]."""
        every = range(len(self.fitted))
        return [pooled([self.fitted[k] for k in every if k != held]) for held in every]


def with_likeliest_widths(
    robot: Robot, rates: Callable[[Robot], np.ndarray], fold: Callable[[Robot], list[Factor]], weigh: Weigh
) -> Robot:
    """The robot with a Coulomb width for each axis whose friction is to be chosen and that has none.

    Else a Stribeck peak would be taken that only mends the width.

    Args:
        rates: rms rate of each effort of a robot. fold: the fit rows of a robot's columns, per coordinate.
    """
    open_ones = [e for e in robot.efforts if offers(e) and e.spec.model in WITH_WIDTH and e.spec.width is None]
    axes = list({e.name: e for e in open_ones}.values())
    if not axes:
        return robot
    plain = [e for e in robot.efforts if not offers(e) or e.spec.model in WITHOUT_SHAPE]
    only = replace(robot, efforts=tuple(axes))
    usual = with_widths(only, rates(only)).efforts  # as wide as the rms rate
    widths = _likeliest_widths(robot, plain, usual, (WIDTHS, *FINER), fold, weigh)
    return _as_wide(robot, open_ones, widths)


def with_finer_widths(
    robot: Robot, axes: Collection[str], near: bool, fold: Callable[[Robot], list[Factor]], weigh: Weigh
) -> Robot:
    """The robot with Coulomb widths of these axes sought again around those that they have, beside the models that were chosen.

    An axis that has more friction with a width, as a Stribeck peak, keeps what was chosen together.

    Args:
        near: the rates are those that the widths were found with; smoother ones ask for wider friction.
    """
    shaped = [e.name for e in robot.efforts if e.spec.model in WITH_WIDTH]
    moved = [e for e in robot.efforts if e.name in axes and e.spec.model == "coulomb" and shaped.count(e.name) == 1]
    if not moved:
        return robot
    plain = [e for e in robot.efforts if not any(e is other for other in moved)]
    rounds = (*(FINER[1:] if near else FINER), FINEST)
    return _as_wide(robot, moved, _likeliest_widths(robot, plain, moved, rounds, fold, weigh))


def _likeliest_widths(
    robot: Robot,
    plain: Sequence[Effort],
    start: Sequence[Effort],
    rounds: Sequence[Sequence[float]],
    fold: Callable[[Robot], list[Factor]],
    weigh: Weigh,
) -> dict[str, float]:
    """Coulomb widths by axis: in each round the likeliest of some parts of the width before, which is that of `start` at first."""
    axes, widths = {e.name: e for e in start}, {e.name: e.spec.width or 0.0 for e in start}
    for parts in rounds:
        options = {axis: [_coulomb(e, part * widths[axis]) for part in parts] for axis, e in axes.items()}
        tried = replace(robot, efforts=(*plain, *(e for each in options.values() for e in each)))
        found = likeliest(tried, plain, options, fold(tried), weigh)
        widths = {axis: e.spec.width or 0.0 for axis, e in found.items()}
    return widths


def _as_wide(robot: Robot, efforts: Sequence[Effort], widths: Mapping[str, float]) -> Robot:
    """The robot with the widths of their axes for these efforts of it."""
    settled = {id(e): _with_width(e, widths[e.name]) for e in efforts}
    return replace(robot, efforts=tuple(settled.get(id(e), e) for e in robot.efforts))


def _coulomb(effort: Effort, width: float) -> Effort:
    return _with_width(replace(effort, spec=EffortSpec.model_validate({"of": "", "model": "coulomb"})), width)


def _with_width(effort: Effort, width: float) -> Effort:
    return replace(effort, spec=effort.spec.model_copy(update={"width": max(float(f"{width:.4g}"), 1e-6)}))


def choose_friction(
    folded: FoldedFriction, entries: Sequence[str], progress: Callable[[str], None]
) -> tuple[Robot, tuple[FrictionChoice, ...]]:
    """The robot with the friction that each axis is best described by, axis after axis, the others as chosen so far.

    A model further down the list is taken where it lowers the cross-validated error by more than the standard error of the
    gain over the parts of the fit data, and by more than next to nothing. What was taken before it goes again where it then no
    longer gains as much.
    """
    axes = list(dict.fromkeys(e.name for e in folded.robot.efforts if offers(e)))
    chosen = dict.fromkeys(axes, models_of(entries[0], ()))
    robot, choices = _with_likeliest_peaks(folded, chosen), []
    best = _errors(folded, _robot_with(robot, chosen))
    for axis in axes:
        taken, tried = [entries[0]], [Tried("+".join(chosen[axis]), float(best.mean()))]

        def error(models: tuple[str, ...], axis: str = axis, seen: list[Tried] = tried) -> np.ndarray | None:
            """Errors (parts,); None: no solver fits it to every part of the data, so it is none to take."""
            done = (axes.index(axis) + (len(seen) - 1) / (2 * len(entries))) / len(axes)
            progress(Milestone(f"choosing friction of {axis}: {'+'.join(models)}", "friction", done))
            try:
                return _errors(folded, _robot_with(robot, chosen | {axis: models}))
            except SolverFailed:
                return None

        for entry in entries[1:]:
            models = models_of(entry, chosen[axis])
            if _scalars(_robot_with(robot, chosen | {axis: models})) == _scalars(_robot_with(robot, chosen)):
                continue  # nothing new: no stop of it slides
            if (found := error(models)) is None:
                continue
            bound = bound_of(best, found)
            tried.append(_tried(models, found, best, bound))
            if found.mean() < bound:
                chosen[axis], best = models, found
                taken = [*(taken if entry.startswith("+") else taken[:1]), entry]
        for entry in taken[1:-1]:
            models = models_of(entries[0], ())
            for other in taken[1:]:
                models = models if other == entry else models_of(other, models)
            if (found := error(models)) is None:
                continue
            bound = max(best.mean() + _spread(best, found), best.mean() / WORTH)
            tried.append(_tried(models, found, best, bound))
            if found.mean() < bound:
                chosen[axis], best = models, found
                break
        choices.append(FrictionChoice(axis, tuple(tried), "+".join(chosen[axis])))
    return _robot_with(robot, chosen), tuple(choices)


def bound_of(before: np.ndarray, found: np.ndarray) -> float:
    """Below which the mean of errors (parts,) must lie to be worth more than those before."""
    return float(min(before.mean() - _spread(before, found), WORTH * before.mean()))


def _spread(before: np.ndarray, found: np.ndarray) -> float:
    """Standard error of the mean gain of errors (parts,) on those before."""
    return float((before - found).std(ddof=1) / np.sqrt(len(found)))


def _tried(models: Sequence[str], found: np.ndarray, before: np.ndarray, bound: float) -> Tried:
    gain = float((before - found).mean())
    return Tried("+".join(models), float(found.mean()), gain, _spread(before, found), float(bound))


def _scalars(robot: Robot) -> tuple[str, ...]:
    return columns(robot).layout.scalars


def _with_likeliest_peaks(folded: FoldedFriction, chosen: Mapping[str, Sequence[str]]) -> Robot:
    """The robot with one speed of each Stribeck peak that is sought."""
    robot = folded.robot
    plain = [e for e in _robot_with(robot, chosen).efforts if not sought(e)]
    peaks = {
        e.name: [other for other in robot.efforts if other.name == e.name and sought(other)]
        for e in robot.efforts
        if sought(e)
    }
    kept = likeliest(robot, plain, peaks, pooled(folded.fitted), folded.weigh).values()
    return replace(robot, efforts=tuple(e for e in robot.efforts if not sought(e) or any(e is peak for peak in kept)))


def _robot_with(robot: Robot, chosen: Mapping[str, Sequence[str]]) -> Robot:
    kept = [e for e in robot.efforts if not offers(e) or e.spec.model in chosen[e.name]]
    return replace(robot, efforts=tuple(kept))


def with_first(robot: Robot, entries: Sequence[str]) -> Robot:
    """The robot with the first model of `choose: friction` on every axis that has all of them."""
    axes = {e.name for e in robot.efforts if offers(e)}
    return _robot_with(robot, dict.fromkeys(axes, models_of(entries[0], ())))


def _errors(folded: FoldedFriction, robot: Robot) -> np.ndarray:
    """Error [%] of the feasible fit on each part of the fit data that it has not seen (parts,), of an average part's torques.

    Of a part's own torques, a part that hardly moves would decide. Of several coordinates the geometric mean, unless the errors
    are scored in one norm: half the error counts the same wherever it is, else the coordinates that are explained worst would decide.
    """
    kept, named = columns_kept(folded.robot, robot), columns(robot)
    bounds, prior = bounds_of(folded.run, robot), prior_of(folded.run, robot)
    found, scored = [], folded.scored
    for without, part in zip(folded.without, scored, strict=True):
        groups = [factor.of(kept) for factor in without]
        sigma, whole = folded.weigh(groups, None, 1.0).sigma, np.zeros(part[0].R.shape[1] - 1)
        whole[kept] = fit_feasible(groups, sigma, named.layout, bounds, prior).values
        found.append([factor.residual(whole) for factor in part])
    energy = np.array([[f.energy for f in part] for part in scored]).sum(axis=0)
    return of_an_average_part(np.array(found), energy, folded.run.score.measure)


def of_an_average_part(squares: np.ndarray, energy: np.ndarray, measure: str) -> np.ndarray:
    """Errors [%] (parts,) of an average part's torques, as `_errors` counts them.

    Args:
        squares: (parts, d) of what is left. energy: (d,) squares of the torques of all parts.
    """
    squares = len(squares) * squares
    if measure == "pooled":
        return np.asarray(100 * np.sqrt(squares.sum(axis=1) / energy.sum()))
    driven = energy > 0
    shares = np.maximum(squares[:, driven] / energy[driven], NOTHING)
    return np.asarray(100 * np.exp(0.5 * np.log(shares).mean(axis=1)))
