"""What ball joints that rub do to the drives' friction when the model does not know them, on the SIMULATED IRB 360."""

import numpy as np
from make import ROOT, Row, Section, several

from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.simulation.simulated_log import Noise, simulate

SEEDS = 10
NOISE = np.array([1.5, 1.5, 1.6, 0.16])  # [N m]
DRIVES = ("phi1", "phi2", "phi3")
APART = np.array([0.281, 0.419, 0.448])  # [N m s/rad] of the drives of the disassembled robot, Table 1
ASSEMBLED = np.array([1.727, 2.064, 1.557])  # of the assembled robot, Table 4
RUBBING = 0.4  # [N m s/rad] of each of twelve balls, assumed: the drives then grow by about what the tables say
LIMBS = [f"{k}{side}" for k in (1, 2, 3) for side in "ab"]
BALLS = [f"ball_{limb}" for limb in LIMBS] + [f"strut_{limb}_{axis}" for limb in LIMBS for axis in "yz"]


def study() -> Section:
    found = [both(seed) for seed in range(SEEDS)]
    without, known = (np.array([estimates(pair[k]) for pair in found]) for k in (0, 1))  # (seeds, 3, 3 or 4)
    grown = without[:, 0].mean(axis=0) - APART
    share, sure = grown / (ASSEMBLED - APART), ((without[:, 0] - APART) / without[:, 2]).min()
    off = (known[:, 0] - np.append(APART, RUBBING)) / known[:, 2]
    inside, bias = 100 * np.mean(np.abs(off) <= 2), np.abs(off.mean(axis=0)).max() * np.sqrt(SEEDS)
    rows = [
        Row("balls unknown, WLS: viscous friction of the drives [N m s/rad]", f"about Table 4: {several(ASSEMBLED)}",
            several(APART + grown)),
        Row("its growth over that of the published tables", "0.5 to 1.5", several(share), bool((np.abs(share - 1) <= 0.5).all())),
        Row("its growth in standard deviations, least of all drives and logs", "above 2", f"{sure:.0f}", bool(sure > 2)),
        Row("balls known, WLS, first log: drives, balls [N m s/rad]", f"{several(APART)}, {RUBBING}: within 2 standard deviations",
            f"{several(known[0, 0])} +- {several(known[0, 2])}", bool((np.abs(off[0]) <= 2).all())),
        Row(f"balls known: estimates within 2 standard deviations of the truth, {SEEDS} logs [%]", ">= 90 (95.4 expected)",
            f"{inside:.0f}", bool(inside >= 90)),
        Row("balls known: mean error over its own standard deviation, largest", "<= 3", f"{bias:.1f}", bool(bias <= 3)),
        Row("feasible fit, balls unknown: drives; telescope (truth 1.247 N s/m)", "",
            f"{several(without[:, 1].mean(axis=0))}; {telescope(found[0][0]):.2f}"),
        Row("feasible fit, balls known: drives, balls; telescope", "",
            f"{several(known[:, 1].mean(axis=0))}; {telescope(found[0][1]):.2f}"),
        Row("feasible fit, held-out RMSE over noise, first log: balls unknown; known", "",
            "; ".join(several(result.scored["feasible"].held_out.rmse / NOISE) for result in found[0])),
    ]  # fmt: skip
    return Section(
        "Friction in passive joints", "python figures/make.py passive_friction", tuple(rows),
        f"SIMULATED IRB 360, motion and run file of the example, exact encoders, white torque noise 1.5 1.5 1.6 0.16 N m, {SEEDS} "
        f"seeds. Drives with the viscous friction of Table 1 of Gnad et al.; twelve balls rub with {RUBBING} N m s/rad (assumed), "
        "six of them closures, six universal joints of the tree, one column together. The torques hardly tell: what is left "
        "unexplained grows by less than a percent.",
    )  # fmt: skip


def both(seed: int) -> tuple[Result, Result]:
    """One log of the robot whose balls rub, identified without and with their column."""
    truth = robot(APART, {"initial": RUBBING})
    log = uniform(
        simulate(truth, read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion), Noise(NOISE, seed=seed))
    )
    return identified(robot(APART, None), log), identified(robot(APART, {}), log)


def robot(viscous: np.ndarray, balls: dict | None) -> Robot:
    """The catalogue's robot with other viscous friction of its drives; `balls`: what their effort says, None: they do not rub."""
    catalogue = load("irb360")
    kept = [e for e in catalogue.file.efforts if not (e.of in DRIVES and e.model == "viscous")]
    kept += [EffortSpec(of=drive, model="viscous", initial=float(x)) for drive, x in zip(DRIVES, viscous, strict=True)]
    if balls is not None:
        kept.append(EffortSpec(of=BALLS, name="balls", model="viscous", **balls))
    file = catalogue.file.model_copy(update={"efforts": kept})
    return build(catalogue.name, file, catalogue.urdf_xml, catalogue.urdf_path)


def identified(model: Robot, log: Log) -> Result:
    cut = int(0.7 * log.size)
    run = read_yaml(ROOT / "examples/irb360.yaml", RunFile)
    return estimate(model, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size - run.rows.cut)])


def estimates(result: Result) -> np.ndarray:
    """Viscous friction of the drives, and of the balls where the model has them: WLS, feasible fit, deviations (3, k)."""
    labels, wls = result.layout.labels, result.wls
    wanted = [label for label in (*(f"viscous({d})" for d in DRIVES), "viscous(balls)") if label in labels]
    columns = [labels.index(label) for label in wanted]
    places = [wls.base.columns.tolist().index(k) for k in columns]
    return np.array([wls.values[places], result.feasible.values[columns], wls.deviations[places]])


def telescope(result: Result) -> float:
    return float(result.feasible.values[result.layout.labels.index("viscous(ext)")])
