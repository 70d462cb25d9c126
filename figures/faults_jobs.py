"""Every command that writes, with inputs that keep it short."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from make import ROBODYN, ROOT

EXAMPLES = ROOT / "examples"
SINE = (EXAMPLES / "delta3_sine.yaml").read_text()
PORT = "16511"
FILES = {
    "sine.yaml": SINE.replace("duration: 20", "duration: 0.6"),
    "long.yaml": SINE.replace("duration: 20", "duration: 4"),
    "law.yaml": "law: computed_torque\nrate: 1000\nbandwidth: 20\ndamping: 1\n",
    "run.yaml": "robot: delta3\nfit: [{file: long.csv, rows: [0, 1500]}]\nheld_out: [{file: long.csv, rows: [1500, 2000]}]\n",
    "excite.yaml": "robot: delta3\nperiod: 4\nharmonics: 2\nrandom: 20\nstarts: 1\niterations: 3\n"
    "noise: {phi1: 0.1, phi2: 0.1, phi3: 0.1}\n",
    "sweeps.yaml": "robot: irb2400\nsweeps: {at: {m6: 0}, speeds: [0.05, 0.1, 0.2, 0.3, 0.4, 0.5], rate: 100}\n"
    "logs: [{file: sweeps.csv}]\nmodel: linear\n",
    "stiffness.yaml": (EXAMPLES / "irb6660_stiffness.yaml")
    .read_text()
    .replace("step: 0.1", "step: 0.3")
    .replace("irb6660_stiffness/", f"{EXAMPLES}/irb6660_stiffness/"),
    "design.yaml": (EXAMPLES / "irb6660_design.yaml")
    .read_text()
    .replace("{forces: {y: 3, x: 2}, orientations: 4,", "{forces: {y: 1, x: 1}, orientations: 2,"),
    "plan.yaml": (EXAMPLES / "irb2400_plan.yaml").read_text() + "costs: false\n",
}


@dataclass(frozen=True)
class Job:
    """A command and where it writes, given the folder of its input."""

    name: str
    main: str  # the file that comes last
    arguments: tuple[str, ...]  # {out} is the place of its results, {inputs} the folder of FILES and logs
    beside: tuple[str, ...] = ()  # a command that runs at the same time

    def line(self, out: Path, inputs: Path) -> list[str]:
        return [x.format(out=out, inputs=inputs) for x in self.arguments]


LOG = "{inputs}/log.csv"
JOBS = (
    Job("simulate", "log.csv", ("simulate", "delta3", "--motion", "{inputs}/sine.yaml", "--out", "{out}/log.csv")),
    Job("simulate --controller", "log.csv",
        ("simulate", "delta3", "--motion", "{inputs}/sine.yaml", "--controller", "{inputs}/law.yaml", "--out", "{out}/log.csv")),
    Job("predict", "torques.csv", ("predict", "delta3", LOG, "--out", "{out}/torques.csv")),
    Job("forces", "struts.csv", ("forces", "delta3", LOG, "--out", "{out}/struts.csv")),
    Job("joints", "joints.csv", ("joints", "delta3", LOG, "--out", "{out}/joints.csv")),
    Job("show --export", "film.html", ("show", "delta3", "--motion", LOG, "--export", "{out}/film.html")),
    Job("track", "track.json", ("track", "delta3", LOG, "--settings", f"{EXAMPLES}/delta3_track.yaml", "--out", "{out}")),
    Job("repair", "repair.json", ("repair", "irb2400_printed", "--out", "{out}")),
    Job("identify", "result.json", ("identify", "{inputs}/run.yaml", "--out", "{out}")),
    Job("excite", "excitation.json", ("excite", "{inputs}/excite.yaml", "--out", "{out}")),
    Job("plan", "result.json", ("plan", "{inputs}/plan.yaml", "--out", "{out}")),
    Job("friction --protocol", "protocol.json", ("friction", "{inputs}/sweeps.yaml", "--protocol", "--out", "{out}")),
    Job("friction", "friction.json", ("friction", "{inputs}/sweeps.yaml", "--out", "{out}")),
    Job("stiffness", "result.json", ("stiffness", "{inputs}/stiffness.yaml", "--out", "{out}")),
    Job("design", "result.json", ("design", "{inputs}/design.yaml", "--out", "{out}")),
    Job("record", "recorded.csv",
        ("record", "delta3", "--egm", "--port", PORT, "--units", "angle=deg,torque=N m", "--duration", "1",
         "--out", "{out}/recorded.csv"),
        ("stream", "delta3", "{inputs}/long.csv", "--port", PORT)),
)  # fmt: skip


def prepare(inputs: Path) -> None:
    """Write the files and logs that the jobs read."""
    for name, text in FILES.items():
        (inputs / name).write_text(text)
    for arguments in (
        ("simulate", "delta3", "--motion", "sine.yaml", "--out", "log.csv", "--noise", "0.1,0.1,0.1"),
        ("simulate", "delta3", "--motion", "long.yaml", "--out", "long.csv", "--noise", "0.1,0.1,0.1"),
        ("friction", "sweeps.yaml", "--protocol", "--out", "protocol"),
        ("simulate", "irb2400", "--motion", "protocol/sweeps.yaml", "--out", "sweeps.csv", "--noise", "1,1,1,0.1,0.1,0.1"),
    ):  # fmt: skip
        done = subprocess.run([ROBODYN, *arguments], cwd=inputs, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
