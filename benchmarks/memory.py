"""Peak resident memory of `robodyn identify`, reading included: memory must not grow with the log.

python benchmarks/memory.py [ROWS ...]      default 1000000 4000000; some minutes
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import yaml

ROOT = Path(__file__).parents[1]
ROBODYN = Path(sys.executable).with_name("robodyn")
# Linux counts a child's peak in KiB.
PEAK = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); \
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.returncode)"


def main() -> None:
    sizes = [int(x) for x in sys.argv[1:]] or [1_000_000, 4_000_000]
    print("| rows | peak memory [MB] | seconds |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        short = folder / "short.parquet"
        simulate = [ROBODYN, "simulate", "irb360", "--motion", ROOT / "examples/irb360_motion.yaml", "--out", short]
        noise = ["--noise", "1.5,1.5,1.6,0.16", "--encoder-bits", "15", "--seed", "1"]
        subprocess.run([*simulate, *noise], check=True, stdout=subprocess.DEVNULL)
        table = pl.read_parquet(short)
        period = table["t"][-1] + table["t"][1]  # the motion repeats: the log is laid end to end
        run = yaml.safe_load((ROOT / "examples/irb360.yaml").read_text())
        for rows in sizes:
            log = folder / f"{rows}.parquet"
            copies = [table.with_columns(pl.col("t") + k * period) for k in range(rows // len(table))]
            pl.concat(copies).write_parquet(log, metadata={"robodyn_pin": "SIMULATED"})
            file = folder / "run.yaml"
            file.write_text(yaml.safe_dump({**run, "fit": [{"file": str(log)}]}))
            begin = time.perf_counter()
            command = [sys.executable, "-c", PEAK, ROBODYN, "identify", file, "--out", folder / "out"]
            one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=one_thread)
            peak, code = map(int, done.stdout.split())
            if code:
                sys.exit(f"identify ended with {code}")
            print(f"| {rows} | {peak / 1024:.0f} | {time.perf_counter() - begin:.0f} |", flush=True)


if __name__ == "__main__":
    main()
