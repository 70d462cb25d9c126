"""Shape parameters of friction from the logs: the curve's bend, where a robot file says `fit: [width, speed]`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import SolverFailed, UnseenShape
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.variable_projection import Slopes, fit_shapes, with_unknown_shapes
from robodyn_pin.log_to_robot.prior_knowledge import Weigh
from robodyn_pin.robot.friction_models import Shape
from robodyn_pin.robot.robot import Robot

Widen = Callable[[BaseEstimate], BaseEstimate]  # keeps the values and adds the shapes' uncertainty to their covariance


@dataclass(frozen=True)
class FittedShape:
    """A shape parameter that was identified."""

    label: str  # `speed(psi)`
    start: float  # [rad/s or m/s] in the robot file
    value: float
    deviation: float  # standard deviation


@dataclass(frozen=True)
class Shaped:
    """A robot whose friction has the shapes that the logs show."""

    robot: Robot
    shapes: tuple[FittedShape, ...] = ()
    widen: Widen = lambda estimate: estimate
    noticed: tuple[str, ...] = ()  # sentences that name shapes which stay at their start, and say why


def with_fitted_shapes(
    robot: Robot,
    fold: Callable[[Robot], list[Factor]],
    weigh: Weigh,
    independent: float,
    progress: Callable[[str], None],
    may_stay: bool = False,
) -> Shaped:
    """Fit the shape parameters that the robot file asks for.

    Every step of the fit reads the logs once. A shape that the logs do not show stays at its start, and the others are fitted
    again without it.

    Args:
        fold: the fit rows of a robot's columns, per coordinate. weigh, independent: as the fit weighs its rows.
        may_stay: shapes whose steps do not settle stay at their start.

    Raises:
        SolverFailed: the steps do not settle.
    """
    wanted = [(k, shape) for k, effort in enumerate(robot.efforts) for shape in effort.spec.fit]
    noticed: list[str] = []
    while wanted:
        try:
            return replace(_fitted(robot, wanted, fold, weigh, independent, progress), noticed=tuple(noticed))
        except UnseenShape as unseen:
            k, shape = wanted.pop(unseen.which)
            start = getattr(robot.efforts[k].spec, shape)
            noticed.append(
                f"{shape}({robot.efforts[k].name}) stays at {start:g} rad/s (or m/s), where the robot file starts it: {unseen}"
            )
        except SolverFailed as lost:
            if not may_stay:
                raise
            return Shaped(
                robot, noticed=(*noticed, f"shapes of friction stay where the choice of friction left them: {lost}")
            )
    return Shaped(robot, noticed=tuple(noticed))


def _fitted(
    robot: Robot,
    wanted: Sequence[tuple[int, Shape]],
    fold: Callable[[Robot], list[Factor]],
    weigh: Weigh,
    independent: float,
    progress: Callable[[str], None],
) -> Shaped:
    """Fit these shapes, all of which the logs must show; raises as `fit_shapes`."""
    labels = tuple(f"{shape}({robot.efforts[k].name})" for k, shape in wanted)
    start = np.array([getattr(robot.efforts[k].spec, shape) for k, shape in wanted])

    def fold_at(theta: np.ndarray) -> list[Factor]:
        """Rows with the derivatives by every shape as efforts of their own, after all other columns."""
        bent = _bent(robot, wanted, theta)
        derivatives = (replace(bent.efforts[k], slope=shape) for k, shape in wanted)
        return fold(replace(bent, efforts=(*bent.efforts, *derivatives)))

    def tell(theta: np.ndarray) -> None:
        progress("shapes of friction: " + ", ".join(f"{a} {x:.4g}" for a, x in zip(labels, theta, strict=True)))

    slopes = _slopes(robot, wanted, labels)
    found = fit_shapes(start, fold_at, slopes, lambda rows: weigh(rows, None, 1.0), independent, tell)
    shapes = zip(labels, start.tolist(), found.values.tolist(), found.deviations.tolist(), strict=True)
    return Shaped(
        _bent(robot, wanted, found.values),
        tuple(FittedShape(*shape) for shape in shapes),
        lambda estimate: with_unknown_shapes(estimate, found, slopes),
    )


def _bent(robot: Robot, wanted: Sequence[tuple[int, Shape]], theta: np.ndarray) -> Robot:
    """The robot with shape parameters theta (s,)."""
    efforts = list(robot.efforts)
    for (k, shape), value in zip(wanted, theta, strict=True):
        efforts[k] = replace(efforts[k], spec=efforts[k].spec.model_copy(update={shape: float(value)}))
    return replace(robot, efforts=tuple(efforts))


def _slopes(robot: Robot, wanted: Sequence[tuple[int, Shape]], labels: tuple[str, ...]) -> Slopes:
    """Which derivative belongs to which shape and to which column of the regressor."""
    first, begin = {}, columns(robot).layout.first_scalar
    for k, effort in enumerate(robot.efforts):
        first[k] = begin
        begin += 0 if effort.spec.known else len(effort.labels)
    counts = [len(robot.efforts[k].labels) for k, _ in wanted]
    return Slopes(
        labels,
        np.repeat(np.arange(len(wanted)), counts),
        np.concatenate([first[k] + np.arange(n) for (k, _), n in zip(wanted, counts, strict=True)]),
    )
