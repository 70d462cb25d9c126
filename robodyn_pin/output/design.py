"""The result folder of an experiment design: design.csv, result.json, a figure, a page with the poses in 3D."""

from pathlib import Path

import numpy as np

from robodyn_pin.elastic.design import Design, simulate_design
from robodyn_pin.elastic.measurements import AXES, motor_headers, write_measurements
from robodyn_pin.elastic.springs import pose_kinematics
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.stiffness_uses import MICRO

CRITERIA = {"A": "trace", "D": "determinant", "E": "largest eigenvalue"}
FORCE_ARROW, FORCE_COLOUR = 0.35, 0x0072B2  # [m] length of the largest force's arrow


def write_design(design: Design, folder: Path) -> None:
    """Write all files of a design; raises BadFile if the folder cannot be written."""
    from robodyn_pin.viz.design import design_figure
    from robodyn_pin.viz.plots import svg, svg_document

    robot, run = design.springs.robot, design.run
    columns = {"orientation": np.array(design.plan.pose) + 1}
    columns |= dict(zip(motor_headers(robot), design.q.T, strict=True))
    columns |= {f"f{axis}": design.force[:, k] for k, axis in enumerate(AXES)}
    columns |= {f"expected_d{axis}": design.deviation[:, k] for k, axis in enumerate(AXES)}
    note = (
        f"planned, not measured: {robot.name}, springs on the {run.springs}, criterion {run.criterion}, seed {run.seed}; "
        "q: motors [rad or m], f [N] and expected deviations of the prior's springs [m] in the axes of the base"
    )
    write_table(folder / "design.csv", columns, note)
    if (m := simulate_design(design)) is not None and run.simulate is not None:
        springs = ", ".join(f"{name} {k:g}" for name, k in run.simulate.stiffness.items())
        note = (
            f"SIMULATED by robodyn_pin: {robot.name}, springs on the {run.springs} {springs} N m/rad, noise {run.sigma:g} m, "
            f"seed {run.simulate.seed}; SI units, axes of the base"
        )
        write_measurements(folder / "measurements.csv", m, robot, note)
    figure = svg(design_figure(design), "design")
    write_text(folder / "design.svg", svg_document(figure))
    write_text(folder / "design.html", design_page(design, figure))
    write_json(folder / "result.json", design_summary(design))


def design_summary(design: Design) -> dict[str, object]:
    """The content of result.json."""
    run, plan, (before, after) = design.run, design.plan, design.deviations
    median, median_full = float(np.median(design.random_sizes)), float(np.median(design.full_force_sizes))
    rows = zip(plan.pose, plan.directions, design.q, design.force, design.deviation, strict=True)
    return {
        "robot": design.springs.robot.name,
        "tool": run.tool.model_dump(),
        "springs": run.springs,
        "names": list(design.springs.names),
        "form": run.form,
        "criterion": run.criterion,
        "mode": run.mode,
        "seed": run.seed,
        "unit": "stiffness in 1e6 N m/rad" if run.form == "stiffness" else "compliance in 1e-6 rad/(N m)",
        "size": design.size,
        "prior_size": design.prior_size,
        "only": design.direction_sizes,
        "random_designs": len(design.random_sizes),
        "median_random": median,
        "median_random_full_force": median_full,
        "best_random_full_force": float(design.full_force_sizes.min()),
        "gain": float(median / design.size),
        "gain_full_force": float(median_full / design.size),
        "reached": [float(x) for x in design.start_sizes],
        "expected_deviations": after.tolist(),
        "prior_deviations": before.tolist(),
        "undetermined": design.undetermined,
        "measurements": [
            {
                "orientation": g + 1,
                "direction": name,
                "q": q.tolist(),
                "force": f.tolist(),
                "expected_deviation": d.tolist(),
            }
            for g, name, q, f, d in rows
        ],
        "posterior": {"mean": design.posterior.mean.tolist(), "covariance": design.posterior.covariance.tolist()},
        "note": "planned with the prior's stiffness; nothing was measured",
    }


