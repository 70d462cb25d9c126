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

from faults_jobs import JOBS, Job, prepare
from faults_runs import forked, import_all, repeated, started
from make import Row, Section

KILLS, SEED, INTERRUPTS = 200, 1, 32
DISK = 2 * 2**20  # [bytes]
HIDDEN = ".robodyn-"
OLD = b"of an earlier run"


@dataclass
class Counts:
    """What happened to the commands."""

    runs: int = 0
    early: int = 0  # ended before the results were there
    wrong: list[str] = field(default_factory=list)


def results(folder: Path) -> dict[str, bool]:
    """Files that a user sees, and whether they are those of an earlier run."""
    if not folder.exists():
        return {}
    files = [p for p in folder.rglob("*") if p.is_file() and HIDDEN not in str(p)]
    return {str(p.relative_to(folder)): p.read_bytes() == OLD for p in files}


def left(folder: Path) -> list[str]:
    """Hidden files and folders, in the folder or where it would be."""
    return [str(p) for p in (*folder.rglob(".*"), *folder.parent.glob(f"{HIDDEN}*"))]


def clear(out: Path, earlier: set[str]) -> None:
    """No folder of results, or one with the files of an earlier run."""
    shutil.rmtree(out, ignore_errors=True)
    for name in earlier:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(OLD)


def whole_or_none(job: Job, found: dict[str, bool], whole: set[str], earlier: bool) -> bool:
    """Nothing but whole results; where an earlier result lay, the main file tells: where it stands, all is of its run."""
    if not earlier:
        return not found or (set(found) == whole and not any(found.values()))
    if job.main not in found:
        return True
    return set(found) == whole and set(found.values()) == {found[job.main]}


def killed(job: Job, out: Path, whole: set[str], line: list[str], after: float, earlier: bool, counts: Counts) -> None:
    """One kill into an empty folder, or one with an earlier result."""
    clear(out, whole if earlier else set())
    code, _, _ = forked(line, after)
    counts.runs += 1
    counts.early += code == -signal.SIGKILL
    if not whole_or_none(job, found := results(out), whole, earlier):
        counts.wrong.append(f"{job.name} killed after {after:.3f} s left {found}")


def healed(job: Job, out: Path, whole: set[str], line: list[str], counts: Counts) -> None:
    """A whole run after kills leaves its results and nothing else."""
    code, said, _ = forked(line)
    if code not in (0, 3) or set(results(out)) != whole or left(out):
        counts.wrong.append(f"{job.name} after a kill: exit {code}, {sorted(results(out))}, {left(out)}, {said[:200]}")


def interrupted(job: Job, out: Path, whole: set[str], line: list[str], after: float, counts: Counts) -> float:
    """Ctrl-C; returns the seconds until the command has ended."""
    clear(out, set())
    code, said, seconds = started(line, after)
    counts.runs += 1
    counts.early += code == 130
    lines = 1 if code == 130 else 0 if code in (0, 3) else said.count("\n")
    kept = whole_or_none(job, found := results(out), whole, earlier=False)
    if not kept or left(out) or "Traceback" in said or said.count("\n") != lines:
        counts.wrong.append(f"{job.name} interrupted after {after:.3f} s: exit {code}, {sorted(found)}, {said[:300]}")
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
            (disk / "rest").write_bytes(bytes(DISK - free))
            out = disk / "out"
            code, said, _ = forked(job.line(out, inputs))
            counts.runs += 1
            failed = (
                code == 1 and said.count("\n") == 1 and "No space left" in said and not results(out) and not left(out)
            )
            counts.early += failed
            if not failed and not (code in (0, 3) and set(results(out)) == whole):
                counts.wrong.append(f"{job.name}, {free} bytes left: exit {code}, {sorted(results(out))}, {said[:300]}")
        finally:
            subprocess.run(["umount", disk], check=True)
    finally:
        disk.rmdir()
    return True


