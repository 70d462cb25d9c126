"""Ten mistakes that people make with a robot or a log, on SIMULATED logs of catalogue robots: does the tool name the culprit?"""

import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import yaml
from make import ROBODYN, ROOT, Row, Section

from robodyn_pin.robot.robot import load

MOTIONS = {"irb2400": "irb2400_motion", "irb6660": "irb2400_motion", "irb360": "irb360_motion"}
SMALLER = 0.4  # times the amplitudes, and [rad] forward
NOISE = 0.02  # of each motor's rms torque
UNKNOWN = 0.2  # the bodies of the robot that made a log differ by so much from its files
LEVER = "rod_joint"
RATED = {"m1": 1500, "m2": 1500, "m3": 800, "m4": 150, "m5": 120, "m6": 60}  # [N m]


@dataclass(frozen=True)
class Case:
    """A mistake, the command that meets it, and the words that name the culprit."""

    what: str
    said: str
    words: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The line that names it, else the last one."""
        lines = [line for line in self.said.splitlines() if line.strip()]
        return next((line for line in lines if all(word in line for word in self.words)), lines[-1])

    @property
    def named(self) -> bool:
        return all(word in self.sentence for word in self.words)


def study() -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        cases = [*of_logs(Path(scratch)), *of_files(Path(scratch))]
        clean = {name: identify(Path(scratch), name, log(Path(scratch), name)) for name in ("irb2400", "irb360")}
    rows = [Row(c.what, "the culprit is named", c.sentence.strip().replace("|", "/"), c.named) for c in cases]
    many = sum(c.named for c in cases)
    silent = sum("looks" not in said for said in clean.values())
    return Section(
        "Strangers", "python figures/make.py strangers",
        (
            Row("mistakes whose culprit is named", ">= 9 of 10", f"{many} of {len(cases)}", many >= 9),
            Row("logs without a mistake that get none told", f"{len(clean)} of {len(clean)}", f"{silent} of {len(clean)}",
                silent == len(clean)),
            *rows,
        ),
        f"SIMULATED logs of IRB 2400, IRB 6660 and IRB 360; bodies of the robots that made them differ from the files by up to "
        f"{100 * UNKNOWN:.0f} %, torque noise {100 * NOISE:.0f} % of each motor's rms. `identify` with default settings, else `check`.",
    )  # fmt: skip


def of_logs(folder: Path) -> list[Case]:
    """Mistakes in a log."""
    arm, delta = log(folder, "irb2400"), log(folder, "irb360")
    swapped = {"tau_m1": "tau_m3", "tau_m3": "tau_m1"}
    angles = [pl.col(f"q_m{k}") * 180 / np.pi for k in range(1, 7)]
    percent = [pl.col(f"tau_{m}") * 100 / rated for m, rated in RATED.items()]
    logs = [
        ("two columns swapped", "irb2400", arm.rename(swapped), ("tau_m1", "tau_m3", "swapped")),
        ("degrees", "irb2400", arm.with_columns(angles), ("deg",)),
        ("milliseconds", "irb2400", arm.with_columns(pl.col("t") * 1000), ("milliseconds",)),
        ("a motor's sign", "irb360", delta.with_columns(-pl.col("tau_phi1")), ("tau_phi1", "-tau_phi1")),
        ("a log of another robot", "irb2400", log(folder, "irb6660"), ("irb6660",)),
        ("torque in % of rated", "irb2400", arm.with_columns(percent), ("percent of the motors' rated torques",)),
    ]
    return [Case(what, identify(folder, robot, table), words) for what, robot, table, words in logs]


def of_files(folder: Path) -> list[Case]:
    """Mistakes in a robot's files."""
    lever = changed(folder, "irb2400", lambda root, file: longer(root, LEVER))
    grams = changed(folder, "irb2400", lambda root, file: heavier(root, "link3"))
    geared = changed(folder, "irb2400", lambda root, file: file["motors"][1].update(of={"j2": 1.6}))
    opened = changed(folder, "irb360", lambda root, file: file["closures"].pop(0))
    return [
        Case("a lever arm mistyped", identify(folder, str(lever), log(folder, "irb2400")), ("parallelogram", "length")),
        Case("a mass in grams", run("check", grams), ("link3", "gram")),
        Case("a wrong gear", identify(folder, str(geared), log(folder, "irb2400")), ("m2", "the gear wrong")),
        Case("a missing closure", run("check", opened), ("a closure of 'strut_1a'",)),
    ]


