"""Time-optimal plans: random paths under random limits, planning time, growth with the number of points."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from make import Row, Section

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from plans import growth, planning_times
from random_plans import Outcome, random_plan

from robodyn_pin.workers import each

PLANS, SEED = 500, 800
OVER, COST = 1e-3, 5e-3  # share of a limit, share of the time


def study() -> Section:
    found = dict(enumerate(each(attempt, range(PLANS))))
    outcomes = {k: x for k, x in found.items() if isinstance(x, Outcome)}
    errors = [f"{k}: {x}" for k, x in found.items() if isinstance(x, str)]
    return Section(
        "Time-optimal planning", "python figures/make.py planning", (*robustness(outcomes, errors), *speed()),
        f"{PLANS} random paths and limits (seed {SEED}, `tests/random_plans.py`): an arm of seven joints without friction and "
        "the IRB 360 with friction and strut limits, simulated; two to six way-points, limits over more than a decade, half with "
        "jerk limits. Motions are looked at in equal times with functions that the planner "
        "does not use. Planning times: processor time of one core, best of five, on a machine that others use, too.",
    )  # fmt: skip


def attempt(k: int) -> Outcome | str:
    """A plan, or the error that it ended with."""
    try:
        return random_plan(np.random.default_rng([SEED, k]))
    except Exception as error:  # the study counts whatever else reaches a user: the figure asked is none
        return type(error).__name__


def robustness(outcomes: dict[int, Outcome], errors: list[str]) -> tuple[Row, ...]:
    planned = {k: o for k, o in outcomes.items() if o.label is None}
    refused = {k: o for k, o in outcomes.items() if o.label is not None}
    unproved = [k for k, o in refused.items() if not o.proved]
    by = ", ".join(f"{kind} {n}" for kind, n in Counter(o.label[0] for o in refused.values() if o.label).items())
    over = {k: max(o.worst, o.jerked) for k, o in planned.items()}
    cost = {k: o.cost for k, o in planned.items()}
    return (
        Row("random plans: a motion or a proof that there is none", f"{PLANS} of {PLANS}",
            f"{len(planned)} motions, {len(refused) - len(unproved)} proofs ({by}), {len(unproved)} without either "
            f"{unproved or ''}, {len(errors)} errors {' '.join(errors[:3])}", not errors and not unproved),
        most("random plans: largest share over a limit between the points", over, OVER),
        most("random plans: largest cost of a final time scaling", cost, COST),
    )  # fmt: skip


def most(what: str, values: dict[int, float], asked: float) -> Row:
    """The largest of some values, and which plans have more than asked."""
    missed = [k for k, value in values.items() if value > asked]
    which = f" (plans {missed})" if missed else ""
    return Row(what, f"<= {100 * asked:g} %", f"{100 * max(values.values()):.3f} %{which}", not missed)


def speed() -> tuple[Row, ...]:
    rows = [
        Row(f"planning time, 300 points: {what}", f"<= {asked} s", f"{spent:.3f} s", spent <= asked)
        for what, asked, spent in planning_times()
    ]
    counts, times = growth()
    steeper = np.polyfit(np.log(counts), np.log(times), 1)[0]
    text = ", ".join(f"{n}: {t:.2f} s" for n, t in zip(counts, times, strict=True))
    rows.append(
        Row(
            "growth of the planning time with the points",
            "linear",
            f"{text}; power {steeper:.2f}",
            bool(steeper < 1.15),
        )
    )
    return tuple(rows)
