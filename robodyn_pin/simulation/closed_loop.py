"""A robot under a controller: sampled, delayed, limited and disturbed, between two samples integrated on its loops."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.projection import project
from robodyn_pin.errors import BadFile, ClosureFailed, Diverged, ShapeMismatch
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import Motion, course
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.controllers import (
    Controller,
    ControllerFile,
    DisturbanceSpec,
    by_motor,
    filtered_rate,
    follow_motion,
)
from robodyn_pin.simulation.schemes import Scheme, scheme_of
from robodyn_pin.simulation.simulated_log import encoded
from robodyn_pin.simulation.stability import Stability, stability
from robodyn_pin.simulation.stepping import stepper_of

LOST = 1.0  # [rad or m] of a motor's joint from its reference: no controller is meant to come back from there
SINES = 12  # of a disturbance


@dataclass(frozen=True)
class Tracking:
    """N samples of a controlled motion of n motors. Simulated."""

    t: np.ndarray  # (N,) [s], at the controller's rate
    reference: np.ndarray  # (N, n) motor positions [rad or m]
    q: np.ndarray  # (N, n) as measured
    tau: np.ndarray  # (N, n) of the motors, within their limits, held until the next sample [N m or N]
    commanded: np.ndarray  # (N, n) what the controller asked of them, its delay over
    disturbance: np.ndarray  # (N, n) torques added to them
    joints: np.ndarray  # (N, nv) positions of the tree
    rates: np.ndarray  # (N, nv)
    stability: Stability
    scheme: str  # of integration, and why

    @property
    def error(self) -> np.ndarray:
        """Reference minus measured (N, n)."""
        return self.reference - self.q

    @property
    def saturated(self) -> np.ndarray:
        """Where a limit cut the torque (N, n)."""
        return np.asarray(self.commanded != self.tau)

    @property
    def largest(self) -> np.ndarray:
        """Largest error of each motor (n,), as Briot et al. (DualV) give it in their table 4."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def rms(self) -> np.ndarray:
        """Root mean square error of each motor (n,)."""
        return np.asarray(np.sqrt((self.error**2).mean(axis=0)))


def prepare(robot: Robot, model: Robot, motion: Motion, spec: ControllerFile) -> tuple[Robot, Controller]:
    """The robot in the motion's coordinates, and its controller on the model that it knows.

    Raises:
        ClosureFailed: the motion leaves the workspace.
        BadFile, UnknownName: motors or rates that do not fit.
    """
    if abs(spec.rate / motion.rate - round(spec.rate / motion.rate)) > 1e-9 or spec.rate < motion.rate:
        raise BadFile(
            f"the controller runs at {spec.rate:g} Hz, which is no whole multiple of the motion's {motion.rate:g} Hz "
            "('rate' in the motion file, at which the log is written)"
        )
    asked = motion.coordinates if isinstance(motion, FourierMotion) else None
    robot = robot.with_coordinates(asked or robot.coordinates.names)
    finer = motion.model_copy(update={"rate": spec.rate})
    return robot, controlled(robot, model, course(finer, robot.coordinates.names), spec)


def controlled(
    robot: Robot, model: Robot, samples: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], spec: ControllerFile
) -> Controller:
    """The robot's controller on the model that it knows.

    Args:
        samples: times (N,) at the controller's rate, and the robot's coordinates, rates, accelerations (N, d).

    Raises: as `prepare`.
    """
    if model.motors.names != robot.motors.names:
        raise BadFile(
            f"the controller's model {model.name!r} has motors {', '.join(model.motors.names)}, the robot {robot.name!r} "
            f"{', '.join(robot.motors.names)}"
        )
    if spec.internal and len(robot.motors.names) == len(robot.coordinates.names):
        raise BadFile(
            f"'internal': robot {robot.name!r} has a motor for each degree of freedom, no torque moves nothing"
        )
    t, c, cd, cdd = samples
    if len(t) < 2:
        raise BadFile(f"the motion has {len(t)} samples at {spec.rate:g} Hz, a controlled one needs two")
    model = model.with_coordinates(robot.coordinates.names)
    inner = by_motor(spec.internal, model, "internal")
    reference = follow_motion(
        model, c, cd, cdd, spec.law != "pd", inner, lambda i: f"t = {t[i]:.4g} s of the reference"
    )
    return Controller(spec, model, reference)


def track_motion(
    robot: Robot,
    controller: Controller,
    encoder_bits: int | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Tracking:
    """Simulate the robot under the controller, from a start on the reference; both as `prepare` gives them.

    Torques are held between samples. Runge-Kutta of order 4 in the coordinates goes from one to the next, or, where friction is too
    steep for it, a scheme in which friction sticks.

    Raises:
        Diverged: when, where, and what would be stable.
        ClosureFailed: the robot cannot be where the reference starts.
    """
    spec, ref, n = controller.spec, controller.reference, len(controller.reference.c)
    limits, pushes = saturation(robot, spec), disturbances(robot, controller)
    verdict, scheme = stability(robot, controller), scheme_along(robot, controller)
    waiting = [ref.nominal[0]] * spec.delay  # until the first command arrives
    near, rate, last = ref.start, np.zeros(len(limits)), np.zeros(len(limits))
    kept: list[tuple[np.ndarray, ...]] = []
    lost = LOST * np.abs(robot.motors.S).max(axis=1)
    with kernel_choice.preferred(), np.errstate(all="ignore"):  # a diverging robot may overflow before it is lost
        stepper = stepper_of(scheme)
        at = stepper.begin(ref.c[0], ref.cd[0], robot.home, lambda _: "the start of the reference")
        for k in range(n):
            q = encoded(robot, robot.motors.S @ at.q + robot.motors.offset, encoder_bits)
            e = ref.q[k] - q
            if (off := ~(np.abs(e) < lost)).any():  # not a number counts
                where = f"motor {robot.motors.names[off.argmax()]} is more than {lost[off.argmax()]:g} rad or m off"
                raise Diverged(_lost(k, where, spec, verdict))
            rate = filtered_rate(rate, e - (last if k else e), controller.step, spec.derivative_filter)
            last = e
            try:
                command, near = controller.torque(k, e, rate, near)
                waiting.append(command)
                wanted = waiting.pop(0)
                tau = np.clip(wanted, -limits, limits)
                kept.append((q, tau, wanted, at.q, at.cd))
                at = at if k == n - 1 else stepper.held(at, controller.step, tau + pushes[k])
            except (ClosureFailed, ShapeMismatch):  # the latter where numbers overflow
                raise Diverged(_lost(k, "the loops no longer close", spec, verdict)) from None
            if k % 100 == 0:
                progress(k / n)
        q, tau, commanded, joints, cd = (np.array(x) for x in zip(*kept, strict=True))
        rates = project(robot.loops, robot.coordinates.S, joints, cd)[1]
    return Tracking(np.arange(n) / spec.rate, ref.q, q, tau, commanded, pushes, joints, rates, verdict, scheme.why)


def saturation(robot: Robot, spec: ControllerFile) -> np.ndarray:
    """Largest torque that each motor gives (n,), infinite without limit."""
    if isinstance(spec.torque_limits, dict):
        given = by_motor(spec.torque_limits, robot, "torque_limits")
        return np.where(given > 0, given, np.inf)
    return torque_limits(robot) if spec.torque_limits else np.full(len(robot.motors.names), np.inf)


def disturbances(robot: Robot, controller: Controller) -> np.ndarray:
    """Disturbing torques (N, n): constant ones, and sines of equal size with random frequencies and phases."""
    spec: DisturbanceSpec = controller.spec.disturbance
    constant = by_motor(spec.torque, robot, "disturbance")
    ref = controller.reference
    if not spec.percent:
        return np.tile(constant, (len(ref.c), 1))
    # The robot's own needs, not those that the controller believes in.
    asked = follow_motion(robot, ref.c, ref.cd, ref.cdd, True, np.zeros(len(constant)))
    most = np.abs(asked.nominal).max(axis=0)
    rng, t = np.random.default_rng(spec.seed), np.arange(len(ref.c)) * controller.step
    frequency, phase = rng.uniform(0, spec.up_to, (SINES, len(most))), rng.uniform(0, 2 * np.pi, (SINES, len(most)))
    waves = sum(np.sin(2 * np.pi * f * t[:, None] + p) for f, p in zip(frequency, phase, strict=True))
    return np.asarray(constant + spec.percent / 100 * most * waves / np.abs(waves).max(axis=0))


def scheme_along(robot: Robot, controller: Controller) -> Scheme:
    """How to integrate between two samples, after the steepest friction along the reference; raises as `scheme_of`."""
    c = controller.reference.c[:: max(1, len(controller.reference.c) // 20)]
    return scheme_of(robot, robot.close(c, 0 * c, 0 * c), controller.step)


def _lost(k: int, what: str, spec: ControllerFile, verdict: Stability) -> str:
    cure = (
        "look at its torque limits, its disturbance and its model"
        if verdict.stable
        else "sample faster, delay less or lower the gains"
    )
    return f"the controlled robot diverged at t = {k / spec.rate:.4g} s: {what}; {verdict.sentence(spec)}; {cure}"
