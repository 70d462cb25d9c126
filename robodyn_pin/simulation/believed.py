"""What a law asks of the model that it knows, at the state that it believes its robot in: by kernels where they serve, else by Pinocchio."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import coordinate_efforts, motor_map, motor_torques
from robodyn_pin.robot.friction_models import MEMORY
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.machine import Machine, machine_of
from robodyn_pin.simulation.model_torques import Parts

KERNEL = "robodyn_pin.simulation.kernel_law"
GIVEN = 1e-9  # of the efforts: what may be missing of them, so that the motors give them


@dataclass(frozen=True)
class Knowledge:
    """A model as laws ask it, prepared once."""

    model: Robot
    parts: Parts

    @cached_property
    def machines(self) -> dict[bool, Machine | None]:
        """Tables of the model with and without friction; None where kernels cannot serve."""
        none, both = np.zeros((0, self.model.model.nv)), {True: self.parts.whole, False: self.parts.smooth}
        remembers = any(e.spec.model == MEMORY for e in self.model.efforts)
        return {rubs: None if remembers else machine_of(robot, none) for rubs, robot in both.items()}

    def needs(
        self, rubs: bool, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the coordinates need at c (d,) for motions c', c'' (k, d) through it, with friction or without.

        Args:
            near: joint positions (nv,) close by.

        Returns:
            Efforts (k, d), motor rates per coordinate rate (n, d), and the joints there (nv,).

        Raises:
            ClosureFailed: out of reach.
        """
        if kernel_choice.installed() and kernel_choice.chosen(kernel_choice.FEW) and (machine := self.machines[rubs]):
            q, out, B = near.copy(), np.empty_like(cd), np.empty((len(self.model.motors.names), len(c)))
            if kernel_choice.kernel(KERNEL).needs(machine, q, c, cd, cdd, out, B):
                return out, B, q
        robot, still = self.parts.whole if rubs else self.parts.smooth, np.zeros((1, len(c)))
        at = robot.close(c[None], still, still, near)
        state = robot.state(np.repeat(at.q, len(cd), axis=0), cd, cdd)
        return coordinate_efforts(robot, state), motor_map(robot, at)[0], at.q[0]

    def skew(
        self, c: np.ndarray, cd: np.ndarray, along: np.ndarray, cdd: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M c'' + C(c, c') w + gravity and springs along the coordinates (d,), where dM/dt - 2 C is skew; else as `needs`.

        The bias h is quadratic in the rates and C w its polar form: C(c') w = h((c' + w) / 2) - h((c' - w) / 2). That is the matrix of
        Christoffel's symbols, of bodies and loops alike; it need not be built.

        Args:
            c, cd, cdd: (d,). along: w (d,). near: joint positions (nv,) close by.

        Source: Slotine & Li 1987; Ortega & Spong 1989.
        """
        none = np.zeros_like(cd)
        motions = np.array([(cd + along) / 2, (cd - along) / 2, none]), np.array([cdd, none, none])
        (plus, minus, still), B, q = self.needs(False, c, *motions, near)
        return plus - minus + still, B, q

    def torques(self, B: np.ndarray, efforts: np.ndarray, inner: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Motor torques (n,) of least norm that give efforts (d,), and the part of `inner` (n,) that moves nothing.

        Args:
            B: (n, d) at the joints q (nv,).

        Raises:
            Underactuated: no torques do that.
        """
        n, d = B.shape
        try:  # squares are good enough where what is missing says so
            back = np.linalg.solve(B.T @ B, B.T) if n > d else None
            tau = np.linalg.solve(B.T, efforts) if back is None else efforts @ back
        except np.linalg.LinAlgError:
            back, tau = None, np.full(n, np.nan)
        missing = np.abs(efforts - tau @ B).max(initial=0.0)
        if not missing <= GIVEN * np.abs(efforts).max(initial=1e-3):
            still = np.zeros((1, d))
            return motor_torques(self.model, self.model.state(q[None], still, still), efforts[None], inner)[0]
        return np.asarray(tau if back is None else tau + inner - B @ (back @ inner))
