"""The result folder of a calibration: result.json, errors.csv, held_out.csv, the calibrated robot and a page."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.calibration.calibration import Calibration
from robodyn_pin.calibration.carried_loads import CarriedLoads, carried_loads
from robodyn_pin.calibration.geometry_errors import reads_a_length
from robodyn_pin.calibration.geometry_fit import Z95
from robodyn_pin.calibration.pose_design import PoseDesign
from robodyn_pin.calibration.targets import COLUMNS
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.calibrated_drives import carried_columns, carried_rows, drive_spring_rows, drive_spring_table
from robodyn_pin.output.corrected_path import correction_sentence, correction_summary, write_corrected

SIMULATED_POINTS = "SIMULATED points: this result says nothing about a real machine."
MILLI, SHOWN = 1e3, {"m": "mm", "rad": "mrad", "1": "‰"}
OF_SPRINGS = (
    "Found from loaded and unloaded poses together with the geometry. A stiffness that no load shows well keeps its tolerance: what is left of it "
    "stands in its row."
)
OF_CARRIED = (
    "At the held-out poses, under their loads and, unless 'weight: false', the weight of the robot's bodies: the drawn rigid robot, and the "
    "calibrated one where its springs let it settle. Intervals hold what geometry and stiffness leave unknown together; each row is the pose "
    "that changes most, carried.csv has all."
)
Deviations = dict[str, np.ndarray]  # (N, 3) of each target that is a point
WHOLE = {"": slice(None)}
PARTS = {"pose": {"position": slice(3), "orientation": slice(3, 6)}}  # lengths and angles do not add up


def write_calibration(found: Calibration, folder: Path) -> None:
    """Write all files of a calibration; raises BadFile if the folder cannot be written."""
    import polars as pl

    note = f"{'SIMULATED points, ' if found.simulated else ''}SI units"
    carried = carried_loads(found)
    if carried is not None:
        write_table(
            folder / "carried.csv", carried_columns(carried), f"{note}; of {', '.join(carried.names)} at held-out poses"
        )
    write_table(folder / "errors.csv", pl.DataFrame(error_table(found)), note)
    write_table(folder / "held_out.csv", held_out_columns(found), note)
    write_text(folder / f"{found.calibrated.name}.urdf", found.urdf)
    write_text(folder / f"{found.calibrated.name}.yaml", found.yaml)
    if found.corrected is not None:
        write_corrected(found.corrected, found.robot.robot, folder / "corrected.csv", note)
    write_text(folder / "calibration.html", calibration_page(found, folder, carried))
    write_json(folder / "result.json", calibration_summary(found))


def error_table(found: Calibration) -> list[dict[str, Any]]:
    """One row for each error that was sought, SI units."""
    columns = (found.robot.errors, found.fit.e, found.fit.deviations, found.shown.how)
    return [
        {"error": x.name, "group": x.group, "value": float(value), "unit": x.unit, "standard_deviation": float(s),
         "low": float(value - Z95 * s), "high": float(value + Z95 * s), "tolerance": x.tolerance, "shown": how}
        for x, value, s, how in zip(*columns, strict=True)
    ]  # fmt: skip


def error_rows(found: Calibration) -> list[dict[str, str]]:
    """The errors in mm and mrad, those furthest from zero in their standard deviations first."""
    geometry = [row for row in error_table(found) if row["group"] != "stiffness"]
    rows = sorted(geometry, key=lambda row: -abs(row["value"]) / row["standard_deviation"])
    return [
        {"error": row["error"], "value": f"{MILLI * row['value']:.3f} {SHOWN[row['unit']]}",
         "95 % interval": f"{MILLI * row['low']:.3f} to {MILLI * row['high']:.3f}", "tolerance": f"{MILLI * row['tolerance']:g} {SHOWN[row['unit']]}",
         "the poses show it": row["shown"]}
        for row in rows
    ]  # fmt: skip


def held_out_table(found: Calibration) -> list[dict[str, Any]]:
    """Errors of each target at the held-out poses [m or rad]: lengths of the vectors, rms and largest, drawn and calibrated."""
    rows = []
    for name, spec in found.robot.targets.items():
        for what, part in PARTS.get(spec.kind, WHOLE).items():
            before, after = (np.linalg.norm(x[name][:, part], axis=1) for x in (found.before, found.after))
            there, turns = ~np.isnan(before), what == "orientation"
            if not there.any():
                continue
            rms = [float(np.sqrt((x[there] ** 2).mean())) for x in (before, after)]
            sigma, numbers = spec.sigma_angle if turns else spec.sigma, found.after[name][:, part].shape[1]
            rows.append({
                "target": f"{name} {what}".strip(), "unit": "rad" if turns or (spec.kind == "encoder" and not reads_a_length(found.robot.robot, spec)) else "m", "poses": int(there.sum()),
                "rms_before": rms[0], "rms_after": rms[1], "noise": float(sigma * np.sqrt(numbers)),
                "largest_before": float(before[there].max()), "largest_after": float(after[there].max()),
            })  # fmt: skip
    return rows


def held_out_rows(found: Calibration) -> list[dict[str, str]]:
    """The same in mm or mrad."""
    keys = {
        "drawn, rms": "rms_before",
        "largest": "largest_before",
        "calibrated, rms": "rms_after",
        "largest ": "largest_after",
        "noise": "noise",
    }
    return [
        {"target": f"{row['target']} [{SHOWN[row['unit']]}]", "poses": str(row["poses"])}
        | {key: f"{MILLI * row[of]:.3f}" for key, of in keys.items()}
        for row in held_out_table(found)
    ]


def held_out_columns(found: Calibration) -> dict[str, np.ndarray]:
    """Errors at the held-out poses, predicted minus measured, as columns [m or rad] named as those of the measurements."""
    columns: dict[str, np.ndarray] = {"pose": np.array(found.held_out.rows)}
    for name, spec in found.robot.targets.items():
        for what, of in (("before", found.before), ("after", found.after)):
            columns |= {f"{name}_{column}_{what}": of[name][:, k] for k, column in enumerate(COLUMNS[spec.kind])}
    return columns


def calibration_sentences(found: Calibration) -> list[str]:
    """What was sought, what the poses show, what was left out."""
    how, n = Counter(found.shown.how), len(found.robot.errors)
    lines = [
        f"{n} errors were sought; the poses show {found.shown.rank} independent combinations of them (singular values of the drawn geometry, "
        f"{'all count' if not np.isfinite(found.shown.gap) else f'a gap of {found.shown.gap:.0e} below the last that counts'}): "
        f"{how['alone']} errors alone, {how['combined']} only in combination, which their tolerances share out.",
        f"Residuals beyond 5 standard deviations among the fitted numbers: {found.fit.outliers} of {len(found.fit.residuals)}.",
    ]
    for reason, count in Counter(found.left_out.values()).items():
        some = [name for name, why in found.left_out.items() if why == reason][:3]
        lines.append(
            f"{count} errors were not sought because each {reason}: {', '.join(some)}{', ...' if count > 3 else ''}."
        )
    if found.without_lengths:
        lines.append(
            "Nothing that was measured is a length: a robot twice as large would give the same numbers. All lengths are known up to one common "
            "factor only, which their tolerances settle; where the robot stands nothing says."
        )
    if found.corrected is not None:
        lines.append(correction_sentence(found.corrected))
    return lines


def calibration_summary(found: Calibration) -> dict[str, object]:
    """The content of result.json."""
    base = found.robot.base_with(found.fit.e)
    return {
        "robot": found.robot.robot.name, "calibrated": f"{found.calibrated.name}.yaml", "simulated": found.simulated,
        "accepted": found.accepted, "complaints": list(found.complaints), "measurements": found.fitted.name,
        "fitted_poses": list(found.fitted.rows), "held_out_poses": list(found.held_out.rows), "held_out": held_out_table(found),
        "errors": error_table(found), "stiffness": drive_spring_table(found), "covariance": found.fit.covariance.tolist(), "rank": found.shown.rank,
        "gap": found.shown.gap if np.isfinite(found.shown.gap) else None, "left_out": found.left_out, "outliers": found.fit.outliers,
        "misfit": found.fit.misfit, "numbers": len(found.fit.residuals), "plausibility": found.plausibility,
        "held_out_plausibility": found.held_out_plausibility,
        "base": {"translation": base.translation.tolist(), "rotation": base.rotation.tolist()},
        "targets": found.robot.targets_with(found.fit.e),
        "corrected": None if found.corrected is None else correction_summary(found.corrected),
        "units": "m, rad; base: the robot's base in the axes of the measurements; targets: where each is in its frame; "
        "stiffness: N m/rad or N/m, its error the logarithm of what it is over what was drawn",
    }  # fmt: skip


def calibration_page(found: Calibration, folder: Path, carried: CarriedLoads | None = None) -> str:
    """The text of calibration.html; writes its figures (held_out.svg, held_out_sizes.svg and those of loaded poses), too."""
    from robodyn_pin.viz.sheet import Section, section_page

    texts = [
        f"{len(found.held_out.c)} of {len(found.held_out.c) + len(found.fitted.c)} poses of {found.fitted.name} were held out: no fit saw "
        "them. 'Drawn' is the robot of the files, its base and the targets laid over the fitted measurements as well as it goes. Strokes go from the measured place towards the predicted one, enlarged, each column with its own scale."
    ]
    shown = _in_base(found)
    sections = [
        Section("Held-out poses", texts, held_out_rows(found), _pictures(found, *shown, folder), _scene(found, *shown)),
        Section("Errors of the geometry", calibration_sentences(found), error_rows(found)),
    ]
    if carried is not None:
        sections += [
            Section("Springs in the drives", [OF_SPRINGS], drive_spring_rows(found)),
            Section("What motors and struts carry", [OF_CARRIED], carried_rows(carried)),
        ]
    robot = found.robot.robot.name
    verdict = (
        "Accepted: fitted and held-out poses agree with the calibrated geometry" if found.accepted else "NOT ACCEPTED"
    )
    return section_page(
        f"{robot}: calibration",
        SIMULATED_POINTS if found.simulated else "",
        found.accepted,
        verdict,
        found.complaints,
        sections,
    )


def _in_base(found: Calibration) -> tuple[Deviations, Deviations, Deviations]:
    """Places of the targets that are points, and were measured, at the held-out poses, their errors on the drawn and on the calibrated geometry; axes of the base [m]."""
    base = found.robot.base_with(found.fit.e).inverse()
    turn = base.rotation.T
    points = [name for name in found.places if (x := found.before[name]).shape[1] >= 3 and not np.isnan(x).all()]
    places = {name: found.places[name] @ turn + base.translation for name in points}
    before, after = ({name: of[name][:, :3] @ turn for name in points} for of in (found.before, found.after))
    return places, before, after


def _scene(found: Calibration, places: Deviations, before: Deviations, after: Deviations) -> str:
    """The page of a robot with its errors as arrows; empty where no target is a point."""
    from robodyn_pin.viz.calibration import deviations_scene

    if not places:
        return ""
    with deviations_scene(found.robot.robot, places, before, after) as scene:
        return scene.html()


def _pictures(found: Calibration, places: Deviations, before: Deviations, after: Deviations, folder: Path) -> list[str]:
    """Deviations at the held-out poses as elements of a page; written as SVG files, too."""
    from robodyn_pin.viz.calibration import deviations_figure, sizes_figure
    from robodyn_pin.viz.plot_data import with_numbers
    from robodyn_pin.viz.plots import svg, svg_document

    elements = []
    for name, what, own in _kinds_of_poses(found):
        if places and own.any():
            there, drawn, calibrated = ({key: x[own] for key, x in of.items()} for of in (places, before, after))
            rows = [row for row, its in zip(found.held_out.rows, own, strict=True) if its]
            for title, figure in (
                (name, deviations_figure(there, drawn, calibrated, what)),
                (f"{name}_sizes", sizes_figure(rows, drawn, calibrated)),
            ):
                element = svg(figure, title)
                elements.append(with_numbers(element, figure))
                write_text(folder / f"{title}.svg", svg_document(element, SIMULATED_POINTS if found.simulated else ""))
    return elements


def _kinds_of_poses(found: Calibration) -> list[tuple[str, str, np.ndarray]]:
    """A picture's file name, what its poses are called, and which of the held-out ones they are (N,)."""
    n = len(found.held_out.c)
    if found.held_out.wrench is None:
        return [("held_out", "", np.ones(n, bool))]
    loaded = np.abs(found.held_out.wrench).max(axis=1) > 0
    return [("held_out", "without load", ~loaded), ("loaded", "under load", loaded)]


