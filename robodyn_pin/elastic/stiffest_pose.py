"""The stiffest orientation for a task: where a process force moves the tool least."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.optimize import minimize

from robodyn_pin.closures import kernel_choice
from robodyn_pin.elastic.deviation import Model, bent_levers, deviation_at
from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.pose_rules import ConeSpec, Where, random_poses, room, where_of
from robodyn_pin.elastic.springs import Placed, Springs, motors_of, place
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict

KEPT = 1e-6  # [m, rad or cosine] by which a rule may be missed


class TaskSpec(Strict):
    """A place, a force, and how the tool may lean."""

    position: Vector  # [m] of the tool's point
    force: Vector  # [N] on the tool, axes of the base
    cone: ConeSpec | None = None
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.02  # part of every joint limit that is kept free
    random: Annotated[int, Field(ge=10)] = 300  # poses that are drawn
    starts: Annotated[int, Field(ge=1)] = 8  # how many of the best are improved


@dataclass(frozen=True)
class Task:
    """The stiffest way to do a task, and what chance would give."""

    spec: TaskSpec
    motors: np.ndarray  # (n_motors,) [rad or m]
    q: np.ndarray  # (nv,) of all joints
    turn: np.ndarray  # (3, 3) axes of the tool's frame
    deviation: np.ndarray  # (3,) [m], axes of the base
    random: np.ndarray  # (r,) lengths of the deviations of poses drawn by chance [m]


def stiffest(springs: Springs, k: np.ndarray, model: Model, spec: TaskSpec, seed: int) -> Task:
    """Search for the orientation at the task's place in which its force moves the tool least; k (n,) [N m/rad].

    Raises:
        BadFile: no force. RobodynError: no pose in reach; says what is in the way.
    """
    force = np.array(spec.force)
    if not force.any():
        raise BadFile("task.force is zero; which orientation is stiffest depends on the force")
    where = where_of(springs, spec.position, None, spec.cone, spec.margin)
    c = random_poses(where, spec.random, np.random.default_rng(seed))
    moved = deviation_at(springs, place(springs, c), np.broadcast_to(force, (len(c), 3)), k, model).values
    lengths = np.linalg.norm(moved, axis=1)
    best = c[lengths.argsort()[: spec.starts]]
    with kernel_choice.preferred():
        found = [x for start in best for x in (start, _improved(where, start, force, k)) if _missed(where, x) <= KEPT]
    at = place(springs, np.array(found))
    values = deviation_at(springs, at, np.broadcast_to(force, (len(found), 3)), k, model).values
    i = int(np.linalg.norm(values, axis=1).argmin())
    return Task(spec, motors_of(springs, at)[i], at.q[i], at.turn[i], values[i], lengths)


def _improved(where: Where, start: np.ndarray, force: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Coordinates (d,) from a start by sequential quadratic programming on the linear model, slopes exact."""
    springs, target = where.springs, where.position

    @lru_cache(maxsize=4)
    def at(c: bytes) -> Placed:
        return place(springs, np.frombuffer(c)[None])

    def length(c: np.ndarray) -> tuple[float, np.ndarray]:
        L, dL = (x[0] for x in bent_levers(springs, at(c.tobytes()), k))
        moment = L.T @ force
        moved = L @ (k * moment)  # J K^-1 J' F = sum k_i L_i (L_i . F)
        slope = np.einsum("xsj,s->xj", dL, k * moment) + L @ (k[:, None] * np.einsum("xsj,x->sj", dL, force))
        return float(np.log(np.linalg.norm(moved))), moved @ slope / (moved @ moved)

    rules = [
        {"type": "eq", "fun": lambda c: at(c.tobytes()).point[0] - target, "jac": lambda c: at(c.tobytes()).J[0]},
        {"type": "ineq", "fun": lambda c: room(where, at(c.tobytes()))[0][0], "jac": lambda c: room(where, at(c.tobytes()))[1][0]},
    ]  # fmt: skip
    bounds = list(zip(where.low, where.high, strict=True))
    found = minimize(length, start, jac=True, bounds=bounds, constraints=rules, method="SLSQP", options={"ftol": 1e-9})
    return np.asarray(np.clip(found.x, where.low, where.high))


def _missed(where: Where, c: np.ndarray) -> float:
    at = place(where.springs, c[None])
    return max(float(np.abs(at.point[0] - where.position).max()), float(-room(where, at)[0].min(initial=0.0)))
