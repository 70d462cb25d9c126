"""SIMULATED fleets of the IRB 360: friction scatters from robot to robot and from day to day, some robots are changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from simulated import SHORT, SIGMA

from robodyn_pin.dynamics.regressor import columns, known_efforts, state_regressor
from robodyn_pin.fleets.members import Fold, MemberLogs
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.log_to_robot.from_memory import all_samples
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.robot import Robot

SETTINGS = {
    "preparation": {"filter": {"order": 4, "cutoff": 40}},
    "rows": {"filter": {"order": 4, "cutoff": 40}, "cut": 40, "every": 2},
    "bounds": {"mass": [0.01, 5.0]},
    "separate": True,
    "choose": {"folds": 3},
}
BETWEEN, DAILY, DAYS = 0.05, 0.02, 10  # scatter of friction from robot to robot and from day to day, in parts of itself


@dataclass(frozen=True)
class Changed:
    """What one robot has otherwise: parameters by label, in parts of themselves; motors' constants, a day."""

    parts: Mapping[str, float] = field(default_factory=dict)
    a_day: Mapping[str, float] = field(default_factory=dict)


def changed_body(body: str, share: float) -> Changed:
    """A body that lost or gained a share of itself."""
    return Changed(
        {f"{name}({body})": share for name in ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}
    )


class SimulatedFleet:
    """The rows of one motion, from which the torques of any robot of the type follow."""

    def __init__(
        self, robot: Robot, settings: Mapping[str, object] = SETTINGS, motion: FourierMotion = SHORT, between: float = BETWEEN
    ):  # fmt: skip
        self.between = between
        self.robot, self.run = ready_to_fold(robot, settings)
        t, c, cd, cdd = fourier(motion, self.robot.coordinates.names)
        state = self.robot.close(c, cd, cdd)
        self.t, self.q = t, state.q @ self.robot.motors.S.T + self.robot.motors.offset
        self.W, self.known = state_regressor(self.robot, state), known_efforts(self.robot, state)
        named = columns(self.robot)
        self.labels, self.values = named.layout.labels, named.values
        self.friction = np.array(["(" in x and x.split("(")[0] in ("coulomb", "viscous") for x in self.labels])

    def own_values(self, change: Changed, rng: np.random.Generator) -> np.ndarray:
        """The parameters of one robot (p,)."""
        n = len(self.values)
        assert set(change.parts) <= set(self.labels), change  # else nothing would change
        parts = np.array([change.parts.get(label, 0.0) for label in self.labels])
        return self.values * (1 + np.where(self.friction, self.between * rng.normal(size=n), 0.0)) * (1 + parts)

    def logs(self, name: str, change: Changed, rng: np.random.Generator, days: int = DAYS) -> list[Log]:
        """Logs of one robot, one a day."""
        own, n, motors = self.own_values(change, rng), len(self.values), self.robot.motors.names
        found = []
        for day in range(days):
            x = own * (1 + np.where(self.friction, DAILY * rng.normal(size=n), 0.0))
            tau = self.W @ x + self.known
            tau *= 1 + day * np.array([change.a_day.get(m, 0.0) for m in motors])
            noisy = tau + SIGMA * rng.normal(size=tau.shape)
            found.append(Log(f"{name} {day}", self.t, self.q, noisy, simulated=True))
        return found

    def member(self, name: str, change: Changed, rng: np.random.Generator, days: int = DAYS) -> MemberLogs:
        """The same, folded."""
        logs = windows([all_samples(self.robot, log) for log in self.logs(name, change, rng, days)])
        evidence = evidence_of(self.robot, self.run, logs)
        order = [log.content for log in logs]
        when = np.array([order.index(leaf.content) for leaf in evidence.leaves], float)
        return MemberLogs(name, evidence, when)

    def fleet(self, many: int, changes: Mapping[int, Changed], seed: int, days: int = DAYS) -> Fold:
        """A fleet in which the robots of these numbers are changed."""
        rng = np.random.default_rng(seed)
        none = Changed()
        return Fold(tuple(self.member(f"robot_{k}", changes.get(k, none), rng, days) for k in range(many)), "day", ())
