"""Run the long, seeded studies and write docs/figures.md: what was asked, what was reached, by which command, when.

python figures/make.py [STUDY ...]     only these studies; the other sections stay as they are
--workers N, --scheduler ADDRESS       repetitions by processes of this machine or of a Dask cluster (as `make cluster` starts it)
"""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from robodyn_pin.errors import INTERRUPTED, RobodynError
from robodyn_pin.files import write_text
from robodyn_pin.output.progress import status
from robodyn_pin.telling import Milestone
from robodyn_pin.workers import working

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "figures.md"
ROBODYN = Path(sys.executable).with_name("robodyn")
STUDIES = (
    "main_job", "defaults", "chosen", "states", "estimators", "solvers", "priors", "uncertainty", "compare", "payload", "identifiability", "dualv",
    "passive_friction", "shapes", "friction", "excitation", "instruments", "over_fitting", "strut_forces", "consistency", "film",
    "control", "laws", "balance", "stops", "beside_mujoco", "differentiation", "online", "arms", "u_turn", "stribeck", "sweeps", "irb2400", "planning", "stiffness", "calibration", "strangers", "many_logs", "many_robots", "long_logs", "fleets",
    "c_code", "fmu", "derivatives", "mistakes", "clocks", "outliers", "lean", "faults", "fuzz", "together", "survey",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One figure."""

    what: str
    asked: str
    reached: str
    met: bool | None = None  # None: reported, nothing asked


@dataclass(frozen=True)
class Section:
    """The figures of one study."""

    title: str
    command: str
    rows: tuple[Row, ...]
    note: str = ""


def text(study: str, section: Section) -> str:
    lines = [f"<!-- {study} -->", f"## {section.title}", "", f"`{section.command}`, {date.today().isoformat()}", ""]
    if section.note:
        lines += [section.note, ""]
    lines += ["| what | asked | reached | |", "| --- | --- | --- | --- |"]
    sign = {True: "met", False: "**missed**", None: ""}
    lines += [f"| {r.what} | {r.asked} | {r.reached} | {sign[r.met]} |" for r in section.rows]
    return "\n".join(lines) + "\n"


def write(study: str, section: Section) -> None:
    """Put a section into the page; the others stay as they are, as another study may have written them meanwhile."""
    kept = dict(re.findall(r"(?s)<!-- (\w+) -->\n(.*?)(?=<!-- |\Z)", PAGE.read_text() if PAGE.exists() else ""))
    kept[study] = text(study, section).split("\n", 1)[1]
    body = "\n".join(f"<!-- {name} -->\n{kept[name].rstrip()}\n" for name in STUDIES if name in kept)
    write_text(PAGE, "# Figures\n\nWritten by `make figures`. Simulated data are called simulated.\n\n" + body)


def several(x: Iterable[float]) -> str:
    """Numbers in a cell of a table."""
    return " ".join(f"{value:.3f}" for value in x)


def main() -> None:
    ask = argparse.ArgumentParser(description="Run the long, seeded studies and write docs/figures.md.")
    ask.add_argument("studies", nargs="*", metavar="STUDY", help=f"default: all of {', '.join(STUDIES)}")
    ask.add_argument(
        "--workers", type=int, help="processes of this machine for repetitions; default: one for each core"
    )
    ask.add_argument("--scheduler", help="address of a Dask scheduler instead, tcp://HOST:8786")
    asked = ask.parse_args()
    if unknown := [x for x in asked.studies if x not in STUDIES]:
        ask.error(f"no study {unknown[0]!r}; there are {', '.join(STUDIES)}")
    tests = ROOT / "tests"
    shared = [tests, *tests.glob("[a-z]*/"), ROOT / "benchmarks"]  # samplers of the tests, comparisons
    sys.path[:0] = places = [str(HERE), *map(str, shared)]
    before = filter(None, [os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join([*places, *before])  # for processes that take repetitions
    written: list[str] = []
    studies = asked.studies or STUDIES
    try:
        with status() as say, working(asked.workers, asked.scheduler):
            for study in studies:
                say(Milestone(f"study {study}", "studies", len(written) / len(studies)))
                write(study, importlib.import_module(study).study())
                written.append(study)
    except KeyboardInterrupt:
        print(
            f"interrupted; written to {PAGE.name}: {', '.join(written) or 'nothing'}; the rest is as before",
            file=sys.stderr,
        )
        raise SystemExit(INTERRUPTED) from None
    except RobodynError as error:
        sys.exit(f"make.py: {error}")


if __name__ == "__main__":
    main()
