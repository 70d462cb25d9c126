"""What priors cost on measured logs: held-out errors with each distance against next to no prior, and the masses."""

import os
import sys
import tempfile
from pathlib import Path

import pinocchio as pin
from main_job import ROOT, scored
from make import Row, Section

from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import execute, read_run
from robodyn_pin.log_to_robot.run_file import ChooseSpec

NEXT_TO_NOTHING = 1e-5  # weight of a prior that only decides what the rows leave open
# Relative to the entries of a small neutral ball, the entries of real links are far away: smaller weights are offered too.
OFFERED = {"relative": [3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1], "entropic": [3e-3, 1e-2, 3e-2, 1e-1]}
WORSE = {"mtm": 0.3, "panda": 0.05}  # points of percent


def study() -> Section:
    data = Path(os.environ.get("ROBODYN_DATA") or sys.exit("set ROBODYN_DATA to the folder of the measured logs"))
    return Section(
        "Priors on measured logs", "python figures/make.py priors",
        tuple(row for name in WORSE for row in priors(name, data)),
        "Filter and Coulomb width as the main job chooses them, then the weight of each distance by cross-validation inside "
        f"the fit data (`choose: prior_weight`); without prior: Euclidean, weight {NEXT_TO_NOTHING:g}. The held-out errors "
        "are those of the logs' own script on the predictions of the written robot; masses as Pinocchio reads them there.",
    )  # fmt: skip


def priors(name: str, data: Path) -> list[Row]:
    path = ROOT / "tests/runs" / f"{name}.yaml"
    euclidean = execute(read_run(path), path.parent)

    def again(choose: ChooseSpec, **changed: object) -> Result:
        prior = euclidean.run.prior.model_copy(update=changed)
        return execute(euclidean.run.model_copy(update={"choose": choose, "prior": prior}), path.parent)

    nothing = again(ChooseSpec(), weight=NEXT_TO_NOTHING)
    others = {d: again(ChooseSpec(prior_weight=weights), distance=d) for d, weights in OFFERED.items()}
    least, _ = predicted(name, nothing, data)
    rows = [Row(f"{name}, next to no prior, held-out", "reported", f"{least:.3f} %")]
    for distance, result in {"euclidean": euclidean, **others}.items():
        percent, masses = predicted(name, result, data)
        low, high = result.run.bounds.mass
        inside = low <= min(masses) and max(masses) <= high
        rows.append(Row(
            f"{name}, {distance} prior, weight {result.run.prior.weight:g}: held-out; masses",
            f"at most {WORSE[name]:g} points worse; inside [{low:g}, {high:g}] kg",
            f"{percent:.3f} % ({percent - least:+.3f}); {min(masses):.3f} to {max(masses):.3f} kg",
            percent <= least + WORSE[name] and inside,
        ))  # fmt: skip
    return rows


def predicted(name: str, result: Result, data: Path) -> tuple[float, list[float]]:
    """Held-out percentage by the logs' own script, and the masses of the written robot [kg]."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = result.write(Path(scratch) / "result", report=False)
        score = scored(name, folder, data)
        model = pin.buildModelFromUrdf(str(next(folder.glob("*.urdf"))))
    percent = score["mean_percent"] if "mean_percent" in score else score["percent"]
    return percent, [inertia.mass for inertia in list(model.inertias)[1:]]
