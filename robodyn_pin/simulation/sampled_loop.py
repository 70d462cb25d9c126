"""A robot under a controller as plain arrays, for the compiled loop: laws that ask their model at most once a sample."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.simulation.controllers import Controller
from robodyn_pin.simulation.machine import Machine
from robodyn_pin.simulation.stepping import Moment, Stepper

KERNEL = "robodyn_pin.simulation.kernel_loop"
LAWS = ("pd", "feedforward", "computed_torque")


class Law(NamedTuple):
    """A law along a reference of N samples, as `Controller.torque`."""

    asks: bool  # the model at the measured pose; else torques are those at no error and P e + D e'
    projected: bool  # P e + D e', onto what moves the robot
    P: np.ndarray  # (n, n)
    D: np.ndarray  # (n, n)
    stiffness: float  # [1/s^2] of the coordinates, where it asks
    drag: float  # [1/s]
    c: np.ndarray  # (N, d)
    cd: np.ndarray  # (N, d)
    cdd: np.ndarray  # (N, d)
    q: np.ndarray  # (N, n) motors
    B: np.ndarray  # (N, n, d)
    back: np.ndarray  # (N, d, n) coordinates per motor position
    nominal: np.ndarray  # (N, n)
    friction: np.ndarray  # (N, d) added along the coordinates
    inner: np.ndarray  # (n,) torques of which the part that moves nothing is added


class Sampling(NamedTuple):
    """What lies between the law and the robot."""

    S: np.ndarray  # (n, nv) motor positions per joint
    offset: np.ndarray  # (n,)
    resolution: np.ndarray  # (n,) of the encoders, at the motors' joints [rad or m]; 0: exact
    step: float  # [s]
    cutoff: float  # [Hz] of the derivative; 0: none
    limits: np.ndarray  # (n,)
    lost: np.ndarray  # (n,) errors from which on the robot has diverged
    pushes: np.ndarray  # (N, n)


class Remembered(NamedTuple):
    """What a sampled controller remembers, arrays that change."""

    near: np.ndarray  # (joints of the model,) where it believes them
    rate: np.ndarray  # (n,) of the errors
    last: np.ndarray  # (n,) errors
    waiting: np.ndarray  # (delay, n) commands on their way


class Kept(NamedTuple):
    """A row for each sample, as `Tracking`; `cd` are rates of the simulated coordinates."""

    q: np.ndarray
    tau: np.ndarray
    commanded: np.ndarray
    joints: np.ndarray
    cd: np.ndarray
    taken: np.ndarray


@dataclass(frozen=True)
class CompiledLoop:
    """A stage of a controlled motion whose samples one compiled function goes through."""

    stepper: Stepper
    known: Machine
    law: Law
    by: Sampling

    def run(self, begin: int, end: int, at: Moment, held: Remembered, kept: Kept) -> tuple[int, Moment]:
        """Go from sample `begin` to `end`; the one that was reached, which others must master if it is not the end, and the robot there."""
        q, c, cd, stretch = at.q.copy(), at.c.copy(), at.cd.copy(), at.stretch.copy()
        apart, machine = self.stepper.scheme.sticking, self.stepper.machine
        reached, taken = kernel_choice.kernel(KERNEL).run_samples(
            machine, self.stepper.rubbing, apart.turns if apart else 0, self.stepper.scheme.steps, self.known, self.law,
            self.by, held, kept, q, c, cd, stretch, at.taken, begin, end,
        )  # fmt: skip
        return reached, Moment(c, cd, q, stretch, taken)


def compiled_loop(stepper: Stepper, controller: Controller, by: Sampling) -> CompiledLoop | None:
    """None where Python must go from sample to sample."""
    spec, ref, machine = controller.spec, controller.reference, stepper.machine
    if machine is None or spec.law not in LAWS:
        return None
    asks = spec.law == "computed_torque"
    known = controller.knowledge.machines[spec.friction_at == "measured"] if asks else machine
    if known is None:
        return None
    rubbing = ref.friction * (asks and spec.friction_at == "desired")
    gains, settings = controller.feedback, (controller.stiffness, controller.drag)
    rows = (ref.c, ref.cd, ref.cdd, ref.q, ref.B, controller.to_coordinates, ref.nominal, rubbing, controller.inner)
    P, D, *arrays = (np.ascontiguousarray(x, float) for x in (gains.P, gains.D, *rows))
    return CompiledLoop(stepper, known, Law(asks, spec.projection, P, D, *settings, *arrays), by)
