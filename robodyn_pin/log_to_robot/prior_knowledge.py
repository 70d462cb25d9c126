"""Bounds, prior and noise of a run file, as arrays in the layout's order for the estimators."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.bounds import Bounds, equalities
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate, known_noise, known_ratios, weighted_least_squares
from robodyn_pin.identification.parameters import INERTIAL
from robodyn_pin.identification.prior import Prior
from robodyn_pin.log_to_robot.noise import motor_noise, no_limit
from robodyn_pin.log_to_robot.run_file import USUAL_WEIGHT, BodySpec, CentreSpec, RunFile
from robodyn_pin.robot.limits import torque_limit
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.shapes import ShapeSpec, shape

T = TypeVar("T")

Weigh = Callable[[Sequence[Factor], BaseSet | None, float], BaseEstimate]  # rows, base, independent share


def bounds_of(run: RunFile, robot: Robot) -> Bounds:
    """Bounds and symmetries of every body group.

    Raises:
        UnknownName: a body that the robot lacks, an entry that bodies lack.
        RobodynError: an equality that cannot be read.
    """
    groups, spec = robot.body_groups, run.bounds
    mass = [_for_group(spec.bodies, group, spec.mass, robot) for group in groups]
    anywhere: CentreSpec | None = None
    centres = {i: c for i, group in enumerate(groups) if (c := _for_group(spec.centre, group, anywhere, robot))}
    bodies = [body(spec) for spec in _bodies(run, robot)]
    texts = [_for_group(run.symmetry, group, [], robot) for group in groups]
    return Bounds(
        mass=np.array(mass, float).reshape(-1, 2),
        eigenvalue=spec.eigenvalue,
        total_mass=spec.total_mass,
        # The total mass is the robot's own.
        copies=np.array(
            [0 if robot.payload and robot.payload.name in group else len(group) for group in groups], float
        ),
        boxes={
            i: np.add.outer(c.at, [0.0, 0.0]) + np.outer(c.half, [-1, 1])
            for i, c in centres.items()
            if c.shape == "box"
        },
        ellipsoids={i: np.array([c.at, c.half]) for i, c in centres.items() if c.shape == "ellipsoid"},
        equalities=tuple(e for i, own in enumerate(texts) for text in own for e in equalities(i, text, bodies[i])),
    )


def prior_of(run: RunFile, robot: Robot) -> Prior:
    """The prior's bodies, and the friction of the robot's file where it has a weight.

    Raises:
        UnknownName: a body that the robot lacks.
    """
    spec = run.prior
    bodies = _bodies(run, robot)
    named = columns(robot)
    return Prior(
        bodies=np.array([body(b) for b in bodies]).reshape(-1, 10),
        weight=USUAL_WEIGHT if spec.weight is None else spec.weight,
        distance=spec.distance,
        floor=spec.floor,
        factors=np.array([b.weight for b in bodies]),
        scalars=named.values[named.layout.first_scalar :] if spec.friction > 0 else np.zeros(0),
        scalar_weight=spec.friction,
    )


def _bodies(run: RunFile, robot: Robot) -> list[BodySpec]:
    """The prior of every body group: its own where the run file names it, else the common shape."""
    common = BodySpec(**{name: getattr(run.prior, name) for name in ShapeSpec.model_fields})
    return [_for_group(run.prior.bodies, group, common, robot) for group in robot.body_groups]


def body(spec: BodySpec) -> np.ndarray:
    """Parameters (10,) of a declared body, about the joint's frame."""
    total = np.sum([shape(part) for part in (spec, *spec.parts)], axis=0)
    for name, value in spec.values.items():
        total[INERTIAL.index(name)] = value
    return total


def weighting(run: RunFile, robot: Robot, rate: float) -> Weigh:
    """How least squares weighs the coordinates: by their residuals, by given noise, or by their torque limits.

    With more motors than coordinates the rows come whitened by the motors' noise (`motor_noise`).

    Args:
        rate: samples a second of the log. The run file gives the noise of one sample, of which the filter of the rows passes a part.

    Raises:
        UnknownName: noise of something that is no coordinate. BadFile: a coordinate without noise or limit.
    """
    names, given = robot.coordinates.names, run.noise
    if motor_noise(run, robot) is not None:  # whitened rows have equal noise, of unknown size unless it is given
        given = dict.fromkeys(names, 1.0) if isinstance(given, dict) else "residuals"
    if given in ("residuals", "coordinates"):
        return weighted_least_squares
    if given == "limits":
        ratios = np.array([_limit(robot, name) for name in names])
        return lambda groups, base, independent: known_ratios(groups, ratios, base, independent)
    assert isinstance(given, dict), "poses are read with the logs"
    for name in given:
        if name not in names:
            raise UnknownName("coordinate", name, f"robot {robot.name!r}", names)
    if missing := [name for name in names if name not in given]:
        raise BadFile(f"the run file gives the noise of some coordinates, but not of {', '.join(missing)}")
    sigma = noise_passed(run, rate) * np.array([given[name] for name in names])
    return lambda groups, base, independent: known_noise(groups, sigma, base, independent)


def noise_passed(run: RunFile, rate: float) -> float:
    """Standard deviation of white noise of size one after the rows' filter: the norm of its impulse response."""
    if run.rows.filter is None:
        return 1.0
    reach = run.rows.filter.reach(rate, "noise")
    impulse = np.zeros(4 * reach + 1)
    impulse[2 * reach] = 1.0
    return float(np.linalg.norm(run.rows.filter.apply(impulse, rate, "noise")))


def _limit(robot: Robot, name: str) -> float:
    if not (limit := torque_limit(robot, name)):
        raise no_limit(robot, name)
    return limit


def _for_group(given: Mapping[str, T], group: Sequence[str], default: T, robot: Robot) -> T:
    for name in given:
        if name not in robot.bodies:
            raise UnknownName("body", name, f"robot {robot.name!r}", robot.bodies)
    named = [name for name in group if name in given]
    for other in named[1:]:
        if given[other] != given[named[0]]:
            raise BadFile(
                f"the run file says different things of {named[0]!r} and {other!r}, which share one parameter set; name one "
                "of them, or estimate them separately ('separate: true')"
            )
    # An entry for one of several identical bodies holds for its copies, unless they have entries of their own.
    copies = next((names for names in robot.file.identical if group[0] in names), [])
    return next((given[name] for name in (*group, *copies) if name in given), default)
