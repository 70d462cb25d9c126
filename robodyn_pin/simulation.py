"""Simulated logs (a motion, encoders and torque noise as a real log has them) and forward simulation."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pydantic import Field

from robodyn_pin.dynamics import Wrench, forward_dynamics
from robodyn_pin.errors import BadFile, ClosureFailed, Diverged, RobodynError, ShapeMismatch, UnknownName
from robodyn_pin.files import Strict, parse_yaml, read_text
from robodyn_pin.internal import smooth_torque
from robodyn_pin.limits import limits_of
from robodyn_pin.loads import check_motion, loads
from robodyn_pin.motion import Log
from robodyn_pin.robot import Robot
from robodyn_pin.steps import StepMotion, stepped
from robodyn_pin.sweeps import SweepMotion, swept


class FourierMotion(Strict):
    """Coordinates c(t) = centre + sum_k a_k sin(k w t) + b_k cos(k w t), w = 2 pi / period."""

    rate: float = Field(gt=0)  # [Hz]
    duration: float = Field(gt=0)  # [s]
    period: float = Field(gt=0)  # [s]
    coordinates: list[str] | None = None  # that the series describe; default: the robot's
    centre: dict[str, float]  # [rad or m]
    sin: dict[str, list[float]] = {}
    cos: dict[str, list[float]] = {}
    note: str = ""


Motion = FourierMotion | StepMotion | SweepMotion


def read_motion(path: Path) -> Motion:
    """A motion file: Fourier series, steps where it says `poses:` or `speeds:`, sweeps where it says `sweeps:`.

    Raises:
        BadFile: not there, not YAML, or a key that is unknown, missing or of the wrong kind.
    """
    text = read_text(path)
    if re.search(r"(?m)^sweeps\s*:", text):
        return parse_yaml(text, SweepMotion, str(path))
    in_steps = re.search(r"(?m)^(poses|speeds|hold)\s*:", text)
    return parse_yaml(text, StepMotion, str(path)) if in_steps else parse_yaml(text, FourierMotion, str(path))


def course(motion: Motion, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time (N,) and coordinates, rates, accelerations (N, d) of any motion, at its rate.

    Raises:
        UnknownName: a coordinate that is not there. BadFile: a Fourier series without a centre.
    """
    match motion:
        case FourierMotion():
            return fourier(motion, names)
        case StepMotion():
            return stepped(motion, names)
        case SweepMotion():
            return swept(motion, names)


