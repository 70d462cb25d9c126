"""Inverse dynamics for control loops: what does not change is worked out once, and each sample begins at the one before."""

from math import isfinite

import numpy as np
from scipy.linalg.lapack import dgelsd, dgelsd_lwork, dgesv

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.kernel_tables import Tree, tree_table
from robodyn_pin.dynamics.equations import coordinate_efforts, motor_torques
from robodyn_pin.dynamics.rigid_loads import body_parameters, with_loads
from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.robot.masses import check_known
from robodyn_pin.robot.robot import Robot, State


class Prepared:
    """A robot whose samples come one by one, along a trajectory; for one thread alone."""

    def __init__(self, robot: Robot):
        check_known(robot)
        self.robot, self.last = robot, robot.home  # where the joints were at the last sample (nv,)
        S, offset = robot.coordinates.S, robot.coordinates.offset
        (self._d, nv), self._axes = S.shape, kernel_choice.ready(S, offset)
        self._compiled = robot.loops.compiled(S) if robot.loops.size and kernel_choice.installed() else None
        self._tree_alone = tree_table(robot.model) if not robot.loops.size and kernel_choice.installed() else None
        if not (self._compiled or self._tree_alone):
            return
        self._solve = kernel_choice.kernel("robodyn_pin.closures.kernel_solve")
        self._bodies = kernel_choice.kernel("robodyn_pin.dynamics.kernel")
        self._given = kernel_choice.ready(robot.model.gravity.linear, body_parameters(robot))
        self._bears = any(effort.bears for effort in robot.efforts)
        self._q, self._g, self._v, self._tree = np.zeros((4, 1, nv))
        self._c, self._cd, self._T = np.empty((1, self._d)), np.empty((1, self._d)), np.empty((1, nv, self._d))
        if self._tree_alone:  # the coordinates are the joints, up to a change of axes
            self._T[0] = np.linalg.inv(S)
        spare = len(robot.motors.S) - self._d
        self._work = tuple(map(int, dgelsd_lwork(self._d, len(robot.motors.S), 1)[:2])) if spare > 0 else None

    def inverse_dynamics(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
        """Motor torques (n_motors,) [N m or N] of one sample c, c', c'' (d,), as `inverse_dynamics` gives them from the last pose.

        Raises:
            ShapeMismatch: not float arrays (d,), or not finite. ClosureFailed: out of reach; the last pose stays.
            Underactuated: no motor torques make this motion.
        """
        if not np.shape(c) == np.shape(cd) == np.shape(cdd) == (self._d,):
            raise ShapeMismatch(
                f"c, cd and cdd have shapes {np.shape(c)}, {np.shape(cd)}, {np.shape(cdd)}, expected ({self._d},) each: "
                "one sample, one value for each coordinate"
            )
        state = self._closed(c, cd, cdd)
        if state is None:
            return self._usual(c, cd, cdd)
        total = self._tree
        self._bodies.efforts(self._table, *self._given, state.q, state.v, state.a, total)
        if self._bears:
            state = with_loads(self.robot, state, asked=total)
        on_axes, in_closures = self.robot.effort_stacks
        for stack in on_axes:
            total += stack.tree(state.q, state.v, state.a)
        for effort in in_closures:
            total += effort.columns(state.q, state.v, state.a, loads=state.loads) @ effort.initial
        self.last = state.q[0].copy()
        T = state.T[0]
        tau = self._driven((self.robot.motors.S @ T).T, total[0] @ T)
        return motor_torques(self.robot, state, total @ T)[0] if tau is None else tau

    @property
    def _table(self) -> Tree | None:
        return self._compiled[0] if self._compiled else self._tree_alone

    def _driven(self, B: np.ndarray, efforts: np.ndarray) -> np.ndarray | None:
        """Motor torques of least norm with B tau = efforts (d,); None at a dead point, where others say what is missing.

        `np.linalg.solve` and `pinv` take two and ten times as long.
        """
        if B.shape[0] == B.shape[1]:
            *_, tau, stuck = dgesv(B, efforts)
            return None if stuck else np.asarray(tau)
        if self._work is None:
            return None
        longer = np.concatenate([efforts, np.zeros(B.shape[1] - len(efforts))])
        tau, _, rank, failed = dgelsd(B, longer, *self._work)
        return np.asarray(tau) if rank == len(efforts) and not failed else None

    def _closed(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> State | None:
        """The closed state (N = 1) in this object's arrays; None where the kernels do not find it."""
        if self._tree_alone:
            T = self._T[0]
            q, v, a = (T @ (c - self._axes[1]))[None], (T @ cd)[None], (T @ cdd)[None]
            return State(q, v, a, self._T, self._g) if np.isfinite(q + v + a).all() else None
        if not self._compiled:
            return None
        S, offset = self._axes
        self._c[0], self._cd[0] = c, cd
        closed, regular, q, T, v = np.zeros(1, bool), np.empty(1, bool), self._q, self._T, self._v
        self._solve.follow_samples(*self._compiled, S, offset, self._c, self.last, False, False, q, closed, 0)
        if not closed[0]:
            return None
        self._solve.project_samples(*self._compiled, S, q, self._cd, T, self._g, v, regular)
        a = self._g + T[0] @ cdd
        return State(q, v, a, T, self._g) if regular[0] and isfinite(a.sum()) else None

    def _usual(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
        """As the public call, begun at the last pose; it names what is wrong."""
        state = self.robot.close(c[None], cd[None], cdd[None], self.last)
        tau = motor_torques(self.robot, state, coordinate_efforts(self.robot, state))[0]
        self.last = state.q[0]
        return tau


def prepared(robot: Robot) -> Prepared:
    """Return the robot prepared for a control loop; kernels are loaded (the first time on a machine: compiled) here.

    Example:
        >>> loop = rp.prepared(robot)
        >>> tau = loop.inverse_dynamics(c, cd, cdd)  # one sample, (d,) each

    Raises:
        BadFile: the robot's files do not give the masses.
    """
    found = Prepared(robot)
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset
    if found._closed(c, 0 * c, 0 * c):
        found._bodies.efforts(found._table, *found._given, found._q, found._v, found._v, found._tree)
    return found
