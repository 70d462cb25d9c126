"""What changed between two results, in words: which parameter, by how much, on what evidence."""

from typing import Any

from robodyn_pin.log_to_robot.compare import Compared
from robodyn_pin.log_to_robot.verdict import short
from robodyn_pin.output.console import print_table

CLEAR = 0.9  # share of a change that one parameter explains: above, nothing else need have changed


def print_comparison(found: Compared, units: dict[str, str]) -> None:
    """`units`: of the efforts along the coordinates, by name."""
    c = found.change
    columns = zip(found.labels, c.first, c.second, c.certainty.reach(), c.probability, c.significant, strict=True)
    rows: list[dict[str, Any]] = [
        {"parameter": short(label, 44), "first": f"{a:.4g}", "second": f"{b:.4g}",
         "change, 95 % interval": f"{b - a:+.3g} +- {r:.2g}", "chance": f"{p:.2g}", "changed": "yes" if yes else ""}
        for label, a, b, r, p, yes in columns
    ]  # fmt: skip
    rows += [
        {"parameter": f"held-out RMSE of {name} [{units.get(name, 'N m or N')}]", "first": f"{a:.4g}", "second": f"{b:.4g}",
         "change, 95 % interval": f"{100 * (b / a - 1):+.1f} %" if a else "", "chance": "", "changed": ""}
        for name, (a, b) in found.errors.items()
    ]  # fmt: skip
    print_table(f"{found.robot}: first and second result (weighted least squares, SI units)", rows)
    print("\n".join(sentences(found)))


def sentences(found: Compared) -> list[str]:
    """What is told of a comparison, for somebody who looks after the robot."""
    c = found.change
    return [
        *(_nothing(found) if not c.changed else _changed(found)),
        *_evidence(found),
        "chance: how probable so large a difference is if nothing changed, with all parameters looked at (Holm); below 0.05 it "
        "counts as changed, so that about 1 of 20 unchanged robots is called changed",
        *([f"not in the second result: {', '.join(found.not_common)}"] if found.not_common else []),
        *([f"not compared, because a single piece of a log shows them: {', '.join(found.unsure)}"] if found.unsure else []),
        *(["caution: both results were fitted to the same log, so they are not independent and the chances are wrong"]
          if found.same_log else []),
        "verdicts: the first result is {}, the second {}".format(*("accepted" if yes else "NOT ACCEPTED" for yes in found.accepted)),
    ]  # fmt: skip


def _nothing(found: Compared) -> list[str]:
    return [
        f"no change is shown: chance explains all {len(found.change.rows)} differences (0 changed significantly); a change smaller than the "
        "intervals may still be there"
    ]


def _changed(found: Compared) -> list[str]:
    c = found.change
    told = [
        f"THE ROBOT CHANGED: {int(c.significant.sum())} of {len(c.rows)} base parameters changed significantly (least chance {c.least:.2g})"
    ]
    if c.cause is None:
        return [*told, "no single parameter explains it: see the rows that say 'yes'"]
    others = ", ".join(found.cause[1:5]) + (", ..." if len(found.cause) > 5 else "")
    return [
        *told,
        f"if one parameter alone changed, it is {found.cause[0]}: by {c.cause.size:+.3g} +- {c.cause.reach:.2g} (95 % interval; chance "
        f"{c.cause.probability:.2g}), which explains {100 * c.cause.share:.0f} % of all differences"
        + ("" if c.cause.share > CLEAR else "; the rest is chance, or more than this changed"),
        *([f"the logs cannot tell it from {others}"] if others else []),
    ]


def _evidence(found: Compared) -> list[str]:
    each = zip(("first", "second"), found.change.certainty.pieces, found.effective, strict=True)
    counted = ", ".join(
        f"the {which} log in {n:.3g} independent pieces ({rows:.0f} rows, worth about {k:.0f} with white noise)"
        for which, n, (rows, k) in each
    )
    return [
        f"evidence: {counted}; intervals come from how much the parameters move when one piece is left out, so that errors may be alike "
        "within a piece",
        "both logs repeat one motion: errors of the model that come back with it cancel"
        if found.same_motion
        else "the logs have different motions: a wrong model errs differently in each, which counts as chance; a log of the first motion "
        "would show smaller changes",
    ]
