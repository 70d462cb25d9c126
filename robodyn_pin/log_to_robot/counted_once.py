"""Samples that are meant twice: fitted twice they look surer than they are, and held out as well they are judged by what knows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from robodyn_pin.errors import BadLog
from robodyn_pin.log_to_robot.found_logs import Usable
from robodyn_pin.logs.table import log_name

TWICE = "they would count twice; leave one out"
JUDGED = "an error on samples that were fitted says nothing of other motion; hold out others, or leave 'held_out' out"


@dataclass(frozen=True)
class Samples:
    """Some samples of a log, or all."""

    content: str  # SHA-256 of the whole log
    name: str
    rows: tuple[float, float] = (0, inf)

    def __str__(self) -> str:
        return self.name if self.rows[1] == inf else f"{self.name}, samples {self.rows[0]} to {self.rows[1] - 1}"


def named_samples(found: Usable) -> list[Samples]:
    """Those of files, as a run file names them."""
    return [
        Samples(log.sha256, log_name(spec.file), spec.rows or (0, inf))
        for spec, log in zip(found.specs, found.logs, strict=True)
    ]


def check_counted_once(fit: Sequence[Samples], held_out: Sequence[Samples] = ()) -> None:
    """See that no samples are meant twice.

    Raises:
        BadLog: some are; says which.
    """
    seen: dict[str, list[tuple[Samples, str]]] = {}
    for this, use in [*((s, "fitted") for s in fit), *((s, "held out") for s in held_out)]:
        alike = seen.setdefault(this.content, [])
        for other, before in alike:
            begin, end = max(this.rows[0], other.rows[0]), min(this.rows[1], other.rows[1])
            if begin < end:
                why = TWICE if use == before else JUDGED
                raise BadLog(f"{other} ({before}) and {this} ({use}) have samples in common: {why}")
        alike.append((this, use))
