"""Models of friction between which an identification chooses: `[coulomb+viscous, maxwell_slip, +quadratic]`."""

from collections.abc import Sequence
from dataclasses import replace

from robodyn_pin.robot.bearing_axes import can_bear
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import MEMORY, RUBBING, SHAPES, EffortSpec
from robodyn_pin.robot.robot import Robot

OFFERED = tuple(model for model in RUBBING if model != "saturating")  # it needs a shape of its own
PLAIN = ("coulomb", "viscous")  # what stops stand beside


def check_offered(entries: Sequence[str]) -> None:
    """What `choose: {friction: ...}` may not say.

    Raises:
        ValueError: a model that is not offered; nothing to begin with.
    """
    for entry in entries:
        for model in entry.removeprefix("+").split("+"):
            if model not in OFFERED:
                raise ValueError(
                    f"'choose: friction' has {model!r} in {entry!r}; it knows {', '.join(OFFERED)}, joined by '+', and "
                    "'+model' for what is tried on top of the model chosen before"
                )
    if len(entries) == 1 or (entries and entries[0].startswith("+")):
        raise ValueError(
            f"'choose: friction' has {entries[0]!r} first; begin with the simplest model, as in [coulomb+viscous, maxwell_slip, +quadratic]"
        )


def models_of(entry: str, before: Sequence[str]) -> tuple[str, ...]:
    """The models of one entry; `before`: of the best so far, which an entry with a plus in front stands on top of.

    Friction over position is Coulomb friction at every place, and a Stribeck curve has Coulomb and viscous friction: they take
    their place.
    """
    named = entry.removeprefix("+").split("+")
    stand_on = before if entry.startswith("+") else PLAIN if named == [MEMORY] else ()
    models = tuple(dict.fromkeys([*stand_on, *named]))
    replaced = (*(PLAIN if "stribeck" in models else ()), *(("coulomb",) if "position" in models else ()))
    return tuple(m for m in models if m not in replaced)


def offered(robot: Robot, entries: Sequence[str]) -> Robot:
    """The robot with every model of `choose: friction` on every axis that has unknown friction; the latter makes way."""
    if not entries:
        return robot
    axes = list(dict.fromkeys(e.name for e in robot.efforts if offers(e)))
    models = list(dict.fromkeys(m for entry in entries for m in models_of(entry, ())))
    kept = [e for e in robot.efforts if not offers(e)]
    own = {axis: [e for e in robot.efforts if e.name == axis and offers(e)] for axis in axes}
    added = [_with_model(own[axis], model) for axis in axes for model in models]
    freedom = len(robot.coordinates.names)
    added = [e for e in added if not e.bears or can_bear(e, robot.motors, freedom, robot.loops)]
    return replace(robot, efforts=(*kept, *added))


def offers(effort: Effort) -> bool:
    """Whether the models of `choose: friction` stand in an effort's place."""
    spec = effort.spec
    return spec.model in RUBBING and not spec.known and not spec.warmth and not effort.closures and not effort.carriers


def _with_model(own: Sequence[Effort], model: str) -> Effort:
    """The model in place of an axis' own friction, with the shapes that the robot file gives that."""
    spec = own[0].spec
    shapes: dict[str, float] = {}
    for shape in SHAPES.get(model, ()):
        given = [x for e in own if (x := getattr(e.spec, shape)) is not None]
        shapes |= {shape: given[0]} if given else {}
    open_ones = ["speed"] if model == "stribeck" and "speed" not in shapes else []
    same = next((e.spec for e in own if e.spec.model == model == "position"), None)  # its form over the position stays
    form = same.model_dump(include={"places", "degree", "waves", "each_way"}, exclude_defaults=True) if same else {}
    found = {"of": spec.of, "name": spec.name, "model": model, "fit": open_ones, **shapes, **form}
    return replace(own[0], spec=EffortSpec.model_validate(found))
