"""Many robots on a Dask cluster: whether it ends, how many a minute, and what memory holds."""

import os
import tempfile
import time
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from dask_cluster import ADDRESS, cluster, worker_of
from make import Row, Section
from simulated_fleets import Changed, SimulatedFleet

import robodyn_pin as rp
from robodyn_pin.fleets.fleet import judge_fleet
from robodyn_pin.fleets.members import Fold, MemberLogs, kept_evidence
from robodyn_pin.log_to_robot.leaf import keeping
from robodyn_pin.workers import each, in_turn, working

ROBOTS, DAYS = 1000, 10
MACHINES, CORES, TASKS = 100, 64, 5000  # to which the figures are extrapolated


def study() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        rows = thousand(Path(folder) / "leaves")
    return Section(
        "Many robots", "python figures/make.py many_robots", tuple(rows),
        f"SIMULATED. {ROBOTS} `irb360_arms` with {DAYS} logs of 5 s at 200 Hz, made and folded by two Dask workers, judged from the folder of leaves; "
        "VmHWM of the processes.",
    )  # fmt: skip


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


def peak(process: int | None) -> float:
    """Most memory that a process has held [MB]."""
    if process is None:
        return float("nan")
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024
