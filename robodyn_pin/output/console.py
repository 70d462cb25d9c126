"""What commands print: tables and JSON."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robodyn_pin.excitation.result import Excitation
    from robodyn_pin.identification.identical_bodies import Comparison
    from robodyn_pin.identification.validation import Errors
    from robodyn_pin.log_to_robot.result import Result


SIMULATED = "SIMULATED log: this result says nothing about a real machine."


SELDOM = 0.005  # share of samples below which standing still is not worth a line


def print_json(content: object) -> None:
    from robodyn_pin.files import json_text

    print(json_text(content))


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape  # units stand in brackets, as rich's own marks do
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for k, key in enumerate(rows[0]):  # too wide for the terminal: folded, so that nothing is cut off
        table.add_column(escape(key), justify="left" if k == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(f"{x:.3f}" if isinstance(x, float) else str(x)) for x in row.values()))
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def print_result(result: "Result", folder: Path) -> None:
    from robodyn_pin.robot.units import coordinate_units

    if result.simulated:
        print(SIMULATED)
    units, scored = coordinate_units(result.robot_before), result.scored
    one = units[0] if len(set(units)) == 1 else None  # rms of N m and N together means nothing
    rows: list[dict[str, Any]] = []
    for k, name in enumerate([*result.robot_before.coordinates.names, "all"]):
        row: dict[str, Any] = {"along": name} | ({} if one else {"unit": [*units, ""][k]})
        for label in ("WLS", "feasible"):
            e = scored[label].held_out
            rmse, percent = [*e.rmse.tolist(), _together(e, one)], [*e.percent.tolist(), e.percent_all]
            row |= {f"{label} RMSE{f' [{one}]' if one else ''}": rmse[k], f"{label} [%]": percent[k]}
        rows.append(row)
    print_table(f"Held-out error of {result.name}, % = rms of the error over rms of the torque", rows)
    measure = result.run.score.measure
    judged = scored["feasible"].held_out
    print(
        f"feasible estimate on held-out data: {judged.mean_percent:.3g} % error as the mean of the coordinates, {judged.percent_all:.3g} % of all torques "
        f"in one norm; the verdict uses the {'first' if measure == 'mean' else 'second'}"
    )
    moving, still = scored["feasible"].moving, scored["feasible"].still
    if still.rmse_all:
        of = (moving.rmse_all, still.rmse_all, one) if one else (moving.percent_all, still.percent_all, "%")
        print(
            f"feasible estimate: error {of[0]:.3g} {of[2]} of moving samples, {of[1]:.3g} {of[2]} of samples at standstill"
        )
    if result.bandwidths:
        print(result.bandwidths)
    if payload := result.robot_before.payload:
        print_table(f"Payload {payload.name!r}, in the frame of {payload.link}", [
            {"quantity": f"{q.name} [{q.unit}]", "feasible": f"{round(q.feasible, 9) + 0.0:.4g}",
             "WLS": "not determined" if q.wls is None else f"{q.wls:.4g}",
             "standard deviation": "" if q.deviation is None else f"{q.deviation:.2g}"}
            for q in result.payload
        ])  # fmt: skip
    base = result.wls.base
    print(
        f"{base.size} base parameters, condition number {base.condition:.0f}; {result.variables} variables in the feasible fit"
    )
    if result.settings.lean:
        print(result.settings.lean)
    for first in result.settings.found_first:
        print(first)
    for s in result.settings.shapes:
        print(f"{s.label}: {s.value:.4g} +- {s.deviation:.2g} rad/s or m/s (starting value {s.start:.4g})")
    print_further(result, one)
    alike: dict[tuple[str, str], list[str]] = {}
    for record in result.logs:
        alike.setdefault((record.use, record.differentiation), []).append(record.name)
    for (use, how), names in alike.items():
        print(f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''} ({use}): {how}")
    said = [f"{record.name}: {text}" for record in result.logs for text in (record.quality.clock, record.ends) if text]
    for line in dict.fromkeys(said):
        print(line)
    for name, columns in {record.name: record.quality.not_used for record in result.logs}.items():
        if columns:
            print(f"{name}: columns not used: {columns}")
    for line in found.text() if (found := result.check.diagnosis.overconstraint) else []:
        print(line)
    if result.copies:
        print_copies(result.copies)
    print(f"The verdict applies to {result.verdict.scope}")
    print(f"{'accepted' if result.verdict.accepted else 'NOT ACCEPTED'}: " + "; ".join(result.verdict.reasons))
    for sentence in result.verdict.chosen:
        print(sentence)
    for caution in result.verdict.cautions:
        print(f"caution: {caution}")
    print(f"report: {folder / 'report.html'}")


def _together(e: "Errors", unit: str | None) -> float | str:
    """Rms error of all coordinates, if they have one unit."""
    return e.rmse_all if unit else "—"


def print_further(result: "Result", unit: str | None) -> None:
    """Further estimates that the run file asked for; `unit` of all coordinates, if they have one."""
    further, names = result.estimates.further, result.layout.labels
    if result.scored.keys() <= {"OLS", "WLS", "feasible"}:
        return
    rows = []
    for name, s in result.scored.items():
        row: dict[str, Any] = {"estimate": name}
        for part, e in (("fit", s.fit), ("held-out", s.held_out)):
            row |= {f"{part} RMSE [{unit or 'N m and N'}]": _together(e, unit), f"{part} [%]": e.percent_all}
        rows.append(row)
    print_table("All estimates, all coordinates in one norm", rows)
    if found := further.essential:
        from robodyn_pin.identification.essential import relative_deviations

        labels, relative = found.estimate.base.labels(names), 100 * relative_deviations(found.estimate)
        values = zip(labels, found.estimate.values, relative, strict=True)
        print_table(
            f"Essential parameters, {len(labels)} of {result.wls.base.size}",
            [{"parameter": label, "value [SI]": f"{x:.4g}", "deviation [%]": f"{s:.3g}"} for label, x, s in values],
        )
        left_out = ", ".join(names[i] for i in found.removed) or "none"
        print(
            f"largest over smallest relative standard deviation {found.spread:.3g} (requested: {found.ratio:g}); left out: {left_out}"
        )
    if (noise := further.gauss_markov) and noise.most_correlated:
        (i, j), names_of = noise.most_correlated, result.robot_before.coordinates.names
        print(
            f"Gauss-Markov: the largest correlation of noise is {noise.correlation[i, j]:.2f}, between {names_of[i]} and {names_of[j]}"
        )
    if second := further.log_cholesky:
        print(
            f"log-Cholesky: {second.steps} steps in {second.free} variables; its predictions differ from those of the feasible fit "
            f"by {100 * further.distance:.2g} % of the noise"
        )


def print_copies(copies: "tuple[Comparison, ...]") -> None:
    """How well the estimates of identical bodies agree, one row per base parameter."""
    from robodyn_pin.identification.identical_bodies import SIGNIFICANT

    rows = []
    for c in copies:
        values = zip(c.bodies, c.values, c.deviations, strict=True)
        equal = ("no" if c.significant else "yes") if c.tested else "not comparable"
        rows.append({
            "base parameter": c.label if len(c.label) < 40 else f"{c.label.split(' ')[0]} + ...",
            "value of each body, with standard deviation [SI]": "\n".join(f"{b}: {x:.4g} +- {s:.2g}" for b, x, s in values),
            "chi-square": f"{c.chi_square:.3g}" if c.tested else "", "probability": f"{c.probability:.2g}" if c.tested else "",
            "equal": equal,
        })  # fmt: skip
    print_table("Identical bodies, estimated separately", rows)
    print(f"no: noise alone makes equal bodies differ as much with a probability below {SIGNIFICANT:g}")


def print_excitation(found: "Excitation", folder: Path) -> None:
    rows = []
    for load in sorted(found.loads, key=lambda load: -load["used_percent"])[:8]:
        row = {"limit": f"{load['what']} {load['of']}", "least": load["least"], "greatest": load["greatest"]}
        allowed = " to ".join(f"{x:.3f}" for x in load["allowed"])
        rows.append(row | {"allowed": allowed, "used [%]": load["used_percent"]})
    if rows:
        print_table(
            f"Limits that the motion of {found.robot.name} comes closest to (SI units, margin subtracted)", rows
        )
    else:
        print(f"the motion has no limits: the files of {found.robot.name} name none")
    print(
        f"{found.shown.size} of {found.base.size} base parameters, condition number {found.condition:.0f}; "
        f"{found.gained}"
    )
    print("\n".join(found.unknown) or "the motion determines everything that a motion can determine")
    print(f"motion, log, controller table and picture: {folder}")


def print_tracking(summary: dict[str, Any], out: Path, carried: str, units: dict[str, str]) -> None:
    """`units`: of each motor's torque."""
    rows = []
    for m in summary["motors"]:
        unit = units[m["motor"]]
        errors = {"error in": {"N m": "mrad", "N": "mm"}.get(unit, "1e-3 rad or m")}
        errors |= {f"{what} error": 1e3 * m[f"{what} error [rad or m]"] for what in ("largest", "rms")}
        rows.append({"motor": m["motor"]} | errors | {"largest torque": f"{m['largest torque [N m or N]']:.3f} {unit}"})
    title = f"Tracking of {summary['robot']}{carried} (SIMULATED), {summary['law']} with model {summary['model']!r}"
    print_table(title, rows)
    cut = [f"{m['motor']} in {n}" for m in summary["motors"] if (n := m["samples at the torque limit"])]
    if cut:
        print(f"torque limits cut off the torque of {', '.join(cut)} of {summary['samples']} samples")
    print(summary["stability"])
    spent = summary["energy [J]"]
    print(
        f"motors did {spent['work of the motors']:.4g} J, the disturbance {spent['work of the disturbance']:.4g} J, "
        f"friction took {spent['lost to friction']:.4g} J; the balance is open by {spent['largest part that is missing']:.2g} J at most"
    )
    still = summary["stood still [share of samples]"].items()
    if held := [f"{axis} {100 * share:.0f} %" for axis, share in still if share >= SELDOM]:
        print(f"stood still: {', '.join(held)} of the time")
    if told := summary.get("elastic drives"):
        most = {m: 1e3 * x for m, x in told["largest twist [rad or m]"].items()}
        print("drives yield by up to " + ", ".join(f"{m} {x:.3g}" for m, x in most.items()) + " mrad or mm")
        print(
            "".join(
                f"{what[:-4]}: {1e3 * x:.3g} mm"
                for what, x in told.items()
                if what.endswith("[m]") and isinstance(x, float)
            )
        )
    for load in summary.get("estimator", {}).get("loads", []):
        print(f"the estimator found a load of {load['mass [kg]']:.3g} kg at t = {load['found [s]']:.4g} s")
    print(f"{out}: SIMULATED; {', '.join(summary['files'])} beside it")
