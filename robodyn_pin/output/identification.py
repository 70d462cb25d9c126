"""Result folders of identifications."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import yaml

from robodyn_pin.files import prepare_folder, remove, versions, write_json, write_text, write_whole
from robodyn_pin.identification.identical_bodies import Comparison
from robodyn_pin.identification.validation import Errors
from robodyn_pin.log_to_robot.noise import noise_found
from robodyn_pin.log_to_robot.payload import payload_summary
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.robot.export import identified_robot_file, identified_urdf
from robodyn_pin.robot.urdf_writer import loaded_urdf
from robodyn_pin.storage.staging import whole_results
from robodyn_pin.viz.report import FIGURES, write_report


def write_result(result: Result, folder: Path, report: bool = True) -> Path:
    """Write the result folder: whole or not at all.

    Raises:
        BadFile: the folder cannot be written.
        NotPhysical: the parameters do not survive the way through a URDF.
    """
    prepare_folder(folder)
    before, values = result.robot_before, result.feasible.values
    urdf = identified_urdf(before, result.layout, values, result.estimates.bounds.eigenvalue)
    name, loaded = f"{result.name}_identified", f"{result.name}_loaded"
    texts = {
        f"{name}.urdf": urdf,
        f"{name}.yaml": identified_robot_file(before, result.layout, values, result.simulated),
        "run.yaml": _run_text(result),
    }
    if carried := before.payload:
        x = values[before.payload_columns]
        texts[f"{loaded}.urdf"] = loaded_urdf(urdf, carried.body, carried.name, x, carried.placement)
        robot = replace(before, file=before.file.apart(carried.body))
        file = identified_robot_file(robot, result.layout, values, result.simulated)
        texts[f"{loaded}.yaml"] = file.replace(f"{name}.urdf", f"{loaded}.urdf")
    with whole_results():
        for at, text in texts.items():
            write_text(folder / at, text)
        write_whole(folder / "parameters.npz", lambda target: _write_arrays(result, target))
        if report:
            remove(folder / FIGURES)
            write_report(result, folder / "report.html")
        write_json(folder / "result.json", summary_of(result))
    return folder


def _write_arrays(result: Result, target: Path) -> None:
    with target.open("wb") as file:
        np.savez(
            file, labels=np.array(result.layout.labels), feasible=result.feasible.values, prior=result.estimates.prior.bodies,
            base_columns=result.wls.base.columns, base_dropped=result.wls.base.dropped, base_regroup=result.wls.base.regroup,
            base_labels=np.array(result.wls.base.labels(result.layout.labels)),
            wls=result.wls.values, wls_covariance=result.wls.covariance, wls_sigma=result.wls.sigma,
            wls_without=result.estimates.pieces.without, piece_positions=result.estimates.pieces.positions,
            ols=result.estimates.ols.values, ols_covariance=result.estimates.ols.covariance,
        )  # fmt: skip


def _run_text(result: Result) -> str:
    used = result.run.model_dump(mode="json", exclude_none=True)
    head = {
        "versions": versions(),
        "seed": result.run.seed,
        "logs": {f"{r.name} ({r.use}, samples {r.begin} to {r.end})": f"sha256 {r.sha256}" for r in result.logs},
    }
    note = yaml.safe_dump(head, sort_keys=False, width=1000)
    return "".join(f"# {line}\n" for line in note.splitlines()) + yaml.safe_dump(used, sort_keys=False)


def base_parameters(result: Result) -> list[dict[str, object]]:
    """Each base parameter as the estimates have it, and how sure it is."""
    base, wls, names = result.wls.base, result.wls, result.layout.labels
    by_pieces = [x if np.isfinite(x) else None for x in result.estimates.pieces.deviations(wls.values).tolist()]
    columns = (wls.values.tolist(), wls.deviations.tolist(), by_pieces, base.of(result.feasible.values).tolist())
    return [
        {"label": label, "wls": value, "deviation": deviation, "deviation_by_pieces": honest, "feasible": consistent}
        for label, value, deviation, honest, consistent in zip(base.labels(names), *columns, strict=True)
    ]


def summary_of(result: Result) -> dict[str, object]:
    """What `result.json` holds: numbers only, nothing of time or place, so that two runs give the same bytes."""
    base = result.wls.base
    names, d = result.layout.labels, list(result.robot_before.coordinates.names)
    inertial = int((base.columns < result.layout.first_scalar).sum())
    verdict, fit = result.verdict, result.feasible
    eigenvalues = dict(zip(result.layout.bodies, fit.eigenvalues.tolist(), strict=True))
    return {
        "robot": result.name,
        "simulated": result.simulated,
        "verdict": {"accepted": verdict.accepted, "scope": verdict.scope}
        | {"reasons": list(verdict.reasons), "cautions": list(verdict.cautions)}
        | {"friction": verdict.friction, "gravity": verdict.gravity},
        "base": {
            "count": base.size,
            "inertial": inertial,
            "condition": base.condition,
            "parameters": base_parameters(result),
        },
        "copies": [_copies(c) for c in result.copies],
        **result.estimates.further.summary(names, d),
        "feasible": {
            "status": fit.status,
            "solver": fit.solver,
            "variables": result.variables,
            "parameters": dict(zip(names, fit.values.tolist(), strict=True)),
            "smallest_eigenvalue": eigenvalues,
            "eigenvalue_unit": "pseudo-inertia in units of 1 kg and 0.1 m",
            "mass_bounds": dict(zip(result.layout.bodies, result.estimates.bounds.mass.tolist(), strict=True)),
        },
        "payload": payload_summary(result.robot_before, base.labels(names), base, result.payload),
        "gravity": None if (lean := result.settings.lean) is None else lean.summary(),
        "gains": [gain.summary() for gain in result.settings.gains],
        "delays": [delay.summary() for delay in result.settings.delays],
        "shapes": [s.__dict__ for s in result.settings.shapes],
        **result.check.diagnosis.summary(names, d),
        "at_bounds": result.at_bounds,
        "errors": {
            name: {what: _errors(getattr(s, what), d) for what in ("fit", "held_out", "moving", "still", "whole")}
            for name, s in result.scored.items()
        },
        "accuracy": result.check.accuracy.table(d),
        "pieces": {
            "count": len(result.estimates.pieces.without),
            "seconds": result.estimates.pieces.seconds,
            "rows": result.estimates.pieces.independent,
            "effective_rows": result.estimates.pieces.samples(result.wls),
        },
        "noise": noise_found(result.run, result.robot_before, result.wls.sigma),
        "chosen": [
            c.__dict__ | {"candidates": list(c.candidates), "percent": list(c.percent)} for c in result.settings.choices
        ],
        "friction_chosen": [asdict(c) for c in result.settings.friction],
        "assumed": [f"{k}: {v}" for k, v in result.robot_before.file.sources.items() if v.startswith("assumed")],
        "logs": [r.__dict__ | {"quality": r.quality.__dict__, "errors": _errors(r.errors, d)} for r in result.logs],
        "versions": versions(),
        "seed": result.run.seed,
    }


def _copies(c: Comparison) -> dict[str, object]:
    return {
        "label": c.label,
        "wls": dict(zip(c.bodies, c.values.tolist(), strict=True)),
        "deviation": dict(zip(c.bodies, c.deviations.tolist(), strict=True)),
        "chi_square": c.chi_square if c.tested else None,
        "probability": c.probability if c.tested else None,
        "differ": c.significant if c.tested else None,
    }


def _errors(e: Errors, names: list[str]) -> dict[str, object]:
    return {
        "rmse": dict(zip(names, e.rmse.tolist(), strict=True)),
        "percent": dict(zip(names, e.percent.tolist(), strict=True)),
        "rmse_all": e.rmse_all,
        "percent_all": e.percent_all,
        "mean_percent": e.mean_percent,
    }
