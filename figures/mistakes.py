"""Usual mistakes in logs of catalogue robots (SIMULATED) and of measured ones: found, named rightly; and false alarms on clean logs.

`likely_mistakes` is asked directly, on whole logs: it is what the verdict of `identify` asks, without the fits around it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from make import ROOT, Row, Section
from scipy.stats import beta

from robodyn_pin.errors import ClosureFailed
from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.likely_mistakes import likely_mistakes
from robodyn_pin.log_to_robot.not_closed import why_not_closed
from robodyn_pin.log_to_robot.run import select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import Motion, read_motion
from robodyn_pin.robot.robot import Robot, load, load_named
from robodyn_pin.simulation.simulated_log import Noise, simulate

CLEAN = {"delta3": 40, "irb360": 40, "irb2400": 40, "dualv": 40, "irb6660": 40}  # logs without mistakes
SPOILED = 20  # of each robot's clean logs that get a mistake as well, one kind after the other
SWING = {
    "delta3": 0.1
}  # [rad] standard deviation of a Fourier coefficient; of other robots, a share of their example's motion
MOTIONS = {"irb360": "irb360_motion", "irb2400": "irb2400_motion", "dualv": "dualv_motion", "irb6660": "irb2400_motion"}
MEASURED = ("mtm", "panda")
NOISE = 0.02  # of each motor's rms torque
COLOURED = 0.9  # correlation of the noise with that of the sample before, in every other clean log
LATE = 0.05  # [s]
ZERO = 0.3  # of a torque's rms: where its zero lies
ENCODER_ZERO = (
    0.2  # [rad] by which the second motor's encoder is off: no torque tells of the first where its axis is vertical
)
FAMILYWISE = 0.01


def study() -> Section:
    asked = sum(CLEAN.values())
    false, right_of, spoiled, spoilt_missed = 0, 0, 0, list[str]()
    for k, robot, run, log in clean():
        false += bool(told(robot, run, log))
        if k < SPOILED:
            kinds = list(mistakes(robot))
            what, expected, change = kinds[k % len(kinds)]
            good = any(expected in text for text in told(robot, run, change(log)))
            right_of, spoiled = right_of + good, spoiled + 1
            spoilt_missed += [] if good else [f"{robot.name} {what}"]
    rows, found, named, tried, alarms, seconds = [], 0, 0, 0, [], []
    for name, robot, run, log in cases():
        begin = time.process_time()
        said = told(robot, run, log)
        seconds.append(f"{name} {time.process_time() - begin:.1f} s")
        alarms += [name] if said else []
        cells = []
        for what, expected, change in mistakes(robot):
            said = told(robot, run, change(log))
            right = any(expected in text for text in said)
            found, named, tried = found + bool(said), named + right, tried + 1
            cells.append(f"{what}: {'named' if right else f'found as {said[0]!r}' if said else 'not found'}")
        rows.append(Row(name, "reported", "; ".join(cells)))
    low, high = (float(beta.ppf(p, *ab)) if ab[0] > 0 else 0.0 for p, ab in (
        (0.025, (false, asked - false + 1)), (0.975, (false + 1, asked - false))))  # fmt: skip
    return Section(
        "Mistakes in logs that are explained well", "python figures/make.py mistakes",
        (
            Row("mistakes found", "reported", f"{found} of {tried}"),
            Row("mistakes found and named rightly", "reported", f"{named} of {tried}"),
            Row("false alarms on these logs without a mistake", "0", f"{len(alarms)} of {len(rows)} {' '.join(alarms)}", not alarms),
            Row(f"false alarms on {asked} clean SIMULATED logs", f"<= {100 * FAMILYWISE:g} %",
                f"{false} of {asked}; 95 % interval {100 * low:.2g} to {100 * high:.2g} % (Clopper and Pearson)",
                false <= FAMILYWISE * asked),
            Row(f"mistakes named rightly in {spoiled} spoiled SIMULATED logs of the same", ">= 90 %",
                f"{right_of} of {spoiled}; not: {', '.join(spoilt_missed) or 'none'}", right_of >= 0.9 * spoiled),
            Row("processor time on a log without a mistake", "reported", ", ".join(seconds)),
            *rows,
        ),
        f"SIMULATED logs of five robots (torque noise {100 * NOISE:.0f} % of each motor's rms, encoders of 17 bit), and the measured fit "
        f"logs of MTM and Panda. Mistakes of the first motor (a swap: of the first two; an encoder's zero: of the second). The clean logs, {', '.join(f'{n} of {k}' for k, n in CLEAN.items())}, "
        "have 10 to 20 s of random motions, torque noise of 0.5 to 5 %, every other one coloured, and encoders of 14 to 20 bit. The bodies that made the logs are those of the files, which helps to name; a log counts as named if one of the told mistakes is the right one. Asked is `likely_mistakes` alone.",
    )  # fmt: skip


def mistakes(robot: Robot) -> Iterator[tuple[str, str, Callable[[Log], Log]]]:
    """What was done to a log, what names it, and the doing."""
    a, b, n = *robot.motors.names[:2], len(robot.motors.names)

    def with_first(log: Log, column: np.ndarray) -> Log:
        return replace(log, tau=np.column_stack([column, log.efforts[:, 1:]]))

    def late(log: Log, motors: int) -> Log:
        moved = np.roll(log.efforts, round(LATE * log.rate), axis=0)
        return replace(log, tau=np.column_stack([moved[:, :motors], log.efforts[:, motors:]]))

    yield "all signs", "all torques look as if their signs", lambda log: replace(log, tau=-log.efforts)
    yield "one sign", f"tau_{a} looks like -tau_{a}", lambda log: with_first(log, -log.efforts[:, 0])
    yield (
        "swapped", f"tau_{a} and tau_{b} look swapped",
        lambda log: replace(log, tau=log.efforts[:, [1, 0, *range(2, n)]]),
    )  # fmt: skip
    yield (
        "constant", f"tau_{a} is constant",
        lambda log: with_first(log, np.full(log.size, np.abs(log.efforts[:, 0]).mean())),
    )  # fmt: skip
    yield "position", f"tau_{a} looks like a copy of q_{a}", lambda log: with_first(log, log.q[:, 0])
    yield (
        "zero", f"tau_{a} looks too large by",
        lambda log: with_first(log, log.efforts[:, 0] + ZERO * np.sqrt(np.mean(log.efforts[:, 0] ** 2))),
    )  # fmt: skip
    yield "all 50 ms late", "all torques look 50 ms late", lambda log: late(log, n)
    yield "one 50 ms late", f"tau_{a} looks 50 ms late", lambda log: late(log, 1)
    yield (
        "position's sign",
        f"q_{a} looks like -q_{a}",
        lambda log: uniform(replace(log, q=log.q * np.where(np.arange(n), 1, -1))),
    )
    yield (
        "encoder's zero", f"q_{b} looks too large by",
        lambda log: uniform(replace(log, q=log.q + ENCODER_ZERO * (np.arange(n) == 1))),
    )  # fmt: skip
    yield "milliseconds", "looks like milliseconds", lambda log: uniform(replace(log, t=1000 * log.t))
    yield "time twice too fast", "ran twice too fast", lambda log: faster(log)


def faster(log: Log) -> Log:
    """Time and measured rates as a clock that runs twice too fast tells them."""
    return uniform(replace(log, t=log.t / 2))


def told(robot: Robot, run: RunFile, log: Log) -> list[str]:
    try:
        return [m.said for m in likely_mistakes(robot, [log], run) if m.of_log]
    except ClosureFailed as failed:
        return [why_not_closed(robot, [log], run, failed)]


def cases() -> Iterator[tuple[str, Robot, RunFile, Log]]:
    """One log of each robot."""
    robot = load("delta3")
    yield "delta3", robot, run_of("delta3"), simulated(robot, random_motion(robot, 1), 1)
    for name, motion in MOTIONS.items():
        robot = load(name)
        yield name, robot, run_of(name), simulated(robot, read_motion(ROOT / f"examples/{motion}.yaml"), 1)
    for name in MEASURED:
        path = ROOT / f"tests/runs/{name}.yaml"
        run = read_yaml(path, RunFile)
        robot = load_named(run.robot, path.parent)
        chosen = select(robot, run, path.parent, run.fit[0])
        log = chosen.log.window(chosen.begin, chosen.end)
        yield f"{name} (measured)", robot, run, log.section(0, log.size)


def clean() -> Iterator[tuple[int, Robot, RunFile, Log]]:
    """Logs of random motions: 10 to 20 s, torque noise 0.5 to 5 %, encoders of 14 to 20 bit, white and coloured noise."""
    for name, many in CLEAN.items():
        robot = load(name)
        for k in range(many):
            rng = np.random.default_rng(1000 + k)
            bits, noise = int(rng.integers(14, 21)), float(rng.uniform(0.005, 0.05))
            log = simulated(robot, random_motion(robot, 1000 + k), k, COLOURED if k % 2 else 0.0, bits, noise)
            yield k, robot, run_of(name), uniform(log.section(0, int(log.size * rng.uniform(0.5, 1))))


def run_of(name: str) -> RunFile:
    return RunFile(robot=name, fit=[LogSpec(file=Path("log.csv"))])


def random_motion(robot: Robot, seed: int) -> Motion:
    """Twenty seconds about the middle of the workspace; for other robots than the Delta their example's motion, its coefficients
    mixed anew among a motor's harmonics, or sixty random poses."""
    rng, names = np.random.default_rng(seed), robot.motors.names
    if robot.name in MOTIONS:
        motion = read_motion(ROOT / f"examples/{MOTIONS[robot.name]}.yaml")
        if not isinstance(motion, FourierMotion):
            poses = [{"x": x, "y": y, "phi": phi} for x, y, phi in rng.uniform(-1, 1, (60, 3)) * [0.06, 0.04, 0.2]]
            return motion.model_copy(update={"poses": [{}, *poses, {}]})
        size = rng.uniform(0.5, 0.9)
        mixed = {
            part: {m: (size * rng.permutation(getattr(motion, part)[m])).tolist() for m in names}
            for part in ("sin", "cos")
        }
        return motion.model_copy(update={"rate": min(motion.rate, 250.0), **mixed})
    terms = {part: {m: (SWING[robot.name] * rng.normal(size=5)).tolist() for m in names} for part in ("sin", "cos")}
    return FourierMotion(rate=200, duration=20, period=10, centre=dict.fromkeys(names, 0.3), **terms)


def simulated(
    robot: Robot, motion: Motion, seed: int, coloured: float = 0.0, bits: int = 17, share: float = NOISE
) -> Log:
    # Axis 3 of the IRB 6660 would not bend back as far as the motion of the IRB 2400 does.
    log = simulate(robot, motion, Noise(np.zeros(len(robot.motors.names)), bits), ignore_limits=True)
    noise = np.random.default_rng(seed).normal(size=log.q.shape)
    for k in range(1, len(noise) if coloured else 0):
        noise[k] = coloured * noise[k - 1] + np.sqrt(1 - coloured**2) * noise[k]
    rms = np.sqrt(np.mean(log.efforts**2, axis=0))
    return uniform(replace(log, tau=log.efforts + share * rms * noise))