def write_pose_design(found: PoseDesign, folder: Path) -> None:
    """Write poses.csv, to be measured, and result.json; raises BadFile if the folder cannot be written."""
    columns = dict(zip(found.robot.robot.coordinates.names, found.c.T, strict=True))
    write_table(folder / "poses.csv", columns, f"poses of {found.robot.robot.name} to measure; rad, m")
    write_json(folder / "result.json", pose_design_summary(found))


def pose_design_summary(found: PoseDesign) -> dict[str, object]:
    """The content of result.json of chosen poses."""
    remaining = {x.name: float(left) for x, left in zip(found.robot.errors, found.remaining, strict=True)}
    return {
        "robot": found.robot.robot.name, "coordinates": list(found.robot.robot.coordinates.names), "poses": found.c.tolist(),
        "criterion": found.run.criterion, "value": found.value, "random_sets": len(found.random), "better_than": found.better,
        "best_random": float(found.random.max()), "median_random": float(np.median(found.random)), "rank": found.rank,
        "remaining_over_tolerance": remaining, "units": "rad, m; value: larger is better",
    }  # fmt: skip


def pose_design_sentences(found: PoseDesign) -> list[str]:
    """What was chosen and how random sets compare."""
    what = {
        "D": "half the log determinant of the information",
        "E": "the root of the information's smallest eigenvalue",
    }
    order = np.argsort(-found.remaining)[:3]
    worst = ", ".join(f"{found.robot.errors[k].name} {100 * found.remaining[k]:.0f} %" for k in order)
    return [
        f"{len(found.c)} poses of {found.robot.robot.name} for {len(found.robot.errors)} errors, of which the robot can show {found.rank} combinations.",
        f"Criterion {found.run.criterion}, {what[found.run.criterion]}: {found.value:.4g}; of {len(found.random)} sets of random poses the best has "
        f"{found.random.max():.4g}, the median {np.median(found.random):.4g}: better than {found.better} of them.",
        f"Most is left unknown, in standard deviations over the tolerance, of {worst}.",
    ]
