"""The result folder of a stiffness identification: result.json, stiffness.csv, campaigns.csv, figures and a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_pin.elastic.campaigns import Campaign
from robodyn_pin.elastic.inference import StiffnessEstimate
from robodyn_pin.elastic.stiffness import StiffnessResult
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.stiffness_uses import MICRO, use_sentences, use_summary, write_uses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MILLION = 1e6
SIMULATED = "SIMULATED measurements: this result says nothing about a real machine."
FORM_REASONS = {
    "compliance": "The compliance 1/k was inferred. Deviations are linear in it, so a normal prior gives a normal posterior, and its "
    "95 % ellipsoid holds the truth in 95 % of cases, also under a wide prior. The interval of k is the interval of 1/k inverted, which "
    "is why it is not symmetric.",
    "stiffness": "The stiffness k was inferred, as in Stiff-6660. Deviations are proportional to 1/k, so under a wide prior the posterior "
    "is not normal and the covariance (13) is too small; 'form: compliance' avoids this.",
}


def write_stiffness(result: StiffnessResult, folder: Path) -> None:
    """Write all files of a result; raises BadFile if the folder cannot be written."""
    import polars as pl

    note = f"{'SIMULATED measurements, ' if result.simulated else ''}SI units"
    write_table(folder / "stiffness.csv", pl.DataFrame(stiffness_table(result)), note)
    if result.campaigns[:-1]:
        write_table(folder / "campaigns.csv", pl.DataFrame(campaign_table(result)), note)
    scene = write_uses(result, folder)
    write_text(folder / "stiffness.html", stiffness_page(result, write_figures(result, folder), scene))
    write_json(folder / "result.json", stiffness_summary(result))


def stiffness_table(result: StiffnessResult) -> list[dict[str, Any]]:
    """One row a spring, SI units; `high` is None where nothing bounds the stiffness."""
    e = result.estimate
    columns = (e.names, e.stiffness, np.sqrt(np.diag(e.covariance)), e.interval(), result.campaigns[-1].stiffness)
    return [
        {"spring": name, "stiffness": float(k), "standard_deviation": float(s), "low": float(low),
         "high": float(high) if np.isfinite(high) else None, "prior": float(prior), "undetermined": e.undetermined.get(name, "")}
        for name, k, s, (low, high), prior in zip(*columns, strict=True)
    ]  # fmt: skip


def campaign_table(result: StiffnessResult) -> list[dict[str, Any]]:
    """One row a campaign, as table 2 of Stiff-6660 with what it leaves out, SI units."""
    rows = []
    for c in result.campaigns:
        row: dict[str, Any] = {"campaign": c.name, "measurements": " ".join(map(str, c.rows))}
        deviations = np.sqrt(np.diag(c.covariance))
        row |= {f"k_{name}": float(k) for name, k in zip(result.springs.names, c.stiffness, strict=True)}
        row |= {f"deviation_{name}": float(s) for name, s in zip(result.springs.names, deviations, strict=True)}
        row["trace"] = c.trace
        rows.append(row | {f"rms_error_{axis}": x for axis, x in (c.rms or {}).items()})
    return rows


def stiffness_summary(result: StiffnessResult) -> dict[str, object]:
    """The content of result.json."""
    e, run, axes = result.estimate, result.run, result.estimate.posterior.ellipsoid()
    return {
        "robot": result.springs.robot.name, "tool": run.tool.model_dump(), "springs": run.springs, "model": run.model,
        "simulated": result.simulated, "accepted": result.accepted, "complaints": list(result.complaints),
        "cautions": list(result.cautions), "measurements": e.measurements.name, "rows": list(e.measurements.rows),
        "form": e.form, "why_this_form": FORM_REASONS[e.form], "gamma": e.gamma, "names": list(e.names),
        "prior": {"mean": e.prior.mean.tolist(), "covariance": e.prior.covariance.tolist()},
        "posterior": {"mean": e.posterior.mean.tolist(), "covariance": e.posterior.covariance.tolist()},
        "ellipsoid_95": {"half_axes": axes[0].tolist(), "directions_in_columns": axes[1].tolist()},
        "stiffness": stiffness_table(result), "stiffness_covariance": e.covariance.tolist(),
        "misfit": e.posterior.misfit, "expected_misfit": 3 * len(e.measurements.rows), "plausibility": e.posterior.plausibility,
        "residuals": e.residuals.tolist(), "sampling_check": _sampling_check(e),
        "campaigns": [_campaign_summary(c) for c in result.campaigns],
        **use_summary(result), "units": "N, m, rad; prior, posterior and ellipsoid in rad/(N m) for compliance, N m/rad for stiffness",
    }  # fmt: skip


def _sampling_check(e: StiffnessEstimate) -> dict[str, object] | None:
    if e.check is None:
        return None
    worth = {"trusted": e.check.trusted, "effective_samples": e.check.effective, "in_ellipsoid_95": e.check.inside}
    return worth | {"mean": e.check.mean.tolist(), "deviations": e.check.deviations.tolist()}


def _campaign_summary(c: Campaign) -> dict[str, object]:
    return {
        "name": c.name, "rows": list(c.rows), "stiffness": c.stiffness.tolist(), "covariance": c.covariance.tolist(), "trace": c.trace,
        "undetermined": c.undetermined, "rms_error": c.rms,
    }  # fmt: skip


def write_figures(result: StiffnessResult, folder: Path) -> dict[str, str]:
    """Write all figures as SVG files; returns their <svg> elements by name."""
    from robodyn_pin.viz.plots import svg, svg_document
    from robodyn_pin.viz.stiffness import campaigns_figure, stiffness_figure, validation_figure
    from robodyn_pin.viz.stiffness_uses import correction_figure, map_figure, stiffest_pose_figure

    figures: dict[str, Figure] = {"stiffness": stiffness_figure(result.estimate)}
    if result.campaigns[:-1]:
        figures["campaigns"] = campaigns_figure(result.campaigns, result.springs.names)
    if result.validation is not None:
        figures["validation"] = validation_figure(result.campaigns, result.validation)
    if result.map is not None:
        figures["deviations"] = map_figure(result.map)
    if result.task is not None:
        figures["task"] = stiffest_pose_figure(result.task)
    if result.correction is not None:
        figures["correction"] = correction_figure(result.correction)
    elements = {name: svg(figure, name) for name, figure in figures.items()}
    for name, element in elements.items():
        write_text(folder / f"{name}.svg", svg_document(element, SIMULATED if result.simulated else ""))
    return elements


def stiffness_page(result: StiffnessResult, figures: dict[str, str], scene: str) -> str:
    """The text of stiffness.html.

    Args:
        figures: <svg> elements by name. scene: the page of the deviations in 3D; empty without a map.
    """
    from robodyn_pin.viz.sheet import Section, section_page

    e, run = result.estimate, result.run
    count, misfit, probability = len(e.measurements.rows), e.posterior.misfit, e.posterior.plausibility
    verdict = "Accepted: measurements, model and prior agree" if result.accepted else "NOT ACCEPTED"
    texts = [
        f"Inferred from {count} measurements of {e.measurements.name}, with springs on the {run.springs}, the {run.model} model and a prior "
        f"of weight gamma = {e.gamma:g}.",
        f"The squared misfit of measurements and prior together is {misfit:.3g} where {3 * count} is expected; the probability of as much "
        f"or more by chance is {probability:.3g}.",
        FORM_REASONS[e.form], sampling_check_sentence(e),
    ]  # fmt: skip
    sections = [Section("Stiffness", texts, stiffness_rows(result), [figures["stiffness"]])]
    if "campaigns" in figures:
        text = (
            "Each campaign is inferred from its own measurements only, with the same prior. The table gives the stiffness ± standard "
            "deviation of each spring in 10⁶ N m/rad, and the trace of the covariance: the smaller, the better determined."
        )
        sections.append(Section("Campaigns", [text], campaign_rows(result), [figures["campaigns"]]))
    if "validation" in figures:
        text = "Deviations measured in poses that no campaign used, and what each campaign predicts there."
        sections.append(Section("Validation", [text], validation_rows(result), [figures["validation"]]))
    names = [name for name in ("deviations", "task", "correction") if name in figures]
    for (title, text), name in zip(use_sentences(result).items(), names, strict=True):
        sections.append(Section(title, [text], (), [figures[name]], scene if name == "deviations" else ""))
    return section_page(
        f"{result.springs.robot.name}: stiffness", SIMULATED if result.simulated else "", result.accepted, verdict,
        [*result.complaints, *result.cautions], sections,
    )  # fmt: skip


def sampling_check_sentence(e: StiffnessEstimate) -> str:
    """The outcome of the sampling check in a sentence."""
    if e.check is None:
        return "The Gaussian approximation of the posterior was not checked."
    if not e.check.trusted:
        return (
            "The Gaussian approximation of the posterior could not be checked: its samples have an effective number of "
            f"{e.check.effective:.0f} only."
        )
    return (
        f"Samples of the posterior (effective number {e.check.effective:.0f}) check its Gaussian approximation: the 95 % ellipsoid of the "
        f"approximation holds {100 * e.check.inside:.1f} % of the posterior."
    )


def stiffness_rows(result: StiffnessResult) -> list[dict[str, str]]:
    """A table of the springs, 10⁶ N m/rad."""
    rows = []
    for row in stiffness_table(result):
        high = "∞" if row["high"] is None else f"{row['high'] / MILLION:.3f}"
        rows.append({
            "spring": str(row["spring"]), "k [10⁶ N m/rad]": f"{row['stiffness'] / MILLION:.3f}",
            "standard deviation [10⁶ N m/rad]": f"{row['standard_deviation'] / MILLION:.3f}",
            "95 % interval [10⁶ N m/rad]": f"{row['low'] / MILLION:.3f} to {high}", "prior [10⁶ N m/rad]": f"{row['prior'] / MILLION:.3f}",
        })  # fmt: skip
    return rows


def campaign_rows(result: StiffnessResult, short: bool = False) -> list[dict[str, str]]:
    """A table of the campaigns; short: for a terminal."""
    rows = []
    for c in result.campaigns:
        row = {"campaign": c.name, "measurements": " ".join(map(str, c.rows)) or "none"}
        for name, k, s in zip(result.springs.names, c.stiffness, np.sqrt(np.diag(c.covariance)), strict=True):
            row[name] = f"{k / MILLION:.2f}" + ("" if short else f" ± {s / MILLION:.2f}")
        row["trace [10¹²]" if short else "trace [10¹² (N m/rad)²]"] = f"{c.trace / MILLION**2:.3g}"
        if c.rms and short:
            row["rms error all [µm]"] = f"{c.rms['all'] / MICRO:.1f}"
        rows.append(row)
    return rows


def validation_rows(result: StiffnessResult) -> list[dict[str, str]]:
    """A table of the errors of the deviations that each campaign predicts at the validation poses."""
    return [
        {"campaign": c.name} | {f"rms error {axis} [µm]": f"{x / MICRO:.1f}" for axis, x in c.rms.items()}
        for c in result.campaigns
        if c.rms
    ]
