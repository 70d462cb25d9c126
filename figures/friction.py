"""Friction that remembers, put into simulated robots and found back by a choice among models; and robots that have none."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from clocks import ENCODER, NOISE
from make import Row, Section

from robodyn_pin.errors import SolverFailed
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of, uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.stops import LADDER
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.workers import each

SEEDS, RATE, SECONDS, PERIOD, HARMONICS = 20, 100.0, 50.0, 7.0, 8
OFFERED = ["coulomb+viscous", "stribeck", "maxwell_slip", "+load", "+quadratic"]
PLAIN, SLIPS = "coulomb+viscous", "coulomb+viscous+maxwell_slip"
EXCITED = (
    0.05 / 3
)  # a stop counts as excited whose strength has this relative standard deviation at most: 5 % are three of it
WIDTH = 0.03  # [rad/s or m/s] of Coulomb friction


@dataclass(frozen=True)
class Case:
    """A robot of the catalogue with friction of its own on every motor."""

    robot: str
    centre: float  # [rad] of the motion
    wide: np.ndarray  # [rad] rms of each motor's motion
    coulomb: np.ndarray  # [N m]; viscous friction is a third of it
    slipping: tuple[str, ...]  # motors with stops
    run: dict[str, object]


CASES = (
    Case("irb360", 0.25, np.array([0.15, 0.15, 0.15, 0.5]), np.array([4.7, 4.4, 6.5, 0.4]), ("phi1", "phi3"),
         {"bounds": {"mass": [0.01, 5.0]}}),
    Case("irb2400", 0.0, np.array([0.4, 0.2, 0.2, 0.5, 0.4, 0.5]), np.array([24.0, 31.0, 17.0, 8.0, 14.0, 9.0]), ("m1", "m3", "m5"),
         {"bounds": {"mass": [0.01, 400.0]}, "prior": {"mass": 20.0, "radius": 0.2, "weight": 0.0001}}),
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What came of one log."""

    right: bool  # the choice, on every axis
    off: np.ndarray  # relative error of strength, and so of stiffness, of each stop that was put in
    sure: np.ndarray  # relative standard deviation of it
    beyond: float  # held-out rms error over the noise, worst motor
    wrong: str


def study() -> Section:
    rows = [row for case in CASES for row in of_robot(case)]
    return Section(
        "Friction that remembers", "python figures/make.py friction", tuple(rows),
        f"SIMULATED IRB 360 and IRB 2400, {SEEDS} seeds of motion, strengths and noise: Fourier series of {HARMONICS} harmonics of {PERIOD:g} s, "
        f"{SECONDS:g} s at {RATE:g} Hz, torque noise {100 * NOISE:g} %, encoder steps of {ENCODER:g} rad. Coulomb and viscous friction on every motor, four stops "
        f"besides on {' '.join(CASES[0].slipping)} and {' '.join(CASES[1].slipping)}, at {' '.join(f'{x:g}' for x in LADDER[1:])} of the motor's spread of position, "
        "together as strong as the Coulomb friction. `choose: {friction: [" + ", ".join(OFFERED) + "]}`; the robot files name motors and models, but no "
        "width, no strength and no stop. The prior of every body of the IRB 2400 is a ball of 20 kg, its weight 0.0001: at 0.001 results warn that the "
        "prior moves what the log shows, and the worst excited stop was 5.9 % off.",
    )  # fmt: skip


def of_robot(case: Case) -> list[Row]:
    slip, none = (each(partial(found, case, slips=slips), range(SEEDS)) for slips in (True, False))
    off, sure = (np.concatenate([getattr(x, key) for x in slip]) for key in ("off", "sure"))
    shown = off[sure <= EXCITED]
    beyond, apart = (np.array([x.beyond for x in these]) for these in (slip, none))
    most = SEEDS - SEEDS // 20
    logs = [log_of(case, seed, False) for seed in range(SEEDS)]
    usual, true = (np.array([identified(case, *log, False, width)[1] for log in logs]) for width in (None, WIDTH))
    name = f"{case.robot} (SIMULATED)"
    return [
        Row(f"{name}, stops: strengths and stiffnesses, relative error, median and worst [%]", "<= 5 where excited",
            f"{100 * np.median(shown):.1f}, {100 * shown.max():.1f} of {len(shown)} stops", bool(shown.max() <= 0.05)),
        Row(f"{name}, stops: all {len(off)}: within 5 % [%]; worst [%]", "reported", f"{100 * np.mean(off <= 0.05):.1f}; {100 * off.max():.1f}"),
        Row(f"{name}, stops: held-out rms error over that of the noise put in, worst motor, median and worst seed", "<= 1.03",
            f"{np.median(beyond):.3f}, {beyond.max():.3f}", bool(beyond.max() <= 1.03)),
        Row(f"{name}, stops: every axis has the right model", f">= {most} of {SEEDS}", *told(slip, most)),
        Row(f"{name}, no stops: every axis has the simple model", f">= {most} of {SEEDS}", *told(none, most)),
        Row(f"{name}, no stops: held-out error over that without a choice, worst seed; with the true widths in the robot file",
            "<= 1.01", f"{(apart / usual).max():.3f}; {(apart / true).max():.3f}", bool((apart / np.minimum(usual, true)).max() <= 1.01)),
    ]  # fmt: skip


def told(these: list[Found], most: int) -> tuple[str, bool]:
    right, wrong = sum(x.right for x in these), "; ".join(x.wrong for x in these if x.wrong)
    return f"{right} of {len(these)}" + (f" (wrong: {wrong})" if wrong else ""), right >= most


