"""The U-turn of Gnad et al. (IRB 360), section 6.6: what the paper leaves open, and what each of it does to the published 0.48 s.

python figures/u_turn.py [results/u_turn.csv]     the table alone, on the screen and as a file
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from make import Row, Section

from robodyn_pin.files import read_yaml
from robodyn_pin.planning.plan import Plan
from robodyn_pin.planning.plan_file import Margins, PlanFile, PointsSpec
from robodyn_pin.planning.table import motion_at
from robodyn_pin.planning.task import PlanTask, fastest_within, plan_task, read_task
from robodyn_pin.planning.tightening import OVER
from robodyn_pin.robot.robot_file import Limit
from robodyn_pin.simulation.controller_file import ControllerFile
from robodyn_pin.simulation.following import simulate_planned

EXAMPLE = Path(__file__).parents[1] / "examples/irb360_u_turn.yaml"
PUBLISHED = 0.48  # [s]
NEAR = 0.01  # [s] that counts as near an expected time
SHOULDERS = 0.8934  # [m] above the balls where z = 0
MOTOR = 4.0  # [N m] of a motor before its gear, as published
SHEET = 30.0  # gear that the robot's file assumes
LEVEL = 1e-3  # [m] below the top of the path where its straight part begins and ends


@dataclass(frozen=True)
class Setting:
    """What the paper leaves open; the default are the printed limits without a further margin."""

    corners: str = "B-spline 45 mm"  # control points on the sharp U every so often; or lines, rounded within a radius
    ends: str = "rest"  # or free: the acceleration there
    jerk: bool = True
    gear: float = 36.0  # the smallest whole one with which no torque holds the straight part, as Fig. 16 has it
    height: float = 1.05  # [m] of the lower ends below the shoulders
    load: float = 30.0  # [mm] below the flange
    margin: float = 0.0  # of torques and forces: does the paper's 10 % come on top of what it prints?
    struts: bool = True

    @property
    def title(self) -> str:
        """What differs from the default, and always the ends and the jerk."""
        changed = {key: value for key, value in asdict(self).items() if value != getattr(Setting(), key)}
        said = {
            key: f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in changed.items()
        }
        said |= {"ends": f"ends {self.ends}", "jerk": "jerk limit" if self.jerk else "no jerk limit"}
        return ", ".join(said[key] for key in asdict(self) if key in said)


def task(setting: Setting) -> PlanTask:
    """The plan that a setting asks for."""
    file = read_yaml(EXAMPLE, PlanFile)
    z, (kind, size, _) = SHOULDERS - setting.height, setting.corners.split()
    if kind == "lines":
        sharp = [[0, -0.4, z, 0], [0, -0.4, z + 0.18, 0], [0, 0.4, z + 0.18, 0], [0, 0.4, z, 0]]
        names = ["x", "y", "z", "psi"]
        path = PointsSpec(kind="lines", coordinates=names, points=sharp, radius=float(size) / 1e3)
    else:
        path = file.path.model_copy(update={"start": [0.0, -0.4, z, 0.0], "spacing": float(size) / 1e3})
    changes = {
        "path": path,
        "limits": {f"phi{k}": Limit(torque=MOTOR * setting.gear) for k in (1, 2, 3)},
        "payload": [file.payload[0].model_copy(update={"at": (0.0, 0.0, -setting.load / 1e3)})],
        "margins": Margins(torque=setting.margin, force=setting.margin, end_effector=setting.margin),
        "ends": (setting.ends, setting.ends),
        "without": [kind for kind, kept in (("jerk", setting.jerk), ("force", setting.struts)) if not kept],
        "costs": False,
    }
    return read_task(file.model_copy(update=changes), EXAMPLE.parent)


def settings() -> Iterator[Setting]:
    """One thing changed at a time, with and without jerk limit, ends at rest and free."""
    for start in (Setting(), Setting(ends="free"), Setting(ends="free", jerk=False)):
        yield start
        for key, values in {
            "corners": ("B-spline 30 mm", "B-spline 60 mm", "B-spline 90 mm", "lines 60 mm", "lines 120 mm", "lines 180 mm"),
            "gear": (20.0, 25.0, SHEET, 33.0, 34.0, 35.0), "height": (1.0, 1.1, 1.2), "load": (0.0, 60.0), "margin": (0.1,),
        }.items():  # fmt: skip
            for value in values:
                yield replace(start, **{key: value})


def held(plan: Plan, kind: str) -> float:
    """Share [%] of the straight part at which limits of a kind hold the motion."""
    s = np.linspace(0.0, 1.0, 2001)
    z = plan.path.at(s).c[:, 2]
    knot = np.abs(s[:, None] - plan.profile.s).argmin(axis=1)
    active = np.array([any(label[0] == kind for label in labels) for labels in plan.active])
    return 100 * float(active[knot][z > z.max() - LEVEL].mean())


def plan_of(setting: Setting) -> Plan:
    """The fastest motion of a setting."""
    asked = task(setting)
    return fastest_within(asked, asked.limits)


def table() -> dict[Setting, Plan]:
    """The fastest motion of every setting."""
    return {setting: plan_of(setting) for setting in settings()}


def columns(plans: dict[Setting, Plan]) -> list[dict[str, object]]:
    """The table for readers."""
    return [
        {
            "setting": setting.title, "time [s]": f"{plan.time:.4f}", "against 0.48 s": f"{100 * (plan.time / PUBLISHED - 1):+.1f} %",
            "straight held by struts": f"{held(plan, 'force'):.0f} %", "by torques": f"{held(plan, 'torque'):.0f} %",
            "by jerks": f"{held(plan, 'jerk'):.0f} %",
        }
        for setting, plan in plans.items()
    ]  # fmt: skip


def study() -> Section:
    plans = table()
    times = {setting: plan.time for setting, plan in plans.items() if setting.jerk}
    closest = sorted(times, key=lambda setting: abs(times[setting] - PUBLISHED))[:3]
    rows = (
        *_expected(plans),
        Row(
            "over what the paper leaves open, jerk limit kept (table)", "brackets the published 0.48 s",
            f"{min(times.values()):.3f} to {max(times.values()):.3f} s", min(times.values()) <= PUBLISHED <= max(times.values()),
        ),
        Row("settings closest to 0.48 s, jerk limit kept", "named", "; ".join(f"{x.title}: {times[x]:.4f} s" for x in closest)),
        *_straight(plans), *_struts(), *_played(),
    )  # fmt: skip
    note = (
        "Limits as printed, gear, corners, heights and load as `examples/irb360_u_turn.yaml` assumes them, one thing changed at a "
        "time. The expected times are those of the limits as printed; with the paper's 10 % margin on top (`margin 0.1`) the motion "
        "is slower.\n\n"
        "The gear behind the motors' 4 N m is not published. The robot's file assumes 30 (arms at top speed: motors at 5400 rpm), with "
        "which torques hold more of the straight part than struts do. Fig. 16 has strut forces as the limit there rather than "
        "torques, so the U-turn is planned with 36 (6500 rpm): the smallest whole ratio with which torques hold none of it, with the "
        "printed limits (35 is enough) and with their margin. This is an inference from a figure, not a known number; the rows "
        "of the straight part say that it can be met, not that the gear is right. Where the jerk is limited, it holds most of that part.\n\n"
        + _markdown(columns(plans))
    )
    return Section("The U-turn of the IRB 360: what the paper leaves open", "python figures/make.py u_turn", rows, note)


def _expected(plans: dict[Setting, Plan]) -> Iterator[Row]:
    starts = ((Setting(ends="free", jerk=False), 0.47), (Setting(ends="free"), 0.51), (Setting(), 0.55))
    for gear, (start, asked) in product((Setting().gear, SHEET), starts):
        setting = replace(start, gear=gear)
        time, safe = plans[setting].time, plans.get(replace(setting, margin=0.1))
        yield Row(
            f"U-turn with 2.5 kg: {setting.title}", f"near {asked} s (within {NEAR} s)",
            f"{time:.4f} s" + (f"; with 10 % margin {safe.time:.4f} s" if safe else ""), abs(time - asked) <= NEAR,
        )  # fmt: skip


def _straight(plans: dict[Setting, Plan]) -> Iterator[Row]:
    """With the assumed gear, without and with a margin, and what the gear of the robot's file gives."""
    starts = (Setting(), Setting(ends="free"), Setting(ends="free", jerk=False))
    for start, (key, value) in product(starts, (("margin", 0.0), ("margin", 0.1), ("gear", SHEET))):
        setting = replace(start, **{key: value})
        struts, torques = held(plans[setting], "force"), held(plans[setting], "torque")
        asked, met = ("reported", None) if key == "gear" else ("struts, no torque, as Fig. 16", struts > torques == 0)
        yield Row(
            f"straight part: {setting.title}", asked, f"struts {struts:.0f} % of it, torques {torques:.0f} %", met
        )


