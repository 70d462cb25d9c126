"""Table 5 of Obal & Gierlak (IRB 2400) back from simulated sweeps: planned, simulated, found in the log, fitted."""

import tempfile
from pathlib import Path

import numpy as np
from make import Row, Section
from test_loaded_motor import TABLE_5, equation_54

from robodyn_pin.files import read_yaml
from robodyn_pin.friction_tests.friction_file import FrictionFile, GridSpec
from robodyn_pin.friction_tests.loaded_motor import measure_sweeps
from robodyn_pin.friction_tests.result import curve_columns, friction_quantities, names
from robodyn_pin.friction_tests.sweep_plan import plan_sweeps
from robodyn_pin.identification.friction_curve import Points, fit_curve
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

EXAMPLE = Path(__file__).parents[1] / "examples" / "irb2400_friction.yaml"
NOISE, SEEDS = 0.02, 200
ASKED = (3, 3, 5, 15)  # [%] of Fs, Fc, Fv, omega
SHARP = 1e-7  # [rad/s] width of the change of sign that no speed sees


def study() -> Section:
    """Three sets of speeds: simulated sweeps of the catalogue's robot, and the paper's formula at 120 and at 60 speeds."""
    run = read_yaml(EXAMPLE, FrictionFile)
    swept, width = _swept(run)
    exact = [_fitted(points, width) for points in swept.values()]
    off = 100 * np.abs(np.array(exact) / list(TABLE_5.values()) - 1).max(axis=0)
    rows = [Row("no noise: largest error of Fs, Fc, Fv, omega [%]", "", ", ".join(f"{x:.2g}" for x in off))]
    rows += _rows("sweeps, 120 speeds", swept, width, ASKED)
    for count in (120, 60):
        w = np.array(GridSpec(slowest=1e-4, fastest=0.5, count=count).speeds)
        points = {m: Points(w, equation_54(w, m), *np.ones((3, len(w)))) for m in TABLE_5}
        rows += _rows(f"formula (54), {count} speeds", points, SHARP, ASKED if count == 120 else None)
    note = (
        "SIMULATED. First rows: the six joints of the catalogue's IRB 2400, gravity and parallelogram included, through "
        "`robodyn friction --protocol`, `simulate` and `friction` as in the example: 120 speeds of the grid of eq. (74) from 1e-4 to "
        "0.5 rad/s, encoder 22 bits; then noise of 2 % of the friction on each averaged speed. Its sign changes over 0.001 rad/s, as "
        "the robot file has it and the fit knows. Other rows: eq. (54) as printed, its sign sharp. 200 seeds a joint; medians of "
        "|error|, the worst of the six joints. Coverage pools the four parameters, all joints and seeds. Half as many speeds give "
        "the viscous coefficient of joint 6 less exactly: it adds 1.2 N m to 8.8 at the fastest speed."
    )
    return Section("Stribeck friction from sweeps", "python figures/make.py stribeck", tuple(rows), note)


def _swept(run: FrictionFile) -> tuple[dict[str, Points], float]:
    """Friction of all joints over speed, without noise, found in the log of the planned sweeps; and the sign's width."""
    robot = load("irb2400")
    log = simulate(robot, plan_sweeps(run, robot).motion, Noise(np.zeros(6), 22))
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.parquet", log, robot, "SIMULATED")
        here = run.model_copy(update={"logs": [run.logs[0].model_copy(update={"file": Path("log.parquet")})]})
        found = measure_sweeps(here, Path(folder), robot).motors
    return {name: result.points for name, result in found.items()}, found["m1"].width


def _fitted(points: Points, width: float) -> list[float]:
    return [q.value for q in _quantities(points, width)]


def _quantities(points: Points, width: float):
    fit = fit_curve(points, lambda w, s: curve_columns("stribeck", w, s, width), True, names("stribeck"), True)
    return friction_quantities(fit, "stribeck")


def _rows(what: str, exact: dict[str, Points], width: float, asked: tuple[int, ...] | None) -> list[Row]:
    medians, inside = [], []
    for j, (motor, points) in enumerate(exact.items()):
        truth, off = np.array(TABLE_5[motor]), []
        for seed in range(SEEDS):
            noise = NOISE * np.random.default_rng([j, seed]).normal(size=len(points.speed))
            noisy = Points(points.speed, points.effort * (1 + noise), points.deviation, points.error, points.samples)
            found = _quantities(noisy, width)
            error = np.array([q.value for q in found]) - truth
            off.append(np.abs(error) / truth)
            inside += list(np.abs(error) <= [q.reach for q in found])
        medians.append(100 * np.median(off, axis=0))
    worst, cover = np.max(medians, axis=0), 100 * np.mean(inside)
    rows = []
    for k, name in enumerate(("Fs", "Fc", "Fv", "omega")):
        limit, met = (f"<= {asked[k]} %", bool(worst[k] <= asked[k])) if asked else ("", None)
        joint = list(exact)[int(np.argmax([m[k] for m in medians]))]
        rows.append(Row(f"{what}: {name}, median error, worst joint", limit, f"{worst[k]:.2g} % ({joint})", met))
    limit, met = ("93 to 97 %", bool(93 <= cover <= 97)) if asked else ("", None)
    return [*rows, Row(f"{what}: truth inside the 95 % intervals", limit, f"{cover:.1f} %", met)]
