"""What a stiffness is used for - deviation map, stiffest orientation, corrected path - as files, sentences and JSON."""

from pathlib import Path

import numpy as np

from robodyn_pin.elastic.measurements import AXES
from robodyn_pin.elastic.path_correction import write_corrected_path
from robodyn_pin.elastic.stiffness import StiffnessResult
from robodyn_pin.files import write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.viz.stiffness_uses import force_text, map_page

MICRO = 1e-6


def write_uses(result: StiffnessResult, folder: Path) -> str:
    """Write deviations.csv, deviations.html and corrected.csv, as far as the run asks for them.

    Returns:
        The text of deviations.html; empty without a map.
    """
    scene = ""
    if (m := result.map) is not None:
        columns = {axis: m.points[:, i] for i, axis in enumerate(AXES)}
        columns |= {f"d{axis}": m.deviation[:, i] for i, axis in enumerate(AXES)}
        note = (
            f"expected deviations [m] under {force_text(m.spec.force)}, axes of the base; {result.springs.robot.name}"
        )
        write_table(folder / "deviations.csv", columns, note)
        scene = map_page(m, result.springs)
        write_text(folder / "deviations.html", scene)
    if result.correction is not None:
        write_corrected_path(folder / "corrected.csv", result.correction, result.springs)
    return scene


def use_sentences(result: StiffnessResult) -> dict[str, str]:
    """The outcome of each use in sentences, by its heading."""
    sentences = {}
    if (m := result.map) is not None:
        best, worst = m.points[m.lengths.argmin()], m.points[m.lengths.argmax()]
        sentences["Deviations over the workspace"] = (
            f"The robot reaches {len(m.points)} of the {m.grid.size} places of the grid. Under the force {force_text(m.spec.force)} the tool deviates "
            f"by {m.lengths.min() / MICRO:.0f} µm at {_point(best)}, where it is stiffest, and by {m.lengths.max() / MICRO:.0f} µm at "
            f"{_point(worst)}, where it is softest."
        )
    if (t := result.task) is not None:
        names = result.springs.robot.motors.names
        motors = ", ".join(f"{name} {np.degrees(x):.2f}°" for name, x in zip(names, t.motors, strict=True))
        sentences["Stiffest orientation"] = (
            f"At {_point(np.array(t.spec.position))} under the force {force_text(t.spec.force)} the tool deviates least, by "
            f"{np.linalg.norm(t.deviation) / MICRO:.0f} µm, with the motors at {motors}. Random orientations that keep the same rules "
            f"deviate by {np.median(t.random) / MICRO:.0f} µm (median) and up to {t.random.max() / MICRO:.0f} µm."
        )
    if (c := result.correction) is not None:
        length = np.linalg.norm(c.deviation, axis=1)
        text = (
            f"Without correction the path of {len(length)} points is expected to deviate by up to {length.max() / MICRO:.0f} µm. With the "
            f"correction the uncertainty of the stiffness leaves a deviation of standard deviation {c.remaining_deviation.max() / MICRO:.1f} µm "
            "at the worst point."
        )
        if c.simulated is not None and c.remaining_share is not None:
            without, corrected = (float(np.linalg.norm(x, axis=1).max()) / MICRO for x in c.simulated)
            text += (
                f" A SIMULATED robot deviates by up to {without:.0f} µm without and {corrected:.1f} µm with the correction, which lowers "
                f"its rms deviation by {100 * (1 - c.remaining_share):.1f} %."
            )
        sentences["Corrected path"] = text
    return sentences


def use_summary(result: StiffnessResult) -> dict[str, object]:
    """The entries of result.json about the uses."""
    summary: dict[str, object] = {}
    if (m := result.map) is not None:
        summary["map"] = {"force": list(m.spec.force), "places": int(m.grid.size), "in_reach": len(m.points),
                          "least": float(m.lengths.min()), "largest": float(m.lengths.max())}  # fmt: skip
    if (t := result.task) is not None:
        summary["task"] = {"motors": t.motors.tolist(), "turn": t.rotation.tolist(), "deviation": t.deviation.tolist(),
                           "median_by_chance": float(np.median(t.random))}  # fmt: skip
    if (c := result.correction) is not None:
        largest = float(np.linalg.norm(c.deviation, axis=1).max())
        summary["path"] = {"points": len(c.q), "largest_expected": largest, "largest_uncertainty": float(c.remaining_deviation.max()),
                           "simulated_part_left": c.remaining_share}  # fmt: skip
    return summary


def _point(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.2f}" for x in point) + ") m"
