"""Machines that fail: every command that writes is killed at random moments, and writes onto a disk that is full.

python figures/faults.py [KILLS]     prints what went wrong and writes nothing; `make faults` also writes docs/figures.md
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from make import ROBODYN, ROOT, Row, Section

KILLS, SEED, INTERRUPTS = 200, 1, 40
DISK = 2 * 2**20  # [bytes]
EXAMPLES = ROOT / "examples"
HIDDEN = ".robodyn-"
CLEARED = "tidy"  # a file of the folder that no command writes


@dataclass(frozen=True)
class Job:
    """A command and where it writes, given the folder of its input."""

    name: str
    arguments: tuple[str, ...]  # {out} is the place of its results, {log} a log of Delta
    folder: bool  # results are a folder


@dataclass
class Counts:
    """What happened to a job."""

    runs: int = 0
    early: int = 0  # ended before the results were there
    wrong: list[str] = field(default_factory=list)


JOBS = (
    Job(
        "simulate", ("simulate", "delta3", "--motion", f"{EXAMPLES}/delta3_sine.yaml", "--out", "{out}/log.csv"), False
    ),
    Job("predict", ("predict", "delta3", "{log}", "--out", "{out}/torques.csv"), False),
    Job("forces", ("forces", "delta3", "{log}", "--out", "{out}/struts.csv"), False),
    Job("joints", ("joints", "delta3", "{log}", "--out", "{out}/joints.csv"), False),
    Job("show", ("show", "delta3", "--motion", "{log}", "--export", "{out}/film.html"), False),
    Job("track", ("track", "delta3", "{log}", "--out", "{out}"), True),
    Job("repair", ("repair", "irb2400_printed", "--out", "{out}"), True),
    Job("identify", ("identify", "{folder}/run.yaml", "--out", "{out}"), True),
    Job("plan", ("plan", f"{EXAMPLES}/irb360_u_turn.yaml", "--out", "{out}"), True),
    Job("friction", ("friction", f"{EXAMPLES}/irb2400_friction.yaml", "--protocol", "--out", "{out}"), True),
)
RUN = "robot: delta3\nfit: [{file: log.csv, rows: [0, 1500]}]\nheld_out: [{file: log.csv, rows: [1500, 2000]}]\n"


def results(folder: Path) -> set[str]:
    """Files that a user sees."""
    if not folder.exists():
        return set()
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and HIDDEN not in str(p)}


def left(folder: Path) -> list[str]:
    """Hidden files and folders."""
    return [p.name for p in folder.rglob(".*")] if folder.exists() else []


def command(job: Job, out: Path, inputs: Path) -> list[str]:
    places = {"out": str(out), "log": str(inputs / "log.csv"), "folder": str(inputs)}
    return [str(ROBODYN), *(x.format(**places) for x in job.arguments)]


def run(line: list[str], after: float | None = None, how: int = signal.SIGKILL) -> tuple[int, str, float]:
    """Exit code, standard error and the seconds after the signal that `after` seconds bring."""
    process = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    if after is not None:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(how)
    sent = time.monotonic()
    said = process.communicate()[1]
    return process.returncode, said, time.monotonic() - sent


def killed(job: Job, out: Path, whole: set[str], line: list[str], after: float, counts: Counts) -> None:
    """One kill into an empty folder, then a whole run."""
    shutil.rmtree(out, ignore_errors=True)
    code, _, _ = run(line, after)
    counts.runs += 1
    counts.early += code == -signal.SIGKILL
    if (found := results(out)) not in (set(), whole):
        counts.wrong.append(f"{job.name} killed after {after:.3f} s left {sorted(found)}")


def healed(job: Job, out: Path, whole: set[str], line: list[str], counts: Counts) -> None:
    """A whole run after kills leaves its results and nothing else."""
    code, said, _ = run(line)
    if code not in (0, 3) or results(out) != whole or left(out):
        counts.wrong.append(f"{job.name} after a kill: exit {code}, {sorted(results(out))}, {left(out)}, {said[:200]}")


def interrupted(job: Job, out: Path, whole: set[str], line: list[str], after: float, counts: Counts) -> float:
    """Ctrl-C; returns the seconds until the command has ended."""
    shutil.rmtree(out, ignore_errors=True)
    code, said, seconds = run(line, after, signal.SIGINT)
    counts.runs += 1
    counts.early += code == 130
    if (
        results(out) not in (set(), whole)
        or left(out)
        or "Traceback" in said
        or (code == 130 and said.count("\n") != 1)
    ):
        counts.wrong.append(
            f"{job.name} interrupted after {after:.3f} s: exit {code}, {sorted(results(out))}, {said[:300]}"
        )
    return seconds if code == 130 else 0.0


def full(job: Job, whole: set[str], inputs: Path, free: int, counts: Counts) -> bool:
    """A run onto a small disk with so many bytes left; False: mounting is not allowed."""
    disk = Path(tempfile.mkdtemp(prefix="robodyn_disk_"))
    try:
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", disk], capture_output=True
        ).returncode:
            return False
        try:
            (disk / CLEARED).write_bytes(bytes(DISK - free))
            out = disk / "out"
            code, said, _ = run(command(job, out, inputs))
            counts.runs += 1
            failed = (
                code == 1 and said.count("\n") == 1 and "No space left" in said and not results(out) and not left(disk)
            )
            counts.early += failed
            if not failed and not (code in (0, 3) and results(out) == whole):
                counts.wrong.append(f"{job.name}, {free} bytes left: exit {code}, {sorted(results(out))}, {said[:300]}")
        finally:
            subprocess.run(["umount", disk], check=True)
    finally:
        disk.rmdir()
    return True


def study(kills: int = KILLS, interrupts: int = INTERRUPTS) -> Section:
    """Kills, interruptions and full disks of all jobs in turn."""
    random.seed(SEED)
    kill, stop, disk, slowest, mounted = Counts(), Counts(), Counts(), (0.0, ""), True
    with tempfile.TemporaryDirectory(prefix="robodyn_faults_") as name:
        inputs = Path(name)
        (inputs / "run.yaml").write_text(RUN)
        prepared = [
            ROBODYN,
            "simulate",
            "delta3",
            "--motion",
            EXAMPLES / "delta3_sine.yaml",
            "--out",
            inputs / "log.csv",
        ]
        subprocess.run([*prepared, "--noise", "0.1,0.1,0.1", "--seed", "1"], check=True, capture_output=True)
        for k, job in enumerate(JOBS):
            out = inputs / job.name
            line = command(job, out, inputs)
            run(line)  # compiles
            shutil.rmtree(out, ignore_errors=True)
            begin = time.monotonic()
            code, said, _ = run(line)
            seconds, whole = time.monotonic() - begin, results(out)
            if code not in (0, 3):
                kill.wrong.append(f"{job.name} fails: {said[:300]}")
                continue
            for _ in range(len(range(k, kills, len(JOBS)))):
                # Half of them in the last fifth, where files are written.
                share = random.uniform(0, 1) if random.random() < 0.5 else random.uniform(0.8, 1.02)
                killed(job, out, whole, line, share * seconds, kill)
            healed(job, out, whole, line, kill)
            for _ in range(len(range(k, interrupts, len(JOBS)))):
                needed = interrupted(job, out, whole, line, random.uniform(0.1, 1) * seconds, stop)
                slowest = max(slowest, (needed, job.name))
            for free in (0, random.randrange(1, DISK // 20), DISK // 8, DISK):
                mounted = mounted and full(job, whole, inputs, free, disk)
            print(f"{job.name}: {seconds:.2f} s, wrong so far {kill.wrong + stop.wrong + disk.wrong}", flush=True)
    for complaint in (*kill.wrong, *stop.wrong, *disk.wrong):
        print(complaint, file=sys.stderr)
    small = "mounting is not allowed here, not tried" if not mounted else f"{len(disk.wrong)} of {disk.runs}"
    rows = (
        Row(f"kills, {len(JOBS)} commands", f"{kills} kills, no part of a result, nothing left after the next run",
            f"{len(kill.wrong)} wrong of {kill.runs}, {kill.early} while at work", not kill.wrong and kill.runs == kills),
        Row("Ctrl-C, all commands", "one line, no part of a result", f"{len(stop.wrong)} wrong of {stop.runs}", not stop.wrong),
        Row("slowest end after Ctrl-C", "1 s", f"{slowest[0]:.2f} s, {slowest[1]}", slowest[0] <= 1.0),
        Row("disk of 2 MB, filled", "a whole result, or none and one sentence", f"{small} wrong, {disk.early} refused",
            None if not mounted else not disk.wrong),
    )  # fmt: skip
    note = (
        "Times of kills are drawn at random, half of them in the last fifth of a run. No machine or motion is involved."
    )
    return Section("Machines that fail", "make faults", rows, note)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(*study(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS).rows, sep="\n")