def found(case: Case, seed: int, slips: bool) -> Found:
    try:
        result, beyond = identified(case, *log_of(case, seed, slips), True)
    except SolverFailed:
        return Found(False, np.zeros(0), np.zeros(0), np.inf, f"seed {seed}: no fit")
    taken = {c.axis: c.chosen for c in result.settings.friction}
    wrong = [f"{a} {m}" for a, m in taken.items() if m != (SLIPS if slips and a in case.slipping else PLAIN)]
    off, sure = elements(case, result, seed) if slips else (np.zeros(0), np.zeros(0))
    return Found(not wrong, off, sure, beyond, f"seed {seed} {', '.join(wrong)}" if wrong else "")


def identified(
    case: Case, log: Log, noise: np.ndarray, choose: bool, width: float | None = None
) -> tuple[Result, float]:
    """What the log shows, and the held-out rms error over that of the noise that was put in, worst motor."""
    robot = rubbing(case, {}, False, width)
    run = RunFile.model_validate(
        {"robot": case.robot, "fit": [{"file": "log"}], "instruments": False, "rows": {"cut": 20}, **case.run}
        | ({"choose": {"friction": OFFERED}} if choose else {})
    )
    fit, held_out = split_last([Selected(log, 0, log.size)], cut=20)
    result = estimate(robot, run, fit, held_out)
    put_in = np.sqrt((noise[held_out[0].begin : held_out[0].end] ** 2).mean(axis=0))
    return result, float((result.scored["feasible"].held_out.rmse / put_in).max())


def elements(case: Case, result: Result, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors and standard deviations of the strengths of the stops that were put in; one that was not taken is wrong by all of it."""
    labels, values, wls = list(result.layout.labels), result.feasible.values, result.wls
    deviations = dict(zip(wls.base.columns.tolist(), wls.deviations.tolist(), strict=True))
    off, sure = [], []
    for motor, (radii, strengths) in stops(case, seed).items():
        effort = next((e for e in result.robot_before.efforts if e.memory and e.name == motor), None)
        at = effort.radii if effort else np.zeros(0)
        for radius, strength in zip(radii, strengths, strict=True):
            near = np.flatnonzero(np.abs(at / radius - 1) < 0.01)
            column = labels.index(f"stop_{near[0] + 1}({motor})") if len(near) else -1
            off.append(abs(values[column] / strength - 1) if len(near) else 1.0)
            sure.append(deviations.get(column, np.inf) / strength)
    return np.array(off), np.array(sure)


def log_of(case: Case, seed: int, slips: bool) -> tuple[Log, np.ndarray]:
    """A log and the noise (n, d) [N m] of its torques."""
    robot = rubbing(case, stops(case, seed) if slips else {}, True, WIDTH)
    clean = simulate(robot, motion_of(case, seed), Noise(np.zeros(len(case.wide))), ignore_limits=True)
    rng = np.random.default_rng(seed + 500)
    position = np.round((clean.q + ENCODER * rng.normal(size=clean.q.shape)) / ENCODER) * ENCODER
    noise = NOISE * clean.efforts.std(axis=0) * rng.normal(size=clean.q.shape)
    log = replace(clean, q=position, tau=clean.efforts + noise)
    return uniform(replace(log, quality=quality_of(log, robot))), noise


def motion_of(case: Case, seed: int) -> FourierMotion:
    rng, names = np.random.default_rng(seed), load(case.robot).coordinates.names
    size = rng.normal(size=(2, HARMONICS, len(names))) / np.sqrt(np.arange(1, HARMONICS + 1))[:, None]
    size *= case.wide * np.sqrt(2) / np.sqrt((size**2).sum(axis=(0, 1)))
    sin, cos = ({name: x.tolist() for name, x in zip(names, part.T, strict=True)} for part in size)
    return FourierMotion(
        rate=RATE, duration=SECONDS, period=PERIOD, centre=dict.fromkeys(names, case.centre), sin=sin, cos=cos
    )


def stops(case: Case, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Radii [rad] and strengths [N m] by motor."""
    rng, names = np.random.default_rng(seed + 300), list(load(case.robot).coordinates.names)
    coulomb = dict(zip(names, case.coulomb.tolist(), strict=True))
    spread = dict(zip(names, case.wide.tolist(), strict=True))  # five whole periods are fitted
    found = {}
    for motor in case.slipping:
        share = rng.uniform(0.5, 1.5, len(LADDER) - 1)
        found[motor] = np.array(LADDER[1:]) * spread[motor], coulomb[motor] * share / share.sum()
    return found


def rubbing(case: Case, slip: dict[str, tuple[np.ndarray, np.ndarray]], known: bool, width: float | None) -> Robot:
    """The robot with Coulomb and viscous friction on every motor and stops on some; not `known`: without coefficients."""
    robot, efforts = load(case.robot), []
    for motor, level in zip(robot.motors.names, case.coulomb.tolist(), strict=True):
        dry, wet = ({"initial": x} if known else {} for x in (level, level / 3))
        efforts += [
            EffortSpec(of=motor, model="coulomb", width=width, **dry),
            EffortSpec(of=motor, model="viscous", **wet),
        ]
        if motor in slip:
            radii, strengths = (x.tolist() for x in slip[motor])
            efforts += [EffortSpec(of=motor, model="maxwell_slip", stops=radii, initial=strengths)]
    kept = [e for e in robot.file.efforts if e.of not in robot.motors.names or e.model == "armature"]
    file = robot.file.model_copy(update={"efforts": [*kept, *efforts]})
    return build(case.robot, file, robot.urdf_xml, robot.urdf_path)
