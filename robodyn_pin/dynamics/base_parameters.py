"""Which combinations of the bodies' parameters a robot can show at all, whatever its motion: the same for every command."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.dynamics.memory import anyhow
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.identification.base_parameters import BaseSet, base_set, bodies_base_set
from robodyn_pin.identification.fold import Factor, triangle, weighted
from robodyn_pin.robot.robot import Robot

STATES = 400  # random states that show which parameters can be told apart
AROUND = 0.3  # [rad or m] of home, on the joints' side of gears


def bodies_base(robot: Robot, rows: np.ndarray | None = None) -> BaseSet:
    """Base set of the columns of the robot's bodies, a payload among them.

    A log's rows are `cleaned` with it before their own rank is decided: what depends on each other but for rounded numbers in
    a URDF would else count as shown.

    Args:
        rows: (n, p) at random states, if they are at hand.
    """
    rows = random_rows(robot, np.random.default_rng(0)) if rows is None else rows
    bodies = rows[:, : 10 * len(robot.body_groups)]
    empty = bodies.copy()
    empty[:, robot.payload_columns] = 0.0
    return bodies_base_set(triangle(np.concatenate([bodies, empty]) if robot.payload else bodies))


def shown_base(robot: Robot, groups: Sequence[Factor], order: np.ndarray | None = None) -> BaseSet:
    """Base set of what a log's folded rows, one group for each coordinate, show; `order` as in `base_set`."""
    return base_set(bodies_base(robot).cleaned(weighted(groups, np.ones(len(groups)))[:, :-1]), order)


def random_rows(robot: Robot, rng: np.random.Generator) -> np.ndarray:
    """Rows of the regressor (n, p) at random states around home; those out of reach, and no others, are drawn nearer.

    States and efforts are on the joints' side of gears, so that a motor's gear does not decide what can be told apart.
    """
    gear = gears(robot)
    S, offset = robot.coordinates.S, robot.coordinates.offset
    home = S @ robot.home + offset
    away = AROUND * gear * rng.uniform(-1, 1, (STATES, len(gear)))
    cd, cdd = gear * rng.normal(size=(2, *away.shape))
    while True:
        try:
            state = robot.close(home + away, cd, cdd)
        except ClosureFailed as error:
            _, closed = reachable(robot.loops, S, offset, home + away, robot.home)
            closed[error.sample] = False
            away[~closed] /= 2
            continue
        W = state_regressor(robot, anyhow(robot, state, rng)) * gear[:, None]
        W /= np.linalg.norm(W, axis=(1, 2), keepdims=True)  # near a singular pose all joints are fast
        return W.reshape(-1, W.shape[2])


def gears(robot: Robot) -> np.ndarray:
    """How far each coordinate (d,) moves for one rad or m of the joint that moves it most."""
    return np.abs(robot.coordinates.S).max(axis=1)
