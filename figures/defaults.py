"""Nothing but robot and logs named in the run file, beside the settings that were chosen: what the defaults cost."""

import json
import os
import sys
import tempfile
from pathlib import Path

import yaml
from main_job import CASES, bundled, run, scored
from make import ROBODYN, ROOT, Row, Section

MOST = 1.1  # times the error of chosen settings
NAMED = ("robot", "fit", "held_out", "columns", "score")  # the score says how it is counted, not how it is fitted
MEASURES = {"mtm": "mean_percent", "panda": "percent", "tx40": "rmse_all"}
UNITS = {"mtm": "%", "panda": "%", "tx40": "N m"}


def study() -> Section:
    data = os.environ.get("ROBODYN_DATA")
    if not data:
        sys.exit("set ROBODYN_DATA to the folder of the measured logs")
    with tempfile.TemporaryDirectory() as scratch:
        rows = [measured(name, Path(data), Path(scratch)) for name in CASES]
        rows.append(simulated(Path(scratch)))
    return Section(
        "Defaults", "python figures/make.py defaults", tuple(rows),
        "Run files that name the robot, the logs, the columns and how the error is counted, nothing else, beside those of "
        "`tests/runs` and `examples/irb360.yaml`, whose filters, widths and priors were chosen inside the fit data. Measured "
        "logs are scored by their own script on held-out rows, one run each.",
    )  # fmt: skip


def measured(name: str, data: Path, scratch: Path) -> Row:
    chosen = ROOT / "tests/runs" / f"{name}.yaml"
    errors = {}
    for kind, file in (("chosen", chosen), ("bare", bare(chosen, scratch))):
        out = scratch / f"{name}_{kind}"
        run(ROBODYN, "identify", file, "--out", out, good=(0, 3))
        errors[kind] = scored(name, out, data)[MEASURES[name]], verdict(out)
    return row(f"{name} (measured), held-out error [{UNITS[name]}]", errors)


def simulated(scratch: Path) -> Row:
    by_noise = bundled(scratch)
    chosen = sum(by_noise) / len(by_noise)
    file = bare(ROOT / "examples/irb360.yaml", scratch)
    run(ROBODYN, "identify", file, "--out", scratch / "bare_irb360", good=(0, 3))
    wanted = json.loads((scratch / "irb360/result.json").read_text())["errors"]["feasible"]["held_out"]["rmse"]
    result = json.loads((scratch / "bare_irb360/result.json").read_text())
    found = result["errors"]["feasible"]["held_out"]["rmse"]
    noise = {motor: wanted[motor] / ratio for motor, ratio in zip(wanted, by_noise, strict=True)}
    reached = sum(found[motor] / noise[motor] for motor in noise) / len(noise)
    errors = {"chosen": (chosen, "accepted"), "bare": (reached, verdict(scratch / "bare_irb360"))}
    return row("IRB 360 (SIMULATED), held-out RMSE over the noise put in", errors)


def bare(chosen: Path, scratch: Path) -> Path:
    """A run file without settings."""
    file = yaml.safe_load(os.path.expandvars(chosen.read_text()))
    kept = {key: file[key] for key in NAMED if key in file}
    for spec in kept["fit"]:
        spec["file"] = str((chosen.parent / spec["file"]).resolve())
    if kept["robot"].endswith(".yaml"):
        kept["robot"] = str((chosen.parent / kept["robot"]).resolve())
    path = scratch / f"bare_{chosen.stem}.yaml"
    path.write_text(yaml.safe_dump(kept))
    return path


def verdict(folder: Path) -> str:
    return "accepted" if json.loads((folder / "result.json").read_text())["verdict"]["accepted"] else "not accepted"


def row(what: str, errors: dict[str, tuple[float, str]]) -> Row:
    (wanted, _), (found, said) = errors["chosen"], errors["bare"]
    reached = f"{found:.4g}, {said} ({found / wanted:.3f} of {wanted:.4g})"
    return Row(what, f"<= {MOST:g} of chosen settings'", reached, found <= MOST * wanted)
