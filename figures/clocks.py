"""Clocks with faults put into a measured log and into simulated ones: what is found of them, and what they cost held out."""

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from make import ROOT, Row, Section

from robodyn_pin.dynamics.loads import loads
from robodyn_pin.files import resolve
from robodyn_pin.log_to_robot.run import execute, read_run
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import read_as
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load, load_named

JITTER, REPEATED, MOST = 3e-3, 0.1, 1.05  # [s], share of the rows, times the error of the clean log
ROBOTS, RATE, SECONDS = ("delta3", "irb360_arms"), 100.0, 30.0
NOISE, ENCODER = 0.02, 1e-5  # of each torque's deviation; [rad] rms and step of the positions
KINDS = {
    "stamps true": (True, True),
    "stamps spread": (False, True),
    "values late": (True, False),
}  # samples, stamps spread


@dataclass(frozen=True)
class Scored:
    """An identification with default settings."""

    percent: float  # held out
    named: str  # what is said of the clock


def study() -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row for name in ROBOTS for row in simulated(name, Path(scratch))]
        if os.environ.get("ROBODYN_DATA"):
            rows += measured(Path(scratch))
    return Section(
        "Clocks with faults, default settings", "python figures/make.py clocks", tuple(rows),
        f"{1e3 * JITTER:g} ms jitter (normal) and {100 * REPEATED:g} % repeated rows: irregular samples with true stamps; regular samples with "
        f"stamps of their arrival; regular stamps whose values are early or late. SIMULATED robots: sums of sines up to 1.5 Hz at {RATE:g} Hz, "
        f"{SECONDS:g} s, torque noise {100 * NOISE:g} %. The held-out log is clean.",
    )  # fmt: skip


def simulated(name: str, scratch: Path) -> list[Row]:
    robot = load(name)
    clean, unseen = (log_of(robot, seed, *(False, False), share=0.0) for seed in (0, 7))
    held_out = written(scratch, "held_out", unseen, robot)
    before = identified(name, written(scratch, "clean", clean, robot), held_out, scratch)
    rows = []
    for kind, spread in KINDS.items():
        log = written(scratch, "faulty", log_of(robot, 0, *spread), robot)
        rows.append(row_of(f"{name} (SIMULATED), {kind}", before, identified(name, log, held_out, scratch)))
    return rows


def measured(scratch: Path) -> list[Row]:
    """The MTM log, which has lateness and repeats of its own: its samples are moved in time as if they were regular."""
    path = ROOT / "tests/runs/mtm.yaml"
    run = read_run(path)
    robot = load_named(run.robot, path.parent)
    fit, unseen = (read_as(run, resolve(path.parent, spec[0].file), robot) for spec in (run.fit, run.held_out or []))
    named = str((path.parent / run.robot).resolve())
    held_out = written(scratch, "held_out", unseen, robot)
    before = identified(named, written(scratch, "clean", fit, robot), held_out, scratch)
    rows = []
    for kind, spread in KINDS.items():
        log = written(scratch, "faulty", spoilt(fit, *spread), robot)
        rows.append(row_of(f"MTM (measured), {kind}", before, identified(named, log, held_out, scratch)))
    return rows


def row_of(what: str, before: Scored, after: Scored) -> Row:
    words = ("repeat", "deviate" if "late" not in what else "early or late")
    good = after.percent <= MOST * before.percent and all(word in after.named for word in words)
    found = f"{after.percent:.3f} ({after.percent / before.percent:.3f} of {before.percent:.3f}); {after.named.split(':')[0]}"
    return Row(f"{what}: held-out error [%]", f"<= {MOST:g} of the clean log's; both named", found, good)


def times(size: int, rate: float, samples: bool, stamps: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """When rows are sampled and what their stamps say [s]; stamps stay in order."""
    regular = np.arange(size) / rate
    off = np.random.default_rng(seed).normal(size=size) * JITTER
    spread = np.sort(regular + np.clip(off, -1 / rate, 1 / rate)) + 1e-6 * np.arange(size) / rate
    return spread if samples else regular, spread if stamps else regular


def repeated(log: Log, share: float, seed: int) -> Log:
    again = np.random.default_rng(seed + 1).uniform(size=log.size) < share
    again[0] = False
    kept = np.maximum.accumulate(np.where(again, 0, np.arange(log.size)))
    return replace(log, q=log.q[kept], dq=None if log.dq is None else log.dq[kept], tau=log.efforts[kept])


def log_of(robot: Robot, seed: int, samples: bool, stamps: bool, share: float = REPEATED) -> Log:
    rng, d = np.random.default_rng(seed), len(robot.coordinates.names)
    w, phase = 2 * np.pi * rng.uniform(0.1, 1.5, (6, d)), rng.uniform(0, 2 * np.pi, (6, d))
    size = 0.12 * rng.normal(size=(6, d)) / np.maximum(w / 2.5, 1)
    when, stamped = times(int(SECONDS * RATE), RATE, samples, stamps, seed + 100)
    angle = when[:, None, None] * w + phase
    c = robot.home @ robot.coordinates.S.T + robot.coordinates.offset + (size * np.sin(angle)).sum(axis=1)
    cd, cdd = (size * w * np.cos(angle)).sum(axis=1), -(size * w**2 * np.sin(angle)).sum(axis=1)
    q, tau = [], []
    for _, state in robot.close_parts(c, cd, cdd, str):
        q.append(state.q @ robot.motors.S.T + robot.motors.offset)
        tau.append(loads(robot, state, {"torque"}, None, str)["torque"])
    torque, position = np.concatenate(tau), np.concatenate(q)
    torque = torque + NOISE * torque.std(axis=0) * rng.normal(size=torque.shape)
    position = np.round((position + ENCODER * rng.normal(size=position.shape)) / ENCODER) * ENCODER
    return repeated(Log("simulated", stamped, position, torque, simulated=True), share, seed)


def spoilt(log: Log, samples: bool, stamps: bool) -> Log:
    when, stamped = times(log.size, log.rate, samples, stamps, 5)

    def moved(x: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(when, log.t, column) for column in x.T], axis=1)

    assert log.dq is not None
    return repeated(replace(log, t=stamped, q=moved(log.q), dq=moved(log.dq), tau=moved(log.efforts)), REPEATED, 5)


def written(folder: Path, name: str, log: Log, robot: Robot) -> Path:
    write_log(folder / f"{name}.csv", log, robot, "SIMULATED" if log.simulated else "")
    return folder / f"{name}.csv"


def identified(robot: str, fit: Path, held_out: Path, folder: Path) -> Scored:
    run = RunFile.model_validate(
        {"robot": robot, "fit": [{"file": fit}], "held_out": [{"file": held_out}], "instruments": False}
    )
    result = execute(run, folder)
    return Scored(result.scored["feasible"].held_out.mean_percent, result.logs[0].quality.clock)
