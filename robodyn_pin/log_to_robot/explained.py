"""The errors that torques of picked samples have, by all parameters and by the bodies of the robot's files; a guess undone."""

from dataclasses import replace

import numpy as np

from robodyn_pin.errors import ClosureFailed
from robodyn_pin.log_to_robot.clear_gain import AS_GOOD, TriedErrors, gain_of
from robodyn_pin.log_to_robot.lean import leaning
from robodyn_pin.log_to_robot.overconstraint import FAR
from robodyn_pin.log_to_robot.picked_samples import STRETCHES, Explanations, Picked, PickedRows, picked_rows
from robodyn_pin.log_to_robot.usual_guesses import Guess
from robodyn_pin.robot.robot import Robot

NOTHING = 0.03  # share of what a body asks for, as the robot's files have it, below which it weighs a thousandth rather than a tenth


def undone(samples: Picked, guess: Guess) -> Picked:
    """The samples as they were without the mistake that is guessed."""
    if guess.zeros is not None:
        return replace(samples, q=samples.q - guess.zeros)
    if guess.delay is not None:
        return samples.earlier(guess.delay, guess.motors or range(samples.tau.shape[1]))
    return samples.changed(guess.positions, guess.torques, guess.time)


def closed_with(robot: Robot, samples: Picked, near: np.ndarray | None = None) -> "Explained | None":
    """The explained samples; None without samples, or where the loops do not close. `near` as `close_motors` takes it."""
    rows = _rows(robot, samples, near)
    return None if rows is None else Explained(robot, samples, rows)


def _rows(robot: Robot, samples: Picked, near: np.ndarray | None = None) -> PickedRows | None:
    try:
        return picked_rows(robot, samples, near) if len(samples.q) else None
    except ClosureFailed:
        return None


class Trials:
    """Guesses about the same samples. Those in a row that change the motion alike share its equations."""

    def __init__(self, robot: Robot, samples: Picked) -> None:
        self.robot, self.samples = robot, samples
        self._motion: tuple[object, ...] = ()
        self._equations: PickedRows | None = None

    def closed(self, guess: Guess) -> "Explained | None":
        """The samples explained when a guess about the motion is undone; None as `closed_with`."""
        robot, samples = guess.robot or self.robot, undone(self.samples, guess)
        if guess.gravity is not None:
            robot = leaning(robot, guess.gravity)
        zeros = b"" if guess.zeros is None else guess.zeros.tobytes()
        motion = id(guess.robot), guess.gravity, guess.time, guess.positions.tobytes(), zeros
        if motion != self._motion:
            self._motion, self._equations = motion, _rows(robot, samples)
        return None if self._equations is None else Explained(robot, samples, self._equations)


class Explained:
    """What guesses about torques and bodies share: the equations at the positions of the log."""

    def __init__(self, robot: Robot, samples: Picked, rows: PickedRows) -> None:
        self.fits = Explanations(robot, rows, samples)
        # Where more encoders than degrees of freedom agree with the loops, their positions are right.
        self.open = len(robot.motors.names) == len(robot.coordinates.names) or rows.miss > FAR
        self.tau = samples.tau
        every = np.ones(len(samples.tau), bool)
        self._parts = np.array([*(samples.stretch == s for s in range(STRETCHES)), every], float)  # (STRETCHES + 1, M)
        # What any bodies, and what those of the robot's files, leave (M, d).
        self.left = self.fits.free(samples.tau), self.fits.own(samples.tau)
        self.asis = self._errors(*self.left, samples.tau)

    def tried(self, tau: np.ndarray, values: np.ndarray | None = None) -> TriedErrors:
        """The errors for torques `tau`; other `values` (p,) of the bodies change nothing where all parameters are fitted."""
        if values is None:
            return self._errors(self.fits.free(tau), self.fits.own(tau), tau)
        return replace(self.asis, own=self._logs(self.fits.own(tau, values), tau))

    def without(self, offset: np.ndarray) -> TriedErrors:
        """The errors for the torques without constant ones (n,), relative to the torques of the log: the former may be smaller."""
        tau = self.tau - offset
        return self._errors(self.fits.free(tau), self.fits.own(tau), self.tau)

    def one_body_explains(self, errors: np.ndarray) -> bool:
        """Whether the bodies of the robot's files, one of them replaced by any other, explain the torques about as well as `errors` say."""
        groups = range(self.fits.bodies.shape[2] // 10)
        return any(gain_of(errors, self._logs(self.fits.own_but(self.tau, g), self.tau)) < AS_GOOD for g in groups)

    def looks_weightless(self, body: int) -> bool:
        """Whether a group of bodies asks, as the robot's files have it, for more than all torques, and next to none of that is there.

        A body that is too heavy by a small factor is no such one, nor a light one whose absence makes good for errors of the others.
        """
        without = self.fits.values.copy()
        without[10 * body : 10 * body + 10] = 0.0
        size = np.sqrt(np.mean(self.fits.rows.measured(self.tau) ** 2, axis=0))
        rest, whole = (
            self.fits.own(self.tau, values) / np.where(size > 0, size, 1.0) for values in (without, self.fits.values)
        )
        asked = rest - whole  # by the body alone
        if np.mean(asked**2, axis=0).max() < 1:
            return False
        return bool(abs(np.vdot(asked, rest) / np.vdot(asked, asked)) < NOTHING)

    def _errors(self, free: np.ndarray, own: np.ndarray, tau: np.ndarray) -> TriedErrors:
        return TriedErrors(self._logs(free, tau), self._logs(own, tau))

    def _logs(self, left: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Errors as `TriedErrors` holds them. With more motors than coordinates, what the motors give a coordinate may cancel:
        errors are relative to the size of all that reaches it."""
        rows = self.fits.rows
        alone = tau.shape[1] == left.shape[1]
        energy = rows.measured(tau) ** 2 if alone else np.einsum("nij,ni->nj", rows.B**2, tau**2)
        remaining, whole = (np.log(np.maximum(self._parts @ squares, 1e-300)) for squares in (left**2, energy))
        return np.asarray(remaining - whole)
