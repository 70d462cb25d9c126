"""The same stops whatever the step: when axes stand still, with steps of 1, 0.5 and 0.25 ms. Simulated."""

from collections.abc import Iterator
from pathlib import Path

from make import Row, Section
from mujoco_runs import dry
from standstills import apart, stops

from robodyn_pin.robot.robot import load

EXAMPLES = Path(__file__).parents[1] / "examples"
ROBOTS = {
    "scara": 0.3,
    "irb360": 0.1,
    "fivebar": 0.2,
    EXAMPLES / "irb2400_rotors.yaml": 0.2,
}  # [rad] how far the reference goes
STEPS, SECONDS = (1e-3, 5e-4, 2.5e-4), 4.0  # [s]


def study() -> Section:
    return Section(
        "Stops at three steps", "python figures/make.py stops", tuple(rows()),
        f"SIMULATED: `rp.roll_out` for {SECONDS:g} s under PD of 4 Hz, continuous in time, along sines of 1 Hz, a phase of its own for each axis; friction's change of sign is a jump (the IRB 2400 as its file says, rotors assumed). A stop "
        "stands for two steps or longer; what is shorter is a turn, which a coarse step may pass over. Begin and end of each stop, as sampled, with either step, against the nearest stand of the other run; the other run has steps of 0.25 ms.",
    )  # fmt: skip


def rows() -> Iterator[Row]:
    for which, wide in ROBOTS.items():
        robot = dry(load(which))
        *coarse, fine = (stops(robot, wide, step, SECONDS) for step in STEPS)
        for step, found in zip(STEPS, coarse, strict=False):
            count, off = apart(found, fine, step)
            yield Row(
                f"{robot.name}, {1e3 * step:g} ms: stops of all axes, in either run; times apart at most [ms]", "the same; within a step",
                f"{count}; {1e3 * off:.3g}", off <= step * (1 + 1e-9),
            )  # fmt: skip
