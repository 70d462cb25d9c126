"""What online identification found, as dictionaries for JSON and rows for tables."""

from typing import Any

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.online.history import Moment
from robodyn_pin.online.nearest_consistent import nearest_consistent
from robodyn_pin.online.stream import Stream
from robodyn_pin.online.tracker import Tracker

WORTH = 0.05  # of a parameter's scale an hour: smaller slopes come from what the motion does not tell apart
LARGEST = 3  # parameters that a direction is named after


def line_of(moment: Moment, tracker: Tracker) -> dict[str, Any]:
    """One line of the stream for other programs; errors are NaN where no sample was taken."""
    labels, names = tracker.tracked.labels, tracker.tracked.robot.coordinates.names
    return {
        "t": moment.t, "estimate": dict(zip(labels, moment.values.tolist(), strict=True)),
        "deviation": dict(zip(labels, moment.deviations.tolist(), strict=True)),
        "excited": dict(zip(labels, moment.shown.tolist(), strict=True)),
        "error before": dict(zip(names, moment.before.tolist(), strict=True)),
        "error after": dict(zip(names, moment.after.tolist(), strict=True)),
        "carried": moment.carried, "taken": moment.taken, "refused": moment.refused,
    }  # fmt: skip


def summary_of(stream: Stream, moments: list[Moment], simulated: bool) -> dict[str, Any]:
    """All that is known at the end."""
    from robodyn_pin.robot.units import coordinate_units

    tracker = stream.tracker
    tracked, estimator = tracker.tracked, tracker.estimator
    robot, values = tracked.robot, estimator.values
    deviations, V = np.sqrt(np.diag(estimator.covariance())), estimator.excited
    if not any(m.taken for m in moments):
        counts = ", ".join(f"{why} {count}" for why, count in (tracker.refused + stream.rates.noted).items())
        why = f"{counts}; are its units those of the settings?" if counts else "it is too short for its rates"
        raise RobodynError(f"the estimate took no sample of the log: {why}")
    before, after, effort = _errors(moments)
    return {
        "robot": robot.name, "simulated": simulated, "samples": estimator.samples, "refused": dict(+tracker.refused),
        "noted": dict(+stream.rates.noted), "delay [s]": stream.rates.delay,
        "noise [N m or N]": dict(zip(robot.motors.names, tracker.noise.tolist(), strict=True)),
        "parameters": [
            {"name": name, "stands for": whole, "start": a, "estimate": b, "deviation": s, "excited": share}
            for name, whole, a, b, s, share in zip(
                tracked.labels, tracked.combinations, tracker.start.tolist(), values.tolist(), deviations.tolist(),
                (V * V).sum(axis=1).tolist(), strict=True,
            )
        ],
        "directions": directions_of(tracker), "excited directions": V.shape[1],
        "errors": [
            {"along": name, "unit": unit, "effort": e, "before": a, "after": b}
            for name, unit, e, a, b in zip(
                robot.coordinates.names, coordinate_units(robot), effort.tolist(), before.tolist(), after.tolist(), strict=True
            )
        ],
        "changes": [
            {"begin [s]": c.begin, "found [s]": c.found, "mass [kg]": c.size if c.explained else None,
             "deviation [kg]": c.deviation if c.explained else None, "payload": c.explained}
            for c in tracker.changes
        ],
        "carried [kg]": tracker.carried, "payloads on": tracked.carrier if tracked.payload is not None else None,
        "trend": trend_of(tracker), "consistency": consistency_of(tracker),
    }  # fmt: skip


def _errors(moments: list[Moment]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rms error before and after, and rms effort (d,), over all moments that have some."""
    seen = [m for m in moments if m.taken]
    taken = np.array([m.taken for m in seen], float)
    squares = (np.array([getattr(m, k) for m in seen]) ** 2 for k in ("before", "after", "effort"))
    before, after, effort = (np.sqrt(taken @ x / taken.sum()) for x in squares)
    return before, after, effort


def directions_of(tracker: Tracker) -> list[dict[str, Any]]:
    """Directions of the scaled parameters from the best to the least excited: how well the data tell each."""
    eigenvalues, vectors = tracker.estimator.directions
    # Those that the estimate moves along; the others hold the little that came after its last look at them.
    moving, found = tracker.estimator.excited.shape[1], []
    for k, (eigenvalue, v) in enumerate(zip(eigenvalues[::-1].tolist(), vectors.T[::-1], strict=True)):
        largest = np.argsort(-np.abs(v))[:LARGEST]
        mostly = [f"{v[i]:+.2f} {tracker.tracked.labels[i]}" for i in largest if abs(v[i]) > 0.1]
        told = eigenvalue**-0.5 if eigenvalue > 0 else None
        found.append({"told to": told, "excited": k < moving, "mostly": " ".join(mostly)})
    return found


def trend_of(tracker: Tracker) -> list[dict[str, Any]]:
    """Slow drift of friction and the like."""
    slope, tracked = tracker.trend.slope(), tracker.tracked
    scalars = np.flatnonzero(tracked.structure.free[tracked.base.columns] >= tracked.layout.first_scalar)
    return [
        {"name": tracked.labels[k], "per hour": float(slope.per_hour[k]), "deviation": float(slope.deviations[k]),
         "significant": bool(slope.significant[k] and abs(slope.per_hour[k]) > WORTH * tracked.scale[k])}
        for k in scalars if np.isfinite(slope.deviations[k])
    ]  # fmt: skip


def consistency_of(tracker: Tracker) -> dict[str, Any]:
    """How far the estimate is from bodies that can exist."""
    try:
        found = nearest_consistent(tracker)
    except RobodynError as error:
        return {"reason": str(error)}
    return {
        "distance, relative": found.relative, "distance in deviations": found.deviations,
        "nearest": dict(zip(tracker.tracked.labels, found.values.tolist(), strict=True)),
    }  # fmt: skip
