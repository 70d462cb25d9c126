"""What `result.json` holds of an identification."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from robodyn_pin.identification.copies import Comparison
from robodyn_pin.identification.validation import Errors
from robodyn_pin.payload import payload_summary
from robodyn_pin.whitening import noise_found

if TYPE_CHECKING:
    from robodyn_pin.result import Result


def summary_of(result: "Result") -> dict[str, object]:
    """What `result.json` holds: numbers only, nothing of time or place, so that two runs give the same bytes."""
    base = result.wls.base
    names, d = result.layout.labels, list(result.robot_before.coordinates.names)
    inertial = int((base.columns < result.layout.first_scalar).sum())
    eigenvalues = dict(zip(result.layout.bodies, result.feasible.eigenvalues.tolist(), strict=True))
    return {
        "robot": result.name,
        "simulated": result.simulated,
        "verdict": {
            "accepted": result.verdict.accepted, "scope": result.verdict.scope, "reasons": list(result.verdict.reasons),
            "cautions": list(result.verdict.cautions),
        },
        "base": {
            "count": base.size, "inertial": inertial, "condition": base.condition,
            "parameters": [
                {"label": label, "wls": value, "deviation": deviation, "feasible": consistent}
                for label, value, deviation, consistent in zip(
                    base.labels(names), result.wls.values.tolist(), result.wls.deviations.tolist(),
                    base.of(result.feasible.values).tolist(), strict=True,
                )
            ],
        },
        "copies": [_copies(c) for c in result.copies],
        **result.further.summary(names, d),
        "feasible": {
            "status": result.feasible.status, "solver": result.feasible.solver,
            "variables": result.variables,
            "parameters": dict(zip(names, result.feasible.values.tolist(), strict=True)),
            "smallest_eigenvalue": eigenvalues, "eigenvalue_unit": "pseudo-inertia in units of 1 kg and 0.1 m",
            "mass_bounds": dict(zip(result.layout.bodies, result.bounds.mass.tolist(), strict=True)),
        },
        "payload": payload_summary(result.robot_before, base.labels(names), base, result.payload),
        "shapes": [s.__dict__ for s in result.shapes],
        **result.diagnosis.summary(names, d),
        "errors": {
            name: {what: _errors(getattr(s, what), d) for what in ("fit", "held_out", "moving", "still", "whole")}
            for name, s in result.scored.items()
        },
        "accuracy": result.accuracy.table(d),
        "noise": noise_found(result.run, result.robot_before, result.wls.sigma),
        "chosen": [c.__dict__ | {"candidates": list(c.candidates), "percent": list(c.percent)} for c in result.choices],
        "assumed": [f"{k}: {v}" for k, v in result.robot_before.file.sources.items() if v.startswith("assumed")],
        "logs": [r.__dict__ | {"quality": r.quality.__dict__} for r in result.logs],
        "versions": versions(),
        "seed": result.run.seed,
    }  # fmt: skip


def _copies(c: Comparison) -> dict[str, object]:
    return {
        "label": c.label,
        "wls": dict(zip(c.bodies, c.values.tolist(), strict=True)),
        "deviation": dict(zip(c.bodies, c.deviations.tolist(), strict=True)),
        "chi_square": c.chi_square if c.tested else None, "probability": c.probability if c.tested else None,
        "differ": c.significant if c.tested else None,
    }  # fmt: skip


def _errors(e: Errors, names: list[str]) -> dict[str, object]:
    return {
        "rmse": dict(zip(names, e.rmse.tolist(), strict=True)),
        "percent": dict(zip(names, e.percent.tolist(), strict=True)),
        "rmse_all": e.rmse_all, "percent_all": e.percent_all, "mean_percent": e.mean_percent,
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in ("robodyn_pin", "pin", "numpy", "scipy", "cvxpy", "clarabel")}
