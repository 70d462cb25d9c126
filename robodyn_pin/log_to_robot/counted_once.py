"""Samples that are meant twice: fitted twice they look surer than they are, and held out as well they are judged by what knows them."""

from collections.abc import Sequence

from robodyn_pin.errors import BadLog
from robodyn_pin.log_to_robot.held_out import Selected, stretch_of

TWICE = "they would count twice; leave one out"
JUDGED = "an error on samples that were fitted says nothing of other motion; hold out others, or leave 'held_out' out"


def check_counted_once(fit: Sequence[Selected], held_out: Sequence[Selected]) -> None:
    """See that no samples of a file, or of a log in memory, are meant twice.

    Raises:
        BadLog: they are; says where.
    """
    seen: dict[str, list[tuple[Selected, str]]] = {}
    for this, use in [*((s, "fitted") for s in fit), *((s, "held out") for s in held_out)]:
        alike = seen.setdefault(this.sha256 or this.log.content, [])
        for other, before in alike:
            if max(_rows(this).start, _rows(other).start) < min(_rows(this).stop, _rows(other).stop):
                why = TWICE if use == before else JUDGED
                raise BadLog(f"{_said(other)} ({before}) and {_said(this)} ({use}) have samples in common: {why}")
        alike.append((this, use))


def _rows(of: Selected) -> range:
    """Which rows of the file they are."""
    return range(of.log.begin + of.begin, of.log.begin + of.end)


def _said(of: Selected) -> str:
    rows = _rows(of)
    return stretch_of(of.log.name, of.log.loaded, rows.start, rows.stop)
