"""Derivatives of the dynamics: their errors against CasADi's, their time, and what `excite` makes of them, against the commit before."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from make import ROOT, Row, Section
from test_derivatives import of, states
from test_derivatives_by_casadi import asked_by, at_samples, by_casadi, by_parameters, slopes_of

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.derivatives import Derivatives
from robodyn_pin.exporting.closed_twin import twin_of
from robodyn_pin.exporting.functions import function_of
from robodyn_pin.urdf import catalogue

BEFORE = "401c680"  # the commit before derivatives: `excite` by differences
SAMPLES, TURNS = 1000, 15
SEARCHED = (("irb360", None, 1), ("irb2400", None, 3), ("irb2400", 1, 2))  # examples, other seeds than theirs, turns
SEARCH = """
import json, sys, time
from pathlib import Path
import yaml
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.search import excite
name, seed, folder = sys.argv[1:]
said = yaml.safe_load((Path(folder) / f"{name}_excite.yaml").read_text())
run = ExcitationFile.model_validate(said if seed == "None" else said | {"seed": int(seed)})
excite(run.model_copy(update={"random": 2, "iterations": 2}), Path(folder))  # loads kernels
spent = time.process_time()
found = excite(run, Path(folder))
print(json.dumps([time.process_time() - spent, found.information]))
"""


def study() -> Section:
    rows = [*errors(), *times(), *searches()]
    return Section(
        "Derivatives", "python figures/make.py derivatives", tuple(rows),
        "Errors over the largest entry, at three scattered states near home; CasADi differentiates the symbolic twin, which shares no derivative with the "
        f"package, its parameters unknowns; a regressor does not depend on them. Times in processor time, one thread, the least of {TURNS} turns. The search by differences is that of commit {BEFORE}, run turn by turn "
        "with today's on the same machine.",
    )  # fmt: skip


def errors() -> list[Row]:
    worst: dict[str, float] = {}
    for name in catalogue():
        for path in ("kernel", "pinocchio"):
            with kernel_choice.forced(path):
                for what, ours, theirs in compared(rp.load(name), name in ("delta3", "h4", "irb360")):
                    off = float(np.abs(ours.reshape(theirs.shape) - theirs).max() / max(np.abs(theirs).max(), 1e-3))
                    worst[what] = max(worst.get(what, 0.0), off)
    return [Row(f"derivatives of {what}, all robots of the catalogue that have them, by kernels and by Pinocchio, against CasADi's", "<= 1e-9", f"{x:.1e}", x <= 1e-9) for what, x in worst.items()]  # fmt: skip


def compared(robot: rp.Robot, struts: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Quantity and what it is derived by, the package's derivative, CasADi's."""
    c, cd, _cdd = motion = states(robot)
    found: list[tuple[str, str, Derivatives]] = []
    if len(robot.motors.names) >= len(robot.coordinates.names):
        found.append(("torques", "inverse_dynamics", rp.inverse_dynamics_derivatives(robot, *motion)))
    if struts:
        found.append(("strut forces", "strut_forces", rp.strut_force_derivatives(robot, *motion)))
    by = ("coordinates", "rates", "accelerations")
    for what, name, slopes in found:
        for x, ours, theirs in zip(by, of(slopes), by_casadi(robot.name, name, *motion), strict=True):
            yield f"{what} by {x}", ours, theirs
        yield f"{what} by parameters", slopes.by_parameters, by_parameters(robot, name, *motion)[1]
    W = rp.regressor_derivatives(robot, *motion)
    largest, q = np.abs(W.value).max(axis=(0, 1)), robot.at_rest(c).q
    pi = np.random.default_rng(1).normal(size=len(largest)) / np.where(largest > 1e-6, largest, 1.0)
    expected = at_samples(slopes_of(asked_by(robot, pi), ("c", "cd", "cdd")), q, *motion)
    for x, ours, theirs in zip(by, of(W), expected, strict=True):
        yield f"the regressor, times random parameters, by {x}", np.einsum("njpk,p->njk", ours, pi), theirs
    tau = np.random.default_rng(3).normal(size=(len(c), len(robot.motors.names)))
    fallen, function = (
        rp.forward_dynamics_derivatives(robot, c, cd, tau),
        function_of(twin_of(robot), "forward_dynamics"),
    )
    expected = at_samples(slopes_of(function, ("c", "cd", "tau")), q, c, cd, tau)
    for x, ours, theirs in zip(
        ("coordinates", "rates", "torques"), (fallen.by_c, fallen.by_cd, fallen.by_tau), expected, strict=True
    ):
        yield f"accelerations by {x}", ours, theirs
    yield "accelerations by parameters", fallen.by_parameters, by_parameters(robot, "forward_dynamics", c, cd, tau)[1]


def times() -> list[Row]:
    robot = rp.load("irb360")
    motion = states(robot, SAMPLES)
    with kernel_choice.forced("kernel"):
        spent = least(
            lambda: rp.inverse_dynamics(robot, *motion), lambda: rp.inverse_dynamics_derivatives(robot, *motion)
        )
    ratio = spent[1] / spent[0]
    per = 1e6 / SAMPLES
    return [Row(f"irb360, {SAMPLES} states, `[fast]`: time of the torques and all their derivatives over that of the torques", "<= 5",
                f"{ratio:.2f} ({per * spent[1]:.1f} over {per * spent[0]:.1f} µs a state)", ratio <= 5)]  # fmt: skip


def least(*functions: Callable[[], object]) -> list[float]:
    """Processor time of each [s], turn by turn."""
    best = [np.inf] * len(functions)
    for _ in range(TURNS):
        for k, function in enumerate(functions):
            begin = time.thread_time()
            function()
            best[k] = min(best[k], time.thread_time() - begin)
    return best


def searches() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        source, site = Path(scratch) / "source", Path(scratch) / "site"
        source.mkdir()
        packed = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", source], input=packed, check=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            site,
            source,
        ]
        subprocess.run(pip, check=True)
        for name, seed, turns in SEARCHED:
            runs = [[searched(name, seed, *where) for where in ((source, site), (ROOT, None))] for _ in range(turns)]
            (before, by_differences), (now, by_slopes) = (min(found) for found in zip(*runs, strict=True))
            which = f"{name}_excite.yaml, seed {'of the file' if seed is None else seed}, the least of {turns} turns"
            rows.append(Row(f"{which}: log det by differences and now", "the same or more", f"{by_differences:.2f}, {by_slopes:.2f}", by_slopes >= by_differences))  # fmt: skip
            rows.append(Row(f"{which}: processor time of the search [s], before and now", "a third", f"{before:.1f}, {now:.1f} ({now / before:.2f})", now <= before / 3))  # fmt: skip
    return rows


def searched(name: str, seed: int | None, folder: Path, site: Path | None) -> tuple[float, float]:
    """Processor time [s] and log det, in a process of its own, by the package in `site` or this one."""
    more = {} if site is None else {"PYTHONPATH": str(site)}
    environment = os.environ | more | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SEARCH, name, str(seed), str(folder / "examples")]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    spent, information = json.loads(done.stdout.splitlines()[-1])
    return float(spent), float(information)
