"""Rows of one sample from the one before: what closing and regressor do for many, at the price of one."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing_near import close_near
from robodyn_pin.dynamics.regressor import KERNEL, body_table, neighbours
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import basis
from robodyn_pin.robot.robot import Robot, State


class Alike:
    """Efforts of one model on joints and motors, evaluated at once."""

    def __init__(self, efforts: Sequence[Effort], columns: Sequence[np.ndarray]):
        self._spec = efforts[0].spec
        self._axes = np.concatenate([e.rows for e in efforts])
        self._shifts = np.concatenate([e.shifts for e in efforts])
        self._columns = np.concatenate(list(columns))
        self._first = np.cumsum([0, *(len(e.rows) for e in efforts[:-1])])  # axis of each effort

    def add(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, T: np.ndarray, W: np.ndarray) -> None:
        """Write their columns into W (d, p)."""
        x = basis(self._spec, self._axes @ q + self._shifts, self._axes @ v, self._axes @ a)
        along = (self._axes @ T).T[:, :, None] * x
        W[:, self._columns] = np.add.reduceat(along, self._first, axis=1).reshape(len(W), -1)


class SampleRows:
    """Makes rows of single samples for what is tracked; keeps the arrays that do not change."""

    def __init__(self, tracked: Tracked):
        self._tracked, self._robot = tracked, tracked.robot
        robot = tracked.robot
        self._bodies = body_table(robot)
        self._neighbours = neighbours(*robot.body_columns)
        self._compiled = robot.loops.compiled(robot.coordinates.S) if kernel_choice.installed() else None
        self._alike, self._single = _grouped(robot)
        self._known = [e for e in robot.efforts if e.spec.known]

    def close(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, near: np.ndarray | None) -> State:
        """The closed state (one sample) at c, c', c'' (d,), from joint positions (nv,) close to it if there are any.

        Raises:
            ClosureFailed: out of reach.
        """
        robot = self._robot
        if near is None:
            return robot.close(c[None], cd[None], cdd[None])
        axes = robot.coordinates
        q, v, a, T = close_near(robot.loops, axes.S, axes.offset, c, cd, cdd, near)
        return State(q[None], v[None], a[None], T[None], (a - T @ cdd)[None])

    def rows(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Rows (d, r) and known efforts (d,) of one closed state."""
        q, v, a, T = state.q[0], state.v[0], state.a[0], state.T[0]
        W = self._inertial(state)
        for group in self._alike:
            group.add(q, v, a, T, W)
        for effort, columns in self._single:
            W[:, columns] = T.T @ effort.columns(state.q, state.v, state.a)[0]
        known = W @ self._tracked.structure.offset
        for effort in self._known:
            known += T.T @ (effort.columns(state.q, state.v, state.a)[0] @ effort.initial)
        return W @ self._tracked.map, known

    def _inertial(self, state: State) -> np.ndarray:
        """W (d, p) with the columns of the bodies filled."""
        W = np.zeros((1, state.T.shape[2], self._tracked.layout.size))
        if self._compiled is not None:
            add = kernel_choice.kernel(KERNEL).add_bodies
            moving = kernel_choice.ready(state.q, state.v, state.a, state.T)
            add(self._compiled[0], self._bodies, *moving, W)
            return W[0]
        model, data = self._robot.model, self._robot.loops.data
        Y = pin.computeJointTorqueRegressor(model, data, state.q[0], state.v[0], state.a[0])
        tree = state.T[0].T @ Y.reshape(model.nv, -1)
        for joint, group, width in self._neighbours:
            W[0, :, group : group + width] += tree[:, joint : joint + width]
        return W[0]

    def measured(self, state: State, tau: np.ndarray) -> np.ndarray:
        """B'tau (d,) of motor torques tau (n_motors,)."""
        return np.asarray((self._robot.motors.S @ state.T[0]).T @ tau)


def _grouped(robot: Robot) -> tuple[list[Alike], list[tuple[Effort, np.ndarray]]]:
    """Unknown efforts that are the same function of their axes, together; those in closures with their columns."""
    column, alike, single = 10 * len(robot.body_groups), dict[str, list[tuple[Effort, np.ndarray]]](), []
    for effort in robot.efforts:
        if effort.spec.known:
            continue
        columns = np.arange(column, column + len(effort.labels))
        column += len(effort.labels)
        if effort.closures or effort.slope:
            single.append((effort, columns))
        else:
            shape = effort.spec.model_dump_json(exclude={"of", "name", "initial", "known", "fit"})
            alike.setdefault(shape, []).append((effort, columns))
    groups = [Alike([e for e, _ in same], [c for _, c in same]) for same in alike.values()]
    return groups, single
