"""Robots with friction beside MuJoCo's implicit integrator: the same body, the same torques asked for, who moves how. Simulated."""

from collections.abc import Iterator

import mujoco
import numpy as np
from make import Row, Section
from mujoco_runs import RATE, Run, Settings, apart, dry, law_of, run_mujoco, run_ours

from robodyn_pin.robot.robot import load

ROBOTS = {"scara": 0.3, "delta3": 0.2, "irb360": 0.2}  # [rad] how far the coordinates go
OWN = 4  # steps of ours between two samples
SETTINGS = (
    Settings("as it is, 0.25 ms", 4, False),
    Settings("hard, 0.25 ms", 4, True),
    Settings("hard, 0.0625 ms", 16, True),
)


def study() -> Section:
    return Section(
        "Friction that sticks, beside MuJoCo", "python figures/make.py beside_mujoco", tuple(rows()),
        f"SIMULATED: the MJCF that `robodyn export` writes of a robot (damping, frictionloss, armature, loops as equalities), MuJoCo {mujoco.__version__} with its integrator `implicit`, beside `simulate`'s step, here of {1000 / RATE / OWN:g} ms; "
        f"both under the same law at {RATE} Hz, PD of 5 Hz with inverse dynamics that knows no friction. Friction changes its sign at once, as frictionloss does. Smooth: sines, at rest only where they turn. Sticking: half-way the reference stands still, and friction holds what is left of the error. "
        "Two causes explain what is apart. MuJoCo's loops and dry friction are soft: a loop gives way by its gap (the screw of the SCARA, 314 rad to the metre, most), and below a rate of frictionloss / (inertia 100/s) friction is a damper, so that what is held creeps. With solref of two steps and solimp 0.9999 for friction (hard) "
        "that is nearly gone. What is left is MuJoCo's first order in time: with a quarter of the step it is a quarter to a third; ours moves by less than 0.1 mrad from 1 to 0.25 ms (first row of each).",
    )  # fmt: skip


def rows() -> Iterator[Row]:
    for name, wide in ROBOTS.items():
        robot = dry(load(name))
        for kind in ("smooth", "sticking"):
            law = law_of(robot, wide, kind == "sticking")
            ours, coarse = run_ours(robot, law, OWN), run_ours(robot, law, 1)
            off, share = apart(ours, coarse)
            yield Row(
                f"{name}, {kind}: ours with {1000 / RATE:g} ms against {1000 / RATE / OWN:g} ms: positions apart [mrad]; torques apart [% of the largest]; gap of the loops [rad or m]",
                "reported", f"{1e3 * off:.3g}; {100 * share:.2g}; {ours.gap:.1e}",
            )  # fmt: skip
            for settings in SETTINGS:
                theirs = run_mujoco(robot, law, settings)
                off, share = apart(ours, theirs)
                text, creep = f"{1e3 * off:.3g}; {100 * share:.2g}; {theirs.gap:.1e}", ""
                if kind == "sticking":
                    text += f"; {fastest(theirs):.1e} against {fastest(ours):.1e}"
                    creep = "; fastest in the last fifth of a second [rad/s]"
                yield Row(
                    f"{name}, {kind}, MuJoCo {settings.name}: positions apart [mrad]; torques apart [% of the largest]; gap of the loops [rad or m]{creep}",
                    "side by side", text,
                )  # fmt: skip


def fastest(run: Run) -> float:
    return float(np.abs(run.rates[-RATE // 5 :]).max())
