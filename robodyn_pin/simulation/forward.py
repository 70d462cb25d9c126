"""Forward simulation: the motion that given motor torques cause."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import Wrench
from robodyn_pin.errors import ClosureFailed, Diverged, RobodynError, ShapeMismatch
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.schemes import scheme_of
from robodyn_pin.simulation.stepping import Function, Moment, stepper_of


@dataclass(frozen=True)
class Trajectory:
    """A simulated motion of the coordinates."""

    t: np.ndarray  # (N,) [s]
    c: np.ndarray  # (N, d) [rad or m]
    cd: np.ndarray  # (N, d)
    q: np.ndarray  # (N, nv) all joints, on the loops
    scheme: str = ""  # of integration, and why


def roll_out(
    robot: Robot, torque: Function, c: np.ndarray, cd: np.ndarray, t: np.ndarray, wrench: Wrench | None = None
) -> Trajectory:
    """Forward simulation from c, c' (d,) at the times t (N,) [s], one step between two times.

    The state are the independent coordinates and every step closes the loops anew: constraints cannot drift. Steps are those of
    Runge-Kutta of order 4; where friction is too steep about standstill for them, friction sticks (`simulation.sticking`).

    Raises:
        ClosureFailed: the robot cannot be where the motion starts.
        Diverged: the motion leaves the workspace, meets a singularity or grows beyond all numbers; says when.
    """
    start = robot.close(c[None], cd[None], 0 * c[None], label=lambda _: f"t = {t[0]:.4g} s")
    scheme = scheme_of(robot, start, float(np.diff(t).max(initial=0.0)), wrench)
    moments = []
    with kernel_choice.preferred(), np.errstate(all="ignore"):  # a motion that diverges may overflow before it is lost
        stepper = stepper_of(scheme)
        moments.append(stepper.begin(c, cd, start.q[0], str))
        for k, h in enumerate(np.diff(t)):
            try:
                moments.append(stepper.driven(moments[-1], t[k], h, torque))
            except (ClosureFailed, ShapeMismatch) as error:  # the latter where numbers overflow
                raise Diverged(_diverged(robot, moments[-1], (float(t[k]), float(t[k + 1])), error)) from None
    positions, rates, joints = (np.array([getattr(at, name) for at in moments]) for name in ("c", "cd", "q"))
    return Trajectory(t, positions, rates, joints, scheme.why)


def _diverged(robot: Robot, last: Moment, between: tuple[float, float], error: RobodynError) -> str:
    """How the motion was lost, where it was last and how fast."""
    fastest = int(np.abs(last.cd).argmax())
    name = robot.coordinates.names[fastest]
    why = "numbers overflow" if isinstance(error, ShapeMismatch) else "the loops no longer close"
    return (
        f"the motion of {robot.name!r} diverged between t = {between[0]:.4g} and {between[1]:.4g} s: {why}; it was at "
        f"{name} = {last.c[fastest]:.4g}, going {last.cd[fastest]:.4g} a second; look at the torques, or take shorter steps"
    )
