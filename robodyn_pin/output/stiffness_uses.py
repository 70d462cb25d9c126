"""Files and words of what a stiffness is used for: map, stiffest orientation, corrected path."""

from pathlib import Path

import numpy as np

from robodyn_pin.elastic.measurements import AXES
from robodyn_pin.elastic.path_correction import write_course
from robodyn_pin.elastic.stiffness import Stiffness
from robodyn_pin.files import write_text
from robodyn_pin.logs.writing import write_table

MICRO = 1e-6


def write_uses(found: Stiffness, folder: Path) -> str:
    """Write deviations.csv, deviations.html and corrected.csv, as far as the run asks for them; returns the HTML, or nothing."""
    from robodyn_pin.viz.stiffness_uses import map_page

    scene = ""
    if (m := found.map) is not None:
        named = {axis: m.points[:, i] for i, axis in enumerate(AXES)}
        named |= {f"d{axis}": m.deviation[:, i] for i, axis in enumerate(AXES)}
        force, robot = ", ".join(f"{f:g}" for f in m.spec.force), found.springs.robot.name
        note = f"expected deviations [m] under ({force}) N, axes of the base; {robot}"
        write_table(folder / "deviations.csv", named, note)
        scene = map_page(m, found.springs)
        write_text(folder / "deviations.html", scene)
    if found.correction is not None:
        write_course(folder / "corrected.csv", found.correction, found.springs)
    return scene


def use_words(found: Stiffness) -> dict[str, str]:
    """What came out, in a sentence each, by the heading it belongs to."""
    words = {}
    if (m := found.map) is not None:
        best, worst = m.points[m.lengths.argmin()], m.points[m.lengths.argmax()]
        words["Deviations over the workspace"] = (
            f"{len(m.points)} of {m.grid.size} places are in reach; deviations from {m.lengths.min() / MICRO:.0f} µm at {_at(best)} to "
            f"{m.lengths.max() / MICRO:.0f} µm at {_at(worst)}"
        )
    if (t := found.task) is not None:
        motors = ", ".join(
            f"{name} {np.degrees(x):.2f}°" for name, x in zip(found.springs.robot.motors.names, t.motors, strict=True)
        )
        words["Stiffest orientation"] = (
            f"at {_at(np.array(t.spec.position))} the tool moves {np.linalg.norm(t.deviation) / MICRO:.0f} µm with the motors at {motors}; orientations by "
            f"chance: {np.median(t.random) / MICRO:.0f} µm in the middle, {t.random.max() / MICRO:.0f} µm at worst"
        )
    if (c := found.correction) is not None:
        length = np.linalg.norm(c.deviation, axis=1)
        words["Corrected path"] = (
            f"{len(length)} points, expected deviation up to {length.max() / MICRO:.0f} µm; corrected, its standard deviation is {c.unsure.max() / MICRO:.1f} µm at "
            "worst, from that of the stiffness"
        )
        if c.truth is not None and c.part_left is not None:
            before, after = (float(np.linalg.norm(x, axis=1).max()) / MICRO for x in c.truth)
            words["Corrected path"] += (
                f"; a SIMULATED robot leaves the plan by {before:.0f} µm without and {after:.1f} µm with the correction at most, rms down by "
                f"{100 * (1 - c.part_left):.1f} %"
            )
    return words


def use_summary(found: Stiffness) -> dict[str, object]:
    """What result.json holds of it."""
    out: dict[str, object] = {}
    if (m := found.map) is not None:
        reach = {"force": list(m.spec.force), "places": int(m.grid.size), "in_reach": len(m.points)}
        out["map"] = reach | {"least": float(m.lengths.min()), "largest": float(m.lengths.max())}
    if (t := found.task) is not None:
        pose = {"motors": t.motors.tolist(), "turn": t.turn.tolist(), "deviation": t.deviation.tolist()}
        out["task"] = pose | {"median_by_chance": float(np.median(t.random))}
    if (c := found.correction) is not None:
        largest = float(np.linalg.norm(c.deviation, axis=1).max())
        path = {"points": len(c.q), "largest_expected": largest, "largest_unsure": float(c.unsure.max())}
        out["path"] = path | {"simulated_part_left": c.part_left}
    return out


def _at(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.2f}" for x in point) + ") m"
