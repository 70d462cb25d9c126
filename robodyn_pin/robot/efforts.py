"""Efforts on a robot: the columns that friction, rotor inertia, springs and cables add to the tree's joints.

Along a joint, a motor or a combination of joints with rate x' = k'v the tree gets k f(x, x', x'') @ coefficients. In
the balls and pins of loops, cut joints whose members turn against each other with w = J_w v, it gets J_w' w/|w| f(|w|).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import FRAMES, KINDS
from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.axes import Axes, as_motor, resolve_axes
from robodyn_pin.robot.effort_checks import check_effort
from robodyn_pin.robot.friction_models import (
    FRICTION,
    LOAD,
    MEMORY,
    EffortSpec,
    Shape,
    WarmthSpec,
    basis,
    coefficient_names,
    slopes,
)
from robodyn_pin.robot.robot_file import MotorSpec

# Closures whose members turn against each other, and rub.
TURNING = [name for name, kind in KINDS.items() if kind.formula == FRAMES and kind.turns < 3]


@dataclass(frozen=True)
class Effort:
    """An effort whose names are resolved; all that it acts along shares its coefficients."""

    spec: EffortSpec
    name: str  # in labels
    rows: np.ndarray  # (r, nv) k of the joints, motors and combinations
    shifts: np.ndarray  # (r,) x = k'q + shift [rad or m]
    closures: tuple[str, ...]  # cut joints in which it rubs
    loops: Loops
    carriers: tuple[str, ...] = ()  # struts or bearings that friction with load grows with, of each row and closure
    slope: Shape | None = None  # columns are derivatives by this shape parameter

    @property
    def labels(self) -> list[str]:
        """Return the names of the coefficients, `viscous(phi1)` and the like."""
        return [f"{name}({self.name})" for name in coefficient_names(self.spec)]

    @property
    def initial(self) -> np.ndarray:
        """Return the coefficients of the robot file, zero where it gives none, shape (k,)."""
        given = self.spec.coefficients if self.spec.coefficients is not None else self.spec.initial
        values = np.zeros(len(self.labels))
        if given is not None:
            values[:] = given
        return values

    @property
    def memory(self) -> bytes:
        """Return what its stops run along and their radii; empty where it needs nothing but the present state."""
        return self.rows.tobytes() + np.array(self.spec.stops or []).tobytes() if self.spec.model == MEMORY else b""

    @property
    def bears(self) -> bool:
        """Return whether it grows with what the rigid bodies ask of its axes, or of a strut or bearing."""
        return self.spec.model == LOAD

    @property
    def load_key(self) -> bytes:
        """Return what tells its loads from those of other efforts."""
        said = repr((self.closures, self.carriers, self.spec.strut is None)) if self.carriers else ""
        return self.rows.tobytes() + said.encode()

    @property
    def grows_with(self) -> str:
        """Return what friction with load grows with, in words."""
        what = "strut" if self.spec.strut is not None else "bearing"
        if self.carriers:
            return f"the force along {what} {' and '.join(map(repr, dict.fromkeys(self.carriers)))}"
        return "what the bodies ask of its axis"

    @property
    def radii(self) -> np.ndarray:
        """Return the radii (k,) of its stops [rad or m].

        Raises:
            BadFile: the robot file names none.
        """
        if self.spec.stops is None:
            raise BadFile(
                f"effort {MEMORY!r} on {self.name!r} has no radii: give 'stops: [...]' [rad or m], or identify the robot, "
                "whose file then says them"
            )
        return np.array(self.spec.stops)

    def columns(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, stops: Mapping[bytes, np.ndarray] | None = None,
        loads: Mapping[bytes, np.ndarray] | None = None, warmth: Mapping[WarmthSpec, np.ndarray] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the efforts that coefficients of one put on the tree's joints (N, nv, k) at N samples of q, v, a (N, nv).

        Args:
            stops, loads, warmth: of the state, where it has them; without warmth the robot is warm, and at the reference.

        Raises:
            BadFile: friction with memory, and the motion before is not known; with load, and the load is not known.
        """
        rows = self.rows
        if self.spec.warmth and warmth is None:
            return np.zeros((*v.shape, len(self.labels)))
        if self.memory:
            return np.einsum("nrk,rj->njk", self._remembered(stops), rows)
        along = self._model(q @ rows.T + self.shifts, v @ rows.T, a @ rows.T)
        if self.bears:
            along = along * self._load(loads)[:, : len(rows), None]
        total = np.einsum("nrk,rj->njk", along, rows)
        if self.closures:
            axes = self.loops.axes(q)
            for name, moments in zip(self.closures, self._moments(axes, v, loads), strict=True):
                total += self.loops.turning(name)[:, None] * (axes.transpose(0, 2, 1) @ moments)
        return total * warmth[self.spec.warmth][:, None, None] if self.spec.warmth and warmth else total

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return every x' and |w| that the effort acts along, (N, r + closures) [rad/s or m/s]."""
        turned = [np.linalg.norm(w, axis=1) for w in self._turning(self.loops.axes(q), v)] if self.closures else []
        return np.column_stack([v @ self.rows.T, *turned])

    def moments(
        self, q: np.ndarray, v: np.ndarray, loads: Mapping[bytes, np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the friction moment (N, 3) in each closure, world axes [N m]. It acts on the first member; the second gets its opposite."""
        if not self.closures:
            return {}
        found = self._moments(self.loops.axes(q), v, loads)
        return {name: moment @ self.initial for name, moment in zip(self.closures, found, strict=True)}

    def _moments(self, axes: np.ndarray, v: np.ndarray, loads: Mapping[bytes, np.ndarray] | None) -> list[np.ndarray]:
        """Return w/|w| f(|w|) of each closure for coefficients of one (N, 3, k), times its load; axes (N, 3, nv)."""
        found = []
        for k, w in enumerate(self._turning(axes, v)):
            speed = np.linalg.norm(w, axis=1)
            direction = w / np.where(speed > 0, speed, 1.0)[:, None]
            size = self._model(0 * speed, speed, 0 * speed)
            if self.bears:
                size = size * self._load(loads)[:, len(self.rows) + k, None]
            found.append(direction[:, :, None] * size[:, None, :])
        return found

    def _turning(self, axes: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
        """Return the relative angular velocity w (N, 3) of each closure."""
        return [np.einsum("nij,nj->ni", axes, self.loops.turning(name) * v) for name in self.closures]

    def _remembered(self, stops: Mapping[bytes, np.ndarray] | None) -> np.ndarray:
        if stops is None:
            raise BadFile(
                f"friction {MEMORY!r} of {self.name!r} depends on the motion before: identify, predict, forces, joints, simulate, "
                "plan and pose follow it; for anything else give the robot 'coulomb' friction there instead"
            )
        return stops[self.memory]

    def _load(self, loads: Mapping[bytes, np.ndarray] | None) -> np.ndarray:
        if loads is None:
            raise BadFile(
                f"friction {LOAD!r} of {self.name!r} grows with {self.grows_with}, and that was not worked out here; give "
                "the robot 'coulomb' friction there instead"
            )
        return loads[self.load_key]

    def _model(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        return slopes(self.spec, self.slope, x, xd) if self.slope else basis(self.spec, x, xd, xdd)


@dataclass(frozen=True)
class Stack:
    """Efforts on joints, motors and combinations that have the same model: one call evaluates them all."""

    spec: EffortSpec
    members: tuple[int, ...]  # places of the efforts in the list that was stacked
    rows: np.ndarray  # (r, nv) of all axes
    shifts: np.ndarray  # (r,)
    first: np.ndarray  # (members,) number of each effort's first axis
    values: np.ndarray  # (r, k) coefficients

    def basis(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the model's columns along each axis (N, r, k) at N samples of q, v, a (N, nv)."""
        return basis(self.spec, q @ self.rows.T + self.shifts, v @ self.rows.T, a @ self.rows.T)

    def tree(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the sum of the efforts on the tree's joints (N, nv)."""
        if (motion := {"viscous": v, "armature": a}.get(self.spec.model)) is not None:
            return motion @ self._proportional
        return np.asarray((self.basis(q, v, a) * self.values).sum(axis=-1) @ self.rows)

    @cached_property
    def _proportional(self) -> np.ndarray:
        """Efforts on the joints (nv, nv) per rate or acceleration of the joints, of efforts that are proportional to it."""
        return (self.rows.T * self.values[:, 0]) @ self.rows


def stacks(efforts: Sequence[Effort]) -> tuple[tuple[Stack, ...], tuple[int, ...]]:
    """Return the efforts on axes, those of one model together, and the places of the others: in closures, derivatives, with memory, load or warmth."""
    alike: dict[str, list[int]] = {}
    others = []
    for i, effort in enumerate(efforts):
        if effort.closures or effort.slope or effort.memory or effort.bears or effort.spec.warmth:
            others.append(i)
            continue
        model = effort.spec.model_dump_json(exclude={"of", "name", "initial", "known", "fit"})
        alike.setdefault(model, []).append(i)
    return tuple(_stack(efforts, members) for members in alike.values()), tuple(others)


def _stack(efforts: Sequence[Effort], members: Sequence[int]) -> Stack:
    same = [efforts[i] for i in members]
    rows, shifts = (np.concatenate([getattr(e, name) for e in same]) for name in ("rows", "shifts"))
    first = np.cumsum([0, *(len(e.rows) for e in same[:-1])])
    values = np.concatenate([np.tile(e.initial, (len(e.rows), 1)) for e in same])
    return Stack(same[0].spec, tuple(members), rows, shifts, first, values)


def resolve_effort(spec: EffortSpec, model: pin.Model, motors: Axes, loops: Loops, where: str) -> Effort:
    """Return the effort on a robot's joints, motors and closures.

    Raises:
        BadFile: its model lacks something, or does not go with closures. UnknownName: no such joint, motor or closure.
    """
    check_effort(spec, where)
    if not spec.of:
        raise BadFile(f"{where}: effort {spec.model!r} acts on nothing; name a joint, motor or closure under 'of'")
    lines: list[str | MotorSpec] = []
    closures: list[str] = []
    on_axes: list[str] = []
    in_closures: list[str] = []
    given = spec.strut if spec.bearing is None else spec.bearing
    if isinstance(spec.of, dict):
        lines.append(as_motor(spec.of))
        on_axes = [given] if isinstance(given, str) else given or []
    else:
        kinds = {closure.name: closure.kind for closure in loops.closures}
        known = [*list(model.names)[1:], *motors.names]
        members = _members(spec, where)
        for name, carrier in zip(members, given if isinstance(given, list) else [given] * len(members), strict=True):
            if name in known and kinds.get(name) in TURNING:
                raise BadFile(
                    f"{where}: effort {spec.model!r} on {name!r}: a closure and a joint or motor have that name"
                )
            if name in known:
                lines.append(name)
                if carrier is not None:
                    on_axes.append(carrier)
            elif name in kinds:
                _check_rubbing(spec, name, kinds[name], where)
                closures.append(name)
                if carrier is not None:
                    in_closures.append(carrier)
            else:
                raise UnknownName("joint, motor or closure", name, f"{where}, efforts", [*known, *kinds])
    along = resolve_axes(model, lines, motors)
    label = spec.name or "=".join([*along.names, *closures])
    return Effort(spec, label, along.S, along.offset, tuple(closures), loops, (*on_axes, *in_closures))


def _members(spec: EffortSpec, where: str) -> list[str]:
    """Check the names under `of` and return them."""
    names = spec.of if isinstance(spec.of, list) else [str(spec.of)]
    for name in names:
        if names.count(name) > 1:
            raise BadFile(f"{where}: effort {spec.model!r} names {name!r} twice under 'of'; it would count double")
    return names


def _check_rubbing(spec: EffortSpec, closure: str, kind: str, where: str) -> None:
    if kind not in TURNING:
        raise BadFile(
            f"{where}: effort {spec.model!r} on closure {closure!r}: nothing turns in a {kind}; expected one of "
            f"{', '.join(TURNING)}"
        )
    if spec.model not in FRICTION and not (spec.model == LOAD and (spec.strut or spec.bearing)):
        raise BadFile(
            f"{where}: effort {spec.model!r} cannot act in closure {closure!r}, only friction can: {', '.join(FRICTION)}, and "
            f"{LOAD} with the 'strut' or 'bearing' whose force it grows with"
        )


def refuse_warmth(efforts: Sequence[Effort], who: str) -> None:
    """Raise BadFile where friction has warmth, which `who` does not follow."""
    if warm := [effort.name for effort in efforts if effort.spec.warmth]:
        raise BadFile(
            f"{who} does not follow the 'warmth' of efforts, and the robot has some on {', '.join(warm)}; take it out"
        )