@dataclass(frozen=True)
class Noise:
    """What measuring does to a log."""

    torque: np.ndarray  # (n_motors,) standard deviation of white noise [N m or N]
    encoder_bits: int | None = None  # steps of one turn of the motor, before the gear; None: exact angles
    seed: int = 0
    internal: float = (
        0.0  # rms of an unknown torque that moves nothing, for each motor above the degrees of freedom [N m]
    )
    bias: np.ndarray | None = None  # (n_motors,) constant error of the torques [N m or N]

    def of(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Errors of torques (rows, n_motors)."""
        white = rng.normal(size=(rows, len(self.torque))) * self.torque
        return white if self.bias is None else white + self.bias


def fourier(motion: FourierMotion, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time (N,) and coordinates, rates, accelerations (N, d) of a Fourier motion.

    Raises:
        UnknownName: a series for a coordinate that is not there.
        BadFile: a coordinate without a centre.
    """
    for series in (motion.centre, motion.sin, motion.cos):
        for name in series:
            if name not in names:
                raise UnknownName("coordinate", name, "the motion file", names)
    for name in names:
        if name not in motion.centre:
            raise BadFile(f"the motion file gives no centre for coordinate {name!r}")
    t = np.arange(round(motion.duration * motion.rate)) / motion.rate
    c = np.tile([motion.centre[name] for name in names], (len(t), 1)).astype(float)
    cd, cdd = np.zeros_like(c), np.zeros_like(c)
    for j, name in enumerate(names):
        for k, a in enumerate(motion.sin.get(name, []), start=1):
            w = 2 * np.pi * k / motion.period
            s, o = np.sin(w * t), np.cos(w * t)
            c[:, j] += a * s
            cd[:, j] += a * w * o
            cdd[:, j] -= a * w**2 * s
        for k, b in enumerate(motion.cos.get(name, []), start=1):
            w = 2 * np.pi * k / motion.period
            s, o = np.sin(w * t), np.cos(w * t)
            c[:, j] += b * o
            cd[:, j] -= b * w * s
            cdd[:, j] -= b * w**2 * o
    return t, c, cd, cdd


def simulate(
    robot: Robot,
    motion: Motion,
    noise: Noise,
    progress: Callable[[float], None] = lambda share: None,
    ignore_limits: bool = False,
) -> Log:
    """A log of the robot with the parameters of its files; called simulated.

    Raises:
        BeyondLimits: the motion leaves a limit of a joint, motor or strut; names axis and time.
        ClosureFailed: the motion leaves the workspace.
        UnknownName, WrongMobility: the motion's coordinates are not there, or do not determine the robot.
        RobodynError: as many noise figures as motors are expected; internal torque without a motor too many.
    """
    check_noise(robot, noise)
    if noise.internal and len(robot.motors.names) == len(robot.coordinates.names):
        raise RobodynError(
            f"robot {robot.name!r} has as many motors as degrees of freedom: it can have no internal torque; leave it out"
        )
    if isinstance(motion, FourierMotion) and motion.coordinates is not None:
        robot = robot.with_coordinates(motion.coordinates)
    names = robot.coordinates.names
    t, c, cd, cdd = course(motion, names)
    rng = np.random.default_rng(noise.seed)
    errors = noise.of(len(t), rng)
    internal = smooth_torque(t, len(noise.torque), noise.internal, rng) if noise.internal else np.zeros_like(errors)
    q, tau = [], []
    limits = limits_of(robot, {}, 0.0)
    for part, state in robot.close_parts(c, cd, cdd, lambda i: f"t = {t[i]:.4g} s"):
        found = loads(robot, state, {"torque", *limits.kinds}, internal[part], partial(_time, t[part]))
        if not ignore_limits:
            check_motion(robot, limits, state, found, partial(leaving, "simulated motion", t[part]))
        q.append(state.q @ robot.motors.S.T + robot.motors.offset)
        tau.append(found["torque"])
        progress(min(1.0, part.stop / len(t)))
    torque = np.concatenate(tau) + errors
    return Log("simulated", t, encoded(robot, np.concatenate(q), noise.encoder_bits), torque, simulated=True)


def leaving(what: str, t: np.ndarray, i: int) -> str:
    """How to begin the message that a motion leaves a limit at sample i of times t (N,)."""
    return f"the {what} leaves a limit at t = {t[i]:.4g} s (--ignore-limits goes on)"


def _time(t: np.ndarray, i: int) -> str:
    return f"t = {t[i]:.4g} s"


def check_noise(robot: Robot, noise: Noise) -> None:
    """Raise RobodynError unless there is one noise figure, and one bias, a motor."""
    motors = robot.motors.names
    for what, given in (("noise", noise.torque), ("bias", noise.bias)):
        if given is not None and given.shape != (len(motors),):
            raise RobodynError(f"{given.size} torque {what} figures for {len(motors)} motors ({', '.join(motors)})")


@dataclass(frozen=True)
class Trajectory:
    """A simulated motion of the coordinates."""

    t: np.ndarray  # (N,) [s]
    c: np.ndarray  # (N, d) [rad or m]
    cd: np.ndarray  # (N, d)
    q: np.ndarray  # (N, nv) all joints, on the loops


Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # t, c (d,), c' (d,) -> motor torques (n_motors,)


def roll_out(
    robot: Robot, torque: Torque, c: np.ndarray, cd: np.ndarray, t: np.ndarray, wrench: Wrench | None = None
) -> Trajectory:
    """Forward simulation from c, c' (d,) at the times t (N,) [s], one Runge-Kutta step of order 4 between two times.

    The state are the independent coordinates and every step closes the loops anew: constraints cannot drift.

    Raises:
        ClosureFailed: the robot cannot be where the motion starts.
        Diverged: the motion leaves the workspace, meets a singularity or grows beyond all numbers; says when.
    """
    start, states = robot.home, [(c, cd)]

    def accelerate(time: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return forward_dynamics(robot, x[None], v[None], torque(time, x, v)[None], wrench, start)[0]

    def closed(time: float) -> np.ndarray:
        return robot.close(c[None], cd[None], cd[None], start, label=lambda _: f"t = {time:.4g} s").q[0]

    joints = [closed(t[0])]
    for k, h in enumerate(np.diff(t)):
        start = joints[-1]
        try:
            with np.errstate(all="ignore"):  # a motion that diverges may overflow before it is lost
                c, cd = runge_kutta(accelerate, t[k], c, cd, accelerate(t[k], c, cd), h)
            joints.append(closed(t[k + 1]))
        except (ClosureFailed, ShapeMismatch) as error:  # the latter where numbers overflow
            raise Diverged(_diverged(robot, states[-1], (float(t[k]), float(t[k + 1])), error)) from None
        states.append((c, cd))
    positions, rates = (np.array(x) for x in zip(*states, strict=True))
    return Trajectory(t, positions, rates, np.array(joints))


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


def runge_kutta(
    accelerate: Callable[[float, np.ndarray, np.ndarray], np.ndarray], t: float, c: np.ndarray, cd: np.ndarray,
    a1: np.ndarray, h: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """c, c' (d,) after one step h [s] of order 4 from t, where the acceleration is a1 (d,)."""
    middle = t + h / 2
    v2 = cd + h / 2 * a1
    a2 = accelerate(middle, c + h / 2 * cd, v2)
    v3 = cd + h / 2 * a2
    a3 = accelerate(middle, c + h / 2 * v2, v3)
    v4 = cd + h * a3
    a4 = accelerate(t + h, c + h * v3, v4)
    return c + h / 6 * (cd + 2 * v2 + 2 * v3 + v4), cd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def encoded(robot: Robot, q: np.ndarray, bits: int | None) -> np.ndarray:
    """Motor positions (N, n) as encoders on the motor side of the gears read them."""
    if bits is None:
        return q
    gear = np.array([robot.file.gear.get(m, 1.0) for m in robot.motors.names])
    step = 2 * np.pi / 2**bits / gear
    return np.round(q / step) * step
