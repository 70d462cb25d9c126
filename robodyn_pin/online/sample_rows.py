"""Regressor rows of a single sample from the sample before: the same as for many samples, but without their fixed costs."""

from itertools import pairwise

import numpy as np
import pinocchio as pin

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing_near import close_near
from robodyn_pin.dynamics.regressor import KERNEL, body_table, neighbours
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.robot.efforts import stacks
from robodyn_pin.robot.robot import State


class SampleRows:
    """Closes the loops and makes the rows of the tracked parameters, one sample at a time; keeps the arrays that do not change."""

    def __init__(self, tracked: Tracked):
        self._tracked, self._robot = tracked, tracked.robot
        robot = tracked.robot
        self._bodies = body_table(robot)
        self._neighbours = neighbours(*robot.body_columns)
        self._compiled = robot.loops.compiled(robot.coordinates.S) if kernel_choice.installed() else None
        unknown = [e for e in robot.efforts if not e.spec.known]
        ends = np.cumsum([10 * len(robot.body_groups), *(len(e.labels) for e in unknown)])
        columns = [np.arange(begin, end) for begin, end in pairwise(ends)]
        found, others = stacks(unknown)
        self._stacks = [(stack, np.concatenate([columns[i] for i in stack.members])) for stack in found]
        self._others = [(unknown[i], columns[i]) for i in others]
        self._known = [e for e in robot.efforts if e.spec.known]

    def close(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, near: np.ndarray | None) -> State:
        """The closed state (one sample) at c, c', c'' (d,).

        Args:
            near: joint positions (nv,) close to it, from which fewer steps lead there; None: not known.

        Raises:
            ClosureFailed: the coordinates are out of reach.
        """
        robot = self._robot
        if near is None:
            return robot.close(c[None], cd[None], cdd[None])
        axes = robot.coordinates
        q, v, a, T = close_near(robot.loops, axes.S, axes.offset, c, cd, cdd, near)
        return State(q[None], v[None], a[None], T[None], (a - T @ cdd)[None])

    def rows(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Rows (d, r) and known efforts (d,) of one closed state."""
        T = state.T[0]
        W = self._inertial(state)
        for stack, columns in self._stacks:
            along = (stack.rows @ T).T[:, :, None] * stack.basis(state.q, state.v, state.a)
            W[:, columns] = np.add.reduceat(along, stack.first, axis=1).reshape(len(W), -1)
        for effort, columns in self._others:
            W[:, columns] = T.T @ effort.columns(state.q, state.v, state.a, state.stops)[0]
        known = W @ self._tracked.structure.offset
        for effort in self._known:
            known += T.T @ (effort.columns(state.q, state.v, state.a, state.stops)[0] @ effort.initial)
        return W @ self._tracked.parameter_map, known

    def _inertial(self, state: State) -> np.ndarray:
        """The regressor W (d, p) with the columns of the bodies filled, the others zero."""
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
