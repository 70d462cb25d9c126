"""The main job: three measured logs with published results, scored by the logs' own script, and the simulated IRB 360."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl
from make import ROBODYN, ROOT, Row, Section

TX40_TORQUES = np.diag([32.0, 32, 45, -48, 45, 32])
TX40_TORQUES[4, 5] = 32.0
CASES = {
    "mtm": ("dvrk_mtm/traj_two.csv", np.eye(7)),
    "panda": ("panda_gaz2019/exciting.csv", np.eye(7)),
    "tx40": ("tx40_figaroh/motor_side.csv", TX40_TORQUES),
}
MTM_LIMITS = np.array([8.7, 15.9, 18.0, 21.9, 27.3, 24.4, 35.0])


def study() -> Section:
    data = os.environ.get("ROBODYN_DATA")
    if not data:
        sys.exit("set ROBODYN_DATA to the folder of the measured logs")
    with tempfile.TemporaryDirectory() as scratch:
        found = {name: measured(name, Path(data), Path(scratch)) for name in CASES}
        simulated = bundled(Path(scratch))
    mtm, panda, tx40 = (found[name] for name in CASES)
    percent, numbers = np.array(mtm["score"]["percent"]), lambda x: " ".join(f"{v:.1f}" for v in x)
    wls = {name: found[name]["result"]["errors"]["WLS"]["held_out"] for name in CASES}
    rows = [
        Row("MTM, base parameters", "73", str(mtm["base"]), mtm["base"] == 73),
        Row("MTM, LMI, held-out, mean of motors [%]", "<= 19.6 (stretch 19.0)", f"{percent.mean():.2f}", percent.mean() <= 19.6),
        Row("MTM, LMI, per motor [%]", "<= " + numbers(MTM_LIMITS), numbers(percent), bool((percent <= MTM_LIMITS).all())),
        Row("MTM, WLS, mean of motors [%]", "<= 20.2, LMI not above", f"{wls['mtm']['mean_percent']:.2f}",
            percent.mean() <= wls["mtm"]["mean_percent"] <= 20.2),
        *(exists(name, found[name]) for name in CASES),
        Row("Panda, base parameters (with friction)", "43 (64)", f"{panda['inertial']} ({panda['base']})",
            (panda["inertial"], panda["base"]) == (43, 64)),
        Row("Panda, WLS, held-out [%]", "<= 1.05 (stretch 1.00)", f"{wls['panda']['percent_all']:.3f}", wls["panda"]["percent_all"] <= 1.05),
        Row("Panda, LMI, held-out [%]", "<= 1.15", f"{panda['score']['percent']:.3f}", panda["score"]["percent"] <= 1.15),
        Row("TX40, base parameters", "61", str(tx40["base"]), tx40["base"] == 61),
        Row("TX40, LMI, held-out RMSE [N m]", "<= 2.9 (stretch 2.75)", f"{tx40['score']['rmse_all']:.3f}", tx40["score"]["rmse_all"] <= 2.9),
        Row("TX40, still and moving rows [N m]", "still not above moving",
            f"{tx40['score']['rmse_still']:.2f}, {tx40['score']['rmse_moving']:.2f}",
            tx40["score"]["rmse_still"] <= tx40["score"]["rmse_moving"]),
        Row("IRB 360 (SIMULATED), held-out RMSE over noise put in", "<= 1.05 per motor", " ".join(f"{x:.3f}" for x in simulated),
            max(simulated) <= 1.05),
    ]  # fmt: skip
    return Section(
        "The main job", "make figures", tuple(rows),
        "Measured logs: dVRK MTM (Wang et al. 2019), Panda (Gaz et al. 2019), TX40 (FIGAROH). Filters, Coulomb widths and prior "
        "weights are chosen inside the fit data; the LMI predictions are scored by the logs' own script. Run files: `tests/runs`.",
    )  # fmt: skip


def measured(name: str, data: Path, scratch: Path) -> dict:
    out = scratch / name
    run(ROBODYN, "identify", ROOT / "tests/runs" / f"{name}.yaml", "--out", out)
    score = scored(name, out, data)
    result = json.loads((out / "result.json").read_text())
    model = pin.buildModelFromUrdf(str(next(out.glob("*.urdf"))))
    unit = np.diag([10.0, 10, 10, 1])
    smallest = min(
        float(np.linalg.eigvalsh(unit @ pin.PseudoInertia.FromInertia(i).toMatrix() @ unit)[0])
        for i in list(model.inertias)[1:]
    )
    masses = [i.mass for i in list(model.inertias)[1:]]
    return {"score": score, "result": result, "smallest": smallest, "masses": masses,
            "base": result["base"]["count"], "inertial": result["base"]["inertial"]}  # fmt: skip


def scored(name: str, folder: Path, data: Path) -> dict:
    """What the logs' own script says of the torques that the robot of a result folder predicts."""
    log, to_scored = CASES[name]
    torques = folder / "torques.csv"
    robot = ROOT / "tests/robots" / f"{name}.yaml"
    run(ROBODYN, "predict", robot, data / log, "--params", folder, "--out", torques, good=(0, 3))
    tau = pl.read_csv(torques).drop("t").to_numpy() @ to_scored.T
    pl.DataFrame({f"tau{k + 1}": x for k, x in enumerate(tau.T)}).write_csv(torques)
    return json.loads(run(sys.executable, data / "score.py", name, torques, "--json"))


def exists(name: str, found: dict) -> Row:
    bounds = np.array(list(found["result"]["feasible"]["mass_bounds"].values()))
    inside = min(found["masses"]) >= bounds.min() and max(found["masses"]) <= bounds.max()
    reached = f"{found['smallest']:.2e}; {min(found['masses']):.2f} to {max(found['masses']):.2f} kg in [{bounds.min():g}, {bounds.max():g}]"
    return Row(f"{name}, reloaded URDF: smallest eigenvalue (1 kg, 0.1 m), masses", ">= 1e-4, inside bounds", reached,
               found["smallest"] >= 1e-4 and inside)  # fmt: skip


def bundled(scratch: Path) -> list[float]:
    noise = {"phi1": 1.5, "phi2": 1.5, "phi3": 1.6, "psi": 0.16}
    log = ROOT / "results" / "irb360_log.csv"
    run(ROBODYN, "simulate", "irb360", "--motion", ROOT / "examples/irb360_motion.yaml", "--out", log,
        "--noise", ",".join(map(str, noise.values())), "--encoder-bits", "15", "--seed", "1")  # fmt: skip
    run(ROBODYN, "identify", ROOT / "examples/irb360.yaml", "--out", scratch / "irb360")
    result = json.loads((scratch / "irb360/result.json").read_text())
    return [result["errors"]["feasible"]["held_out"]["rmse"][m] / s for m, s in noise.items()]


def run(*command: object, good: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode not in good:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout
