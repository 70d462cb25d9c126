"""A robot under a controller: sampled, delayed, limited and disturbed, between two samples integrated on its loops."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.projection import project
from robodyn_pin.errors import BadFile, ClosureFailed, Diverged, ShapeMismatch
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import Motion, course
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.elastic_drives import Drives
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.controller_file import ControllerFile, DisturbanceSpec
from robodyn_pin.simulation.controllers import Controller, by_motor, filtered_rate, follow_motion
from robodyn_pin.simulation.learning import Learner, desired_rows, tracked_of
from robodyn_pin.simulation.model_torques import parts
from robodyn_pin.simulation.sampled_loop import Kept, Remembered, Sampling, compiled_loop
from robodyn_pin.simulation.simulated_log import rounded, steps_of_encoders
from robodyn_pin.simulation.stability import Stability, stability
from robodyn_pin.simulation.stages import Stage, stages_of, started
from robodyn_pin.simulation.stepping import Moment, Stepper, stepper_of

LOST = 1.0  # [rad or m] of a motor's joint from its reference: no controller is meant to come back from there
SINES = 12  # of a disturbance
CHUNK = 100  # samples after which progress is told


@dataclass(frozen=True)
class Tracking:
    """N samples of a controlled motion of n motors. Simulated."""

    t: np.ndarray  # (N,) [s], at the controller's rate
    reference: np.ndarray  # (N, n) motor positions [rad or m]
    q: np.ndarray  # (N, n) as measured
    tau: np.ndarray  # (N, n) of the motors, within their limits, held until the next sample [N m or N]
    commanded: np.ndarray  # (N, n) what the controller asked of them, its delay over
    disturbance: np.ndarray  # (N, n) torques added to them
    joints: np.ndarray  # (N, nv) positions of the tree, then of the rotors where drives yield
    rates: np.ndarray  # (N, nv)
    taken: np.ndarray  # (N,) by friction along axes and stops so far, as the steps in which it sticks took it [J]
    stages: tuple[Stage, ...]  # what was simulated, from which sample on
    stability: Stability
    scheme: str  # of integration, and why

    def between(self, begin: int, end: int) -> "Tracking":
        """Return samples from `begin` to `end`, both included."""
        part = slice(begin, end + 1)
        arrays = {
            f.name: getattr(self, f.name)[part] for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)
        }
        return replace(self, **arrays)

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


def prepare(
    robot: Robot, model: Robot, motion: Motion, spec: ControllerFile, settings: TrackFile | None = None
) -> tuple[Robot, Controller]:
    """The robot in the motion's coordinates, and its controller on the model that it knows.

    Args:
        settings: of the estimator of law adaptive.

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
    return robot, controlled(robot, model, course(finer, robot.coordinates.names), spec, settings)


def controlled(
    robot: Robot, model: Robot, samples: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], spec: ControllerFile,
    settings: TrackFile | None = None,
) -> Controller:  # fmt: skip
    """The robot's controller on the model that it knows.

    Args:
        samples: times (N,) at the controller's rate, and the robot's coordinates, rates, accelerations (N, d).
        settings: of the estimator of law adaptive.

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
    known = parts(model, spec.friction_width)
    fed = replace(known, whole=known.smooth) if spec.friction_at == "none" else known
    reference = follow_motion(fed, c, cd, cdd, spec.law != "pd", inner, lambda i: f"t = {t[i]:.4g} s of the reference")
    if spec.law != "adaptive":
        return Controller(spec, model, reference)
    followed = tracked_of(model, settings or TrackFile())
    learner = Learner(followed, settings or TrackFile(), spec.rate, spec.every)
    return Controller(spec, model, reference, learner, desired_rows(followed, c, cd, cdd))


def track_motion(
    robot: Robot,
    controller: Controller,
    encoder_bits: int | None = None,
    progress: Callable[[float], None] = lambda share: None,
    drives: Drives | None = None,
    pushes: np.ndarray | None = None,
) -> Tracking:
    """Simulate the robot under the controller, from a start on the reference, or at rest where the controller file says; both as `prepare` gives them.

    With drives that yield the encoders are on the rotors, which start on the reference, and joints where the springs balance there. An
    adaptive controller goes on learning: prepare a new one for each run.

    Torques are held between samples. Runge-Kutta of order 4 in the coordinates goes from one to the next, or, where friction is too
    steep for it, a scheme in which friction sticks.

    Args:
        pushes: torques (N, n) that disturb the motors besides those of the controller file [N m or N].

    Raises:
        Diverged: when, where, and what would be stable.
        ClosureFailed: the robot cannot be where it starts. UnknownName: `start` names no coordinate.
    """
    spec, ref, n = controller.spec, controller.reference, len(controller.reference.c)
    limits, added = saturation(robot, spec), disturbances(robot, controller)
    pushes = added if pushes is None else added + pushes
    stages = stages_of(robot, controller, drives)
    moved = stages[0].robot
    verdict = stability(moved, controller)
    lost, size = LOST * np.abs(robot.motors.S).max(axis=1), len(limits)
    held = Remembered(ref.start.copy(), np.zeros(size), np.zeros(size), np.tile(ref.nominal[0], (spec.delay, 1)))
    motors, bits = moved.motors, steps_of_encoders(robot, encoder_bits)
    by = Sampling(
        np.ascontiguousarray(motors.S),
        motors.offset,
        bits,
        controller.step,
        spec.derivative_filter or 0.0,
        limits,
        lost,
        pushes,
    )
    with kernel_choice.preferred(), np.errstate(all="ignore"):  # a diverging robot may overflow before it is lost
        begin = started(robot, ref, drives, spec.start)
        at = stepper_of(stages[0].scheme).begin(*begin, moved.home, lambda _: "the start of the controlled motion")
        q, tau, commanded = np.empty((3, n, size))
        kept = Kept(q, tau, commanded, np.empty((n, len(at.q))), np.empty((n, len(at.cd))), np.empty(n))
        for stage, until in zip(stages, [*(other.begin for other in stages[1:]), n], strict=True):
            stepper, k = stepper_of(stage.scheme), stage.begin
            compiled = compiled_loop(stepper, controller, by)
            while k < until:
                end = min(until, k + CHUNK)
                if compiled is not None:
                    k, at = compiled.run(k, end, at, held, kept)
                if k < end:  # what the compiled loop does not master, or says no reason for
                    at = _sample(k, at, held, by, kept, stepper, controller, verdict)
                    k += 1
                if k % CHUNK == 0:
                    progress(k / n)
        rates = project(moved.loops, moved.coordinates.S, kept.joints, kept.cd)[1]
    t, why = np.arange(n) / spec.rate, stages[-1].scheme.why
    return Tracking(
        t, ref.q, kept.q, kept.tau, kept.commanded, pushes, kept.joints, rates, kept.taken, stages, verdict, why
    )


def _sample(
    k: int, at: Moment, held: Remembered, by: Sampling, kept: Kept, stepper: Stepper, controller: Controller, verdict: Stability
) -> Moment:  # fmt: skip
    """Go on from sample k, in `held` and `kept`, too; where the robot is then."""
    spec, ref = controller.spec, controller.reference
    q = rounded(by.S @ at.q + by.offset, by.resolution)
    e = ref.q[k] - q
    if (off := ~(np.abs(e) < by.lost)).any():  # not a number counts
        where = (
            f"motor {controller.model.motors.names[off.argmax()]} is more than {by.lost[off.argmax()]:g} rad or m off"
        )
        raise Diverged(_lost(k, where, spec, verdict))
    rate = filtered_rate(held.rate, e - (held.last if k else e), controller.step, spec.derivative_filter)
    try:
        command, near = controller.torque(k, e, rate, held.near)
        waiting = np.concatenate([held.waiting, command[None]])
        tau = np.clip(waiting[0], -by.limits, by.limits)
        controller.hear(k, q, tau)
        for rows, row in zip(kept, (q, tau, waiting[0], at.q, at.cd, at.taken), strict=True):
            rows[k] = row
        if k < len(ref.c) - 1:
            at = stepper.held(at, controller.step, tau + by.pushes[k])
    except (ClosureFailed, ShapeMismatch):  # the latter where numbers overflow
        raise Diverged(_lost(k, "the loops no longer close", spec, verdict)) from None
    held.near[:], held.rate[:], held.last[:], held.waiting[:] = near, rate, e, waiting[1:]
    return at


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
    asked = follow_motion(parts(robot, None), ref.c, ref.cd, ref.cdd, True, np.zeros(len(constant)))
    most = np.abs(asked.nominal).max(axis=0)
    rng, t = np.random.default_rng(spec.seed), np.arange(len(ref.c)) * controller.step
    frequency, phase = rng.uniform(0, spec.up_to, (SINES, len(most))), rng.uniform(0, 2 * np.pi, (SINES, len(most)))
    waves = sum(np.sin(2 * np.pi * f * t[:, None] + p) for f, p in zip(frequency, phase, strict=True))
    return np.asarray(constant + spec.percent / 100 * most * waves / np.abs(waves).max(axis=0))


def _lost(k: int, what: str, spec: ControllerFile, verdict: Stability) -> str:
    cure = (
        "look at its torque limits, its disturbance and its model"
        if verdict.stable
        else "sample faster, delay less or lower the gains"
    )
    return f"the controlled robot diverged at t = {k / spec.rate:.4g} s: {what}; {verdict.sentence(spec)}; {cure}"
