"""How often a comparison calls an unchanged robot changed, and how often it finds a change: SIMULATED robots, measured logs."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from make import ROOT, Row, Section
from same_robot import Recorded, compared, estimate, named, record
from scipy.stats import binomtest, norm

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.comparison import changes, holm
from robodyn_pin.log_to_robot.pieces import PIECES
from robodyn_pin.log_to_robot.run import read_run, select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.shapes_by_rates import rms_rates, with_widths
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load, load_named
from robodyn_pin.simulation.simulated_log import Noise, simulate

MANY, FEWER = 200, 20  # comparisons of unchanged robots, of changed ones
RUN = RunFile.model_validate({"robot": "x", "fit": [{"file": "x.csv"}]})
RUNS = {
    "irb360": read_yaml(ROOT / "examples/irb360.yaml", RunFile),
    "irb2400": read_yaml(ROOT / "examples/irb2400.yaml", RunFile),
}
WIDTHS = {"mtm": 0.2, "panda": 0.03, "tx40": 0.1}  # as `main_job` chooses them


def study() -> Section:
    data = os.environ.get("ROBODYN_DATA")
    if not data:
        sys.exit("set ROBODYN_DATA to the folder of the measured logs")
    parts = [part for name in WIDTHS for part in measured(name)]
    rows = [*delta(), *dualv(), *bigger("irb2400"), *bigger("irb360")]
    new, old = (np.array([part[k] for part in parts]) for k in (1, 2))
    rows += [
        Row(f"measured, {name}: called changed; of white residuals (before)", "reported", f"{a}; {b}")
        for name, a, b in parts
    ]
    rows.append(
        Row(
            "measured logs, all: called changed; of white residuals (before)",
            "<= 5 % within chance",
            f"{share(new)}; {share(old)}",
            honest(new),
        )
    )
    return Section(
        "Comparison of two results", "python figures/make.py compare", tuple(rows),
        f"{MANY} comparisons of a SIMULATED robot with itself, {FEWER} with a changed one. Noise: AR(1), memory 0.1 s. Friction left out: a peak at low "
        "speed and a ripple with the position, each up to 30 % of Coulomb friction, the same in both logs. 'Asked' is met unless more than 5 % is "
        "certain (binomial, 1 %). Found: anything changed; named: the parameter is the best explanation or among those that the logs cannot tell from "
        "it. Measured logs are cut into parts, rows filtered before they are cut; widths of Coulomb friction fixed.",
    )  # fmt: skip


def share(found: np.ndarray) -> str:
    return f"{int(np.sum(found))} of {len(found)}"


def honest(found: np.ndarray) -> bool:
    """Whether a true rate of 5 % does not make so many false alarms improbable."""
    return bool(binomtest(int(np.sum(found)), len(found), 0.05, alternative="greater").pvalue > 0.01)


def series(names: Sequence[str], seed: int, period: float, duration: float, size: float = 0.1) -> FourierMotion:
    """A random motion of five harmonics."""
    rng = np.random.default_rng(seed)
    some = [{name: (size * rng.normal(size=5)).tolist() for name in names} for _ in range(2)]
    return FourierMotion(
        rate=250, duration=duration, period=period, centre=dict.fromkeys(names, 0.3), sin=some[0], cos=some[1]
    )


def recorded(robot: Robot, motion: FourierMotion, run: RunFile = RUN) -> Recorded:
    return record(robot, simulate(robot, motion, Noise(np.zeros(len(robot.motors.names))), ignore_limits=True), run)


def cases(
    robot: Robot, what: str, pairs: Sequence[tuple[Recorded, Recorded]], paired: bool, noise: np.ndarray, friction: np.ndarray | None,
    changed: dict[str, float], memory: float = 0.1, many: int = MANY,
) -> list[Row]:  # fmt: skip
    """False alarms and power, the pairs of logs in turn."""
    layout = columns(robot).layout

    def runs(times: int, seed: int, change: np.ndarray | float = 0.0):
        rng = np.random.default_rng(seed)
        for k in range(times):
            first, second = pairs[k % len(pairs)]
            yield compared(first, second, rng, noise, memory * first.rate, friction, paired, change)

    alarms = np.array([c.changed for c in runs(many, 0)])
    rows = [Row(f"{robot.name}, {what}: called changed", "<= 5 % within chance", share(alarms), honest(alarms))]
    for label, size in changed.items():
        change = np.zeros(layout.size)
        change[layout.labels.index(label)] = size
        found = np.array([(c.changed, named(robot, c, label)) for c in runs(FEWER, 1, change)])
        rows.append(
            Row(
                f"the same, {label} {size:+.3g}: found; named",
                "reported",
                f"{share(found[:, 0])}; {share(found[:, 1])}",
            )
        )
    print(*rows, sep="\n", flush=True)
    return rows


def delta() -> list[Row]:
    robot = load("delta3")
    names, noise, friction = robot.motors.names, np.full(3, 0.03), np.array([0.3, 0.25, 0.35])
    changed = {"coulomb(phi1)": 0.09, "m(platform)": 0.2, "m(rod_1a=rod_1b)": 0.009}
    logs = [recorded(robot, series(names, seed, 5, 10)) for seed in range(1, 9)]
    same, long = [(logs[0], logs[0])], [(logs[0], recorded(robot, series(names, 1, 5, 20)))]
    other = [(logs[k], logs[m]) for k in range(8) for m in range(8) if k != m]
    return [
        *cases(robot, "one motion, white noise", same, True, noise, None, changed, 0.0),
        *cases(robot, "one motion, coloured noise", same, True, noise, None, changed),
        *cases(robot, "one motion, friction left out", same, True, noise, friction, changed),
        *cases(robot, "one motion, friction left out, second log twice as long", long, True, noise, friction, changed),
        *cases(robot, "56 pairs of motions, friction left out", other, False, noise, friction, changed),
    ]  # fmt: skip


def bigger(name: str) -> list[Row]:
    """The example's motion, its first and its second half, and the same half twice."""
    robot, run = load(name), RUNS[name]
    motion = read_yaml(ROOT / f"examples/{name}_motion.yaml", FourierMotion)
    log = simulate(robot, motion, Noise(np.zeros(len(robot.motors.names))), ignore_limits=True)
    halves = [record(robot, log.window(a, b), run) for a, b in ((0, log.size // 2), (log.size // 2, log.size))]
    usual = np.sqrt(np.mean(log.tau**2, axis=0))
    first = {
        "irb360": {"coulomb(phi1)": 1.4, "m(end_effector)": 0.2, "m(arm_1=arm_2=arm_3)": 0.1},
        "irb2400": {"m(link6)": 2.0},
    }[name]
    known = {label: size for label, size in first.items() if label in columns(robot).layout.labels}
    return [
        *cases(robot, "one motion, friction left out", [(halves[0], halves[0])], True, 0.03 * usual, 0.1 * usual, known),
        *cases(robot, "halves of one log, friction left out", [tuple(halves)], False, 0.03 * usual, 0.1 * usual, known),
    ]  # fmt: skip


def dualv() -> list[Row]:
    robot = load("dualv")
    logs = [recorded(robot, replace_centre(series(("x", "y", "phi"), seed, 4, 8, 0.02))) for seed in (1, 2)]
    noise, friction = np.full(4, 0.2), np.full(4, 0.5)
    changed = {"coulomb(m1)": 0.15, "m(platform)": 0.2}
    return [
        *cases(robot, "one motion, friction left out", [(logs[0], logs[0])], True, noise, friction, changed),
        *cases(robot, "two motions, friction left out", [tuple(logs)], False, noise, friction, changed),
    ]  # fmt: skip


def replace_centre(motion: FourierMotion) -> FourierMotion:
    return motion.model_copy(update={"centre": dict.fromkeys(motion.centre, 0.0)})


def measured(name: str) -> list[tuple[str, bool, bool]]:
    """Parts of a measured log against each other: what, called changed now, and before."""
    folder = ROOT / "tests/runs"
    run, found = read_run(folder / f"{name}.yaml"), []
    robot = load_named(run.robot, folder)
    specs = [*run.fit, *(run.held_out or [])] if name == "mtm" else run.fit
    logs = []
    for spec in specs:
        log = select(robot, run, folder, spec).log
        robot = robot if logs else with_widths(robot, WIDTHS[name] * rms_rates(robot, run, [log]))
        whole = record(robot, log, run)
        n = len(whole.y)
        logs.append(whole)
        at = np.arange(n)
        cuts = {"halves": [at < n // 2, at >= n // 2], "odd and even eighths": [at * 8 // n % 2 == k for k in (0, 1)]}
        thirds = [at * 3 // n == k for k in range(3)]
        cuts |= {f"thirds {k + 1} and {m + 1}": [thirds[k], thirds[m]] for k, m in ((0, 1), (0, 2), (1, 2))}
        for what, (a, b) in cuts.items():
            found.append((f"{name} {Path(log.name).stem}, {what}", *both(part(whole, a), part(whole, b))))
    if len(logs) > 1:
        found.append((f"{name}, one log against the other", *both(*logs)))
    print(*found, sep="\n", flush=True)
    return found


def part(whole: Recorded, kept: np.ndarray) -> Recorded:
    n = int(kept.sum())
    return replace(whole, W=whole.W[kept], y=whole.y[kept], piece=np.arange(n) * PIECES // n)


def both(first: Recorded, second: Recorded) -> tuple[bool, bool]:
    one, other = estimate(first, first.y), estimate(second, second.y)
    now = changes(one, other)
    M = np.linalg.lstsq(other.base.matrix.T, one.base.matrix.T, rcond=None)[0].T
    total = one.covariance + M @ other.covariance @ M.T
    z = (M @ other.values - one.values)[now.rows] / np.sqrt(np.diag(total)[now.rows])
    return now.changed, bool((holm(2 * norm.sf(np.abs(z))) < 0.05).any())
