"""One step in time of a robot whose friction sticks: Coulomb's friction is a set at rest, and implicit in the rates after the step.

With M, J and all forces in the middle of the step, J the rates of the axes that rub by those of the coordinates,

    M (c'+ - c') = h (B'tau - bias - J'D J (c' + c'+) / 2) - J'p,   low <= p / h <= high,

an axis that slides has p at its end, one that sticks anything between. That is Gauss' principle: p is a bounded least-squares problem,
its solution is unique in c'+. The rest of friction (viscous and the like) is D, in proportion to the mean rate. The scheme is of order 2
while axes slide or stick, of order 1 across their changes; friction never gives energy.

Source: Moreau 1988, time stepping; Acary & Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, 2008.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts, state_mass_matrix
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.robot.efforts import stacks
from robodyn_pin.robot.friction_models import MEMORY, RUBBING, SHAPES, EffortSpec, basis
from robodyn_pin.robot.robot import Robot, State

SHARP, BLUNT = 1e-30, 1e30  # [rad/s or m/s] widths at which tanh(x' / width) is the sign of x', and nothing
SLOWEST = 1e-9  # [rad/s or m/s] rate at which friction of an axis at rest is taken
ROUNDS, SETTLED = 100, 1e-10  # of loads under friction that grows with them, and the change of rates that ends them
TURNS = 50  # changes between sliding and sticking that are tried within a step
NONE = 1e-12  # of the largest: a rank that is round-off

Push = Callable[[State, np.ndarray], np.ndarray]  # the state and c' (d,) there -> driving efforts (d,)


@dataclass(frozen=True)
class Rub:
    """Friction of one model on some axes."""

    axes: np.ndarray  # (r,) which of all axes that rub
    rows: np.ndarray  # (r, nv) of these
    shifts: np.ndarray  # (r,)
    values: np.ndarray  # (r, k) coefficients
    sharp: EffortSpec  # its change of sign a jump
    blunt: EffortSpec  # without what changes sign
    load: bytes | None  # what tells the loads that it grows with, if any

    def ends(self, q: np.ndarray, xd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What changes sign and what does not (2, r), forward and back, at joint positions (nv,) and rates xd (r,) without sign."""
        x, both = np.tile(self.rows @ q + self.shifts, (2, 1)), np.array([xd, -xd])
        whole, smooth = (
            (basis(spec, x, both, 0 * both) * self.values).sum(axis=-1) for spec in (self.sharp, self.blunt)
        )
        return whole - smooth, smooth