def measurement_rows(design: Design) -> list[dict[str, str]]:
    """A table of the measurements, motor positions in degrees as a controller shows them (sliding motors in mm)."""
    motors = design.springs.robot.motors
    slides = design.springs.robot.slides(motors.S)
    rows = []
    for i, (g, q, f, d) in enumerate(zip(design.plan.pose, design.q, design.force, design.deviation, strict=True)):
        row = {"measurement": str(i + 1), "orientation": str(g + 1)}
        for name, slide, x in zip(motors.names, slides, q, strict=True):
            row[f"{name} [{'mm' if slide else '°'}]"] = f"{1000 * x if slide else np.degrees(x):.2f}"
        row["force x, y, z [N]"] = " ".join(f"{x:.0f}" for x in f)
        row["expected deviation [µm]"] = " ".join(f"{x / MICRO:.0f}" for x in d)
        rows.append(row)
    return rows


def design_sentences(design: Design) -> list[str]:
    """How good the design is, in sentences."""
    run, size, full = design.run, design.size, design.full_force_sizes
    random, random_full = np.median(design.random_sizes), np.median(full)
    lines = [
        f"The criterion is the {CRITERIA[run.criterion]} of the covariance of the {run.form}: smaller means better determined. "
        f"The prior has {design.prior_size:.4g}; the planned measurements bring it down to {size:.4g}.",
        f"{len(full)} random designs that keep the same rules have a median of {random:.4g}, which is {random / size:.3g} times as much; "
        f"with all forces at their bounds the median is {random_full:.4g} ({random_full / size:.3g} times) and the best {full.min():.4g}.",
    ]
    if len(design.direction_sizes) > 1:
        lines += [
            f"The measurements along {name} alone give {x:.4g}, {x / size:.3g} times as much as all together."
            for name, x in design.direction_sizes.items()
        ]
    reached = np.sort(design.start_sizes[np.isfinite(design.start_sizes)])
    lines.append(
        f"The search kept all rules from {len(reached)} of {len(design.start_sizes)} starting designs; "
        f"it ended between {reached[0]:.4g} and {reached[-1]:.4g}."
    )
    return lines


def design_page(design: Design, figure: str) -> str:
    """The text of design.html."""
    from robodyn_pin.viz.loaded_poses import draw_arrows, loaded_scene
    from robodyn_pin.viz.sheet import Section, section_page

    springs = design.springs
    poses = pose_kinematics(springs, design.c)
    each = list(design.plan.pose)
    arrows = FORCE_ARROW * design.force / design.run.experiments.largest
    tails, title = poses.point[each] - arrows, f"{springs.robot.name}: orientations to measure in"
    with loaded_scene(springs.robot, poses.q, title, tails) as scene:
        scene.marks = [(f"#{FORCE_COLOUR:06x}", "forces of the loads")]
        draw_arrows(scene, "forces", tails, arrows, np.full(len(each), FORCE_COLOUR), 0.012)
        tour = scene.html()
    undetermined = [f"{name} {reason}" for name, reason in design.undetermined.items()]
    verdict = "SOME SPRINGS STAY UNDETERMINED" if undetermined else "These measurements determine every spring"
    sections = [
        Section("Measurements to take", [
            "Apply the force of each row to the tool in the pose of that row, and measure how far the tool's point moves. Forces and "
            "deviations are along the axes of the base. The expected deviations follow from the prior's stiffness; nothing has been "
            "measured yet."], measurement_rows(design)),
        Section("Expected accuracy", design_sentences(design), (), [figure]),
        Section("Poses", ["The robot goes from pose to pose. Arrows are the forces; their tips are at the tool's point."], (), (), tour),
    ]  # fmt: skip
    return section_page(
        f"{springs.robot.name}: optimal experiments", "", not undetermined, verdict, undetermined, sections
    )
