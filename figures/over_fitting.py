"""Two seconds of a log are too few: what the verdict says, by the command line as a user runs it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from make import ROBODYN, ROOT, Row, Section

NEGATIVE = 3


def study() -> Section:
    if not os.environ.get("ROBODYN_DATA"):
        sys.exit("set ROBODYN_DATA to the folder of the measured logs")
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "irb360_log.csv"
        subprocess.run([ROBODYN, "simulate", "irb360", "--motion", ROOT / "examples/irb360_motion.yaml", "--out", log,
                        "--noise", "1.5,1.5,1.6,0.16", "--encoder-bits", "15", "--seed", "1"], check=True, capture_output=True)  # fmt: skip
        irb360 = yaml.safe_load((ROOT / "examples/irb360.yaml").read_text()) | {"intervals": False}
        panda = yaml.safe_load((ROOT / "tests/runs/panda.yaml").read_text())
        panda |= {"robot": str(ROOT / "tests/robots/panda.yaml"), "choose": {}}
        held = [{"file": str(log), "rows": [14000, 19800]}]
        cases = [
            (
                "IRB 360 (SIMULATED), 14 s",
                irb360 | {"fit": [{"file": str(log), "rows": [0, 14000]}], "held_out": held},
                0,
            ),
            (
                "IRB 360 (SIMULATED), 2 s",
                irb360 | {"fit": [{"file": str(log), "rows": [0, 2000]}], "held_out": held},
                NEGATIVE,
            ),
            ("Panda (measured), 14.5 s", panda, 0),
            ("Panda (measured), 2 s", panda | {"fit": [panda["fit"][0] | {"rows": [0, 1957]}]}, NEGATIVE),
        ]
        rows = [judged(what, run, code, Path(scratch)) for what, run, code in cases]
    return Section(
        "Over-fitting", "python figures/make.py over_fitting", tuple(rows),
        "The same run file on the usual part of a log and on its first two seconds; the same held-out samples.",
    )  # fmt: skip


def judged(what: str, run: dict, code: int, scratch: Path) -> Row:
    file = scratch / "run.yaml"
    file.write_text(yaml.safe_dump(run))
    done = subprocess.run([ROBODYN, "identify", file, "--out", scratch / "result", "--json"], capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode not in (0, NEGATIVE):
        sys.exit(done.stderr)
    reasons = "; ".join(json.loads(done.stdout)["verdict"]["reasons"])
    said = "over-fitted" in reasons
    return Row(f"{what}: exit code, reasons", f"{code}{', over-fitted' if code else ''}", f"{done.returncode}: {reasons}",
               done.returncode == code and said == bool(code))  # fmt: skip
