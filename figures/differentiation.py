"""Ways from encoder angles to accelerations, on the simulated motion of the IRB 360, and what each does to the estimates."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from make import Row, Section
from simulated import MOTION, SIGMA, Rows, exact_rows, fold_seeds, measured_rows

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.least_squares import known_noise, ordinary
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.motions.fourier import fourier
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.simulated_log import Noise, simulate

BITS, SAMPLES, FIT = 15, 20_000, 0.7
RUN = read_run(Path(__file__).parents[1] / "examples/irb360.yaml")
WAYS = {
    "filter 10 Hz": Preparation(filter=Lowpass(cutoff=10.0)),
    "filter 40 Hz": Preparation(filter=Lowpass(cutoff=40.0)),
    "no filter": Preparation(differentiation="filter"),
    "spline": Preparation(differentiation="spline"),
    "auto": Preparation(differentiation="auto"),  # the default where no filter is named
    "auto, filter 40 Hz offered": Preparation(differentiation="auto", filter=Lowpass(cutoff=40.0)),
}
SERIES = Preparation(differentiation="fourier", period=MOTION.period)  # the whole log: a part of it does not repeat


def study() -> Section:
    robot = load("irb360")
    base = ordinary(fold_seeds(exact_rows(robot, end=FIT), np.zeros((SAMPLES, len(SIGMA), 1)))[0]).base
    truth = base.of(columns(robot).values)
    bound = known_noise(factors(exact_rows(robot, end=FIT)), SIGMA, base).deviations
    rows = []
    for name, preparation in WAYS.items():
        rows += [errors(robot, name, preparation, FIT), bias(robot, name, preparation, FIT, base, truth, bound)]
    for name in ("no filter", "auto"):  # what no filter over the rows mends
        rows.append(bias(robot, name, WAYS[name], FIT, base, truth, bound, filtered=False))
    whole = known_noise(factors(exact_rows(robot)), SIGMA, base).deviations
    name = f"fourier, period {MOTION.period:g} s given, the whole log"
    rows += [errors(robot, name, SERIES, 1.0), bias(robot, name, SERIES, 1.0, base, truth, whole)]
    return Section(
        "Differentiation, SIMULATED IRB 360", "python figures/make.py differentiation", tuple(rows),
        f"`examples/irb360_motion.yaml` at {MOTION.rate:g} Hz, its first 70 %, read by {BITS}-bit encoders before the gears; "
        f"{RUN.rows.cut} samples cut at both ends. Bias: weighted least squares of torques without noise, rows through the "
        "filter of `examples/irb360.yaml` (one in 12 kept), over the Cramer-Rao bound of exact motion, all rows and white "
        "torque noise; torque noise adds nothing to it. The errors of the positions are those of the encoders, nothing else.",
    )  # fmt: skip


def factors(rows: Iterator[Rows]) -> list:
    return fold_seeds(rows, np.zeros((SAMPLES, len(SIGMA), 1)))[0]


def errors(robot: Robot, name: str, preparation: Preparation, end: float) -> Row:
    """Rms over samples of the worst of phi1 to phi3, and of psi, against the exact derivatives."""
    _, _, cd, cdd = fourier(MOTION, robot.coordinates.names)
    log = simulate(robot, MOTION, Noise(np.zeros(len(SIGMA)), BITS)).section(0, round(end * SAMPLES))
    rates = rates_of(log, preparation)
    inner = slice(RUN.rows.cut, log.size - RUN.rows.cut)
    found = zip(rates.motion(log)[1:], (cd[: log.size], cdd[: log.size]), strict=True)
    rate, acceleration = (np.sqrt(np.mean((x - y)[inner] ** 2, axis=0)) for x, y in found)
    return Row(
        f"{name}: rms error of rate [rad/s] and acceleration [rad/s²], worst of phi1 to phi3, then psi", "reported",
        f"{rate[:3].max():.2g} and {acceleration[:3].max():.2g}; {rate[3]:.2g} and {acceleration[3]:.2g} ({rates.reason})",
    )  # fmt: skip


def bias(
    robot: Robot, name: str, preparation: Preparation, end: float, base: BaseSet, truth: np.ndarray, bound: np.ndarray,
    filtered: bool = True,
) -> Row:  # fmt: skip
    lowpass, every = (RUN.rows.filter, RUN.rows.every) if filtered else (None, 1)
    rows = measured_rows(robot, BITS, preparation, lowpass, every, RUN.rows.cut, end=end)
    off = (known_noise(factors(rows), SIGMA, base).values - truth) / bound
    return Row(
        f"{name}{'' if filtered else ', rows not filtered'}: bias of the {base.size} base parameters / Cramer-Rao bound", "reported",
        f"RMS {np.sqrt(np.mean(off**2)):.3f}, largest {np.abs(off).max():.3f}",
    )  # fmt: skip
