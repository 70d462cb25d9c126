"""Controllers of motors in a sampled loop: PD alone, with feedforward of a model, and laws with the model at the measured state."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts, motor_map, motor_torques, state_mass_matrix
from robodyn_pin.errors import BadFile, NotPhysical, UnknownName
from robodyn_pin.files import read_yaml, resolve
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.believed import Knowledge
from robodyn_pin.simulation.controller_file import PASSIVE, ControllerFile
from robodyn_pin.simulation.learning import Learner
from robodyn_pin.simulation.model_torques import Parts, parts


@dataclass(frozen=True)
class Feedback:
    """Motor torques from motor errors: P e + D e'."""

    P: np.ndarray  # (n, n)
    D: np.ndarray  # (n, n)


@dataclass(frozen=True)
class Reference:
    """What a controller is to follow, N samples at its own rate, as the model that it knows moves along it."""

    c: np.ndarray  # (N, d) coordinates
    cd: np.ndarray  # (N, d)
    cdd: np.ndarray  # (N, d)
    q: np.ndarray  # (N, n) motor positions [rad or m]
    B: np.ndarray  # (N, n, d) motor rates per coordinate rate
    nominal: np.ndarray  # (N, n) torques at no error [N m or N]
    friction: np.ndarray  # (N, d) of the model along the coordinates, at these rates
    start: np.ndarray  # (nv,) joint positions of sample 0


def follow_motion(
    model: Parts,
    c: np.ndarray,
    cd: np.ndarray,
    cdd: np.ndarray,
    fed: bool,
    inner: np.ndarray,
    label: Callable[[int], str] = str,
) -> Reference:
    """The reference of coordinates (N, d).

    Args:
        fed: whether the torques at no error are those that the model needs, or none.
        inner: torques (n,) of which the part that moves nothing is added.
        label: what to call sample i in an error.

    Raises:
        ClosureFailed: the reference leaves the workspace.
    """
    robot, found = model.whole, []
    for _, state in robot.close_parts(c, cd, cdd, label):
        q, asked = state.q @ robot.motors.S.T + robot.motors.offset, coordinate_efforts(robot, state) * fed
        torques, rubbing = motor_torques(robot, state, asked, inner), model.friction(state)
        found.append((q, motor_map(robot, state), torques, rubbing, state.q[:1]))
    q, B, nominal, friction, joints = (np.concatenate(x) for x in zip(*found, strict=True))
    return Reference(c, cd, cdd, q, B, nominal, friction, joints[0])


