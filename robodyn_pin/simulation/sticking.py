"""One step in time of a robot whose friction sticks: Coulomb's friction is a set at rest, and implicit in the rates after the step.

With M, J and all forces in the middle of the step, J the rates of the axes that rub by those of the coordinates,

    M (c'+ - c') = h (B'tau - bias - J'D J (c' + c'+) / 2) - J'p,   low <= p / h <= high,

an axis that slides has p at its end, one that sticks anything between. A stop of friction with memory (`maxwell_slip`) is a spring of
stiffness k = strength / radius that slides at its strength: p / h = k (z + z+) / 2, z+ = clip(z + J h (c' + c'+) / 2, -radius, radius),
which takes out of its motion exactly what it stores and what its sliding loses. Both are Gauss' principle: p is a bounded least-squares
problem, its solution is unique in c'+. Of the rest, friction (viscous and the like) is D, in proportion to the mean rate, and springs
are taken at the mean position. The scheme is of order 2 while axes slide or stick, of order 1 across their changes. Friction
takes energy in every step but one in which an axis turns round: there its sign is that of the rate after the step, whatever the mean.

Source: Moreau 1988, time stepping; Acary & Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, 2008.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts, state_mass_matrix
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.robot.efforts import Effort, stacks
from robodyn_pin.robot.friction_models import RUBBING, SHAPES, EffortSpec, basis
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.simulation.bounded import bounded

SHARP, BLUNT = 1e-30, 1e30  # [rad/s or m/s] widths at which tanh(x' / width) is the sign of x', and nothing
SLOWEST = 1e-9  # [rad/s or m/s] rate at which friction of an axis at rest is taken
ROUNDS, SETTLED = 100, 1e-10  # of loads under friction that grows with them, and the change of rates that ends them

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
class Stops:
    """Friction with memory: m springs that slide, each on its own or with others of its axis."""

    rows: np.ndarray  # (m, nv) of their axes
    radius: np.ndarray  # (m,) [rad or m]
    stiffness: np.ndarray  # (m,) [N m/rad or N/m]

    def follow(self, stretch: np.ndarray, before: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Stretch z+ (m,) after a move of the joints (nv,)."""
        return np.clip(stretch + self.rows @ (q - before), -self.radius, self.radius)


