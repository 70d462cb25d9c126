"""Which constraints the feasible fit stands at, in words."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.log_to_robot.missing_structure import AT_BOUND, as_good_as_zero
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import MEMORY, over_position
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import unit_along

NEAR_LIMIT = 1.1  # times the least eigenvalue: the fit keeps some 5 % away from it
WORDS = {
    "coulomb": "Coulomb friction",
    "viscous": "viscous friction",
    "stribeck": "Stribeck peak",
    "saturating": "saturating friction",
    "quadratic": "quadratic friction",
    "cbrt": "cube-root friction",
    "coulomb_forward": "forward Coulomb friction",
    "coulomb_back": "backward Coulomb friction",
    "viscous_forward": "forward viscous friction",
    "viscous_back": "backward viscous friction",
    "load": "friction that grows with the load",
    "armature": "rotor inertia",
    "stiffness": "stiffness of the spring",
}


def bounds_in_words(
    robot: Robot, layout: Layout, found: FeasibleEstimate, wls: BaseEstimate, bounds: Bounds
) -> list[str]:
    """A sentence on each effort at zero, on each mass at its bound, and on the bodies that could not exist without their constraint."""
    at_zero, k, told = as_good_as_zero(layout, found.values, wls), layout.first_scalar, []
    for effort in robot.efforts:
        if not effort.spec.known:
            zeros = np.flatnonzero(at_zero[k : k + len(effort.labels)]).tolist()
            told += _at_zero(effort, zeros, {"N m": "rad", "N": "m"}.get(unit_along(robot, effort), "rad (or m)"))
            k += len(effort.labels)
    for i, name in enumerate(layout.bodies):
        mass, limits = found.values[10 * i], bounds.mass[i]
        near = np.abs(mass - limits) <= AT_BOUND * limits
        if near.any() and not bounds.fixed[i]:
            told.append(f"the mass of {name} is at its bound {limits[near][0]:.3g} kg")
    thin = [n for n, e in zip(layout.bodies, found.eigenvalues, strict=True) if e <= NEAR_LIMIT * bounds.eigenvalue]
    if thin:
        told.append(
            f"the pseudo-inertia of {_listed(thin)} is at the smallest eigenvalue that is allowed, {bounds.eigenvalue:.2g} in units of 1 kg "
            "and 0.1 m: without it the torques would give bodies that cannot exist"
        )
    return told


def _at_zero(effort: Effort, zeros: Sequence[int], length: str) -> list[str]:
    """Sentences on coefficients of an effort, by number; those of one kind share a sentence."""
    if not zeros:
        return []
    if effort.spec.model == MEMORY:
        return [_sentence("stop", [f"{effort.radii[k]:.3g}" for k in zeros], f"of radius {{}} {length}", effort.name)]
    if effort.spec.model == "position":
        over, told = over_position(effort.spec), []
        count, where = (
            len(over.names),
            "on average" if over.waves else f"{'at' if over.degree == 1 else 'around'} {{}} {length}",
        )
        for way, first in (("forward ", 0), ("backward ", count)) if effort.spec.each_way else (("", 0),):
            own = [k - first for k in zeros if first <= k < first + count]
            places = [] if over.waves else [f"{over.middles[k]:.3g}" for k in own]
            told += [_sentence(f"{way}Coulomb friction", places, where, effort.name)] if own else []
        return told
    names = [effort.labels[k].partition("(")[0] for k in zeros]
    return [f"the {WORDS.get(name, name)} of {effort.name} is at its bound 0" for name in names]


def _sentence(what: str, numbers: Sequence[str], where: str, name: str) -> str:
    more = len(numbers) > 1 and what == "stop"
    return f"the {what}{'s' if more else ''} {where.format(_listed(numbers))} of {name} {'are' if more else 'is'} at {'their' if more else 'its'} bound 0"


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
