"""What is fast: one table of microseconds of processor time per sample, ratios against the fixed baseline, and their spread.

python benchmarks/run.py [--small]        --small checks results on few samples; its times mean nothing
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads: one core for all

import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from arm import arm
from baseline import plain
from recursive import RecursiveLeastSquares

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.regressor import body_regressor, state_regressor
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.robot import Robot, build

MOTION = Path(__file__).parent.parent / "examples" / "irb360_motion.yaml"
NEAR = 0.1  # [rad or m] around home
AGREE = 1e-10  # relative to the largest entry


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    path: str
    us: float  # per sample, best of the repeats
    ratio: float | None  # baseline over this, of the best times
    spread: float  # (median - best) / best over the repeats


def side_by_side(
    samples: int, repeats: int, functions: Sequence[Callable[[], object]]
) -> tuple[list[float], list[float]]:
    """Best processor time per sample [us] of each function and spread; the functions take turns, so that all see the same machine."""
    times = np.empty((repeats, len(functions)))
    for r in range(repeats):
        for k, f in enumerate(functions):
            begin = time.process_time()
            f()
            times[r, k] = time.process_time() - begin
    best = times.min(axis=0)
    return list(1e6 * best / samples), list((np.median(times, axis=0) - best) / best)


Route = Literal["pinocchio", "kernel"]


def paths() -> list[Route]:
    return ["pinocchio", "kernel"] if kernel_choice.installed() else ["pinocchio"]


def on(path: Route, compute: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        with kernel_choice.forced(path):
            return compute()

    return run


def bare(name: str) -> Robot:
    """A robot of the catalogue with one parameter set a body and without friction, as the plain loop sees it."""
    robot = rp.load(name)
    file = robot.file.model_copy(update={"identical": [], "efforts": []})
    return build(name, file, robot.urdf_xml, robot.urdf_path)


def regressors(samples: int, repeats: int) -> list[Row]:
    """W = T'Y with q, v, a given."""
    rows = []
    for robot in (bare("irb360"), bare("dualv"), arm()):
        rng = np.random.default_rng(0)
        home = robot.coordinates.S @ robot.home + robot.coordinates.offset
        c = home + NEAR * rng.uniform(-1, 1, (samples, len(home)))
        state = robot.close(c, *rng.normal(size=(2, *c.shape)))
        baseline = plain(robot)
        columns = (10 * (robot.body_columns[0] - 1)[:, None] + np.arange(10)).ravel()
        functions = [lambda b=baseline, s=state: b(s.q, s.v, s.a)]
        functions += [on(p, lambda r=robot, s=state: body_regressor(r, s.q, s.v, s.a)) for p in paths()]
        expected, *found = (f() for f in functions)  # compiles the kernels, too
        for W in found:
            error = np.abs(W - expected[:, :, columns]).max() / np.abs(expected).max()
            assert error < AGREE, f"{robot.name}: W differs from the baseline by {error:.2g}"
        us, spread = side_by_side(samples, repeats, functions)
        what = f"{robot.name}: W = T'Y"
        rows += [Row(what, p, t, us[0] / t, s) for p, t, s in zip(["plain loop", *paths()], us, spread, strict=True)]
    return rows


def trajectory(samples: int, repeats: int) -> list[Row]:
    """Closing included: from motor angles and rates of an IRB 360 at 5 kHz to the R factors."""
    robot = rp.load("irb360")
    motion = read_yaml(MOTION, FourierMotion).model_copy(update={"rate": 5000.0, "duration": samples / 5000.0})
    _, c, cd, cdd = fourier(motion, robot.coordinates.names)
    block = 20_000

    def factors() -> np.ndarray:
        folded, start = [], robot.home
        for begin in range(0, samples, block):
            part = slice(begin, begin + block)
            state = robot.close(c[part], cd[part], cdd[part], start)
            W, start = state_regressor(robot, state), state.q[-1]
            folded = folded or [empty(W.shape[2])] * W.shape[1]
            folded = [fold_rows(f, W[:, j], cd[part, j]) for j, f in enumerate(folded)]
        return np.array([f.R for f in folded])

    functions = [on(p, factors) for p in paths()]
    first, *others = (
        R.transpose(0, 2, 1) @ R for R in (f() for f in functions)
    )  # R itself is not unique: W lacks rank
    for other in others:
        error = np.abs(other - first).max() / np.abs(first).max()
        assert error < AGREE, f"R'R differs between the paths by {error:.2g}"
    us, spread = side_by_side(samples, repeats, functions)
    return [Row("irb360: motor angles to R", p, t, None, s) for p, t, s in zip(paths(), us, spread, strict=True)]


def single(samples: int, repeats: int) -> list[Row]:
    """Inverse dynamics of an IRB 360 sample by sample from motor angles: the public call on each path, and prepared."""
    robot = rp.load("irb360")
    motion = read_yaml(MOTION, FourierMotion).model_copy(update={"rate": 1000.0, "duration": samples / 1000.0})
    points = np.stack(fourier(motion, robot.coordinates.names)[1:], axis=1)
    loop = rp.prepared(robot)
    functions = [on(p, lambda: np.array([rp.inverse_dynamics(robot, *x[:, None])[0] for x in points])) for p in paths()]
    functions.append(lambda: np.array([loop.inverse_dynamics(*x) for x in points]))
    expected, *found = (f() for f in functions)
    for tau in found:
        error = np.abs(tau - expected).max() / np.abs(expected).max()
        assert error < AGREE, f"torques of single samples differ by {error:.2g}"
    us, spread = side_by_side(len(points), repeats, functions)
    what = "irb360: motor angles to torques, one sample a call"
    return [Row(what, p, t, None, s) for p, t, s in zip([*paths(), "prepared"], us, spread, strict=True)]


def online(samples: int, repeats: int) -> list[Row]:
    """One sample of online identification, 37 parameters, against plain recursive least squares; nothing forgotten: the same."""
    rng = np.random.default_rng(0)
    W, y = rng.normal(size=(samples, 4, 37)), rng.normal(size=(samples, 4))

    def run(kind: type[DampedLeastSquares] | type[RecursiveLeastSquares]) -> np.ndarray:
        estimator = kind(np.zeros(37), np.ones(37), 1.0)
        for rows, efforts in zip(W, y, strict=True):
            estimator.step(rows, efforts)
        return estimator.values

    kinds = {"recursive": RecursiveLeastSquares, "damped": DampedLeastSquares}
    recursive, damped = (run(kind) for kind in kinds.values())
    error = np.abs(damped - recursive).max() / np.abs(recursive).max()
    assert error < AGREE, f"the estimates differ by {error:.2g}"
    us, spread = side_by_side(samples, repeats, [lambda kind=kind: run(kind) for kind in kinds.values()])
    return [
        Row("online, 37 parameters, a sample; against recursive", name, t, us[0] / t, s)
        for name, t, s in zip(kinds, us, spread, strict=True)
    ]


def table(rows: Sequence[Row]) -> str:
    lines = ["| what | path | us per sample | against the plain loop | spread |", "|---|---|---|---|---|"]
    for r in rows:
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}x"
        lines.append(f"| {r.what} | {r.path} | {r.us:.2f} | {ratio} | {100 * r.spread:.0f} % |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few samples, one repeat: for correctness")
    small = parser.parse_args().small
    rows = regressors(*((100, 1) if small else (500, 100))) + trajectory(*((2000, 1) if small else (100_000, 3)))
    rows += single(*((20, 1) if small else (500, 5)))
    rows += online(*((100, 1) if small else (2000, 20)))
    print(f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, one used\n\n{table(rows)}")


if __name__ == "__main__":
    main()
