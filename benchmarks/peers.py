"""What other packages take for the same, side by side: microseconds of processor time, and how far the answers are apart.

python benchmarks/peers.py [--small]        pip install '.[bench]' brings the peers; one that is not there has no row

--small checks the answers on few samples and leaves C++ out; its times mean nothing.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads: one core for all

import platform
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import cpp
from peer import Peer, states
from peer_dynamics import dynamics, regressors
from peer_plans import plans
from run import side_by_side

HEAD = "| what | ours | peer | its | ratio | apart | the peer differs in |\n|---|---|---|---|---|---|---|"


def row(peer: Peer, repeats: int) -> str:
    """One line of the table; the answers are compared first, outside of the time."""
    off = peer.compare(peer.ours(), peer.theirs())
    if not off < peer.agree:
        raise SystemExit(
            f"{peer.what}: ours and that of {peer.name} are {off:.2g} apart, expected below {peer.agree:.2g}"
        )
    (mine, their), _ = side_by_side(peer.calls, repeats, [peer.ours, peer.theirs])
    return line(peer.what, peer.name, peer.differs, mine, their, off)


def line(what: str, name: str, differs: str, mine: float, their: float, off: float) -> str:
    return f"| {what} | {mine:.3g} | {name} | {their:.3g} | {their / mine:.2g}x | {off:.0e} | {differs} |"


def compiled_rows(samples: int, program: cpp.Program) -> list[str]:
    """C++ Pinocchio runs in a program of its own, right after ours."""
    rows = []
    for at in states(samples):
        us, total = program.regressor(at.robot.model, at.state.q, at.state.v, at.state.a, 50)
        (mine,), _ = side_by_side(samples, 50, [at.regressor])
        off = abs(total / np.abs(at.tree()).sum() - 1)
        rows.append(line(at.what, "C++ Pinocchio, -O3", at.differs, mine, us, off))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few samples, one repeat: for correctness")
    small = parser.parse_args().small
    samples, repeats = (20, 1) if small else (500, 20)
    peers = [*regressors(samples), *dynamics(samples), *plans()]
    rows = [row(peer, repeats) for peer in peers]
    program = None if small else cpp.program()
    rows = [*compiled_rows(samples, program), *rows] if program else rows
    print(
        f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, one used; microseconds of processor time\n"
    )
    print("\n".join([HEAD, *rows]))


if __name__ == "__main__":
    main()
