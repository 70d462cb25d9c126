"""What a robot file may not say of its efforts: an effort that lacks what its model needs, friction that drives itself or stands twice."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.friction_models import (
    COEFFICIENTS,
    DISSIPATIVE,
    LOAD,
    MEMORY,
    RUBBING,
    SHAPES,
    EffortSpec,
    coefficient_names,
    not_negative,
)

HIGHEST = 5  # degree of splines over position


def check_effort(spec: EffortSpec, where: str) -> None:
    """Raise BadFile where an effort lacks what its model needs, or asks for what it has not."""
    what = f"effort {spec.model!r} on {spec.of!r}"
    if spec.warmth and (spec.fit or spec.model in (MEMORY, LOAD, "armature")):
        what_else = "its shape cannot be fitted" if spec.fit else "the model has no warmth"
        raise BadFile(
            f"{where}: {what} has 'warmth', but {what_else}; leave it out, or give 'coulomb' or 'viscous' warmth instead"
        )
    if spec.stops is not None and spec.model != MEMORY:
        raise BadFile(f"{where}: {what} has no stops; 'stops' goes with the model {MEMORY!r}")
    for key, models in (("places", ("position",)), ("waves", ("cogging", "position"))):
        if getattr(spec, key) is not None and spec.model not in models:
            raise BadFile(f"{where}: {what} has no {key}; {key!r} goes with the model {' or '.join(map(repr, models))}")
    if spec.model == "position" and spec.waves and (spec.places or spec.degree is not None):
        raise BadFile(
            f"{where}: {what} has 'waves' beside {'places' if spec.places else 'degree'!r}; give 'waves', or the 'places' of hats or splines"
        )
    if spec.model == "position" and spec.degree is not None and not 1 <= spec.degree <= HIGHEST:
        raise BadFile(f"{where}: {what} has splines of degree {spec.degree}; expected 1 (hats) to {HIGHEST}")
    for key in ("strut", "bearing"):
        if (named := getattr(spec, key)) is None:
            continue
        if spec.model != LOAD or (spec.strut is not None and spec.bearing is not None):
            other = (
                f"goes with the model {LOAD!r}"
                if spec.model != LOAD
                else "and 'bearing' are two loads; give each an entry"
            )
            raise BadFile(f"{where}: {what}: {key!r} {other}")
        count = len(spec.of) if isinstance(spec.of, list) else 1
        if isinstance(named, list) and len(named) != count:
            raise BadFile(
                f"{where}: {what} names {len(named)} under {key!r}; expected one, or one for each of the {count} under 'of'"
            )
    if spec.places and (np.diff(spec.places) <= 0).any():
        raise BadFile(f"{where}: {what} has the places {spec.places}; name them in ascending order, each once")
    unplaced = spec.model == "position" and spec.places is None and spec.waves is None
    if unplaced and (spec.known or spec.initial is not None):
        raise BadFile(f"{where}: {what} needs its 'places: [...]', for its coefficients to count")
    if spec.model == MEMORY and spec.stops is None and (spec.known or spec.initial is not None):
        raise BadFile(f"{where}: {what} needs the radii of its stops, 'stops: [...]', for its coefficients to count")
    needs = {"stribeck": "speed", "saturating": "speed", "lever_spring": "radii", "cogging": "waves"}.get(spec.model)
    if needs and getattr(spec, needs) is None:
        raise BadFile(f"{where}: {what} needs the key {needs!r}")
    if spec.model == "polynomial" and spec.coefficients is None and spec.degree is None:
        raise BadFile(f"{where}: polynomial on {spec.of!r} needs 'degree', or 'coefficients' with 'known: true'")
    if spec.known and spec.coefficients is None and spec.initial is None:
        raise BadFile(f"{where}: known {what} needs its value ('initial' or 'coefficients')")
    count = len(coefficient_names(spec))
    if isinstance(spec.initial, list) and len(spec.initial) != count:
        raise BadFile(f"{where}: {what} has {count} coefficients, 'initial' gives {len(spec.initial)}")
    for shape in spec.fit:
        if shape not in SHAPES.get(spec.model, ()):
            known = ", ".join(SHAPES.get(spec.model, ())) or "none"
            raise BadFile(f"{where}: {what} has no shape parameter {shape!r} to fit; it has {known}")
        if spec.fit.count(shape) > 1:
            raise BadFile(f"{where}: {what} names {shape!r} twice under 'fit'")
    if spec.known and spec.fit:
        raise BadFile(f"{where}: {what} is known: true, so 'fit: [{', '.join(spec.fit)}]' has nothing to do; drop one")


def check_efforts(specs: Sequence[EffortSpec]) -> None:
    """Check that friction of a file brakes, and that no axis has the same part of it twice.

    Raises:
        ValueError: friction that drives itself, or that stands twice on one axis with the same shape.
    """
    seen = set()
    for spec in specs:
        given = spec.initial if isinstance(spec.initial, list) else [spec.initial or 0.0]
        axes = [spec.of] if isinstance(spec.of, str) else spec.of if isinstance(spec.of, list) else [repr(spec.of)]
        brakes = [spec.model == "position" and each for each in not_negative(spec)]
        for name, value, each in zip(coefficient_names(spec), given, brakes, strict=False):
            if value < 0 and (name in DISSIPATIVE or each or (spec.model == MEMORY and not spec.warmth)):
                raise ValueError(
                    f"effort {spec.model!r} on {' and '.join(axes)} has {name!r} of {value:g} under 'initial', expected 0 or more: "
                    "it would drive itself"
                )
        for axis in dict.fromkeys(axes) if spec.model in RUBBING and not spec.warmth else ():
            for name in ("coulomb",) if spec.model == "position" else COEFFICIENTS.get(spec.model, (MEMORY,)):
                shape = (spec.width, spec.speed) if name not in ("viscous", "quadratic", "cbrt") else ()
                part = (axis, name, *shape, str(spec.strut), str(spec.bearing))
                if part in seen:
                    raise ValueError(f"friction of {axis!r} has its {name!r} part twice under 'efforts'; keep one")
                seen.add(part)
