"""Poor encoders on the SIMULATED IRB 360: bias of least squares, and instrumental variables beside it."""

from dataclasses import replace

import numpy as np
from make import ROOT, Row, Section

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.instrumental import instrumental
from robodyn_pin.log_to_robot.fit_data import independent_share
from robodyn_pin.log_to_robot.run_file import RowsSpec, RunFile
from robodyn_pin.log_to_robot.second_pass import second_pass
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, encoded, simulate

SEEDS = 20
NOISE = np.array([1.5, 1.5, 1.6, 0.16])  # [N m] of the torques
WHITE = 1e-4  # [rad] of the poor encoders
POOR = 1e-3


def study() -> Section:
    run = read_yaml(ROOT / "examples/irb360.yaml", RunFile)
    plain = run.model_copy(update={"preparation": type(run.preparation)(), "rows": RowsSpec(cut=400)})
    run = run.model_copy(update={"rows": run.rows.model_copy(update={"cut": 400})})
    exact = simulate(load("irb360"), read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion), Noise(0 * NOISE))
    rows = [
        *compared(f"white noise {WHITE:g} rad, nothing filtered", exact, plain, lambda q, rng: q + WHITE * rng.normal(size=q.shape)),
        *compared(f"white noise {POOR:g} rad, filters of the example", exact, run, lambda q, rng: q + POOR * rng.normal(size=q.shape)),
        *compared("8 bit encoders on the motors, filters of the example", exact, run, lambda q, rng: encoded(load("irb360"), q, 8)),
        *compared("exact encoders, filters of the example", exact, run, lambda q, rng: q, biased=False),
    ]  # fmt: skip
    return Section(
        "Instrumental variables", "python figures/make.py instruments", tuple(rows),
        f"SIMULATED IRB 360, motion of the example, torque noise 1.5 1.5 1.6 0.16 N m, {SEEDS} seeds. Instruments: the regressor "
        "of the motion through a low-pass just above its band, which is found from the log. Bias: mean error over the seeds in "
        "standard errors of one estimate, the largest of all base parameters. Where the regressor is noisy its residual is not white: the "
        "standard errors of IV are then on the safe side.",
    )  # fmt: skip


def compared(what: str, exact: Log, run: RunFile, measure, biased: bool = True) -> list[Row]:
    robot, truth = load("irb360"), columns(load("irb360")).values
    base, share = check(robot).base, independent_share(run, exact.rate)
    plain, instrumented, inside, told = [], [], [], 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        log = replace(exact, q=measure(exact.q, rng), tau=exact.tau + NOISE * rng.normal(size=exact.tau.shape))
        [seen] = second_pass(robot, run, base.columns, NOISE, [log], [None]).logs
        found = instrumental(seen.instruments, NOISE, share)
        plain.append((found.least_squares - base.of(truth)) / found.least_squares_deviations)
        instrumented.append((found.values - base.of(truth)) / found.deviations)
        inside.append(np.abs(instrumented[-1]) <= 2)
        told += found.biased
    ols, iv = (np.abs(np.mean(x, axis=0)).max() for x in (plain, instrumented))
    asked = "> 2 (shown)" if biased else "reported"
    return [
        Row(f"{what}: bias of OLS [standard errors]", asked, f"{ols:.2f}", ols > 2 if biased else None),
        Row(f"{what}: bias of IV [standard errors]; single estimates within 2", "<= 2; about 95 %",
            f"{iv:.2f}; {100 * np.mean(inside):.1f} %", iv <= 2 and np.mean(inside) >= 0.94),
        Row(f"{what}: seeds whose report says that OLS and IV disagree", f"{SEEDS if biased else 0} of {SEEDS}",
            f"{told} of {SEEDS}", told == (SEEDS if biased else 0)),
    ]  # fmt: skip
