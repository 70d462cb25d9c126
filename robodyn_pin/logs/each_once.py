"""Logs that have the same samples would count twice."""

from collections.abc import Iterable

from robodyn_pin.errors import BadLog


def check_each_once(logs: Iterable[tuple[str, str]]) -> None:
    """See that no two logs have the same samples; of each its name, and SHA-256 of what is in it.

    Raises:
        BadLog: two have.
    """
    seen: dict[str, str] = {}
    for name, content in logs:
        if content in seen:
            raise BadLog(f"{seen[content]} and {name} have the same samples and would count twice; leave one out")
        seen[content] = name
