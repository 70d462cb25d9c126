"""Rows of the report's tables: base parameters, estimates, bodies, efforts."""

import re
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.identical_bodies import Comparison
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.log_to_robot.at_bounds import NEAR_LIMIT
from robodyn_pin.log_to_robot.missing_structure import ALONE, AT_BOUND, as_good_as_zero
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.verdict import Scored
from robodyn_pin.robot.units import coefficient_units, parameter_units, raised, unit_along

ESTIMATES = ("OLS", "WLS", "feasible")


@dataclass(frozen=True)
class BaseRow:
    """A base parameter."""

    label: str
    short: str  # the first of its parameters, with a body's copies and the other parameters as dots
    unit: str
    wls: float
    deviation: float
    relative: float  # deviation over |value|
    feasible: float


def base_rows(result: Result, estimate: BaseEstimate) -> list[BaseRow]:
    base = estimate.base
    units = np.array(parameter_units(result.robot_before))[base.columns]
    relative = estimate.deviations / np.maximum(np.abs(estimate.values), 1e-300)
    feasible, labels = base.of(result.feasible.values), base.labels(result.layout.labels)
    columns = zip(
        labels, map(short_name, labels), units, estimate.values, estimate.deviations, relative, feasible, strict=True
    )
    return [BaseRow(*row) for row in columns]


def short_name(label: str) -> str:
    """`Iyy(arm_1=arm_2) + 0.5 m(bar)` as `Iyy(arm_1, …) + …`."""
    first, *others = re.split(r" [+-] ", label)
    body, *copies = first.rstrip(")").split("=")
    return (f"{body}, …)" if copies else first) + (" + …" if others else "")


@dataclass(frozen=True)
class FurtherRow:
    """A row of the table of all estimates."""

    name: str
    size: int  # base parameters or variables
    errors: Scored


def further_rows(result: Result) -> list[FurtherRow]:
    """Every estimate, if there are more than the usual ones."""
    found = result.estimates.further
    if result.scored.keys() <= set(ESTIMATES):
        return []
    sizes = dict.fromkeys(("OLS", "WLS", "Gauss-Markov"), result.wls.base.size) | {"feasible": result.variables}
    if found.essential:
        sizes["essential"] = found.essential.estimate.base.size
    if found.log_cholesky:
        sizes["log-Cholesky"] = found.log_cholesky.free
    return [FurtherRow(name, sizes[name], scored) for name, scored in result.scored.items()]


def copies_with_units(result: Result) -> list[tuple[Comparison, str]]:
    """Base parameters of identical bodies, with their units."""
    units = dict(
        zip(result.wls.base.labels(result.layout.labels), (b.unit for b in base_rows(result, result.wls)), strict=True)
    )
    return [(c, units[c.label]) for c in result.copies]


@dataclass(frozen=True)
class BodyRow:
    """A body, or several identical ones, as the feasible fit found it."""

    name: str
    mass: float  # [kg]
    centre: np.ndarray  # (3,) [m]
    eigenvalue: float  # smallest of the pseudo-inertia, in units of 1 kg and 0.1 m
    bounds: np.ndarray  # (2,) of the mass [kg]
    thin: bool  # the eigenvalue stands at its bound
    source: str  # what determines the mass: "log", "bound", "against" (a bound that contradicts the log), "prior", "combination"


def body_rows(result: Result) -> list[BodyRow]:
    base, rows = result.wls.base, []
    for i, name in enumerate(result.layout.bodies):
        x = result.feasible.values[10 * i : 10 * i + 10]
        bounds, prior = result.estimates.bounds.mass[i], result.estimates.prior.bodies[i, 0]
        # Base parameters span all that the log determines. A mass that is a base parameter by itself is determined; a
        # mass without weight in any of them is not.
        weights = np.abs(
            base.regroup[base.columns == 10 * i] if 10 * i in base.columns else base.regroup[:, base.dropped == 10 * i]
        )
        alone = not (weights > ALONE).any()
        seen = alone and 10 * i in base.columns
        if (np.abs(x[0] - bounds) <= AT_BOUND * bounds).any():
            source = "against" if seen else "bound"
        elif alone:
            source = "log" if seen else "prior"
        else:
            source = "prior" if abs(x[0] - prior) <= AT_BOUND * prior else "combination"
        smallest = result.feasible.eigenvalues[i]
        thin = smallest <= NEAR_LIMIT * result.estimates.bounds.eigenvalue
        rows.append(BodyRow(name, x[0], x[1:4] / x[0], smallest, bounds, thin, source))
    return rows


@dataclass(frozen=True)
class EffortCoefficient:
    """A coefficient of friction, armature or another effort."""

    value: float
    known: bool  # given by the robot file, not identified
    at_zero: bool  # identified, and practically zero because it may not be negative


@dataclass(frozen=True)
class EffortTable:
    """Coefficients of all efforts along joints of one kind."""

    heads: list[tuple[str, str]]  # coefficient, unit
    rows: dict[str, dict[tuple[str, str], EffortCoefficient]]  # joint, motor or combination -> head -> coefficient


def effort_tables(result: Result) -> list[EffortTable]:
    robot, layout, wls = result.robot_before, result.layout, result.wls
    at_zero = as_good_as_zero(layout, result.feasible.values, wls)
    # Polynomials get a table of their own, since they have columns that nothing else has.
    tables: dict[tuple[str, bool], EffortTable] = {}
    k = layout.first_scalar
    for effort in robot.efforts:
        known, count = effort.spec.known, len(effort.labels)
        kind = unit_along(robot, effort), effort.spec.model == "polynomial"
        table = tables.setdefault(kind, EffortTable([], {}))
        values = effort.initial if known else result.feasible.values[k : k + count]
        zeros = np.zeros(count, bool) if known else at_zero[k : k + count]
        units = coefficient_units(robot, effort)
        for label, unit, value, zero in zip(effort.labels, units, values, zeros, strict=True):
            head = (raised(label.partition("(")[0]), unit)
            if head not in table.heads:
                table.heads.append(head)
            table.rows.setdefault(effort.name, {})[head] = EffortCoefficient(0.0 if zero else value, known, bool(zero))
        k += 0 if known else count
    return list(tables.values())
