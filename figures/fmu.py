"""Exported FMUs under PD in FMPy, against `simulate`: the IRB 360 by both schemes, the IRB 2400 whose friction sticks."""

import tempfile
import time
from pathlib import Path

import numpy as np
from make import Row, Section
from test_fmu import both_under_pd

import robodyn_pin as rp
from robodyn_pin.simulation.fmu import write_fmu

SECONDS = 2.0
RUNS = (("irb360", 10_000.0), ("irb360", 2000.0), ("irb2400", 2000.0))


def study() -> Section:
    rows, files = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, rate in RUNS:
            robot = rp.load(name)
            if name not in files:
                files[name], spent = Path(scratch) / f"{name}.fmu", time.process_time()
                write_fmu(robot, files[name])
                rows.append(Row(f"FMU of {name}: size, processor time of writing, without the compiler's", "reported",
                                f"{files[name].stat().st_size / 1000:.0f} kB, {time.process_time() - spent:.1f} s"))  # fmt: skip
            found, expected, scheme = both_under_pd(robot, files[name], SECONDS, rate)
            off, still = float(np.abs(found - expected).max()), standing(expected)
            rows.append(
                Row(f"{name}, {SECONDS:g} s under PD at {rate:g} Hz, both by {scheme.partition(',')[0].partition(':')[0]}: largest difference of a "
                    f"joint [rad or m]; of the samples a joint stands still in {still:.0%}", "<= 1e-06", f"{off:.1e}", off <= 1e-6)
            )  # fmt: skip
    return Section(
        "FMU", "python figures/make.py fmu", tuple(rows),
        "PD is worked out outside of the FMU, anew. Both take the same steps: of Runge-Kutta where the sample is short for the change of sign of Coulomb friction, "
        "else those in which friction sticks.",
    )  # fmt: skip


def standing(joints: np.ndarray) -> float:
    """Share of the samples in which a joint does not move, while others do; those count that move at all."""
    still = np.diff(joints[:, np.ptp(joints, axis=0) > 1e-3], axis=0) == 0
    return float((still.any(axis=1) & ~still.all(axis=1)).mean())
