"""Many logs and many robots: the same bits whoever computes, what two processes save, what outlives a kill, and what memory holds."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import yaml
from dask_cluster import ADDRESS, ALONE, cluster, killed_every, worker_of
from make import ROBODYN, ROOT, Row, Section
from memory import PEAK
from simulated import MOTION, SIGMA
from simulated_fleets import Changed, SimulatedFleet

import robodyn_pin as rp
from robodyn_pin.fleets.fleet import judge_fleet
from robodyn_pin.fleets.members import Fold, MemberLogs, kept_evidence
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.leaf import keeping
from robodyn_pin.log_to_robot.run import select
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.workers import each, in_turn, working

LOGS, ROBOTS, DAYS, FILES = 64, 1000, 10, 20
MACHINES, CORES, TASKS = 100, 64, 5000  # to which the fleet's figures are extrapolated


def study() -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = [*campaign(folder), *thousand(folder / "leaves of a fleet"), *dataset(folder / "dataset")]
    return Section(
        "Many logs, many robots", "python figures/make.py many_logs", tuple(rows),
        f"SIMULATED. Campaign: `robodyn identify` over {LOGS} logs of the IRB 360 of {MOTION.duration:g} s at {MOTION.rate:g} Hz (Parquet) and a held-out one, "
        "settings and report of the example; wall time of the whole command, two cores. Same bits: identified URDF and robot file, all tables. "
        f"Fleet: {ROBOTS} `irb360_arms` with {DAYS} logs of 5 s at 200 Hz, made and folded by two Dask workers, judged from the folder of leaves; VmHWM of "
        f"the processes. Dataset: {FILES} Parquet files of a million rows of the `irb360_arms` at 1000 Hz.",
    )  # fmt: skip


def campaign(folder: Path) -> list[Row]:
    logs = folder / "logs"
    logs.mkdir()
    each(partial(write, folder), range(LOGS + 1))
    run = yaml.safe_load((ROOT / "examples/irb360.yaml").read_text())
    run |= {"fit": [{"file": "logs/*.parquet"}], "held_out": [{"file": "judge.parquet"}]}
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    alone, slow = identify(folder, "alone", "--workers", "1")
    shared, fast = identify(folder, "shared", "--workers", "2")
    with cluster() as (_, *nannies):
        dask, by_dask = identify(folder, "dask", "--scheduler", ADDRESS)
        with killed_every(10.0, nannies):
            identify(folder, "struck", "--scheduler", ADDRESS, "--cache", folder / "struck leaves")
        struck, _ = identify(folder, "struck", "--scheduler", ADDRESS, "--cache", folder / "struck leaves")
        _, first = interrupted(folder, "client")
        ended, _ = identify(folder, "client", "--scheduler", ADDRESS, "--cache", folder / "client leaves")
    with cluster() as (scheduler, *_):
        said, second = interrupted(folder, "scheduler", scheduler)
    with cluster():
        again, _ = identify(folder, "scheduler", "--scheduler", ADDRESS, "--cache", folder / "scheduler leaves")
    for k, log in enumerate(sorted(logs.iterdir(), reverse=True)):
        log.rename(logs / f"turned_{k:02}.parquet")
    turned, _ = identify(folder, "turned", "--workers", "2")
    bits = {"2 processes": shared, "Dask": dask, "names in reversed order": turned}
    outlived = {"a worker killed every 10 s": struck, f"client killed at {first} leaves": ended,
                f"scheduler killed at {second} leaves": again}  # fmt: skip
    return [
        Row(f"{LOGS} logs: the same bits as one process alone", "all", *same(bits, alone)),
        Row(f"{LOGS} logs, 2 processes over 1, wall time", ">= 1.8 x", f"{slow / fast:.2f} x ({slow:.0f}, {fast:.0f} s)", slow / fast >= 1.8),
        Row(f"{LOGS} logs, 2 Dask workers over 1 process, wall time", "reported", f"{slow / by_dask:.2f} x ({by_dask:.0f} s)"),
        Row(f"{LOGS} logs, killed: finished leaves survive, the next run ends with the same bits", "all", *same(outlived, alone)),
        Row("what the command says when the scheduler is killed", "a sentence", said, "Traceback" not in said and len(said) > 0),
    ]  # fmt: skip


def write(folder: Path, k: int) -> None:
    robot = rp.load("irb360")
    log = simulate(robot, MOTION, Noise(SIGMA, 15, seed=k))
    write_log(folder / "logs" / f"log_{k:02}.parquet" if k < LOGS else folder / "judge.parquet", log, robot, "SIMULATED")  # fmt: skip


def command_of(folder: Path, out: str, *options: object) -> list[str]:
    return [str(x) for x in (ROBODYN, "identify", folder / "run.yaml", "--out", folder / out, *options)]


def identify(folder: Path, out: str, *options: object) -> tuple[str, float]:
    """SHA-256 of the results, and the wall time [s]."""
    begin = time.perf_counter()
    done = subprocess.run(command_of(folder, out, *options), env=ALONE, capture_output=True, text=True)
    spent = time.perf_counter() - begin
    if done.returncode not in (0, 3):
        return f"failed: {done.stderr[-300:]}", spent
    files = [p for p in sorted((folder / out).rglob("*")) if p.suffix in (".urdf", ".csv") or p.name.endswith("_identified.yaml")]  # fmt: skip
    return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest(), spent


def same(found: dict[str, str], expected: str) -> tuple[str, bool]:
    wrong = {name: text for name, text in found.items() if text != expected}
    return "; ".join(
        f"{name}: {'same' if name not in wrong else ' '.join(wrong[name].split())[-200:]}" for name in found
    ), not wrong


def interrupted(folder: Path, out: str, victim: subprocess.Popen | None = None) -> tuple[str, int]:
    """What a run says that is killed, or whose victim is, when a quarter of the leaves is ready; how many then are."""
    leaves = folder / f"{out} leaves"
    words = command_of(folder, out, "--scheduler", ADDRESS, "--cache", leaves)
    run = subprocess.Popen(words, env=ALONE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and len(list(leaves.glob("*.npz"))) < LOGS // 4:
        time.sleep(0.1)
    (victim or run).kill()
    _, said = run.communicate(timeout=600)
    return " ".join(said.split())[-250:], len(list(leaves.glob("*.npz")))


@lru_cache
def plant() -> SimulatedFleet:
    return SimulatedFleet(rp.load("irb360_arms"))


def generated(folder: Path, k: int) -> MemberLogs:
    """A robot of the fleet: its logs are made, folded and kept, and forgotten."""
    with keeping(folder):
        member = plant().member(f"robot_{k}", Changed(), np.random.default_rng([7, k]), DAYS)
    return MemberLogs(member.name, kept_evidence(member.evidence, folder), member.when)


def thousand(folder: Path) -> list[Row]:
    folder.mkdir()
    held: list[tuple[int, float, float]] = []
    with cluster() as (_, nanny, _), working(scheduler=ADDRESS):
        members, begin = [], time.perf_counter()
        for part in np.array_split(np.arange(ROBOTS), 4):
            members += in_turn(partial(generated, folder), part.tolist())
            held.append((len(members), peak(os.getpid()), peak(worker_of(nanny))))
        folded, begin = time.perf_counter() - begin, time.perf_counter()
        found = judge_fleet(plant().robot, plant().run, Fold(tuple(members), "day", ()))
        judged, held_at_end = time.perf_counter() - begin, (peak(os.getpid()), peak(worker_of(nanny)))
        begin = time.perf_counter()
        each(abs, range(TASKS))
        a_second = TASKS / (time.perf_counter() - begin)
    named = sum(m.odd for m in found.members)
    size = sum(p.stat().st_size for p in folder.iterdir()) / 1e6
    minute, grown = 60 * ROBOTS / (folded + judged), held[-1][2] / held[0][2]
    told = "; ".join(f"{n} robots: {client:.0f}, {worker:.0f}" for n, client, worker in held)
    whole = f"{told}; judged: {held_at_end[0]:.0f}, {held_at_end[1]:.0f}"
    return [
        Row(f"{ROBOTS} robots: folded, judged [s]; robots a minute; named (none is changed)", "finishes",
            f"{folded:.0f}, {judged:.0f}; {minute:.0f}; {named}", len(found.members) == ROBOTS),
        Row(f"{ROBOTS} robots: memory of client and a worker [MB]", "flat while folding (<= 1.1 of that of the first quarter)", whole,
            held[-1][1] <= 1.1 * held[0][1] and grown <= 1.1),
        Row(f"{ROBOTS} robots: folder of leaves [MB], a log [kB]", "reported", f"{size:.0f}, {1e3 * size / ROBOTS / DAYS:.0f}"),
        Row("tasks that do nothing, a second through the scheduler to two workers and back", "reported", f"{a_second:.0f}"),
        Row(f"extrapolated to {MACHINES} machines of {CORES} cores: robots folded a minute; weakest point", "reported",
            f"{60 * ROBOTS / folded / 2 * MACHINES * CORES:.0f}; the client, which judges {60 * ROBOTS / judged:.0f} robots a minute by itself"),
    ]  # fmt: skip


def part(folder: Path, k: int) -> None:
    """A million rows: the motion again and again, the torques' noise new."""
    robot = rp.load("irb360_arms")
    once = simulate(robot, MOTION, Noise(np.zeros(4)))
    times, noise = 1_000_000 // once.size, np.random.default_rng([8, k])
    t = np.arange(times * once.size) / MOTION.rate
    tau = np.tile(once.tau, (times, 1)) + SIGMA * noise.normal(size=(len(t), 4))
    log = Log(f"part {k}", t, np.tile(once.q, (times, 1)), tau, simulated=True)
    write_log(folder / f"part_{k:03}.parquet", log, robot, "SIMULATED")