@dataclass(frozen=True)
class Sticking:
    """A robot, taken apart into friction along axes and all the rest."""

    robot: Robot
    rest: Robot  # without that friction
    rows: np.ndarray  # (A, nv) the axes
    rubs: tuple[Rub, ...]

    def step(
        self, c: np.ndarray, cd: np.ndarray, h: float, push: Push, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """c, c' (d,) after h [s], and which axes stuck (A,).

        Args:
            near: joint positions (nv,) where closing begins.

        Raises:
            ClosureFailed: the middle of the step is out of reach.
        """
        middle = self.robot.close((c + h / 2 * cd)[None], cd[None], 0 * cd[None], near)
        M, J = state_mass_matrix(self.rest, middle)[0], self.rows @ middle.T[0]
        after = mean = cd
        stuck = np.zeros(len(J), bool)
        for turn in range(ROUNDS if any(effort.bears for effort in self.robot.efforts) else 2):
            last = after
            state = middle if mean is cd else self.rest.state(middle.q, mean[None], 0 * cd[None])
            loads = with_loads(self.robot, state.accelerated(((after - cd) / h)[None])).loads
            low, high, damping = self._friction(state.q[0], loads, J @ mean)
            smooth = push(state, mean) - coordinate_efforts(self.rest, replace(state, loads=loads))[0]
            D = h / 2 * J.T @ (damping[:, None] * J)
            after, stuck = slowed(M + D, J, M @ cd + h * smooth - D @ cd, h * low, h * high)
            mean = (cd + after) / 2
            if turn and np.abs(after - last).max() <= SETTLED * (h + np.abs(after).max()):
                break  # loads that friction grows with have settled
        return c + h * mean, after, stuck

    def _friction(
        self, q: np.ndarray, loads: Mapping[bytes, np.ndarray] | None, xd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ends of Coulomb friction low, high (A,), and the rest of friction over the rate (A,), at rates x' (A,)."""
        low, high, damping = np.zeros((3, len(xd)))
        for rub in self.rubs:
            rate = np.maximum(np.abs(xd[rub.axes]), SLOWEST)
            signed, smooth = rub.ends(q, rate)
            if rub.load is not None and loads:
                signed = signed * loads[rub.load][0]
            np.add.at(high, rub.axes, np.maximum(signed[0], 0))
            np.add.at(low, rub.axes, np.minimum(signed[1], 0))
            np.add.at(damping, rub.axes, np.where(xd[rub.axes] < 0, -smooth[1], smooth[0]) / rate)
        return low, high, damping


def sticking(robot: Robot) -> Sticking:
    """The robot, its friction along axes taken apart; friction in balls and pins, and with memory, stays with the rest."""
    along = [e for e in robot.efforts if not e.closures and not e.spec.warmth]  # a simulated robot is warm
    rubbing = [e for e in along if e.spec.model in RUBBING and e.spec.model != MEMORY]
    alike, alone = stacks(rubbing)
    axes = np.unique(np.array([row for e in rubbing for row in e.rows]).reshape(-1, robot.model.nv), axis=0)

    def rub(spec: EffortSpec, own: np.ndarray, shifts: np.ndarray, values: np.ndarray, load: bytes | None) -> Rub:
        which = np.array([int((axes == row).all(axis=1).argmax()) for row in own], int)
        has = "width" in SHAPES.get(spec.model, ())
        sharp, blunt = (spec.model_copy(update={"width": width} if has else {}) for width in (SHARP, BLUNT))
        return Rub(which, own, shifts, values, sharp, blunt, load)

    rubs = [rub(x.spec, x.rows, x.shifts, x.values, None) for x in alike]
    for e in (rubbing[i] for i in alone):
        rubs.append(
            rub(e.spec, e.rows, e.shifts, np.tile(e.initial, (len(e.rows), 1)), e.load_key if e.bears else None)
        )
    others = tuple(e for e in robot.efforts if not any(e is r for r in rubbing))
    return Sticking(robot, replace(robot, efforts=others), axes, tuple(rubs))


def slowed(
    M: np.ndarray, J: np.ndarray, momentum: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rates c' (d,) with M c' + J'p = momentum, low <= p <= high (A,) and p at an end where the axis slides; which axes stick (A,).

    A semismooth Newton (primal-dual active sets) on least squares in p; where it goes round in circles, SciPy's bounded
    least squares has the last word.
    """
    L = np.linalg.cholesky(M)
    K, y = np.linalg.solve(L, J.T), np.linalg.solve(L, momentum)  # x' = K'(y - K p)
    able = high > low
    p, size = np.clip(0.0, low, high), np.maximum((K**2).sum(axis=0), np.finfo(float).tiny)
    side = None
    for _ in range(TURNS):
        wanted = p + (K.T @ (y - K @ p)) / size
        before, side = side, np.where(wanted > high, 1, np.where(wanted < low, -1, 0)) * able
        stick = able & (side == 0)
        p = np.where(side > 0, high, np.where(side < 0, low, 0.0))
        if stick.any():
            p[stick] = np.linalg.lstsq(K[:, stick], y - K @ p, rcond=None)[0]
        if before is not None and (side == before).all():
            break
    else:
        p, stick = _bounded(K, y, low, high, able)
    if np.linalg.matrix_rank(K[:, stick], tol=NONE * np.sqrt(size.max())) == len(y):
        return np.zeros(len(y)), stick  # nothing moves, not even by round-off
    return np.linalg.solve(L.T, y - K @ p), stick


def _bounded(
    K: np.ndarray, y: np.ndarray, low: np.ndarray, high: np.ndarray, able: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    from scipy.optimize import lsq_linear

    p, stick = np.zeros(len(low)), able.copy()
    found = lsq_linear(K[:, able], y, (low[able], high[able]), method="bvls")
    p[able], stick[able] = found.x, found.active_mask == 0
    return p, stick
