"""What is simulated under a controller, from which sample on: the robot, with rotors where its drives yield, and its load when that comes."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import along, coordinate_efforts, motor_map
from robodyn_pin.errors import BadFile, RobodynError, UnknownName
from robodyn_pin.robot.elastic_drives import Drives, joint_side, with_springs
from robodyn_pin.robot.payload import loaded
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.controllers import Controller, Reference
from robodyn_pin.simulation.schemes import Scheme, scheme_of

STEPS, SETTLED = 50, 1e-12  # of Newton's method for joints that springs hold, and the step that ends it [rad or m]


@dataclass(frozen=True)
class Stage:
    """A robot that is simulated from some sample on."""

    begin: int
    robot: Robot
    scheme: Scheme


def stages_of(robot: Robot, controller: Controller, drives: Drives | None) -> tuple[Stage, ...]:
    """The stages of a controlled motion, in order, the first from sample 0 on.

    Raises:
        BadFile: a load that comes after the motion. UnknownName: on a link that is not there. RobodynError: as `scheme_of`.
    """
    spec, n = controller.spec.disturbance.payload, len(controller.reference.c)
    begins, robots = [0], [robot]
    if spec is not None:
        begin = int(np.ceil(spec.time / controller.step - 1e-9))
        if begin >= n:
            raise BadFile(
                f"the payload comes on at {spec.time:g} s, when the motion of {(n - 1) * controller.step:g} s is over"
            )
        heavier = loaded(robot, spec).with_coordinates(robot.coordinates.names)
        begins, robots = ([0], [heavier]) if begin == 0 else ([0, begin], [robot, heavier])
    moved = [one if drives is None else with_springs(one, drives) for one in robots]
    return tuple(Stage(begin, one, _scheme_along(one, controller)) for begin, one in zip(begins, moved, strict=True))


def _scheme_along(robot: Robot, controller: Controller) -> Scheme:
    """How to integrate between two samples, after the steepest friction along the reference; raises as `scheme_of`."""
    ref = controller.reference
    c = ref.c
    if len(robot.coordinates.names) > c.shape[1]:
        c = np.hstack([c, ref.q - robot.motors.offset])  # rotors, beside the joints
    c = c[:: max(1, len(c) // 20)]
    return scheme_of(robot, robot.close(c, 0 * c, 0 * c), controller.step)


def started(
    robot: Robot, ref: Reference, drives: Drives | None, rest: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and rates at the start: of the reference, or at rest; of motors, with joints where springs hold them in balance.

    Args:
        robot: rigid, even if its drives yield.
        rest: coordinates [rad or m] by name at which the robot stands still at first; the others are the reference's.

    Raises:
        ClosureFailed: the robot cannot be there. RobodynError: the springs do not hold it. UnknownName: no such coordinate.
    """
    c, cd, cdd = ref.c[:1], ref.cd[:1], ref.cdd[:1]
    if rest:
        names = robot.coordinates.names
        for name in rest:
            if name not in names:
                raise UnknownName("coordinate", name, "start of the controller file", names)
        c, cd, cdd = np.array([[rest.get(name, x) for name, x in zip(names, c[0], strict=True)]]), 0 * cd, 0 * cdd
    if drives is None:
        return c[0], cd[0]
    carried = joint_side(robot)
    rotors = robot.at_rest(c).q @ robot.motors.S.T if rest else ref.q[:1] - robot.motors.offset
    for _ in range(STEPS):
        state = carried.close(c, cd, cdd)
        B = motor_map(carried, state)
        torque = drives.stiffness * (rotors - state.q @ robot.motors.S.T)
        missing = along(B, torque) - coordinate_efforts(carried, state)
        K = B[0].T @ (drives.stiffness[:, None] * B[0])
        step = np.linalg.solve(K, missing[0])
        c = c + step
        if np.abs(step).max() <= SETTLED:
            return np.r_[c[0], rotors[0]], np.r_[cd[0], B[0] @ cd[0]]
    raise RobodynError(
        f"the springs in the drives do not hold robot {robot.name!r} where the motion starts; are the stiffnesses in N m/rad?"
    )
