"""Going from one moment of a simulated robot to the next, by compiled kernels where they are there, else by Pinocchio."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing import close
from robodyn_pin.dynamics.equations import driving, forward_dynamics
from robodyn_pin.robot.robot import State
from robodyn_pin.simulation.machine import Machine, machine_of
from robodyn_pin.simulation.schemes import Scheme
from robodyn_pin.simulation.sticking import SETTLED

KERNEL = "robodyn_pin.simulation.kernel_step"

Function = Callable[
    [float, np.ndarray, np.ndarray], np.ndarray
]  # t, c (d,), c' (d,) -> torques (n,) or accelerations (d,)


@dataclass(frozen=True)
class Moment:
    """Where a robot is, closed, between two steps."""

    c: np.ndarray  # (d,)
    cd: np.ndarray  # (d,)
    q: np.ndarray  # (nv,)
    stretch: np.ndarray  # (m,) of the stops of friction that remembers [rad or m]
    taken: float = 0.0  # by friction along axes and stops since the beginning, where friction sticks [J]


@dataclass(frozen=True)
class Stepper:
    """A robot and its scheme, on one of two paths, which agree but for round-off."""

    scheme: Scheme
    machine: Machine | None  # None: Pinocchio computes
    rubbing: int = 0  # axes of friction

    def begin(self, c: np.ndarray, cd: np.ndarray, near: np.ndarray, label: Callable[[int], str]) -> Moment:
        """The robot at c, c' (d,), its stops relaxed.

        Args:
            near: joint positions (nv,) where closing begins. label: what to call that in an error.

        Raises:
            ClosureFailed: it cannot be there.
        """
        apart = self.scheme.sticking
        q = self.scheme.robot.close(c[None], cd[None], 0 * c[None], near, label).q[0]
        return Moment(np.array(c, float), np.array(cd, float), q, np.zeros(len(apart.stops.radius) if apart else 0))

    def held(self, at: Moment, h: float, tau: np.ndarray) -> Moment:
        """The robot after h [s] under constant motor torques tau (n,).

        Raises:
            ClosureFailed: out of reach on the way.
        """
        part, steps = h / self.scheme.steps, self.scheme.steps
        if self.machine is not None:
            kernel, after = kernel_choice.kernel(KERNEL), _copied(at)
            if self.scheme.sticking is None:
                fine = all(
                    kernel.hold_smooth(self.machine, after.q, after.c, after.cd, part, tau) for _ in range(steps)
                )
            else:
                turns = self.scheme.sticking.turns
                fine, taken = kernel.hold(
                    self.machine, self.rubbing, after.q, after.c, after.cd, after.stretch, part, steps, tau, turns
                )
                after = replace(after, taken=at.taken + taken)
            if fine:
                return after
        for _ in range(steps):
            at = self._plain(at, 0.0, part, lambda *_: tau)
        return at

    def driven(self, at: Moment, t: float, h: float, torque: Function) -> Moment:
        """The robot after h [s] from t under motor torques (n,) that depend on time, c and c'; raises as `held`."""
        part = h / self.scheme.steps
        for k in range(self.scheme.steps):
            after = None if self.machine is None else self._compiled(at, t + k * part, part, torque)
            at = self._plain(at, t + k * part, part, torque) if after is None else after
        return at

    def _plain(self, at: Moment, t: float, h: float, torque: Function) -> Moment:
        scheme = self.scheme
        robot, apart = scheme.robot, scheme.sticking
        if apart is None:
            c, cd = runge_kutta(partial(self._falling, torque, at.q), t, at.c, at.cd, h)
            return replace(at, c=c, cd=cd, q=self._closed(c, at.q))

        def push(state: State, rate: np.ndarray) -> np.ndarray:
            there = robot.coordinates.S @ state.q[0] + robot.coordinates.offset
            return driving(robot, state, torque(t + h / 2, there, rate)[None], scheme.wrench)[0]

        c, cd, _, taken = apart.step(at.c, at.cd, h, push, at.q, at.stretch)
        q = self._closed(c, at.q)
        return Moment(c, cd, q, apart.stops.follow(at.stretch, at.q, q), at.taken + taken)

    def _closed(self, c: np.ndarray, near: np.ndarray) -> np.ndarray:
        robot = self.scheme.robot
        axes = robot.coordinates
        return close(robot.loops, axes.S, axes.offset, c[None], near)[0]

    def _falling(self, torque: Function, near: np.ndarray, t: float, c: np.ndarray, cd: np.ndarray) -> np.ndarray:
        """Accelerations (d,)."""
        return forward_dynamics(self.scheme.robot, c[None], cd[None], torque(t, c, cd)[None], self.scheme.wrench, near)[
            0
        ]

    def _compiled(self, at: Moment, t: float, h: float, torque: Function) -> Moment | None:
        """None where the kernels do not find the way."""
        kernel, machine, apart = kernel_choice.kernel(KERNEL), self.machine, self.scheme.sticking
        q, taken = at.q.copy(), 0.0
        if apart is None:

            def falling(time: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
                cdd = np.empty_like(x)
                return cdd if kernel.falling_sample(machine, q, x, v, torque(time, x, v), cdd) else np.nan * cdd

            c, cd = runge_kutta(falling, t, at.c, at.cd, h)
            fine = bool(np.isfinite(c).all() and np.isfinite(cd).all())
        else:
            middle, mean, after = at.c + h / 2 * at.cd, at.cd.copy(), at.cd.copy()
            for turn in range(apart.turns):
                last, tau = after.copy(), torque(t + h / 2, middle, mean)
                fine, taken = kernel.turn_once(
                    machine, self.rubbing, q, at.c, at.cd, mean, after, h, tau, at.stretch, 1
                )
                if not fine:
                    return None
                if turn and np.abs(after - last).max() <= SETTLED * (h + np.abs(after).max()):
                    break
            c, cd, fine = at.c + h * mean, after, True
        stretch = at.stretch.copy()
        landed = fine and kernel.land(machine, at.q, q, c, stretch)
        return Moment(c, cd, q, stretch, at.taken + taken) if landed else None


def stepper_of(scheme: Scheme) -> Stepper:
    """Who goes the steps of a scheme."""
    if not kernel_choice.installed() or not kernel_choice.chosen(kernel_choice.FEW):
        return Stepper(scheme, None)
    axes = scheme.sticking.rows if scheme.sticking else np.zeros((0, scheme.robot.model.nv))
    return Stepper(scheme, machine_of(scheme.robot, axes, scheme.wrench), len(axes))


def _copied(at: Moment) -> Moment:
    return Moment(at.c.copy(), at.cd.copy(), at.q.copy(), at.stretch.copy(), at.taken)


def runge_kutta(
    accelerate: Function, t: float, c: np.ndarray, cd: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """c, c' (d,) after one step h [s] of order 4 from t."""
    middle, a1 = t + h / 2, accelerate(t, c, cd)
    v2 = cd + h / 2 * a1
    a2 = accelerate(middle, c + h / 2 * cd, v2)
    v3 = cd + h / 2 * a2
    a3 = accelerate(middle, c + h / 2 * v2, v3)
    v4 = cd + h * a3
    a4 = accelerate(t + h, c + h * v3, v4)
    return c + h / 6 * (cd + 2 * v2 + 2 * v3 + v4), cd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
