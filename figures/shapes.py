"""The published friction of drive 4, eq. (48) of Gnad et al., identified on the SIMULATED IRB 360 by variable projection."""

import numpy as np
from make import ROOT, Row, Section, several

from robodyn_pin.files import read_yaml
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.cross_validation import choose
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.simulation.simulated_log import Noise, simulate

SEEDS = 60
NOISE = np.array([1.5, 1.5, 1.6, 0.16])  # [N m]
TRUTH = np.array([0.5272, 0.6672, 8.5919])  # A_C, A_v [N m], eps_v [rad/s]: Table 2


def study() -> Section:
    exact = measured(np.zeros(4), 0)
    starts = {f"{factor:g} times": identified(drive_4(factor), exact)[0] for factor in (0.5, 2.0)}
    noisy = [identified(drive_4(2.0), measured(NOISE, seed)) for seed in range(SEEDS)]
    found, deviations = (np.array(x) for x in zip(*noisy, strict=True))
    spread = np.sqrt(np.mean(((found - TRUTH) / deviations) ** 2, axis=0))
    rows = [
        *(Row(f"noise-free, start {what} the truth: A_C, A_v, eps_v, largest relative error", "<= 1e-3", f"{worst(r):.1e}",
              worst(r) <= 1e-3) for what, r in starts.items()),
        Row(f"torque noise, {SEEDS} seeds: A_C, A_v, eps_v, mean and standard deviation of one log", several(TRUTH),
            f"{several(found.mean(axis=0))} +- {several(deviations[0])}"),
        Row("their errors over their standard deviations, RMS over the seeds", "0.82 to 1.18 (95 % of such samples)",
            several(spread), bool((spread >= 0.82).all() and (spread <= 1.18).all())),
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


def identified(robot: Robot, log: Log) -> tuple[np.ndarray, np.ndarray]:
    """A_C, A_v, eps_v by weighted least squares, and their standard deviations."""
    run = RunFile.model_validate({"robot": "irb360", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}})
    fitted = choose(robot, run, [log.window(0, int(0.7 * log.size))], lambda stage: None)
    wls = fitted.widen(fitted.weigh(pooled(fitted.rows), None, fitted.independent))
    labels, (shape,) = np.array(fitted.settings.layout.labels)[wls.base.columns].tolist(), fitted.settings.shapes
    linear = [labels.index(f"{name}(psi)") for name in ("coulomb", "saturating")]
    return np.append(wls.values[linear], shape.value), np.append(wls.deviations[linear], shape.deviation)


def worst(values: np.ndarray) -> float:
    """Largest relative error of A_C, A_v, eps_v."""
    return float(np.abs(values / TRUTH - 1).max())