@dataclass(frozen=True)
class Controller:
    """A controller, the model that it knows, in the coordinates of its reference."""

    spec: ControllerFile
    model: Robot
    reference: Reference
    learner: Learner | None = None  # of law adaptive: hears what the motors do
    rows: np.ndarray | None = None  # (N, d, r) of the parameters that it follows, along the reference

    def hear(self, k: int, q: np.ndarray, tau: np.ndarray) -> None:
        """Take motor positions (n,) at sample k, and the torques (n,) that the motors give from there on."""
        if self.learner is not None:
            self.learner.hear(k, q, tau)

    @property
    def step(self) -> float:
        """Of one sample [s]."""
        return 1 / self.spec.rate

    @cached_property
    def to_coordinates(self) -> np.ndarray:
        """Coordinates per motor position along the reference, by least squares (N, d, n)."""
        return np.linalg.pinv(self.reference.B)

    @cached_property
    def inner(self) -> np.ndarray:
        """Torques (n,) of which the part that moves nothing is added."""
        return by_motor(self.spec.internal, self.model, "internal")

    @cached_property
    def knowledge(self) -> Knowledge:
        """The model that it knows, as its law asks it."""
        return Knowledge(self.model, parts(self.model, self.spec.friction_width))

    @cached_property
    def feedback(self) -> Feedback:
        """Gains of the motors at the model's home, which only those of PD and augmented PD have everywhere.

        With a bandwidth w and a damping z every motor gets p = w^2 I and d = 2 z w I, where the inertias I explain the
        model's mass matrix at home best, B' diag(I) B ~ M, as shares of it: so e'' + 2 z w e' + w^2 e = 0, as Briot et
        al. (DualV), section 5.1, choose their gains.
        """
        M, B = at_home(self.model)
        inverse = np.linalg.pinv(B)
        felt = inverse.T @ M @ inverse  # the mass that motors feel
        if self.spec.law == "computed_torque":
            return Feedback(self.stiffness * felt, self.drag * felt)
        if self.spec.law in PASSIVE:
            K, L = self.passive
            return Feedback(K @ L, K + felt @ L)
        p, d = self._by_motor(M, B)
        return Feedback(np.diag(p), np.diag(d))

    @cached_property
    def passive(self) -> tuple[np.ndarray, np.ndarray]:
        """K [N m s/rad or N s/m] and L [1/s] of passivity-based control (n, n), of motors.

        From a bandwidth w and a damping z the error's poles about home are those of e'' + 2 z w e' + w^2 e = 0: L is the slower one, and
        K as many inertias as the faster one.
        """
        M, B = at_home(self.model)
        if self.spec.gains:
            p, d = self._by_motor(M, B)
            return np.diag(d), np.diag(p / d)
        w, z = 2 * np.pi * (self.spec.bandwidth or 0.0), self.spec.damping or 1.0
        fast = w * (z + np.sqrt(z**2 - 1))
        return fast * np.diag(motor_inertias(M, B)), w**2 / fast * np.eye(len(B))

    def _by_motor(self, M: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gains p, d (n,) of each motor alone; M, B as `at_home`."""
        if self.spec.gains:
            missing = [m for m in self.model.motors.names if m not in self.spec.gains]
            if missing:
                raise BadFile(f"the controller file gives no gains for motor {', '.join(missing)}")
            by_motor(dict.fromkeys(self.spec.gains, 0.0), self.model, "gains")
            p, d = (np.array([getattr(self.spec.gains[m], k) for m in self.model.motors.names]) for k in "pd")
            return p, d
        inertia = motor_inertias(M, B)
        return self.stiffness * inertia, self.drag * inertia

    @property
    def stiffness(self) -> float:
        """w^2 [1/s^2]."""
        return (2 * np.pi * (self.spec.bandwidth or 0.0)) ** 2

    @property
    def drag(self) -> float:
        """2 z w [1/s]."""
        return 4 * np.pi * (self.spec.damping or 0.0) * (self.spec.bandwidth or 0.0)

    def torque(self, k: int, e: np.ndarray, ed: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Motor torques (n,) at sample k for motor errors e = reference - measured, and their rates (n,).

        Args:
            near: joint positions (nv,) close to the measured ones.

        Returns:
            The torques, and the joint positions that the controller believes in, for the next call.
        """
        ref, back = self.reference, self.to_coordinates[k]
        if self.spec.law in ("pd", "feedforward"):
            tau = self.feedback.P @ e + self.feedback.D @ ed
            # Briot et al. (DualV), eq. (50), at the reference's pose.
            return ref.nominal[k] + (ref.B[k] @ (back @ tau) if self.spec.projection else tau), near
        away, drift = back @ e, back @ ed
        wanted = ref.cdd[k] + self.drag * drift + self.stiffness * away
        # Motors alone are measured: the coordinates follow from their small errors, to first order about the reference.
        at, rate = ref.c[k] - away, ref.cd[k] - drift
        if self.spec.law == "computed_torque":
            rubs = self.spec.friction_at == "measured"
            (efforts,), B, q = self.knowledge.needs(rubs, at, rate[None], wanted[None], near)
            efforts = efforts + ref.friction[k] * (self.spec.friction_at == "desired")
        else:
            efforts, B, q = self._augmented(k, e, ed, at, near)
        return self.knowledge.torques(B, efforts, self.inner, q), q

    def _augmented(
        self, k: int, e: np.ndarray, ed: np.ndarray, at: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What laws with the skew matrix ask along the coordinates (d,) at c (d,), as `torque`; else as `Knowledge.needs`."""
        ref, back, B = self.reference, self.to_coordinates[k], self.reference.B[k]
        rate, rates, accelerations = ref.cd[k] - back @ ed, ref.cd[k], ref.cdd[k]
        if self.spec.law == "augmented_pd":
            feedback = self.feedback.P @ e + self.feedback.D @ ed
        else:
            K, L = self.passive
            rates, accelerations = rates + back @ (L @ e), accelerations + back @ (L @ ed)
            feedback = K @ (B @ (rates - rate))
        bodies, there, q = self.knowledge.skew(at, rate, rates, accelerations, near)
        rubbing = ref.friction[k] * (self.spec.friction_at == "desired")
        if self.spec.friction_at == "measured":
            with_friction, without = (
                self.knowledge.needs(rubs, at, rate[None], ref.cdd[k][None], q)[0] for rubs in (True, False)
            )
            rubbing = (with_friction - without)[0]
        learned = self.rows[k] @ self.learner.change if self.learner is not None and self.rows is not None else 0.0
        return np.asarray(bodies + rubbing + learned + B.T @ feedback), there, q


def by_motor(given: dict[str, float], robot: Robot, where: str) -> np.ndarray:
    """Values (n,) of all motors, zero where not given.

    Raises:
        UnknownName: no such motor.
    """
    for name in given:
        if name not in robot.motors.names:
            raise UnknownName("motor", name, f"{where} of the controller file", robot.motors.names)
    return np.array([given.get(name, 0.0) for name in robot.motors.names])


def at_home(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix M (d, d) and motor rates per coordinate rate B (n, d) at the robot's home.

    Raises:
        NotPhysical: the mass matrix is not positive definite, so that torques have no accelerations.
    """
    c = (robot.coordinates.S @ robot.home + robot.coordinates.offset)[None]
    state = robot.close(c, 0 * c, 0 * c)
    M = state_mass_matrix(robot, state)[0]
    if not np.linalg.eigvalsh(M)[0] > 0:
        raise NotPhysical(
            f"robot {robot.name!r} cannot be controlled: its mass matrix at home has the eigenvalue "
            f"{np.linalg.eigvalsh(M)[0]:.3g}; 'robodyn check' names bodies that cannot exist"
        )
    return M, motor_map(robot, state)[0]


def motor_inertias(M: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Inertias I (n,) >= 0 of the motors alone with B' diag(I) B as close to M as possible, relative to M."""
    from scipy.optimize import nnls

    rows = B @ np.linalg.inv(np.linalg.cholesky(M)).T  # there M is the identity
    columns = np.stack([np.outer(b, b).ravel() for b in rows], axis=1)
    return np.asarray(nnls(columns, np.eye(len(M)).ravel())[0])


def filtered_rate(rate: np.ndarray, change: np.ndarray, step: float, cutoff: float | None) -> np.ndarray:
    """Rate of a signal after one more sample, low-pass of first order (bilinear); without cut-off the difference."""
    if cutoff is None:
        return change / step
    w = 2 * np.pi * cutoff
    return ((2 - w * step) * rate + 2 * w * change) / (2 + w * step)


def known_model(spec: ControllerFile, folder: Path, default: Robot) -> Robot:
    """The robot that the controller knows: a path from `folder`, a catalogue name, or the default.

    Raises:
        BadFile, UnknownName: as `load`.
    """
    if spec.model is None:
        return default
    path = resolve(folder, spec.model)
    return load(path if path.exists() else spec.model)


def estimator_settings(spec: ControllerFile, folder: Path) -> TrackFile | None:
    """The settings of the estimator, from their path from `folder`; raises BadFile as `read_yaml`."""
    return None if spec.estimator is None else read_yaml(resolve(folder, spec.estimator.settings), TrackFile)
