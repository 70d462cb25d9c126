"""Many logs of one robot: the same bits whoever computes, what two processes save, and what outlives a kill."""

import hashlib
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from dask_cluster import ADDRESS, ALONE, cluster, killed_every
from make import ROBODYN, ROOT, Row, Section
from simulated import MOTION, SIGMA

import robodyn_pin as rp
from robodyn_pin.logs.writing import write_log
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.workers import each

LOGS = 64
TURNS = 3  # of one process and two


def study() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        rows = campaign(Path(folder))
    return Section(
        "Many logs", "python figures/make.py many_logs", tuple(rows),
        f"SIMULATED. `robodyn identify` over {LOGS} logs of the IRB 360 of {MOTION.duration:g} s at {MOTION.rate:g} Hz (Parquet) and a held-out one, "
        "settings and report of the example; wall time of the whole command, two cores. Same bits: identified URDF and robot file, all tables.",
    )  # fmt: skip


def campaign(folder: Path) -> list[Row]:
    logs = folder / "logs"
    logs.mkdir()
    each(partial(write, folder), range(LOGS + 1))
    run = yaml.safe_load((ROOT / "examples/irb360.yaml").read_text())
    run |= {"fit": [{"file": "logs/*.parquet"}], "held_out": [{"file": "judge.parquet"}]}
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    turns, beside = [], []
    for _ in range(TURNS):
        turns.append([identify(folder, f"{n}", "--workers", n) for n in (1, 2)])
        beside.append(max(spent for _, spent in two_at_once(folder)))
    alone, shared = (" ".join({turn[k][0] for turn in turns}) for k in (0, 1))
    spent = np.array([[seconds for _, seconds in turn] for turn in turns])
    ratios = spent[:, 0] / spent[:, 1]
    slow, fast = spent[ratios.argsort()[TURNS // 2]]
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
        Row(f"{LOGS} logs, 2 processes over 1, wall time, in turns: the median of {TURNS}", ">= 1.8 x",
            f"{slow / fast:.2f} x ({slow:.0f}, {fast:.0f} s); {np.round(ratios, 2)}", slow / fast >= 1.8),
        Row("the same that two runs of one process give which share nothing, at once: the most that this machine's second core is worth",
            "reported", f"{2 * slow / np.median(beside):.2f} x; {np.round(2 * spent[:, 0] / beside, 2)}"),
        Row(f"{LOGS} logs, 2 Dask workers over 1 process, wall time", "reported", f"{slow / by_dask:.2f} x ({by_dask:.0f} s)"),
        Row(f"{LOGS} logs, killed: finished leaves survive, the next run ends with the same bits", "all", *same(outlived, alone)),
        Row("what the command says when the scheduler is killed", "a sentence", " ".join(said.split())[-300:], said.startswith("robodyn: ") and "\n" not in said),
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


def two_at_once(folder: Path) -> list[tuple[str, float]]:
    """The same of two runs of one process that know nothing of each other."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda out: identify(folder, out, "--workers", 1), ("left", "right")))


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
    return said.strip(), len(list(leaves.glob("*.npz")))