def shared(kills: int, seconds: dict[Job, float]) -> dict[Job, int]:
    """How many kills each job gets: a few at least, the others so that all take the same time."""
    found = dict.fromkeys(seconds, min(5, kills // len(seconds)))
    for _ in range(kills - sum(found.values())):
        found[min(found, key=lambda job: found[job] * seconds[job])] += 1
    return found


def study(kills: int = KILLS, interrupts: int = INTERRUPTS) -> Section:
    """Kills, interruptions and full disks of all jobs in turn."""
    random.seed(SEED)
    kill, stop, disk, slowest, mounted = Counts(), Counts(), Counts(), (0.0, ""), True
    with tempfile.TemporaryDirectory(prefix="robodyn_faults_") as name:
        inputs = Path(name)
        prepare(inputs)
        begin = time.monotonic()
        import_all()
        imports = (time.monotonic() - begin) / 2  # of one command
        outs = {job: inputs / "results" / job.name.replace(" ", "") for job in JOBS}
        seconds, wholes = {}, {}
        for job in JOBS:
            begin = time.monotonic()
            with repeated([x.format(inputs=inputs) for x in job.beside]):
                code, said, _ = forked(job.line(outs[job], inputs))
            seconds[job], wholes[job] = time.monotonic() - begin, set(results(outs[job]))
            assert code in (0, 3), f"{job.name} fails: {said}"
            assert job.main in wholes[job], f"{job.name} writes {wholes[job]}"
        for job, number in shared(kills, seconds).items():
            out, whole, line = outs[job], wholes[job], job.line(outs[job], inputs)
            with repeated([x.format(inputs=inputs) for x in job.beside]):
                for trial in range(number):
                    # Half of them in the last fifth, where files are written.
                    share = random.uniform(0, 1) if random.random() < 0.5 else random.uniform(0.8, 1.02)
                    killed(job, out, whole, line, share * seconds[job], trial % 2 == 1, kill)
                healed(job, out, whole, line, kill)
                for _ in range(interrupts // len(JOBS)):
                    after = random.uniform(0.1, 1) * (seconds[job] + imports)
                    needed = interrupted(job, out, whole, line, after, stop)
                    slowest = max(slowest, (needed, job.name))
                for free in (random.randrange(1, DISK // 20), DISK // 8):
                    mounted = mounted and full(job, whole, inputs, free, disk)
            print(
                f"{job.name}: {number} kills of {seconds[job]:.2f} s, wrong {kill.wrong + stop.wrong + disk.wrong}",
                flush=True,
            )
    for complaint in (*kill.wrong, *stop.wrong, *disk.wrong):
        print(complaint, file=sys.stderr)
    small = "mounting is not allowed here, not tried" if not mounted else f"{len(disk.wrong)} of {disk.runs}"
    rows = (
        Row(f"kills, {len(JOBS)} commands", f"{kills} kills, no part of a result, nothing left after the next run",
            f"{len(kill.wrong)} wrong of {kill.runs}, {kill.early} while at work", not kill.wrong and kill.runs == kills),
        Row("Ctrl-C, all commands", "one line, no part of a result",
            f"{len(stop.wrong)} wrong of {stop.runs}, {stop.early} while at work", not stop.wrong),
        Row("slowest end after Ctrl-C", "1 s", f"{slowest[0]:.2f} s, {slowest[1]}", slowest[0] <= 1.0),
        Row("disk of 2 MB, filled", "a whole result, or none and one sentence", f"{small} wrong, {disk.early} refused",
            None if not mounted else not disk.wrong),
    )  # fmt: skip
    note = (
        f"Commands: {', '.join(job.name for job in JOBS)}. Times of kills are drawn at random, half of them in the last fifth of "
        "a run, after its imports; every other one hits a folder with an earlier result, where a main file that stands must have all files of its "
        f"run beside it. Load of the machine {os.getloadavg()[0]:.1f}. No machine or motion is involved."
    )
    return Section("Machines that fail", "make faults", rows, note)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(*study(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS).rows, sep="\n")
