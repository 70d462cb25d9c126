"""Efforts of many axes in one entry: `of: all motors`, `of: all joints`, `of: j*`."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.effort_checks import check_efforts
from robodyn_pin.robot.friction_models import EffortSpec


def each_of(specs: Sequence[EffortSpec], joints: Sequence[str], motors: Sequence[str], where: str) -> list[EffortSpec]:
    """Return the entries, those for many axes as one for each axis, with coefficients of its own.

    Raises:
        BadFile: a pattern that nothing matches; friction that then stands twice on one axis.
    """
    names = list(dict.fromkeys([*motors, *joints]))
    found: list[EffortSpec] = []
    for spec in specs:
        if not isinstance(spec.of, str) or spec.of in names:
            found.append(spec)
        elif spec.of in ("all motors", "all joints"):
            found += [spec.model_copy(update={"of": name}) for name in (motors if spec.of == "all motors" else joints)]
        elif set(spec.of) & set("*?["):
            matching = [name for name in names if fnmatchcase(name, spec.of)]
            if not matching:
                raise BadFile(
                    f"{where}: no joint or motor is called like {spec.of!r}, which 'efforts' asks for; it has {', '.join(names)}"
                )
            found += [spec.model_copy(update={"of": name}) for name in matching]
        else:
            found.append(spec)
    if len(found) != len(specs):
        try:
            check_efforts(found)
        except ValueError as error:
            raise BadFile(f"{where}: {error}") from None
    return found
