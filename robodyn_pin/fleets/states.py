"""What is known of each robot that is tracked, in one SQLite file: its state, and the logs that it has seen."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robodyn_pin.errors import BadFile
from robodyn_pin.files import json_text

TABLES = """
create table if not exists about (made_with text not null);
create table if not exists robots (name text primary key, state blob not null);
create table if not exists logs (number integer primary key, robot text not null, file text not null, as_read text not null,
                                 summary text not null, unique (robot, file));
create table if not exists contents (sha256 text primary key, robot text not null, file text not null);
"""


@dataclass(frozen=True)
class SeenLog:
    """A log that a robot was tracked along."""

    robot: str
    file: str
    as_read: str  # size and time of the file then
    summary: dict[str, Any]  # as `tracking_summary`


class States:
    """The states of robots; what is kept of a log is kept at once, or not at all."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def state(self, robot: str) -> bytes | None:
        """The state after the last log of a robot; None: it has none yet."""
        row = self._connection.execute("select state from robots where name = ?", (robot,)).fetchone()
        return None if row is None else bytes(row[0])

    def logs(self) -> list[SeenLog]:
        """All logs, in the order in which they were tracked."""
        rows = self._connection.execute("select robot, file, as_read, summary from logs order by number")
        return [SeenLog(robot, file, as_read, json.loads(summary)) for robot, file, as_read, summary in rows]

    def with_content(self, sha256: str) -> tuple[str, str] | None:
        """Robot and file of the log that had this content; None: none had."""
        found: tuple[str, str] | None = self._connection.execute(
            "select robot, file from contents where sha256 = ?", (sha256,)
        ).fetchone()
        return found

    def keep(self, log: SeenLog, state: bytes, sha256: str) -> None:
        """Keep the state after a log of this content, and what the log has shown."""
        with self._connection:
            self._connection.execute("insert into contents values (?, ?, ?)", (sha256, log.robot, log.file))
            self._connection.execute("insert or replace into robots values (?, ?)", (log.robot, state))
            self._connection.execute(
                "insert into logs (robot, file, as_read, summary) values (?, ?, ?, ?)",
                (log.robot, log.file, log.as_read, json_text(log.summary, None)),
            )


@contextmanager
def opened_states(path: Path, made_with: str) -> Iterator[States]:
    """The states of a file, which is made where there is none; no other process uses it meanwhile.

    Args:
        made_with: text of all that decides what a state means.

    Raises:
        BadFile: no such database, another process uses it, it has states made with something else, or it cannot be written.
    """
    try:
        connection = sqlite3.connect(path, timeout=1.0)
    except sqlite3.Error as error:
        raise BadFile(f"cannot open {path}: {error}; is its folder there?") from None
    try:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("begin exclusive")
        connection.execute("commit")
        connection.executescript(TABLES)
        (found,) = connection.execute("select made_with from about").fetchone() or (None,)
        if found != made_with:
            if connection.execute("select 1 from robots limit 1").fetchone():
                raise BadFile(
                    f"{path} holds states of another robot or of other settings; track with those, or begin anew with another file"
                )
            with connection:
                connection.execute("delete from about")
                connection.execute("insert into about values (?)", (made_with,))
        yield States(connection)
    except sqlite3.Error as error:
        why = "another process uses it; wait for it" if "locked" in str(error) else f"{error}; is it a file of states?"
        raise BadFile(f"cannot use {path}: {why}") from None
    finally:
        connection.close()
