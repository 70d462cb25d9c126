"""Outliers in the torques of simulated logs: how far base parameters move with least squares and with robust residuals."""

from dataclasses import replace

import numpy as np
from clocks import NOISE, log_of
from make import Row, Section

from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of, uniform
from robodyn_pin.robot.robot import Robot, load

ROBOTS, SEEDS, SHARE, OFF = ("irb360_arms", "delta3"), 10, 0.01, 20.0  # of the samples, standard deviations
KINDS = ("clean", "single", "burst")
WAYS = (None, "huber", "student")


def study() -> Section:
    rows = [row for name in ROBOTS for row in of_robot(load(name))]
    return Section(
        "Outliers", "python figures/make.py outliers", tuple(rows),
        f"SIMULATED logs of 30 s at 100 Hz with torque noise of {100 * NOISE:g} %, {SEEDS} seeds. Single: {100 * SHARE:g} % of the samples of the "
        f"first motor are {OFF:g} standard deviations off, up or down; burst: as many one after the other, all up. The largest move of a "
        "base parameter in standard deviations of the clean log's least squares; median and worst seed. Clean: from least squares to the "
        "robust estimate of the same log; else from the clean log's estimate of the same kind to the spoiled log's.",
    )  # fmt: skip


def of_robot(robot: Robot) -> list[Row]:
    moves: dict[tuple[str, str | None], list[float]] = {(kind, way): [] for kind in KINDS for way in WAYS}
    for seed in range(SEEDS):
        clean = log_of(robot, seed + 1000, False, False, share=0.0)
        value, deviation = identified(robot, clean, None)
        before = {way: identified(robot, clean, way)[0] for way in WAYS}
        for kind, way in moves:
            start, log = value if kind == "clean" else before[way], spoiled(clean, kind, seed)
            found = before[way] if kind == "clean" else identified(robot, log, way)[0]
            moves[kind, way].append(float((np.abs(found - start) / deviation).max()))
    rows = []
    for (kind, way), found in moves.items():
        asked = way == "student" and kind != "clean"
        reached = f"{np.median(found):.2f}, {max(found):.2f}"
        what = f"{robot.name} (SIMULATED), {kind}, {way or 'least squares'}"
        rows.append(Row(what, "<= 1" if asked else "reported", reached, max(found) <= 1 if asked else None))
    return rows


def spoiled(log: Log, kind: str, seed: int) -> Log:
    if kind == "clean":
        return log
    rng, many, tau = np.random.default_rng(seed + 1050), int(SHARE * log.size), log.efforts.copy()
    at = (
        rng.choice(log.size, many, replace=False)
        if kind == "single"
        else rng.integers(0, log.size // 2) + np.arange(many)
    )
    signs = rng.choice([-1.0, 1.0], many) if kind == "single" else np.ones(many)
    tau[at, 0] += OFF * NOISE * log.efforts[:, 0].std() * signs
    return replace(log, tau=tau)


def identified(robot: Robot, log: Log, way: str | None) -> tuple[np.ndarray, np.ndarray]:
    log = uniform(replace(log, quality=quality_of(log, robot)))
    run = RunFile.model_validate({"robot": robot.name, "fit": [{"file": "log"}], "robust": way, "instruments": False})
    wls = estimate(robot, run, *split_last([Selected(log, 0, log.size)], cut=0)).estimates.wls
    return wls.values, np.sqrt(np.diag(wls.covariance))
