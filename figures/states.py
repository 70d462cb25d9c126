"""Closing 10 000 random states a robot, all over its stated workspace, against closed forms."""

import sys
import time
from pathlib import Path

import numpy as np
from make import Row, Section

from robodyn_pin.errors import ClosureFailed
from robodyn_pin.robot.robot import Robot, State, load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests/closures"))
from test_states import gap_rates, gaps
from workspaces import WORKSPACES, delta3, dualv, irb360

STATES, CHUNK, SEED = 10_000, 500, 100


def study() -> Section:
    rows = [row for name in sorted(WORKSPACES) for row in closing(name)]
    stated = " ".join(f"{sampler.__name__}: {sampler.__doc__.splitlines()[0]}" for sampler in (irb360, delta3, dualv))
    return Section(
        "States", "python figures/make.py states", tuple(rows),
        f"{STATES} states a robot, drawn with seed {SEED} in the workspaces of `tests/workspaces.py`. {stated} Arms: "
        "motors and parallelogram inside their limits. Residual and J T: from Pinocchio's frames, in the tests.",
    )  # fmt: skip


def closing(name: str) -> list[Row]:
    robot, rng = load(name), np.random.default_rng(SEED)
    reach = WORKSPACES[name](rng, STATES)
    expected = np.stack([reach.joints[joint] for joint in list(robot.model.names)[1:]], axis=1)
    gap, rates, off, failed, spent = [], [], [], 0, 0.0
    for k in range(0, STATES, CHUNK):
        begin = time.perf_counter()
        state, kept = closed(robot, reach.c[k : k + CHUNK])
        spent += time.perf_counter() - begin
        failed += CHUNK - len(kept)
        gap += [np.abs(gaps(robot, q)).max() for q in state.q]
        rates += [np.abs(gap_rates(robot, q, T)).max() for q, T in zip(state.q, state.T, strict=True)]
        off += list(np.abs(state.q - expected[k : k + CHUNK][kept]).max(axis=1))
    per_state = f"{1e6 * spent / STATES:.0f} µs a state"
    return [
        Row(f"{name}, closure residual, failures", "<= 1e-12 m or rad, 0", f"{max(gap):.1e}, {failed} ({per_state})",
            max(gap) <= 1e-12 and failed == 0),
        Row(f"{name}, joints against closed forms", "<= 1e-12 m or rad", f"{max(off):.1e}", max(off) <= 1e-12),
        Row(f"{name}, J T", "<= 1e-10", f"{max(rates):.1e}", max(rates) <= 1e-10),
    ]  # fmt: skip


def closed(robot: Robot, c: np.ndarray) -> tuple[State, np.ndarray]:
    """The states that close, and which these are."""
    kept = np.arange(len(c))
    while True:
        try:
            return robot.close(c[kept], 0 * c[kept], 0 * c[kept]), kept
        except ClosureFailed as error:
            kept = np.delete(kept, error.sample)
