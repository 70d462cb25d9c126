"""What a step in which friction sticks needs to know of one pose, as expressions: the terms of sticking.py, for its twin in C."""

from collections.abc import Callable
from functools import partial

import numpy as np

from robodyn_pin.exporting.closed_twin import Twin
from robodyn_pin.exporting.functions import Offered, mass_matrix_of, motion_of_joints
from robodyn_pin.exporting.symbolic_efforts import effort_terms, model_columns
from robodyn_pin.exporting.symbols import X, applied, constant, objects, total
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.sticking import SLOWEST, Rub, Sticking

FUNCTION = "step_terms"


def step_terms(apart: Sticking) -> Offered:
    """M (d, d), stiffness (d, d), what the rest of the robot asks (d,), B (n, d), axes J (A + m, d), ends of friction low, high (A,), damping (A,)."""
    A, m = len(apart.rows), len(apart.stops.radius)

    def shape(robot: Robot) -> tuple[int, ...]:
        d, n = len(robot.coordinates.names), len(robot.motors.names)
        return (2 * d * d + d + n * d + (A + m) * d + 3 * A,)

    return Offered(
        partial(_terms, apart), ("cd",), "terms", "of a step in which friction sticks, one after the other", shape
    )


def _terms(apart: Sticking, twin: Twin, cd: np.ndarray) -> np.ndarray:
    pose, d = twin.pose, len(cd)
    v, a = motion_of_joints(twin, cd, objects(np.zeros(d)))
    asked = twin.tree_efforts(v, a, np.array(twin.robot.model.gravity.linear))
    asked = pose.T.T @ (asked + effort_terms(apart.rest, pose.at, pose.q, v, a))
    J, B = _along(np.vstack([apart.rows, apart.stops.rows]), pose.T), _along(twin.robot.motors.S, pose.T)
    (rows, stiffness), K = apart.springs, objects(np.zeros((d, d)))
    for along, k in zip(_along(rows, pose.T), stiffness, strict=True):
        K = K + np.outer(along, along) * float(k)
    found = [mass_matrix_of(twin), K, asked, B, J, *_friction(apart, pose.q, J @ cd)]
    return np.concatenate([x.ravel() for x in found])


def _along(rows: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Rates (r, d) of axes with rows (r, nv)."""
    found = objects(np.zeros((len(rows), T.shape[1])))
    for i, row in enumerate(rows):
        for j in np.flatnonzero(row):
            found[i] = found[i] + T[j] * float(row[j])
    return found


def _friction(apart: Sticking, q: np.ndarray, xd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `Sticking._friction`, at rates xd (A,)."""
    low, high, damping = objects(np.zeros((3, len(apart.rows))))
    for rub in apart.rubs:
        for k, axis in enumerate(rub.axes):
            x = total(float(w) * y for w, y in zip(rub.rows[k], q, strict=True) if w) + float(rub.shifts[k])
            rate = applied("fmax", applied("fabs", xd[axis]), SLOWEST)
            way = applied("copysign", rate, xd[axis])
            force = _force_of(rub, k, x)
            high[axis] = high[axis] + applied("fmax", force(rub.sharp, rate) - force(rub.blunt, rate), 0.0)
            low[axis] = low[axis] + applied("fmin", force(rub.sharp, -rate) - force(rub.blunt, -rate), 0.0)
            damping[axis] = damping[axis] + force(rub.blunt, way) / way
    return low, high, damping


def _force_of(rub: Rub, k: int, x: X) -> Callable[[EffortSpec, X], X]:
    def force(spec: EffortSpec, rate: X) -> X:
        columns = model_columns(spec, x, rate, constant(0.0))
        return total(float(value) * f for value, f in zip(rub.values[k], columns, strict=True) if value)

    return force
