"""A base that leans: gravity's direction from simulated logs of an arm."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from clocks import ENCODER, NOISE
from make import Row, Section

from robodyn_pin.dynamics.loads import loads
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.log_to_robot.held_out import Selected, split_last, windows
from robodyn_pin.log_to_robot.lean import Lean, leaning, leant
from robodyn_pin.log_to_robot.open_settings import choose_all
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of, uniform
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.workers import each

ROBOT, LEAN, SEEDS, RATE, SECONDS = "irb2400", 1.3, 20, 200.0, 120.0  # [deg], [Hz], [s]
WIDE = np.array([1.5, 0.4, 0.4, 1.0, 0.8, 1.0])  # [rad] of the motors' motion, rms times 1.4
MOST = 0.05  # [deg]
WAYS = ("fit", "choose")


@dataclass(frozen=True)
class Seed:
    """What one seed shows."""

    off: dict[str, float]  # [deg] from the true direction, by the word after `gravity:`
    inside: bool  # whether the truth is inside the interval of `fit`
    level: bool  # whether `choose` leaves a level base level


def study() -> Section:
    robot, most = load(ROBOT), SEEDS - SEEDS // 20
    found = each(partial(of_seed, robot), range(SEEDS))
    inside, level = sum(x.inside for x in found), sum(x.level for x in found)
    rows = [
        Row(f"`gravity: {how}`: found within [deg], median and worst seed", f"<= {MOST:g}", f"{np.median(x):.4f}, {max(x):.4f}", max(x) <= MOST)
        for how, x in ((how, [y.off[how] for y in found]) for how in WAYS)
    ]  # fmt: skip
    rows += [
        Row("`gravity: fit`: truth inside the 95 % interval of the direction known least", "reported", f"{inside} of {SEEDS}"),
        Row("`gravity: choose`, a level base: left level", f">= {most} of {SEEDS}", f"{level} of {SEEDS}", level >= most),
    ]  # fmt: skip
    return Section(
        "A base that leans", "python figures/make.py lean", tuple(rows),
        f"SIMULATED logs of the IRB 2400 on a base that leans by {LEAN:g} degrees, {SECONDS:g} s at {RATE:g} Hz, sums of sines up to 1 Hz, "
        f"torque noise {100 * NOISE:g} %, {SEEDS} seeds and directions, and on a level one; other settings default.",
    )  # fmt: skip


def of_seed(robot: Robot, seed: int) -> Seed:
    drawn, way = np.array(robot.file.gravity), np.random.default_rng(seed + 100).uniform(0, 2 * np.pi)
    gravity = leant(drawn, np.deg2rad(LEAN) * np.array([np.cos(way), np.sin(way)]))
    log = log_of(leaning(robot, gravity), seed)
    found = {how: found_in(robot, log, how) for how in WAYS}
    missed = {
        how: float(np.linalg.norm(np.array(x.gravity if x else drawn) - gravity) / np.linalg.norm(drawn))
        for how, x in found.items()
    }
    inside = found["fit"] is not None and missed["fit"] <= quantile() * found["fit"].deviation
    level = found_in(robot, log_of(robot, seed), "choose") is None
    return Seed({how: float(np.rad2deg(x)) for how, x in missed.items()}, bool(inside), level)


def log_of(robot: Robot, seed: int) -> Log:
    rng, n, d = np.random.default_rng(seed), int(SECONDS * RATE), len(robot.coordinates.names)
    t, w = np.arange(n) / RATE, 2 * np.pi * rng.uniform(0.05, 1.0, (6, d))
    size = WIDE * rng.uniform(0.5, 1, (6, d)) / np.sqrt(6) / np.maximum(w / 2, 1)
    angle = t[:, None, None] * w + rng.uniform(0, 2 * np.pi, (6, d))
    c = robot.home @ robot.coordinates.S.T + robot.coordinates.offset + (size * np.sin(angle)).sum(axis=1)
    cd, cdd = (size * w * np.cos(angle)).sum(axis=1), -(size * w**2 * np.sin(angle)).sum(axis=1)
    q, tau = [], []
    for _, state in robot.close_parts(c, cd, cdd, str):
        q.append(state.q @ robot.motors.S.T + robot.motors.offset)
        tau.append(loads(robot, state, {"torque"}, None, str)["torque"])
    torque, position = np.concatenate(tau), np.concatenate(q)
    torque = torque + NOISE * torque.std(axis=0) * rng.normal(size=torque.shape)
    position = np.round((position + ENCODER * rng.normal(size=position.shape)) / ENCODER) * ENCODER
    found = Log("simulated", t, position, torque, simulated=True)
    return uniform(replace(found, quality=quality_of(found, robot)))


def found_in(robot: Robot, log: Log, how: str) -> Lean | None:
    run = RunFile.model_validate({"robot": ROBOT, "fit": [{"file": "log"}], "gravity": how, "instruments": False})
    fit, _ = split_last([Selected(log, 0, log.size)], cut=0)
    return choose_all(robot, run, windows(fit), str).settings.lean  # as an identification does, without what follows
