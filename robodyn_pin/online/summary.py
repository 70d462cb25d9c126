"""The results of online identification as dictionaries for JSON."""

from typing import Any

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.online.history import HistoryRow
from robodyn_pin.online.nearest_consistent import nearest_consistent
from robodyn_pin.online.stream import Stream
from robodyn_pin.online.tracker import Tracker

SIGNIFICANT_DRIFT = (
    0.05  # of a parameter's scale per hour; smaller slopes come from parameters that the motion hardly separates
)
NAMED = 3  # parameters that describe a direction


def json_line(row: HistoryRow, tracker: Tracker) -> dict[str, Any]:
    """One line of JSON for other programs; errors are NaN if the interval has no sample that was taken."""
    labels, names = tracker.tracked.labels, tracker.tracked.robot.coordinates.names
    return {
        "t": row.t, "estimate": dict(zip(labels, row.values.tolist(), strict=True)),
        "deviation": dict(zip(labels, row.deviations.tolist(), strict=True)),
        "excited": dict(zip(labels, row.excited_share.tolist(), strict=True)),
        "error before": dict(zip(names, row.start_error.tolist(), strict=True)),
        "error after": dict(zip(names, row.error.tolist(), strict=True)),
        "carried": row.carried, "taken": row.taken, "refused": row.refused,
    }  # fmt: skip


def tracking_summary(stream: Stream, rows: list[HistoryRow], simulated: bool) -> dict[str, Any]:
    """The content of track.json.

    Raises:
        RobodynError: the estimate took no sample.
    """
    from robodyn_pin.robot.units import coordinate_units

    tracker = stream.tracker
    tracked, estimator = tracker.tracked, tracker.estimator
    robot, values = tracked.robot, estimator.values
    deviations, V = np.sqrt(np.diag(estimator.covariance())), estimator.excited
    if not any(row.taken for row in rows):
        reasons = ", ".join(f"{reason} {count}" for reason, count in (tracker.refused + stream.rates.anomalies).items())
        hint = f"{reasons}; are its units those of the settings?" if reasons else "it is too short for its rates"
        raise RobodynError(f"the estimate took no sample of the log: {hint}")
    start_error, error, effort = _rms_errors(rows)
    return {
        "robot": robot.name, "simulated": simulated, "samples": estimator.samples, "refused": dict(+tracker.refused),
        "noted": dict(+stream.rates.anomalies), "delay [s]": stream.rates.delay,
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
                robot.coordinates.names, coordinate_units(robot), effort.tolist(), start_error.tolist(), error.tolist(), strict=True
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


def _rms_errors(rows: list[HistoryRow]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rms error of the parameters at the start, of the estimate, and rms effort (d,), over all rows with samples."""
    used = [row for row in rows if row.taken]
    taken = np.array([row.taken for row in used], float)
    squares = (np.array([getattr(row, field) for row in used]) ** 2 for field in ("start_error", "error", "effort"))
    start_error, error, effort = (np.sqrt(taken @ x / taken.sum()) for x in squares)
    return start_error, error, effort


def directions_of(tracker: Tracker) -> list[dict[str, Any]]:
    """Directions of the scaled parameters from the best to the least excited, with the standard deviation along each."""
    eigenvalues, vectors = tracker.estimator.directions
    # The estimate moves along the first ones. The others may have gained information since these were last determined.
    moving, found = tracker.estimator.excited.shape[1], []
    for k, (eigenvalue, v) in enumerate(zip(eigenvalues[::-1].tolist(), vectors.T[::-1], strict=True)):
        largest = np.argsort(-np.abs(v))[:NAMED]
        mostly = [f"{v[i]:+.2f} {tracker.tracked.labels[i]}" for i in largest if abs(v[i]) > 0.1]
        deviation = eigenvalue**-0.5 if eigenvalue > 0 else None
        found.append({"relative deviation": deviation, "excited": k < moving, "mostly": " ".join(mostly)})
    return found


def trend_of(tracker: Tracker) -> list[dict[str, Any]]:
    """Slow drift of friction and other coefficients of efforts."""
    slope, tracked = tracker.trend.slope(), tracker.tracked
    scalars = np.flatnonzero(tracked.structure.free[tracked.base.columns] >= tracked.layout.first_scalar)
    return [
        {"name": tracked.labels[k], "per hour": float(slope.per_hour[k]), "deviation": float(slope.deviations[k]),
         "significant": bool(slope.significant[k] and abs(slope.per_hour[k]) > SIGNIFICANT_DRIFT * tracked.scale[k])}
        for k in scalars if np.isfinite(slope.deviations[k])
    ]  # fmt: skip


def consistency_of(tracker: Tracker) -> dict[str, Any]:
    """Distance of the estimate from physically consistent parameters."""
    try:
        found = nearest_consistent(tracker)
    except RobodynError as error:
        return {"reason": str(error)}
    return {
        "distance, relative": found.relative, "distance in deviations": found.deviations,
        "nearest": dict(zip(tracker.tracked.labels, found.values.tolist(), strict=True)),
    }  # fmt: skip