def dataset(folder: Path) -> list[Row]:
    folder.mkdir()
    run = {"robot": "irb360_arms", "preparation": {"filter": {"order": 4, "cutoff": 40}},
           "rows": {"filter": {"order": 4, "cutoff": 40}, "cut": 200, "every": 12}, "bounds": {"mass": [0.01, 5.0]}}  # fmt: skip
    held, spent = [], []
    each(partial(part, folder), range(FILES + 1))
    for many in (FILES // 4, FILES):
        named = [{"file": str(folder / f"part_{k:03}.parquet")} for k in range(many)]
        judge = [{"file": str(folder / f"part_{FILES:03}.parquet"), "rows": [0, 20_000]}]
        (folder / "run.yaml").write_text(yaml.safe_dump(run | {"fit": named, "held_out": judge}))
        begin = time.perf_counter()
        words = [sys.executable, "-c", PEAK, *command_of(folder, "out", "--workers", "2")]
        done = subprocess.run(words, env=ALONE, capture_output=True, text=True, check=True)
        spent.append(time.perf_counter() - begin)
        held.append(int(done.stdout.split()[0]) / 1024)
    robot, settings = ready_to_fold(rp.load("irb360_arms"), {k: run[k] for k in ("preparation", "rows")})
    spec, begin = LogSpec(file=folder / "part_000.parquet"), time.process_time()
    log = select(robot, settings, folder, spec)
    read = time.process_time() - begin
    evidence_of(robot, settings, windows([log]))
    share = read / (time.process_time() - begin)
    rows = FILES * 1_000_000
    return [
        Row(f"{rows:.0e} rows in {FILES} files, 2 processes: rows a second (of all: reading, checking and hashing [%])", "reported",
            f"{rows / spent[-1]:.0f} ({100 * share:.0f} %); {spent[-1]:.0f} s"),
        Row(f"{rows:.0e} rows: largest process, a quarter of the files and all [MB]", "flat (<= 1.1)",
            f"{held[0]:.0f}, {held[1]:.0f}", held[1] <= 1.1 * held[0]),
    ]  # fmt: skip


def peak(process: int | None) -> float:
    """Most memory that a process has held [MB]."""
    if process is None:
        return float("nan")
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024