def log(folder: Path, name: str) -> pl.DataFrame:
    """A log of a catalogue robot whose bodies are a little lighter or heavier than its files say."""
    path = folder / f"{name}.csv"
    if not path.exists():
        rng = np.random.default_rng(len(name))
        truth = changed(folder, name, lambda root, file: other_bodies(root, file, rng))
        run("simulate", truth, "--motion", motion(folder, name), "--out", path, "--encoder-bits", "17")
    table = pl.read_csv(path, comment_prefix="#")
    rng = np.random.default_rng(1)
    torques = [c for c in table.columns if c.startswith("tau_")]
    rms = {c: float(np.sqrt(np.mean(table[c].to_numpy() ** 2))) for c in torques}
    return table.with_columns(
        pl.Series(c, table[c].to_numpy() + NOISE * rms[c] * rng.normal(size=table.height)) for c in torques
    )


def motion(folder: Path, name: str) -> Path:
    """An example's motion; for the IRB 6660, whose axis 3 bends less far back, a smaller one of the IRB 2400."""
    path = ROOT / f"examples/{MOTIONS[name]}.yaml"
    if name != "irb6660":
        return path
    content = yaml.safe_load(path.read_text())
    for series in (content["sin"], content["cos"]):
        series |= {motor: [SMALLER * x for x in values] for motor, values in series.items()}
    content["centre"]["m3"] += SMALLER
    smaller = folder / "irb6660_motion.yaml"
    smaller.write_text(yaml.safe_dump(content))
    return smaller


def changed(folder: Path, name: str, change: Callable[[ET.Element, dict], object]) -> Path:
    """A copy of a catalogue robot with another URDF tree or robot file."""
    source, target = load(name), Path(tempfile.mkdtemp(dir=folder))
    root = ET.fromstring(source.urdf_path.read_text())
    file = yaml.safe_load((source.urdf_path.parent / f"{name}.yaml").read_text())
    change(root, file)
    file["urdf"] = f"{name}.urdf"
    (target / file["urdf"]).write_text(ET.tostring(root, encoding="unicode"))
    (target / f"{name}.yaml").write_text(yaml.safe_dump(file, sort_keys=False))
    return target / f"{name}.yaml"


def other_bodies(root: ET.Element, file: dict, rng: np.random.Generator) -> None:
    """Other masses, moments of inertia in proportion; identical bodies alike."""
    factors = {link.get("name"): 1 + UNKNOWN * rng.uniform(-1, 1) for link in root.iter("link")}
    for group in file.get("identical", []):
        factors |= dict.fromkeys(group, factors[group[0]])
    for link in root.iter("link"):
        heavier(root, link.get("name"), factors[link.get("name")], factors[link.get("name")])


def heavier(root: ET.Element, name: str | None, mass: float = 1000.0, inertia: float = 1.0) -> None:
    """A link with another mass; a mass in grams comes with an inertia in kg m^2."""
    inertial = next(link for link in root.iter("link") if link.get("name") == name).find("inertial")
    for part, factor in (("mass", mass), ("inertia", inertia)):
        for element in [] if inertial is None else inertial.findall(part):
            for key, value in element.attrib.items():
                element.set(key, repr(float(value) * factor))


def longer(root: ET.Element, joint: str) -> None:
    """A joint's x coordinate mistyped: 0.45 for 0.35."""
    origin = next(j for j in root.iter("joint") if j.get("name") == joint).find("origin")
    assert origin is not None
    x, *others = (float(value) for value in origin.get("xyz", "").split())
    origin.set("xyz", " ".join(map(repr, [x + float(np.copysign(0.1, x)), *others])))


def identify(folder: Path, robot: str, table: pl.DataFrame) -> str:
    """What `identify` says of a log, with default settings."""
    path = folder / "log.csv"
    path.write_text("# SIMULATED\n" + table.write_csv())
    (folder / "run.yaml").write_text(yaml.safe_dump({"robot": robot, "fit": [{"file": str(path)}]}))
    return run("identify", folder / "run.yaml", "--out", folder / "result")


def run(*command: object) -> str:
    """Everything that a command prints."""
    done = subprocess.run([str(ROBODYN), *map(str, command)], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
