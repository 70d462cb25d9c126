"""Forward simulation: the motion that given motor torques cause."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import Wrench, driving, forward_dynamics
from robodyn_pin.errors import ClosureFailed, Diverged, RobodynError, ShapeMismatch
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.simulation.schemes import Function, scheme_of


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
    start, states = robot.home, [(c, cd)]

    def accelerate(time: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return forward_dynamics(robot, x[None], v[None], torque(time, x, v)[None], wrench, start)[0]

    def closed(time: float) -> np.ndarray:
        return robot.close(c[None], cd[None], cd[None], start, label=lambda _: f"t = {time:.4g} s").q[0]

    def push(time: float, state: State, rate: np.ndarray) -> np.ndarray:
        at = robot.coordinates.S @ state.q[0] + robot.coordinates.offset
        return driving(robot, state, torque(time, at, rate)[None], wrench)[0]

    joints = [closed(t[0])]
    scheme = scheme_of(robot, robot.close(c[None], cd[None], 0 * c[None], start), float(np.diff(t).max(initial=0.0)))
    for k, h in enumerate(np.diff(t)):
        start = joints[-1]
        try:
            with np.errstate(all="ignore"):  # a motion that diverges may overflow before it is lost
                c, cd = scheme.step(t[k], c, cd, h, accelerate, push, start)
            joints.append(closed(t[k + 1]))
        except (ClosureFailed, ShapeMismatch) as error:  # the latter where numbers overflow
            raise Diverged(_diverged(robot, states[-1], (float(t[k]), float(t[k + 1])), error)) from None
        states.append((c, cd))
    positions, rates = (np.array(x) for x in zip(*states, strict=True))
    return Trajectory(t, positions, rates, np.array(joints), scheme.why)


def _diverged(
    robot: Robot, last: tuple[np.ndarray, np.ndarray], between: tuple[float, float], error: RobodynError
) -> str:
    """How the motion was lost, where it was last and how fast."""
    fastest = int(np.abs(last[1]).argmax())
    name = robot.coordinates.names[fastest]
    why = "numbers overflow" if isinstance(error, ShapeMismatch) else "the loops no longer close"
    return (
        f"the motion of {robot.name!r} diverged between t = {between[0]:.4g} and {between[1]:.4g} s: {why}; it was at "
        f"{name} = {last[0][fastest]:.4g}, going {last[1][fastest]:.4g} a second; look at the torques, or take shorter steps"
    )
