"""Where the work of a controlled robot's motors went, and what friction held, worked out anew from the motion that was simulated."""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.dynamics.equations import state_energy, tree_efforts
from robodyn_pin.dynamics.rigid_loads import body_efforts, with_loads
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import MEMORY, RUBBING
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.robot.stops import run_stops
from robodyn_pin.simulation.closed_loop import Tracking
from robodyn_pin.simulation.stages import Stage
from robodyn_pin.simulation.sticking import SLOWEST, Stops, sticking


@dataclass(frozen=True)
class Balance:
    """N samples; works are done from the first sample to each one [J]."""

    energy: np.ndarray  # (N,) kinetic and potential, of the bodies and rotors
    motors: np.ndarray  # (N,) work of the motors
    disturbance: np.ndarray  # (N,) work of the disturbing torques
    friction: np.ndarray  # (N,) what friction took; falls, by little, only in steps in which an axis turns round
    other: np.ndarray  # (N,) what springs, offsets and cogging took, and stops of friction that remembers hold
    axes: tuple[str, ...]  # (A,) on which friction acts
    stuck: np.ndarray  # (N, A) which of them stood still
    brought: np.ndarray  # (N,) energy that a load had when it came on

    @property
    def missing(self) -> np.ndarray:
        """Work that is nowhere (N,): the error of the integration, and of works summed from sample to sample."""
        return (
            self.motors + self.disturbance + self.brought - self.friction - self.other - (self.energy - self.energy[0])
        )


def balance(found: Tracking) -> Balance:
    """The balance of a controlled motion, stage by stage: of each robot that was simulated, in its coordinates.

    Motor torques are held over a sample, their work is exact. Where friction sticks, what it took is the momentum that each step
    gave it times the mean rate of that step; elsewhere, and in balls and pins, it is that of the robot's files at the mean rate from one
    sample to the next. An axis that does not move loses nothing.
    """
    ends = [*(stage.begin for stage in found.stages[1:]), len(found.t) - 1]
    each = [_of_stage(stage, found.between(stage.begin, end)) for stage, end in zip(found.stages, ends, strict=True)]
    whole = each[0]
    for one in each[1:]:
        begin = {name: getattr(whole, name)[-1] for name in ("motors", "disturbance", "friction", "other", "brought")}
        begin["brought"] += one.energy[0] - whole.energy[-1]
        joined = {name: np.r_[getattr(whole, name)[:-1], x + getattr(one, name)] for name, x in begin.items()}
        energy, stuck = np.r_[whole.energy[:-1], one.energy], np.vstack([whole.stuck[:-1], one.stuck])
        whole = replace(whole, energy=energy, stuck=stuck, **joined)
    return whole


def _of_stage(stage: Stage, found: Tracking) -> Balance:
    robot = stage.robot
    S, moved = robot.coordinates.S, np.diff(found.joints, axis=0)
    h = np.diff(found.t)[:, None]
    at = robot.state(found.joints, found.rates @ S.T, 0 * found.rates @ S.T)
    middle = robot.state(found.joints[:-1] + moved / 2, moved / h @ S.T, np.diff(found.rates, axis=0) / h @ S.T)
    # Where friction sticks, the steps know what they took along axes; elsewhere its law along the motion tells.
    stepped = stage.scheme.sticking is not None
    rubbing = [e for e in robot.efforts if _rubs(e) and (e.closures or not stepped)]
    lost = _of(robot, rubbing, replace(with_loads(robot, middle), v=moved / h))
    stored = _of(robot, [e for e in robot.efforts if not _rubs(e)], at)
    driven, apart = moved @ robot.motors.S.T, sticking(robot)
    slid, stretched = _remembered(apart.stops, found.joints)
    works = (
        (found.tau[:-1] * driven).sum(axis=1),
        (found.disturbance[:-1] * driven).sum(axis=1),
        (lost * moved).sum(axis=1) + (np.diff(found.taken) - stretched if stepped else slid),
        ((stored[:-1] + stored[1:]) / 2 * moved).sum(axis=1) + stretched,
    )
    motors, disturbance, friction, other = (np.r_[0.0, x.cumsum()] for x in works)
    rows = np.unique(np.concatenate([apart.rows, apart.stops.rows]), axis=0)
    names, still = tuple(_name(robot, row) for row in rows), np.abs(found.rates @ rows.T) <= SLOWEST
    kinetic, potential = state_energy(robot, at)
    return Balance(kinetic + potential, motors, disturbance, friction, other, names, still, np.zeros(len(found.t)))


def _remembered(stops: Stops, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the stops lost by sliding, and what they stored, from each of N samples (N, nv) to the next (N - 1,) [J]."""
    x = q @ stops.rows.T
    z = run_stops(x, stops.radius, 0 * x[0], x[0])
    pulled = (stops.stiffness * (z[:-1] + z[1:]) / 2 * np.diff(x, axis=0)).sum(axis=1)
    stored = np.diff((stops.stiffness / 2 * z**2).sum(axis=1))
    return pulled - stored, stored


def _rubs(effort: Effort) -> bool:
    return effort.spec.model in RUBBING


def _of(robot: Robot, efforts: list[Effort], state: State) -> np.ndarray:
    """Efforts in the tree (N, nv) of some of the robot's, without rotors and friction that remembers."""
    part = replace(robot, efforts=tuple(e for e in efforts if e.spec.model not in ("armature", MEMORY)))
    return tree_efforts(part, state) - body_efforts(part, state)


def _name(robot: Robot, row: np.ndarray) -> str:
    """What a motor or joint is called that moves as `row` (nv,) says, or the combination of joints."""
    for name, own in zip(robot.motors.names, robot.motors.S, strict=True):
        if (own == row).all():
            return name
    joints = list(robot.model.names)[1:]
    return "+".join(joints[i] if row[i] == 1 else f"{row[i]:g} {joints[i]}" for i in np.flatnonzero(row))