def _struts() -> Iterator[Row]:
    """The paper's case with and without the limit of the strut forces, within the printed limits and with their margin."""
    for margin, struts in product((0.0, 0.1), (True, False)):
        found = plan_task(task(Setting(ends="free", margin=margin, struts=struts)))
        for use in found.struts:
            asked = (
                "above 120 N" if not struts else "below 120 N" if margin else f"120 N at most, within {100 * OVER:g} %"
            )
            least = 120.0 if margin or not struts else 120 * (1 + OVER)
            reduced = use.model == "reduced"
            yield Row(
                f"largest strut force, {use.model} model, planned with{'' if struts else 'out'} its limit, margin {margin:g}",
                "reported" if reduced else asked,
                f"{use.force:.2f} N in {found.plan.time:.4f} s; margin to 120 N: {round(120 - use.force, 2) + 0.0:.2f} N",
                None if reduced else (use.force < least) == struts,
            )


def _played() -> Iterator[Row]:
    """The table of the example as a controller plays it, at rest at both ends, 10 % margin."""
    planned = plan_task(task(Setting(margin=0.1)))
    motion, profile, h = planned.motion, planned.plan.profile, 1e-6
    rows = (motion.t > h) & (motion.t < profile.time - h)
    rows &= np.abs(motion.t[:, None] - profile.times).min(axis=1) > h  # the jerk jumps at the plan's knots
    beside = [motion_at(planned.task.robot, planned.task.path, profile, motion.t[rows] + k * h) for k in (-1, 1)]
    for low, high, most in (("q", "dq", 18.99), ("dq", "ddq", 87.27)):
        slope = (getattr(beside[1], low) - getattr(beside[0], low)) / (2 * h)
        missed = float(np.abs(slope - getattr(motion, high)[rows]).max()) / most
        yield Row(
            f"table: {high} against the difference of {low}, of its limit", "1e-6", f"{missed:.1e}", missed <= 1e-6
        )
    law = read_yaml(EXAMPLE.with_name("irb360_controller.yaml"), ControllerFile)
    law = law.model_copy(update={"torque_limits": planned.torque_limits})
    simulated = simulate_planned(planned.task.robot, planned.course(law.rate), law)
    _, y, z, _ = np.sqrt(np.mean((simulated.accelerations - simulated.planned) ** 2, axis=0))
    most = np.abs(simulated.planned).max(axis=0)
    yield Row(
        "end-effector acceleration, planned against closed loop (SIMULATED), rms along y, z", "reported, as Fig. 17",
        f"{y:.2f}, {z:.2f} m/s² of peaks {most[1]:.1f}, {most[2]:.1f}",
    )  # fmt: skip


def _markdown(rows: list[dict[str, object]]) -> str:
    lines = ["| " + " | ".join(rows[0]) + " |", "| " + " | ".join("---" for _ in rows[0]) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(str(x) for x in row.values()) + " |" for row in rows)])


if __name__ == "__main__":
    from robodyn_pin.logs.writing import write_table
    from robodyn_pin.output.console import print_table

    found = columns(table())
    print_table("The U-turn of the IRB 360", found)
    if len(sys.argv) > 1:
        note = "planned, not measured"
        write_table(Path(sys.argv[1]), {key: np.array([row[key] for row in found]) for key in found[0]}, note)
