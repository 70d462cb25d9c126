"""SIMULATED fleets of the IRB 360: which robots are named for what, how often wrongly, and what a robot with a poor log gains."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from make import Row, Section
from simulated import MOTION
from simulated_fleets import SETTINGS, Changed, SimulatedFleet, changed_body

import robodyn_pin as rp
from robodyn_pin.fleets.fleet import Fleet, judge_fleet
from robodyn_pin.fleets.members import Fold
from robodyn_pin.workers import each

ROBOTS, LOGS, FLEETS, FIRST = 50, 10, 40, 20
SCATTERS = (0.03, 0.05)  # of friction from robot to robot, in turns; assumed
TRUTH = {3: "coulomb(phi2)", 17: "body arm_1", 31: "motor constant of phi1"}
CHANGES = {3: Changed({"coulomb(phi2)": 0.3}), 17: changed_body("arm_1", -0.05), 31: Changed(a_day={"phi1": 0.003})}
FILTER = {"order": 4, "cutoff": 20}
RUN = SETTINGS | {"preparation": {"filter": FILTER}, "rows": {"filter": FILTER, "cut": 20, "every": 2}}
LONG = MOTION.model_copy(update={"rate": 100})
POOR = MOTION.model_copy(
    update={
        "rate": 100,
        "duration": 4,
        "sin": {k: [0.3 * x for x in v] for k, v in MOTION.sin.items()},
        "cos": {k: [0.3 * x for x in v] for k, v in MOTION.cos.items()},
    }
)


@dataclass(frozen=True)
class Judged:
    """What a fleet was said to be."""

    right: int  # changed robots that are named for what was changed, alone or among what cannot be told from it
    first: int  # those whose first cause is the one
    causes: int  # most that were named for one of them
    missed: tuple[str, ...]  # what was changed and not named
    wrong: tuple[str, ...]  # sentences on robots that were not changed


def study() -> Section:
    return Section(
        "Fleets", "python figures/make.py fleets", (*named(), *poor_logs()),
        f"SIMULATED fleets of {ROBOTS} IRB 360, {LOGS} logs of {LONG.duration:g} s each at {LONG.rate:g} Hz with the published noise of the torques. Assumed: "
        "friction scatters from robot to robot by 3 and by 5 % in turns, normally distributed, and by 2 % from day to day; bodies are alike. Three robots are changed: "
        "Coulomb friction of phi2 +30 %, body arm_1 -5 %, motor constant of phi1 +0.3 % a day. Rightly named: the changed robot, with what was changed "
        "as the cause or among those that the logs cannot tell from it.",
    )  # fmt: skip


@lru_cache
def simulated(scatter: float) -> SimulatedFleet:
    return SimulatedFleet(rp.load("irb360"), RUN, LONG, scatter)


def judged(seed: int) -> Judged:
    plant = simulated(SCATTERS[seed % 2])
    found = judge_fleet(plant.robot, plant.run, plant.fleet(ROBOTS, CHANGES, seed, LOGS))
    said = {int(m.logs.name.split("_")[1]): m for m in found.members if m.odd}
    causes = {k: _causes(found, m) for k, m in said.items() if k in TRUTH}
    wrong = [f"robot {k}: {', '.join(_causes(found, m)[:1])}" for k, m in said.items() if k not in TRUTH]
    right = [k for k, names in causes.items() if TRUTH[k] in names]
    missed = tuple(name for k, name in TRUTH.items() if k not in right)
    first = [k for k in right if TRUTH[k] in causes[k][:1] or (said[k].wear and said[k].wear.cause.name == TRUTH[k])]
    return Judged(
        len(right), len(first), max((len(names) for names in causes.values()), default=0), missed, tuple(wrong)
    )


def _causes(fleet: Fleet, member) -> list[str]:
    d, worn = member.departure, member.wear
    differs = [fleet.causes[k].name for k in (d.cause, *d.as_well)] if member.named else []
    return differs + ([c.name for c in (worn.cause, *worn.as_well)] if worn else [])


def named() -> list[Row]:
    found = each(judged, range(FLEETS))
    right = [f.right == len(TRUTH) for f in found]
    wrong, said = sum(len(f.wrong) for f in found), sum(f.right for f in found)
    told = "; ".join(f"seed {seed} {', '.join(f.wrong)}" for seed, f in enumerate(found) if f.wrong)
    missed = "; ".join(f"seed {seed} {', '.join(f.missed)}" for seed, f in enumerate(found) if f.missed)
    share = wrong / max(1, wrong + said)
    return [
        Row(f"fleets of {FLEETS} in which 3 of 3 are named rightly; of the first {FIRST} seeds and the others; with friction alike to 3 and to 5 %", ">= 19 of 20",
            f"{sum(right)}; {sum(right[:FIRST])} and {sum(right[FIRST:])}; {sum(right[::2])} and {sum(right[1::2])} of {FLEETS // 2}{f'; missed: {missed}' if missed else ''}", 20 * sum(right) >= 19 * FLEETS),
        Row("of the changed robots, named rightly; by the first cause; causes named for one, at most", "reported",
            f"{said} of {3 * FLEETS}; {sum(f.first for f in found)}; {max(f.causes for f in found)}"),
        Row("false of all named [%]", "<= 5", f"{100 * share:.1f} ({wrong} of {wrong + said}{f': {told}' if told else ''})", share <= 0.05),
        Row("false of all robots that were not changed [%]", "<= 5",
            f"{100 * wrong / (FLEETS * (ROBOTS - 3)):.2f}", wrong <= 0.05 * FLEETS * (ROBOTS - 3)),
    ]  # fmt: skip


def poor(seed: int) -> tuple[float, float]:
    """Errors of the torques [N m] on the rich motion, of a robot with one poor log: alone, and in a fleet of 20."""
    plant, rng = simulated(SCATTERS[0]), np.random.default_rng([seed, 1])
    own = SimulatedFleet(plant.robot, RUN, POOR, SCATTERS[0])
    true = own.own_values(Changed(), np.random.default_rng([seed, 1]))
    member = own.member("poor", Changed(), rng, 1)
    others = plant.fleet(19, {}, seed, 3)
    alone = judge_fleet(plant.robot, plant.run, Fold((member,), "day", ()))
    within = judge_fleet(plant.robot, plant.run, Fold((*others.members, member), "day", ()))
    values = [next(m.values for m in f.members if m.logs.name == "poor") for f in (alone, within)]
    return tuple(float(np.sqrt(np.mean((plant.W @ (x - true)) ** 2))) for x in values)


def poor_logs() -> list[Row]:
    found = np.array(each(poor, list(range(10))))
    alone, within = found.T
    return [Row("a robot with one log of 4 s and a third of the motion, error of its torques on rich motion [N m], alone and in a fleet of 20, median of 10",
                "at least halved", f"{np.median(alone):.3g}, {np.median(within):.3g}; worst ratio {(within / alone).max():.2f}",
                bool(np.median(within / alone) <= 0.5))]  # fmt: skip
