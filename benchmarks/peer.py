"""What a peer does beside us, and the states that both are asked at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from arm import arm
from run import bare

from robodyn_pin.dynamics.regressor import body_regressor
from robodyn_pin.robot.robot import Robot, State

NEAR = 0.1  # [rad or m] around home
Arrays = Callable[[], np.ndarray]


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """How far two answers are apart, relative to the largest number."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@dataclass(frozen=True)
class Peer:
    """Two functions that answer the same question."""

    what: str
    name: str
    differs: str  # what the peer leaves out, or does beyond
    ours: Arrays
    theirs: Arrays
    calls: int  # samples, steps or plans in one call
    agree: float
    compare: Callable[[np.ndarray, np.ndarray], float] = apart


@dataclass(frozen=True)
class States:
    """A robot without friction in closed states."""

    robot: Robot
    state: State

    @property
    def what(self) -> str:
        return f"{self.robot.name}: regressor, a sample"

    @property
    def differs(self) -> str:
        return "the tree's rows alone, not projected through the loops" if self.robot.loops.size else "nothing"

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The coordinates c, c', c'' (N, d)."""
        S, offset, at = self.robot.coordinates.S, self.robot.coordinates.offset, self.state
        return at.q @ S.T + offset, at.v @ S.T, at.a @ S.T

    def regressor(self) -> np.ndarray:
        """Ours: W = T'Y (N, d, columns)."""
        return body_regressor(self.robot, self.state.q, self.state.v, self.state.a)

    def tree(self) -> np.ndarray:
        """Pinocchio's rows of all joints (N, nv, 10 bodies)."""
        model, at = self.robot.model, self.state
        data = model.createData()
        each = zip(at.q, at.v, at.a, strict=True)
        return np.array([pin.computeJointTorqueRegressor(model, data, *x).copy() for x in each])

    def projected(self, tree: np.ndarray) -> np.ndarray:
        """The rows of all joints as our regressor has them."""
        columns = (10 * (self.robot.body_columns[0] - 1)[:, None] + np.arange(10)).ravel()
        return np.einsum("ijk,ijl->ikl", self.state.T, tree[:, :, columns])


def states(samples: int) -> Iterator[States]:
    """A serial arm, an IRB 360 and a DualV, near home."""
    for robot in (arm(), bare("irb360"), bare("dualv")):
        rng = np.random.default_rng(0)
        home = robot.coordinates.S @ robot.home + robot.coordinates.offset
        c = home + NEAR * rng.uniform(-1, 1, (samples, len(home)))
        yield States(robot, robot.close(c, *rng.normal(size=(2, *c.shape))))
