"""A dataset of long Parquet logs: what memory holds, and how fast rows go through."""

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from dask_cluster import ALONE
from make import ROBODYN, Row, Section
from memory import PEAK
from simulated import MOTION, SIGMA

import robodyn_pin as rp
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.run import select
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.workers import each

FILES = 100


def study() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        rows = dataset(Path(folder))
    return Section(
        "Long logs", "python figures/make.py long_logs", tuple(rows),
        f"SIMULATED. `robodyn identify` over {FILES} Parquet files of a million rows of the `irb360_arms` at 1000 Hz; VmHWM of the largest process.",
    )  # fmt: skip


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
    run = {"robot": "irb360_arms", "preparation": {"filter": {"order": 4, "cutoff": 40}},
           "rows": {"filter": {"order": 4, "cutoff": 40}, "cut": 200, "every": 12}, "bounds": {"mass": [0.01, 5.0]}}  # fmt: skip
    held, spent = [], []
    each(partial(part, folder), range(FILES + 1))
    for many in (FILES // 10, FILES):
        named = [{"file": str(folder / f"part_{k:03}.parquet")} for k in range(many)]
        judge = [{"file": str(folder / f"part_{FILES:03}.parquet"), "rows": [0, 20_000]}]
        (folder / "run.yaml").write_text(yaml.safe_dump(run | {"fit": named, "held_out": judge}))
        begin = time.perf_counter()
        words = [
            sys.executable,
            "-c",
            PEAK,
            str(ROBODYN),
            "identify",
            str(folder / "run.yaml"),
            "--out",
            str(folder / "out"),
            "--workers",
            "2",
        ]
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
        Row(f"{rows:.0e} rows: largest process, a tenth of the files and all [MB]", "flat (<= 1.1)",
            f"{held[0]:.0f}, {held[1]:.0f}", held[1] <= 1.1 * held[0]),
    ]  # fmt: skip
