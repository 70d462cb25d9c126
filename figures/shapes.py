"""The published friction of drive 4, eq. (48) of Gnad et al., identified on the SIMULATED IRB 360 by variable projection."""

from pathlib import Path

import numpy as np
from make import Row, Section

from robodyn_pin.effort_models import EffortSpec
from robodyn_pin.files import read_yaml
from robodyn_pin.motion import Log, uniform
from robodyn_pin.result import Result
from robodyn_pin.robot import Robot, build, load
from robodyn_pin.run import Selected, estimate
from robodyn_pin.run_file import RunFile
from robodyn_pin.simulation import FourierMotion, Noise, simulate

ROOT = Path(__file__).parents[1]
SEEDS = 20
NOISE = np.array([1.5, 1.5, 1.6, 0.16])  # [N m]
TRUTH = np.array([0.5272, 0.6672, 8.5919])  # A_C, A_v [N m], eps_v [rad/s]: Table 2


def study() -> Section:
    exact = measured(np.zeros(4), 0)
    starts = {f"{factor:g} times": identified(drive_4(factor), exact) for factor in (0.5, 2.0)}
    noisy = [identified(drive_4(2.0), measured(NOISE, seed)) for seed in range(SEEDS)]
    off = np.array([(r.shapes[0].value - TRUTH[2]) / r.shapes[0].deviation for r in noisy])
    spread = float(np.sqrt(np.mean(off**2)))
    rows = [
        *(Row(f"noise-free, start {what} the truth: A_C, A_v, eps_v, largest relative error", "<= 1e-3", f"{worst(r):.1e}",
              worst(r) <= 1e-3) for what, r in starts.items()),
        Row(f"torque noise, {SEEDS} seeds: eps_v, mean and its standard deviation [rad/s]", f"{TRUTH[2]}",
            f"{np.mean([r.shapes[0].value for r in noisy]):.3f} +- {noisy[0].shapes[0].deviation:.3f}"),
        Row("error of eps_v over its standard deviation, RMS over the seeds", "0.7 to 1.3 (95 % of such samples)", f"{spread:.2f}",
            0.7 <= spread <= 1.3),
    ]  # fmt: skip
    return Section(
        "Shapes of friction", "python figures/make.py shapes", tuple(rows),
        "SIMULATED IRB 360 with the published friction of drive 4, motion of the example, exact encoders, all base parameters "
        "identified together with the three of drive 4, the two linear ones by weighted least squares; torque noise 1.5 1.5 1.6 0.16 N m.",
    )  # fmt: skip


def drive_4(factor: float) -> Robot:
    """The catalogue's robot with eq. (48) on drive 4; its speed is to be fitted, from a start `factor` times the truth."""
    catalogue = load("irb360")
    kept = [e for e in catalogue.file.efforts if e.of != "psi"]
    curve = EffortSpec(of="psi", model="saturating", initial=TRUTH[:2].tolist(), width=0.01, speed=factor * TRUTH[2], fit=["speed"])  # fmt: skip
    file = catalogue.file.model_copy(update={"efforts": [*kept, curve]})
    return build(catalogue.name, file, catalogue.urdf_xml, catalogue.urdf_path)


def measured(noise: np.ndarray, seed: int) -> Log:
    motion = read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion)
    return uniform(simulate(drive_4(1.0), motion, Noise(noise, seed=seed)))


def identified(robot: Robot, log: Log) -> Result:
    run = RunFile.model_validate({"robot": "irb360", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}})
    cut = int(0.7 * log.size)
    return estimate(robot, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size - 5)])


def worst(result: Result) -> float:
    """Largest relative error of A_C, A_v, eps_v."""
    labels = np.array(result.layout.labels)[result.wls.base.columns].tolist()
    linear = [result.wls.values[labels.index(f"{name}(psi)")] for name in ("coulomb", "saturating")]
    return float(np.abs(np.array([*linear, result.shapes[0].value]) / TRUTH - 1).max())
