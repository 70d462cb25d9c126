"""Axes along which rigid bodies ask an effort, so that friction can grow with it: motors, and driven joints of open chains.

A passive joint of a loop has no such effort. What its bearing carries depends on how stiff the loop is, and is not counted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import BadFile
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
    return not effort.closures and all(bearer(row, motors, freedom, loops) for row in effort.rows)


def check_bearing(effort: Effort, motors: Axes, freedom: int, loops: Loops, where: str) -> None:
    """Raise BadFile where friction grows with a load that its axis does not have."""
    if not effort.bears or can_bear(effort, motors, freedom, loops):
        return
    why = (
        f"its {len(motors.names)} motors for {freedom} degree{'s' * (freedom != 1)} of freedom share the load as nobody knows"
        if loops.size and len(motors.names) != freedom
        else "the bodies ask no effort along it, as it is neither a motor nor a driven joint of an open chain"
    )
    raise BadFile(
        f"{where}: effort 'load' on {effort.name!r}: {why}; name one of the motors ({', '.join(motors.names) or 'none'}) of a robot "
        "with as many motors as degrees of freedom, or take 'coulomb' there"
    )


def refuse_bearing(efforts: Sequence[Effort], who: str) -> None:
    """Raise BadFile where friction grows with a load that `who` does not follow."""
    for effort in efforts:
        if effort.bears:
            raise BadFile(
                f"friction 'load' of {effort.name!r} grows with what the bodies ask of its axis, which {who} does not follow; give the "
                "robot 'coulomb' friction there instead"
            )
