"""What does the tool weigh? Simulated IRB 360 with torque noise, 20 seeds, and an arm without noise."""

from dataclasses import replace

import numpy as np
from make import ROOT, Row, Section

from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.payload import PayloadQuantity
from robodyn_pin.log_to_robot.run import Selected, estimate, read_run
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.payload import LoadSpec, loaded
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.simulated_log import Noise, simulate

SIGMA = np.array([1.5, 1.5, 1.6, 0.16])
SEEDS = 20
RADIUS = 0.05  # [m] of the cylinder that is carried
TOOLS = {2.5: (0.03, -0.02, -0.06), 5.0: (-0.04, 0.05, -0.08)}  # [kg] -> centre [m] in the end-effector's frame


def study() -> Section:
    robot, run = load("irb360"), read_run(ROOT / "examples/irb360_payload.yaml")
    motion = read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion)
    rows, seeds = [], iter(range(8 * SEEDS))  # every log has noise of its own
    for bits, positions in ((None, "exact positions"), (15, "encoders of 15 bits")):
        for mass, at in TOOLS.items():
            tool = LoadSpec(link="end_effector", mass=mass, radius=RADIUS, length=0.12, at=at)
            both = robot, loaded(robot, tool)
            found = [
                weighed(
                    robot,
                    run,
                    *(simulate(r, motion, Noise(SIGMA, bits, next(seeds)), ignore_limits=True) for r in both),
                )
                for _ in range(SEEDS)
            ]
            rows += irb360_rows(f"IRB 360 (SIMULATED), {mass:g} kg, {positions}", found, mass, at)
    return Section(
        "Payload", "python figures/make.py payload", (*rows, arm_row()),
        f"One unloaded and one loaded log of 20 s, torque noise 1.5 1.5 1.6 0.16 N m, {SEEDS} seeds; run file "
        "`examples/irb360_payload.yaml`. The numbers are those of the feasible fit. Simulated logs throughout; limits are left out: with "
        "5 kg the motion of the example takes a strut to 121 of its 120 N.",
    )  # fmt: skip


def weighed(robot: Robot, run: RunFile, empty: Log, full: Log) -> dict[str, PayloadQuantity]:
    """Fitted on the first 70 % of both logs."""
    logs, cut = [empty, replace(full, loaded=True)], int(0.7 * empty.size)
    fit, held_out = [Selected(x, 0, cut) for x in logs], [Selected(x, cut, x.size) for x in logs]
    return {q.name: q for q in estimate(robot, run, fit, held_out).payload}


def irb360_rows(
    case: str, found: list[dict[str, PayloadQuantity]], mass: float, at: tuple[float, float, float]
) -> list[Row]:
    weight = 100 * np.array([f["mass"].feasible / mass - 1 for f in found])
    centre = 1000 * np.array([[f[f"centre {k}"].feasible - at[i] for i, k in enumerate("xy")] for f in found])
    away = np.linalg.norm(centre, axis=1)
    truth = {"mass": mass, "centre x": at[0], "centre y": at[1], "Izz about the centre": mass * RADIUS**2 / 2}
    seen = [(f[name], x) for f in found for name, x in truth.items()]
    z = np.array([(q.wls - x) / q.deviation for q, x in seen if q.wls is not None and q.deviation is not None])
    return [
        Row(f"{case}: mass, worst (rms) [%]", "<= 1", f"{abs(weight).max():.3f} ({rms(weight):.3f})", bool(abs(weight).max() <= 1)),
        Row(f"{case}: centre x, y, worst (rms) [mm]", "<= 3", f"{away.max():.3f} ({rms(away):.3f})", bool(away.max() <= 3)),
        Row(f"{case}: rms of WLS error / its standard deviation, {len(z)} values", "reported", f"{rms(z):.2f}"),
    ]  # fmt: skip


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def arm_row() -> Row:
    """All ten parameters on the flange of an IRB 2400, no noise."""
    arm = load("irb2400")
    tool = LoadSpec(link="flange", mass=5, radius=0.08, length=0.2, axis="x", at=(0.06, -0.03, 0.1))
    names, rng = arm.coordinates.names, np.random.default_rng(6)
    series = 0.25 * rng.normal(size=(2, len(names), 5)) / np.arange(1, 6)
    sin, cos = ({n: list(x) for n, x in zip(names, part, strict=True)} for part in series)
    motion = FourierMotion(rate=1000, duration=6, period=6, centre=dict.fromkeys(names, 0.2), sin=sin, cos=cos)
    exact = Noise(np.zeros(len(names)))
    run = RunFile.model_validate({
        "robot": "irb2400", "fit": [{"file": "empty.csv"}, {"file": "tool.csv", "loaded": True}],
        "payload": {"link": "flange"}, "rows": {"cut": 10}, "prior": {"weight": 1e-6},
    })  # fmt: skip
    empty, full = (simulate(r, motion, exact, ignore_limits=True) for r in (arm, loaded(arm, tool)))
    found = weighed(arm, run, empty, full)
    weight = abs(found["mass"].feasible / tool.mass - 1)
    away = np.linalg.norm([found[f"centre {k}"].feasible - tool.at[i] for i, k in enumerate("xyz")])
    return Row("IRB 2400 (SIMULATED), 5 kg, no noise: mass, centre x, y, z", "<= 1 %, 3 mm",
               f"{100 * weight:.1e} %, {1000 * away:.1e} mm", bool(weight <= 0.01 and away <= 0.003))  # fmt: skip
