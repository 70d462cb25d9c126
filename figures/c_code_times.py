"""Times of exported functions of the IRB 360, call by call, by c_code_timed.c; size of the code, and stack."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
from make import Row
from test_c_code import STRICT

import robodyn_pin as rp
from robodyn_pin.exporting.c_files import write_c

SOURCE = Path(__file__).with_name("c_code_timed.c")
WORST = 25.0  # [us]


def timed(function: str, scratch: Path) -> list[Row]:
    robot, folder = rp.load("irb360"), scratch / function
    written = write_c(robot, [function], folder)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    build = ["gcc", *STRICT, "-O2", "-fstack-usage"]
    subprocess.run([*build, "-c", "irb360.c"], cwd=folder, check=True)
    subprocess.run([*build, f"-DFUNCTION={function}", "-I.", "-o", "timed", SOURCE, "irb360.o", "-lm"], cwd=folder, check=True)  # fmt: skip
    stack = max(int(x) for x in re.findall(r"\t(\d+)\t", (folder / "irb360.su").read_text()))
    size = int(
        subprocess.run(["size", "irb360.o"], cwd=folder, capture_output=True, text=True, check=True).stdout.split()[6]
    )
    busy, stolen = os.getloadavg()[0], taken_by_the_host()
    done = subprocess.run([folder / "timed", *map(repr, home.tolist())], capture_output=True, text=True, check=True)
    stolen = taken_by_the_host() - stolen
    used, wall, away, least, idle = np.array([line.split() for line in done.stdout.splitlines()], float).T
    bad, residual, switches = done.stderr.split()
    median, alone = float(np.median(used)), wall[away == 0]
    asked = 8 if function == "inverse_dynamics" else 10
    state = f"taken away {switches} times"
    return [
        Row(f"irb360 {function} from motor angles, closing included, median", f"<= {asked} µs", f"{median:.1f} µs", median <= asked),
        Row(f"the same, worst of {len(used)} calls on one processor ({state}; load {busy:.2f} before, {stolen:.2f} s taken by the host)",
            f"<= {WORST:g} µs on a quiet core", f"on the wall {told(wall)}; {alone.max():.1f} µs where it was not taken away; processor time {used.max():.1f} µs",
            bool(wall.max() <= WORST)),
        Row("the same machine, as many loops of additions that take as long", "reported", f"on the wall {told(idle)}"),
        Row("the same calls, each the least of three passes: the code without interrupts", "reported", f"on the wall {told(least)}"),
        Row("the same, flags and largest residual of the closures", "0, <= 1e-12", f"{bad}, {residual}", bad == "0" and float(residual) <= 1e-12),
        Row("the same, operations, code, stack", "reported", f"{written.operations[function]}, {size / 1000:.0f} kB, {stack / 1000:.1f} kB"),
    ]  # fmt: skip


def told(wall: np.ndarray) -> str:
    return f"{wall.max():.1f} µs, 99.9 % below {np.quantile(wall, 0.999):.1f} µs, {(wall > WORST).sum()} above {WORST:g} µs"


def taken_by_the_host() -> float:
    """Processor time [s] that the host of a virtual machine gave to others, since it began; 0 where the kernel does not tell."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    return int(words[8]) / os.sysconf("SC_CLK_TCK")
