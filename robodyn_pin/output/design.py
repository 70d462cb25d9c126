"""The result folder of optimal experiments: design.csv, result.json, a picture, a page with the poses in 3D."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.elastic.design import Design, tried
from robodyn_pin.elastic.measurements import AXES, motor_headers, write_measurements
from robodyn_pin.elastic.springs import place
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.stiffness_uses import MICRO

if TYPE_CHECKING:
    from robodyn_pin.viz.sheet import Row

NAMES = {"A": "trace", "D": "determinant", "E": "largest eigenvalue"}
FORCE_ARROW, FORCE_COLOUR = 0.35, 0x0072B2  # [m] of the largest force


def write_design(found: Design, folder: Path) -> None:
    """Write all files of a design; raises BadFile where the folder cannot be written."""
    from robodyn_pin.viz.design import design_figure
    from robodyn_pin.viz.plots import standing, svg

    robot = found.springs.robot
    planned = {"orientation": np.array(found.plan.pose) + 1}
    planned |= dict(zip(motor_headers(robot), found.q.T, strict=True))
    planned |= {f"f{axis}": found.force[:, k] for k, axis in enumerate(AXES)}
    planned |= {f"expected_d{axis}": found.deviation[:, k] for k, axis in enumerate(AXES)}
    note = (
        f"planned, not measured: {robot.name}, springs on the {found.run.springs}, criterion {found.run.criterion}, seed {found.run.seed}; "
        "q: motors [rad or m], f [N] and expected deviations of the prior's springs [m] in the axes of the base"
    )
    write_table(folder / "design.csv", planned, note)
    if (m := tried(found)) is not None and found.run.simulate is not None:
        springs = ", ".join(f"{name} {k:g}" for name, k in found.run.simulate.stiffness.items())
        said = f"SIMULATED by robodyn_pin: {robot.name}, springs on the {found.run.springs} {springs} N m/rad, noise {found.run.sigma:g} m, "
        write_measurements(
            folder / "measurements.csv", m, robot, f"{said}seed {found.run.simulate.seed}; SI units, axes of the base"
        )
    drawn = svg(design_figure(found), "design")
    write_text(folder / "design.svg", standing(drawn))
    write_text(folder / "design.html", page(found, drawn))
    write_json(folder / "result.json", summary(found))


def summary(found: Design) -> dict[str, object]:
    """What result.json holds."""
    run, (before, after) = found.run, found.deviations
    tool, median, full = run.tool.model_dump(), float(np.median(found.random)), float(np.median(found.random_full))
    robot = {
        "robot": found.springs.robot.name,
        "tool": tool,
        "springs": run.springs,
        "names": list(found.springs.names),
    }
    asked = {"form": run.form, "criterion": run.criterion, "mode": run.mode, "seed": run.seed}
    unit = "stiffness in 1e6 N m/rad" if run.form == "stiffness" else "compliance in 1e-6 rad/(N m)"
    size = {"unit": unit, "size": found.size, "prior_size": found.before, "only": found.alone}
    chance = {"random_designs": len(found.random), "median_random": median, "median_random_full_force": full}
    best = {"best_random_full_force": float(found.random_full.min())}
    gain = {"gain": median / found.size, "gain_full_force": full / found.size, "reached": found.reached.tolist()}
    told = {"expected_deviations": after.tolist(), "prior_deviations": before.tolist(), "untold": found.untold}
    plan, posterior = found.plan, found.posterior
    measurements = [
        {
            "orientation": g + 1,
            "direction": name,
            "q": q.tolist(),
            "force": f.tolist(),
            "expected_deviation": d.tolist(),
        }
        for g, name, q, f, d in zip(plan.pose, plan.directions, found.q, found.force, found.deviation, strict=True)
    ]
    return {**robot, **asked, **size, **chance, **best, **gain, **told} | {
        "measurements": measurements,
        "posterior": {"mean": posterior.mean.tolist(), "covariance": posterior.covariance.tolist()},
        "note": "planned with the prior's stiffness; nothing was measured",
    }


def measurement_rows(found: Design) -> "list[Row]":
    """The measurements for people: degrees as a controller shows them (metres of a sliding motor in mm)."""
    robot = found.springs.robot
    slides = robot.slides(robot.motors.S)
    heads = [f"{name} [{'mm' if s else '°'}]" for name, s in zip(robot.motors.names, slides, strict=True)]
    rows = []
    for i, (g, q, f, d) in enumerate(zip(found.plan.pose, found.q, found.force, found.deviation, strict=True)):
        row = {"measurement": str(i + 1), "orientation": str(g + 1)}
        shown = (f"{1000 * x if s else np.degrees(x):.2f}" for s, x in zip(slides, q, strict=True))
        row |= dict(zip(heads, shown, strict=True)) | {"force x, y, z [N]": " ".join(f"{x:.0f}" for x in f)}
        rows.append(row | {"expected deviation [µm]": " ".join(f"{x / MICRO:.0f}" for x in d)})
    return rows


def words(found: Design) -> list[str]:
    """What the design is worth, in sentences."""
    run, what = found.run, NAMES[found.run.criterion]
    lines = [
        f"{what} of the expected posterior ({run.form}) {found.size:.4g}, of the prior {found.before:.4g}; {len(found.random)} designs by chance "
        f"that keep the same rules: median {np.median(found.random):.4g} ({np.median(found.random) / found.size:.3g} times as much), with full forces "
        f"{np.median(found.random_full):.4g} ({np.median(found.random_full) / found.size:.3g} times), the best of them {found.random_full.min():.4g}"
    ]
    if len(found.alone) > 1:
        lines += [
            f"only the measurements along {name}: {x:.4g}, {x / found.size:.3g} times all"
            for name, x in found.alone.items()
        ]
    ends = np.sort(found.reached[np.isfinite(found.reached)])
    lines.append(
        f"{len(ends)} of {len(found.reached)} starts kept all rules; they reached {ends[0]:.4g} to {ends[-1]:.4g}"
    )
    return lines


def page(found: Design, drawn: str) -> str:
    """The text of design.html."""
    from robodyn_pin.viz.loaded_poses import draw_arrows, loaded_scene
    from robodyn_pin.viz.sheet import Part, sheet

    springs = found.springs
    at = place(springs, found.c)
    each = list(found.plan.pose)
    arrows = FORCE_ARROW * found.force / found.run.experiments.largest
    tails, title = at.point[each] - arrows, f"{springs.robot.name}: orientations to measure in"
    with loaded_scene(springs.robot, at.q, title, tails) as scene:
        draw_arrows(scene, "forces", tails, arrows, np.full(len(each), FORCE_COLOUR), 0.012)
        tour = scene.html()
    unknown = [f"{name} {why}" for name, why in found.untold.items()]
    verdict = "Every spring is told" if not unknown else "NOT EVERY SPRING IS TOLD"
    planned = (
        "Planned with the prior's stiffness; nothing was measured. Forces act on the tool, along the axes of the base."
    )
    parts = [
        Part("Measurements", [planned], measurement_rows(found)),
        Part("Worth", words(found), (), [drawn]),
        Part("Poses", ["Arrows: forces, their tips at the tool's point."], (), (), tour),
    ]
    return sheet(f"{springs.robot.name}: optimal experiments", "", not unknown, verdict, unknown, parts)
