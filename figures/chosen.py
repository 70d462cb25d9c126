"""The README's two lines on the measured logs: friction and the base's lean chosen by the log, beside settings or alone."""

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml
from defaults import MEASURES, UNITS, bare, verdict
from main_job import CASES, run, scored
from make import ROBODYN, ROOT, Row, Section, several

FRICTION = ["coulomb+viscous", "maxwell_slip", "+quadratic", "+cbrt"]  # the README's line
LIMITS = {"mtm": 16.0, "panda": 0.87, "tx40": 2.78}


@dataclass(frozen=True)
class Configuration:
    """What a run file adds to the named log."""

    settings: bool  # those of tests/runs, chosen inside the fit data
    friction: bool
    gravity: bool

    def __str__(self) -> str:
        parts = ("settings of tests/runs", self.settings), ("friction", self.friction), ("gravity", self.gravity)
        return ", ".join(name for name, there in parts if there) or "nothing"


README = Configuration(True, True, True)
CONFIGURATIONS = (
    README,
    *(
        Configuration(*c)
        for c in (
            (True, False, False),
            (True, True, False),
            (False, False, False),
            (False, True, False),
            (False, True, True),
        )
    ),
)


def study() -> Section:
    data = os.environ.get("ROBODYN_DATA")
    if not data:
        sys.exit("set ROBODYN_DATA to the folder of the measured logs")
    with tempfile.TemporaryDirectory() as scratch:
        rows = tuple(row(name, c, Path(data), Path(scratch)) for name in CASES for c in CONFIGURATIONS)
    return Section(
        "Friction and lean chosen by the log", "python figures/make.py chosen", rows,
        f"Measured logs. `friction` stands for `choose: {{friction: [{', '.join(FRICTION)}]}}`, `gravity` for `gravity: choose`; all "
        "bodies can exist. The first row of each robot is the README's; every configuration that was scored is listed, each scored "
        "once by the logs' own script on held-out rows.",
    )  # fmt: skip


def row(name: str, configuration: Configuration, data: Path, scratch: Path) -> Row:
    file, out = (
        written(name, configuration, scratch),
        scratch / f"{name}_{configuration}".replace(", ", "_").replace("/", "_"),
    )
    run(ROBODYN, "identify", file, "--out", out, good=(0, 3))
    score = scored(name, out, data)
    error = score[MEASURES[name]]
    each = f" (motors {several(score['percent'])})" if name == "mtm" else ""
    asked = f"<= {LIMITS[name]:g}" if configuration == README else "reported"
    return Row(f"{name}, held-out error [{UNITS[name]}], {configuration}", asked, f"{error:.4g}{each}, {verdict(out)}",
               error <= LIMITS[name] if configuration == README else None)  # fmt: skip


def written(name: str, configuration: Configuration, scratch: Path) -> Path:
    chosen = ROOT / "tests/runs" / f"{name}.yaml"
    path = bare(chosen, scratch)  # with absolute paths
    file = yaml.safe_load(path.read_text())
    if configuration.settings:
        file = yaml.safe_load(os.path.expandvars(chosen.read_text())) | file
    if configuration.friction:
        file["choose"] = file.get("choose", {}) | {"friction": FRICTION}
    if configuration.gravity:
        file["gravity"] = "choose"
    path.write_text(yaml.safe_dump(file))
    return path
