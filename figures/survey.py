"""Robot files that packages of PyPI ship: which of them `robodyn init --yes` brings up, and whether their torques are right.

The packages are not part of this project: they are installed into build/survey, or into the folder that ROBODYN_SURVEY names.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from make import HERE, ROOT, Row, Section
from survey_robots import kind_of

PACKAGES = (
    "example-robot-data==6.0.0", "pybullet==3.2.7", "dm_control==1.0.50", "robosuite==1.5.2", "mani_skill==3.0.1", "rtb-data==2.0.0",
    "icub-models==3.2.0",
)  # fmt: skip
SUFFIXES = (".urdf", ".xml", ".sdf", ".xacro")
LEFT_OUT = "random_urdfs"  # of pybullet_data: 1000 things of one link each
RIGHT = 1e-8
NO_ROBOT = ("nothing moves", "no <link> in it", "no <worldbody>")
REMEDY = re.compile(
    r"[;:,] (take|give|write|load|let|put|keep|correct|look|leave|add|bring|did you mean|a body that stands|it is a macro|expand|or leave)"
)


def study() -> Section:
    folder = installed()
    found = asked(robot_files(folder))
    parts = {line["file"]: Path(line["file"]).relative_to(folder) for line in found}
    right = [line for line in found if line.get("error", 1) < RIGHT]
    wrong = [line for line in found if line.get("error", 0) >= RIGHT]
    crashed = [line for line in found if "crashed" in line]
    alone = [line for line in found if "not compared" in line]
    refused = [line for line in found if "refused" in line]
    none = [line for line in refused if any(words in line["refused"] for words in NO_ROBOT)]
    robots = len(found) - len(none)
    left = [line for line in refused if line not in none]
    helpless = [line for line in left if not REMEDY.search(line["refused"])]
    worst = max(line["error"] for line in right)
    kinds = Counter(same_words(line["refused"]) for line in left)

    def named(lines: list[dict]) -> str:
        return f"{len(lines)}" + "".join(f"; {parts[line['file']]}" for line in lines)

    return Section(
        "Robot files of other packages", "python figures/make.py survey",
        (
            Row("files; of these parts of others and things without a joint", "", f"{len(found)}; {len(none)}"),
            Row("robots that came up right, their torques against Pinocchio (URDF) or MuJoCo (MJCF, SDF)", f"{RIGHT:g}",
                f"{len(right)} of {robots}, worst {worst:.1e}"),
            Row("came up with wrong torques", "0", named(wrong), not wrong),
            Row("crashed", "0", named(crashed), not crashed),
            Row("came up, and the other program does not read the file", "", named(alone)),
            Row("refused with what to do", "", f"{len(left) - len(helpless)} of {robots}"),
            Row("refused without a remedy", "<= 2 %", f"{named(helpless)} ({100 * len(helpless) / robots:.1f} %)",
                len(helpless) <= 0.02 * robots),
            *(Row(f"refused: {what}", "", f"{count}") for what, count in kinds.most_common() if count > 1),
            Row("refused for reasons of their own, one file each", "", f"{sum(count == 1 for count in kinds.values())}"),
        ),
        f"`robodyn init --yes` on every {', '.join(SUFFIXES)} file of {', '.join(PACKAGES)} that is a URDF, MJCF, SDF or xacro (without "
        f"{LEFT_OUT} of pybullet_data). A remedy is a sentence that says what to change; whether it helps was not tried.",
    )  # fmt: skip


def installed() -> Path:
    """Return the folder with the packages, installed there if it is new."""
    folder = Path(os.environ.get("ROBODYN_SURVEY", ROOT / "build" / "survey"))
    if not folder.is_dir():
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PACKAGES],
            check=True,
        )
    return folder


def robot_files(folder: Path) -> list[Path]:
    files = (
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and LEFT_OUT not in path.parts and path.is_file()
    )
    return [path for path in files if kind_of(path.read_text(errors="replace"))]


def asked(files: list[Path]) -> list[dict]:
    """Return what becomes of each file, in a process of its own, which another one follows where it dies."""
    lines: list[dict] = []
    while len(lines) < len(files):
        left = [str(path) for path in files[len(lines) :]]
        done = subprocess.run(
            [sys.executable, str(HERE / "survey_robots.py"), *left], capture_output=True, text=True, check=False
        )
        lines += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if len(lines) < len(files):
            lines.append({"file": str(files[len(lines)]), "crashed": f"the process ended with {done.returncode}"})
    return lines


def same_words(sentence: str) -> str:
    """Return a sentence without its names and numbers, so that others of its kind are the same."""
    plain = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", re.sub(r"^\S+?\.(urdf|xml|sdf|xacro):? ", "", sentence))
    plain = re.sub(r"(?<![\w.])-?\d[\d.e+-]*", "N", plain).replace("|", "/")
    return plain if len(plain) < 160 else plain[:157] + "..."
