"""Models of friction between which an identification chooses: `[coulomb+viscous, maxwell_slip, +quadratic]`."""

from collections.abc import Sequence

from robodyn_pin.robot.friction_models import MEMORY, RUBBING

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
