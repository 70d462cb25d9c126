"""The result folder of a stiffness identification: result.json, stiffness.csv, campaigns.csv, pictures and a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_pin.elastic.campaigns import Campaign
from robodyn_pin.elastic.inference import Estimate
from robodyn_pin.elastic.stiffness import Stiffness
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.stiffness_uses import MICRO, use_summary, use_words, write_uses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robodyn_pin.viz.sheet import Row

MILLION = 1e6
SIMULATED = "SIMULATED measurements: this result says nothing about a real machine."
WHY = {
    "compliance": "Inferred is the compliance 1/k: deviations are linear in it, so that a normal prior leaves a normal posterior "
    "whose ellipsoid holds what it says, also for a wide prior. The interval of k is that of 1/k turned over, hence not symmetric.",
    "stiffness": "Inferred is the stiffness k, as Stiff-6660 does. Deviations go with 1/k: under a wide prior the posterior is not "
    "normal, and the covariance (13) is too sure of itself; 'form: compliance' stays honest.",
}


def write_stiffness(found: Stiffness, folder: Path) -> None:
    """Write all files of a result; raises BadFile where the folder cannot be written."""
    import polars as pl

    note = f"{'SIMULATED measurements, ' if found.simulated else ''}SI units"
    write_table(folder / "stiffness.csv", pl.DataFrame(table(found)), note)
    if found.campaigns[:-1]:
        write_table(folder / "campaigns.csv", pl.DataFrame(campaign_table(found)), note)
    scene = write_uses(found, folder)
    write_text(folder / "stiffness.html", page(found, pictures(found, folder), scene))
    write_json(folder / "result.json", summary(found))


def table(found: Stiffness) -> list[dict[str, Any]]:
    """One row a spring, SI units; `high` is None where nothing bounds the stiffness."""
    e, rows = found.estimate, []
    columns = (e.stiffness, np.sqrt(np.diag(e.covariance)), e.interval(), found.campaigns[-1].stiffness)
    for name, k, s, (low, high), before in zip(e.names, *(x.tolist() for x in columns), strict=True):
        row = {"spring": name, "stiffness": k, "standard_deviation": s, "low": low}
        row |= {"high": high if np.isfinite(high) else None, "prior": before, "untold": e.untold.get(name, "")}
        rows.append(row)
    return rows


def campaign_table(found: Stiffness) -> list[dict[str, Any]]:
    """One row a campaign, as table 2 of Stiff-6660 with what it leaves out, SI units."""
    names, rows = found.springs.names, []
    for c in found.campaigns:
        row = {"campaign": c.name, "measurements": " ".join(map(str, c.rows))}
        for prefix, x in (("k_", c.stiffness), ("deviation_", np.sqrt(np.diag(c.covariance)))):
            row |= {f"{prefix}{name}": value for name, value in zip(names, x.tolist(), strict=True)}
        rows.append(row | {"trace": c.trace} | {f"rms_error_{axis}": x for axis, x in (c.rms or {}).items()})
    return rows


def summary(found: Stiffness) -> dict[str, object]:
    """What result.json holds."""
    e, run, axes = found.estimate, found.run, found.estimate.posterior.ellipsoid()
    rows, tool = e.measurements.rows, run.tool.model_dump()
    robot = {"robot": found.springs.robot.name, "tool": tool, "springs": run.springs, "model": run.model}
    verdict = {"simulated": found.simulated, "accepted": found.accepted}
    why = {"complaints": list(found.complaints), "cautions": list(found.cautions)}
    measured = {"measurements": e.measurements.name, "rows": list(rows)}
    form = {"form": e.form, "why_this_form": WHY[e.form], "gamma": e.gamma, "names": list(e.names)}
    inferred = {
        what: {"mean": x.mean.tolist(), "covariance": x.covariance.tolist()}
        for what, x in (("prior", e.prior), ("posterior", e.posterior))
    }
    ellipsoid = {"ellipsoid_95": {"half_axes": axes[0].tolist(), "directions_in_columns": axes[1].tolist()}}
    stiffness = {"stiffness": table(found), "stiffness_covariance": e.covariance.tolist()}
    misfit = {"misfit": e.posterior.misfit, "expected_misfit": 3 * len(rows), "plausibility": e.posterior.plausibility}
    checks = {"residuals": found.left.tolist(), "sampling_check": _check(e)}
    return {**robot, **verdict, **why, **measured, **form, **inferred, **ellipsoid, **stiffness, **misfit, **checks} | {
        "campaigns": [_campaign(c) for c in found.campaigns],
        **use_summary(found),
        "units": "N, m, rad; prior, posterior and ellipsoid in rad/(N m) for compliance, N m/rad for stiffness",
    }


def _check(e: Estimate) -> dict[str, object] | None:
    if e.check is None:
        return None
    worth = {"trusted": e.check.trusted, "effective_samples": e.check.effective, "in_ellipsoid_95": e.check.inside}
    return worth | {"mean": e.check.mean.tolist(), "deviations": e.check.deviations.tolist()}


def _campaign(c: Campaign) -> dict[str, object]:
    found = {"name": c.name, "rows": list(c.rows), "stiffness": c.stiffness.tolist()}
    return found | {"covariance": c.covariance.tolist(), "trace": c.trace, "untold": c.untold, "rms_error": c.rms}


def pictures(found: Stiffness, folder: Path) -> dict[str, str]:
    """<svg> elements by name, each also written as a file."""
    from robodyn_pin.viz.plots import standing, svg
    from robodyn_pin.viz.stiffness import campaigns_figure, stiffness_figure, validation_figure
    from robodyn_pin.viz.stiffness_uses import correction_figure, map_figure, task_figure

    figures: dict[str, Figure] = {"stiffness": stiffness_figure(found.estimate)}
    if found.campaigns[:-1]:
        figures["campaigns"] = campaigns_figure(found.campaigns, found.springs.names)
    if found.validation is not None:
        figures["validation"] = validation_figure(found.campaigns, found.validation)
    if found.map is not None:
        figures["deviations"] = map_figure(found.map)
    if found.task is not None:
        figures["task"] = task_figure(found.task)
    if found.correction is not None:
        figures["correction"] = correction_figure(found.correction)
    drawn = {name: svg(figure, name) for name, figure in figures.items()}
    for name, element in drawn.items():
        write_text(folder / f"{name}.svg", standing(element, SIMULATED if found.simulated else ""))
    return drawn


def page(found: Stiffness, drawn: dict[str, str], scene: str) -> str:
    """The text of stiffness.html; scene: the page of the deviations in 3D, if there is one."""
    from robodyn_pin.viz.sheet import Part, sheet

    e, run = found.estimate, found.run
    verdict = "Measurements, model and prior go together" if found.accepted else "NOT ACCEPTED"
    count = len(e.measurements.rows)
    measured = (
        f"{count} measurements of {e.measurements.name}; springs on the {run.springs}, {run.model} model, prior weight gamma "
        f"{e.gamma:g}. Misfit {e.posterior.misfit:.3g}, expected {3 * count} (chance of as much or more {e.posterior.plausibility:.3g})."
    )
    said = [measured, WHY[e.form], check_words(e)]
    parts = [Part("Stiffness", said, stiffness_rows(found), [drawn["stiffness"]])]
    if "campaigns" in drawn:
        words = [
            "Each campaign is inferred by itself, from the same prior: stiffness ± standard deviation of each spring in 10⁶ N m/rad."
        ]
        parts.append(Part("Campaigns", words, campaign_rows(found), [drawn["campaigns"]]))
    if "validation" in drawn:
        words = ["Predicted deviations of poses that no campaign used."]
        parts.append(Part("Validation", words, error_rows(found), [drawn["validation"]]))
    drawings = [name for name in ("deviations", "task", "correction") if name in drawn]
    for (title, sentence), name in zip(use_words(found).items(), drawings, strict=True):
        parts.append(Part(title, [f"{sentence}."], (), [drawn[name]], scene if name == "deviations" else ""))
    title, note = f"{found.springs.robot.name}: stiffness", SIMULATED if found.simulated else ""
    return sheet(title, note, found.accepted, verdict, [*found.complaints, *found.cautions], parts)


def check_words(e: Estimate) -> str:
    """The sampling check in a sentence."""
    if e.check is None:
        return "The Gaussian approximation was not checked."
    if not e.check.trusted:
        return f"The Gaussian approximation could not be checked: samples of the posterior are worth {e.check.effective:.0f} only."
    return (
        f"Checked by samples of the posterior itself, worth {e.check.effective:.0f}: {100 * e.check.inside:.1f} % of it lie in the 95 % ellipsoid of "
        "its Gaussian approximation."
    )


def stiffness_rows(found: Stiffness) -> "list[Row]":
    """The springs for people, 10⁶ N m/rad."""
    rows = []
    for row in table(found):
        k, s, low, high, prior = (
            "∞" if row[key] is None else f"{row[key] / MILLION:.3f}"
            for key in ("stiffness", "standard_deviation", "low", "high", "prior")
        )
        named = {"k": k, "standard deviation": s, "95 % interval": f"{low} to {high}", "prior": prior}
        rows.append({"spring": str(row["spring"])} | {f"{name} [10⁶ N m/rad]": x for name, x in named.items()})
    return rows


def campaign_rows(found: Stiffness, short: bool = False) -> "list[Row]":
    """The campaigns for people; short: for a terminal."""
    rows = []
    for c in found.campaigns:
        row = {"campaign": c.name, "measurements": " ".join(map(str, c.rows)) or "none"}
        for name, k, s in zip(found.springs.names, c.stiffness, np.sqrt(np.diag(c.covariance)), strict=True):
            row[name] = f"{k / MILLION:.2f}" + ("" if short else f" ± {s / MILLION:.2f}")
        row["trace [10¹²]" if short else "trace [10¹² (N m/rad)²]"] = f"{c.trace / MILLION**2:.3g}"
        if c.rms and short:
            row["rms error all [µm]"] = f"{c.rms['all'] / MICRO:.1f}"
        rows.append(row)
    return rows


def error_rows(found: Stiffness) -> "list[Row]":
    """Errors of the deviations that each campaign predicts at poses that none used."""
    return [
        {"campaign": c.name} | {f"rms error {axis} [µm]": f"{x / MICRO:.1f}" for axis, x in c.rms.items()}
        for c in found.campaigns
        if c.rms
    ]
