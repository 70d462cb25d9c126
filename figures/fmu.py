"""An exported FMU of the IRB 360 under PD in FMPy, against `simulate`."""

import tempfile
import time
from pathlib import Path

import numpy as np
from make import Row, Section
from test_fmu import both_under_pd

import robodyn_pin as rp
from robodyn_pin.simulation.fmu import write_fmu

SECONDS = 2.0


def study() -> Section:
    robot, rows = rp.load("irb360"), []
    with tempfile.TemporaryDirectory() as scratch:
        file, spent = Path(scratch) / "irb360.fmu", time.process_time()
        step = write_fmu(robot, file)
        rows.append(Row("FMU of the IRB 360: size, processor time of writing, without the compiler's", "reported",
                        f"{file.stat().st_size / 1000:.0f} kB, {time.process_time() - spent:.1f} s"))  # fmt: skip
        for rate, asked in ((10_000.0, 1e-6), (2000.0, None)):
            found, expected, scheme = both_under_pd(robot, file, SECONDS, rate)
            off = float(np.abs(found - expected).max())
            taken = "the same steps" if asked else f"the FMU by steps of at most {step:.2g} s"
            rows.append(
                Row(f"{SECONDS:g} s under PD at {rate:g} Hz, `simulate` by {scheme.partition(',')[0].partition(':')[0]}, {taken}: largest "
                    "difference of a joint [rad or m]", f"<= {asked:g}" if asked else "reported", f"{off:.1e}", None if asked is None else off <= asked)
            )  # fmt: skip
    return Section(
        "FMU", "python figures/make.py fmu", tuple(rows),
        "PD is worked out outside of the FMU, anew. At 10 kHz both go by Runge-Kutta of order 4. At 2 kHz `simulate` takes Coulomb friction as "
        "a jump, and the FMU its smooth change of sign by shorter steps: two models of friction at rest.",
    )  # fmt: skip