@dataclass(frozen=True)
class Sticking:
    """A robot, taken apart into friction along axes and all the rest."""

    robot: Robot
    rest: Robot  # without that friction
    rows: np.ndarray  # (A, nv) the axes
    rubs: tuple[Rub, ...]
    stops: Stops
    springs: tuple[
        np.ndarray, np.ndarray
    ]  # rows (s, nv) of linear springs, which stay with the rest, and stiffnesses (s,)

    @property
    def turns(self) -> int:
        """How often a step is worked out at most: what depends on the rates in its middle, and loads under friction that grows with them."""
        return ROUNDS if any(effort.bears for effort in self.robot.efforts) else 2

    def step(
        self, c: np.ndarray, cd: np.ndarray, h: float, push: Push, near: np.ndarray, stretch: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """c, c' (d,) after h [s], which axes stuck (A,), and what friction along axes and stops took [J].

        Args:
            near: joint positions (nv,) where closing begins. stretch: z (m,) of the stops.

        Raises:
            ClosureFailed: the middle of the step is out of reach.
        """
        middle = self.robot.close((c + h / 2 * cd)[None], cd[None], 0 * cd[None], near)
        T = middle.T[0]
        J, (rows, stiffness) = self.rows @ T, self.springs
        M = state_mass_matrix(self.rest, middle)[0] + h**2 / 4 * (rows @ T).T @ (stiffness[:, None] * (rows @ T))
        after = mean = cd
        stuck = np.zeros(len(J), bool)
        for turn in range(self.turns):
            last = after
            state = middle if mean is cd else self.rest.state(middle.q, mean[None], 0 * cd[None])
            loads = with_loads(self.robot, state.accelerated(((after - cd) / h)[None])).loads
            low, high, damping = self._friction(state.q[0], loads, J @ mean)
            smooth = push(state, mean) - coordinate_efforts(self.rest, replace(state, loads=loads))[0]
            D = h / 2 * J.T @ (damping[:, None] * J)
            memory = self._memory(T, cd, h, stretch)
            after, stuck = slowed(M + D, J, M @ cd + h * smooth - D @ cd, h * low, h * high, after, memory)
            mean = (cd + after) / 2
            if turn and np.abs(after - last).max() <= SETTLED * (h + np.abs(after).max()):
                break  # loads that friction grows with have settled
        taken = M @ (cd - after) + h * smooth  # the momentum that all this friction took; M with springs
        return c + h * mean, after, stuck, float(mean @ taken)

    def _memory(self, T: np.ndarray, cd: np.ndarray, h: float, stretch: np.ndarray) -> "Memory":
        J, k, r = self.stops.rows @ T, self.stops.stiffness, self.stops.radius
        stiff = h**2 * k / 4
        return Memory(
            J, stiff, h * k * stretch + stiff * (J @ cd), h * k / 2 * (stretch - r), h * k / 2 * (stretch + r)
        )

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
    """The robot, its friction along axes taken apart; friction in balls and pins stays with the rest."""
    along = [e for e in robot.efforts if not e.closures and not e.spec.warmth]  # a simulated robot is warm
    remembering = [e for e in robot.efforts if e.memory]
    rubbing = [e for e in along if e.spec.model in RUBBING and not e.memory]
    alike, alone = stacks(rubbing)
    nv = robot.model.nv
    axes = np.unique(_stacked(nv, [e.rows for e in rubbing]), axis=0)

    def rub(spec: EffortSpec, own: np.ndarray, shifts: np.ndarray, values: np.ndarray, load: bytes | None) -> Rub:
        which = np.array([int((axes == row).all(axis=1).argmax()) for row in own], int)
        has = "width" in SHAPES.get(spec.model, ())
        sharp, blunt = (spec.model_copy(update={"width": width} if has else {}) for width in (SHARP, BLUNT))
        return Rub(which, own, shifts, values, sharp, blunt, load)

    rubs = [rub(x.spec, x.rows, x.shifts, x.values, None) for x in alike]
    for e in (rubbing[i] for i in alone):
        values = np.tile(e.initial, (len(e.rows), 1))
        rubs.append(rub(e.spec, e.rows, e.shifts, values, e.load_key if e.bears else None))
    others = tuple(e for e in robot.efforts if not any(e is r for r in (*rubbing, *remembering)))
    springs = [e for e in along if e.spec.model == "spring"]
    stiffness = np.array([max(e.initial[0], 0.0) for e in springs for _ in e.rows])
    rest = replace(robot, efforts=others)
    return Sticking(
        robot, rest, axes, tuple(rubs), _stops(nv, remembering), (_stacked(nv, [e.rows for e in springs]), stiffness)
    )


def _stops(nv: int, remembering: list[Effort]) -> Stops:
    each = [
        (row, radius, strength)
        for e in remembering
        for row in e.rows
        for radius, strength in zip(e.radii, e.initial, strict=True)
    ]
    radius, strength = np.array([x for _, *x in each]).reshape(-1, 2).T
    return Stops(np.array([row for row, *_ in each]).reshape(-1, nv), radius, strength / radius)


def _stacked(nv: int, rows: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros((0, nv)), *rows])


class Memory(NamedTuple):
    """Stops in one step: p = clip(begin + stiff x'+, low, high)."""

    J: np.ndarray  # (m, d)
    stiff: np.ndarray  # (m,)
    begin: np.ndarray  # (m,)
    low: np.ndarray  # (m,)
    high: np.ndarray  # (m,)


def slowed(
    M: np.ndarray, J: np.ndarray, momentum: np.ndarray, low: np.ndarray, high: np.ndarray, guess: np.ndarray,
    memory: Memory | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Rates c' (d,) with M c' + J'p = momentum, low <= p <= high (A,) and p at an end where the axis slides; which axes stick (A,).

    Args:
        guess: of c', for where to begin. memory: what pulls besides.
    """
    d, axes = J.shape[1], len(J)
    L = np.linalg.cholesky(M)
    K, y = np.linalg.solve(L, J.T).T, np.linalg.solve(L, momentum)  # x' = K (y - p K)
    xd = J @ guess
    slow = np.abs(xd) <= SLOWEST
    p, free = np.where(slow, 0.0, np.where(xd > 0, high, low)), slow & (high > low)
    if memory and len(memory.J):
        pulls = memory.stiff > 0
        ease = np.diag(np.sqrt(np.divide(1, memory.stiff, where=pulls, out=np.zeros(len(pulls)))))
        K = np.block([[K, np.zeros((axes, len(ease)))], [np.linalg.solve(L, memory.J.T).T, ease]])
        y = np.r_[y, ease @ memory.begin]
        low, high = np.r_[low, memory.low], np.r_[high, memory.high]
        p, free = np.r_[p, np.clip(memory.begin, memory.low, memory.high)], np.r_[free, pulls]
    bounded(np.ascontiguousarray(K), y, low, high, p, free)
    stuck = free[:axes]
    return (np.zeros(d) if stuck.sum() >= d else np.linalg.solve(L.T, y[:d])), stuck
