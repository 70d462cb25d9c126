"""What tells two robots apart whose files have one name: the hash of all their numbers."""

import hashlib

from robodyn_pin.robot.robot import Robot


def numbers_hash(robot: Robot) -> str:
    """SHA-256 of all numbers of a robot that its dynamics depend on: a payload, a tool or a width of friction changes it, too."""
    S, M = robot.coordinates, robot.motors
    numbers = [
        S.S,
        S.offset,
        M.S,
        M.offset,
        robot.home,
        *(x for e in robot.efforts for x in (e.rows, e.shifts, e.initial)),
    ]
    said = (
        robot.model.saveToString(), robot.file.model_dump_json(), S.names, M.names, robot.loops.closures, robot.payload,
        robot.borne, [(e.name, e.closures, e.slope, e.spec.model_dump_json()) for e in robot.efforts],
    )  # fmt: skip
    return hashlib.sha256(repr(said).encode() + b"".join(x.tobytes() for x in numbers)).hexdigest()
