"""Axes along which rigid bodies ask an effort, so that friction can grow with it: motors, and driven joints of open chains.

A passive joint of a loop has no such effort; friction there grows with the force along a strut, or along the axis of a bearing.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.kinds import Closure
from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.axes import Axes, parallel
from robodyn_pin.robot.efforts import Effort


class Bearer(NamedTuple):
    """What says the effort along an axis."""

    motor: bool  # else a joint of the tree
    number: int  # of the motor, or of the joint in v
    gear: float  # rate of the axis per rate of it


def bearer(row: np.ndarray, motors: Axes, freedom: int, loops: Loops) -> Bearer | None:
    """What says the effort along an axis x' = row v, row (nv,); None: nothing does."""
    if len(motors.S) == freedom:
        for k, motor in enumerate(motors.S):
            if parallel(row, motor):
                return Bearer(True, k, float(row @ motor / (motor @ motor)))
    joints = np.flatnonzero(row)
    if loops.size == 0 and len(joints) == 1 and motors.S[:, joints[0]].any():
        return Bearer(False, int(joints[0]), float(row[joints[0]]))
    return None


def can_bear(effort: Effort, motors: Axes, freedom: int, loops: Loops) -> bool:
    """Whether rigid bodies ask an effort along every axis of an effort."""
    return (
        not effort.carriers and not effort.closures and all(bearer(row, motors, freedom, loops) for row in effort.rows)
    )


def check_bearing(effort: Effort, motors: Axes, freedom: int, loops: Loops, where: str) -> None:
    """Raise BadFile where friction grows with a load that its axis does not have."""
    if not effort.bears or effort.carriers or can_bear(effort, motors, freedom, loops):
        return
    why = (
        f"its {len(motors.names)} motors for {freedom} degree{'s' * (freedom != 1)} of freedom share the load as nobody knows"
        if loops.size and len(motors.names) != freedom
        else "the bodies ask no effort along it, as it is neither a motor nor a driven joint of an open chain"
    )
    raise BadFile(
        f"{where}: effort 'load' on {effort.name!r}: {why}; name one of the motors ({', '.join(motors.names) or 'none'}) of a robot "
        "with as many motors as degrees of freedom, the 'strut' or 'bearing' whose force it grows with, or take 'coulomb' there"
    )


def check_carriers(
    effort: Effort, struts: Mapping[str, tuple[str, str]], motors: Axes, freedom: int, redundant: int, where: str
) -> None:
    """Check what friction says of the strut or bearing whose force it grows with; `redundant`: closure equations that say nothing new.

    Raises:
        UnknownName: no such strut or joint. BadFile: a force that bodies do not determine, or that a motor or nothing provides.
    """
    loops = effort.loops
    joints = list(loops.model.names)[1:]
    ends = [end for c in loops.closures if isinstance(c, Closure) for end in (c.frame_a, c.frame_b)]
    turning = [joint for joint, slides in zip(joints, loops.sliding, strict=True) if not slides]
    for name in effort.carriers:
        if effort.spec.strut is not None and name not in struts:
            raise UnknownName("strut", name, f"{where}, effort 'load' on {effort.name!r}", struts)
        if effort.spec.strut is not None and struts[name][1] not in ends:
            raise UnknownName("closure at the strut end", struts[name][1], f"{where}, strut {name!r}", ends)
        if effort.spec.bearing is not None and name not in joints:
            raise UnknownName("joint", name, f"{where}, effort 'load' on {effort.name!r}, bearing", turning)
        if effort.spec.bearing is not None and name not in turning:
            raise BadFile(
                f"{where}: effort 'load' on {effort.name!r} names the bearing {name!r}, which slides: along its axis it carries nothing; "
                f"name a joint that turns ({', '.join(turning) or 'none'})"
            )
    if effort.carriers and loops.size and (len(motors.S) != freedom or redundant):
        why = (
            f"{redundant} equation{'s' * (redundant != 1)} of its closures say{'s' * (redundant == 1)} nothing new"
            if redundant
            else f"it has {len(motors.names)} motors for {freedom} degree{'s' * (freedom != 1)} of freedom"
        )
        raise BadFile(
            f"{where}: effort 'load' on {effort.name!r} grows with {effort.grows_with}, which the bodies alone do not determine, as {why}; "
            "take 'coulomb' there"
        )


def refuse_bearing(efforts: Sequence[Effort], who: str) -> None:
    """Raise BadFile where friction grows with a load that `who` does not follow."""
    for effort in efforts:
        if effort.bears:
            raise BadFile(
                f"friction 'load' of {effort.name!r} grows with {effort.grows_with}, which {who} does not follow; give the "
                "robot 'coulomb' friction there instead"
            )
