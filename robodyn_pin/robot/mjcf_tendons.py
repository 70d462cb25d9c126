"""Fixed tendons of MJCF: sums of joints, held at a length by an equality or pulled by an actuator."""

import xml.etree.ElementTree as ET
from pathlib import Path

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.mjcf_places import numbers

FORCES = ("stiffness", "damping", "frictionloss", "armature")


def check_tendons(root: ET.Element, path: Path) -> None:
    """Raise BadFile where a tendon is no plain sum of joints."""
    for tendon in root.findall("tendon/*"):
        parts = list(tendon)
        plain = tendon.tag == "fixed" and parts and all(part.tag == "joint" for part in parts)
        if not plain or any(float(tendon.get(key, "0").split()[0]) for key in FORCES):
            raise BadFile(
                f"{path}: <tendon> is not read but for <fixed> ones of joints, without force of their own; "
                f"found {tendon.get('name', tendon.tag)!r}; take it out, or write what it ties as <connect>, <weld> or <joint> under <equality>"
            )


def sum_of(root: ET.Element, name: str | None, where: str, joints: list[str]) -> dict[str, float]:
    """Return the joints of a fixed tendon with their factors.

    Raises:
        UnknownName: no such tendon, or a joint of it that does not exist.
    """
    fixed = {str(tendon.get("name")): tendon for tendon in root.findall("tendon/fixed")}
    if name not in fixed:
        raise UnknownName("fixed tendon", str(name), where, fixed)
    of: dict[str, float] = {}
    for part in fixed[str(name)]:
        joint = str(part.get("joint"))
        if joint not in joints:
            raise UnknownName("joint", joint, f"{where}, tendon {name!r}", joints)
        of[joint] = of.get(joint, 0.0) + float(numbers(part, "coef", "1")[0])
    return of


def held_length(root: ET.Element, tie: ET.Element, name: str, path: Path, drawn: dict[str, float]) -> dict[str, object]:
    """Return the coupling of <equality><tendon>: a length that stays c0 longer than as drawn.

    Raises:
        BadFile: two tendons.
    """
    where = f"{path}, equality {name!r}"
    if tie.get("tendon2") is not None:
        raise BadFile(f"{where} ties two tendons; write one fixed tendon of all their joints")
    of = sum_of(root, tie.get("tendon1"), where, list(drawn))
    rest = float((list(numbers(tie, "polycoef", "0")) or [0.0])[0])
    offset = rest + sum(factor * drawn[joint] for joint, factor in of.items())
    return {"name": name, "kind": "coupling", "of": of, "offset": offset}
