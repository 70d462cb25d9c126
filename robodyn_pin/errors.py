"""Errors that a caller could want to catch: each says what was found, what was expected and what to do."""

import re
import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

INTERRUPTED = 130  # exit code of a command that Ctrl-C has ended
LONG = 295  # characters of a message: in longer ones, words that a user's file made long lose their middle
LONGEST = 600  # and beyond that the message does; our own sentences are shorter


class RobodynError(Exception):
    """Base of all errors that a user's input can cause; messages are short, whatever the input is."""

    def __init__(self, message: object = ""):
        super().__init__(shortened(str(message)))

    def __reduce__(self) -> tuple[Any, ...]:  # it may come from another process
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[RobodynError], args: tuple[Any, ...], carried: dict[str, Any]) -> RobodynError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(carried)
    return error


def shortened(message: str, longest: int = LONGEST) -> str:
    """A message of at most `longest` characters: without the middle of its long words, then without the folders of its
    paths, then without its own middle."""
    if len(message) > LONG:
        message = message[:5000] + message[-5000:] if len(message) > 10_000 else message
        message = re.sub(r"[^\s/]{100,}", lambda word: f"{word[0][:30]}...{word[0][-20:]}", message)
    if len(message) > longest:
        message = re.sub(r"(?<![\w.])/(?:[^\s/:;,]+/)+", "", message)
    if len(message) > longest:
        message = (
            f"{message[: 2 * longest // 3 - 10].rsplit(' ', 1)[0]} ... {message[-longest // 3 :].split(' ', 1)[-1]}"
        )
    return message


def quoted(found: object) -> str:
    """What was found, for a message: of long lists and texts the beginning, without ever writing all of them."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = 60
    return short.repr(found)


class UnknownName(RobodynError):
    """A joint, frame, motor or another name that does not exist; names the nearest one that does."""

    def __init__(self, what: str, name: str, where: str, known: Iterable[str], advice: str = ""):
        known = list(known)
        name = str(name) if len(str(name)) < 200 else quoted(str(name))
        nearest = get_close_matches(name, known, n=1, cutoff=0.5)
        if nearest:
            hint = f"did you mean {nearest[0]!r}?"
        elif len(known) > 12:
            hint = f"it has {', '.join(known[:12])} and {len(known) - 12} more"
        else:
            hint = f"it has {', '.join(known)}" if known else "it has none"
        super().__init__(f"no {what} {name!r} in {where}; {hint}{advice and '; '}{advice}")


class BadFile(RobodynError):
    """A file that cannot be read, or that says something impossible."""


class UnknownKey(BadFile):
    """A key that this kind of file does not have; carries where it was read, and all keys of the file."""

    def __init__(self, message: str, where: str, keys: Iterable[str]):
        super().__init__(message)
        self.where, self.keys = where, tuple(keys)


class BadLog(BadFile):
    """A motion log with a missing column, a wrong unit, a broken clock, ...; names file, column and row."""


class BeyondLimits(BadFile):
    """A motion that the robot does not survive: a joint, motor or strut outside its limits; names sample, axis and limits."""


class ShapeMismatch(RobodynError):
    """Arrays whose shapes do not fit the robot or each other."""


class ClosureFailed(RobodynError):
    """A loop that cannot be closed: carries the sample, the closure and the residual."""

    def __init__(self, message: str, sample: int, closure: str, residual: float):
        super().__init__(message)
        self.sample, self.closure, self.residual = sample, closure, residual


class Diverged(RobodynError):
    """A simulated motion that ran away; says when."""


class WrongMobility(RobodynError):
    """Coordinates and closures that do not determine the mechanism."""


class Underactuated(RobodynError):
    """A motion that no motor torques make; carries the sample and what is missing along each coordinate."""

    def __init__(self, message: str, sample: int, missing: Iterable[float]):
        super().__init__(message)
        self.sample, self.missing = sample, tuple(missing)


class UnseenShape(RobodynError):
    """Logs that do not show a shape parameter of friction; carries which of those that are fitted."""

    def __init__(self, message: str, which: int):
        super().__init__(message)
        self.which = which


class SolverFailed(RobodynError):
    """A convex program without a trustworthy answer; carries the solver's status."""

    def __init__(self, message: str, status: str):
        super().__init__(message)
        self.status = status


class NotPhysical(RobodynError):
    """Parameters that no rigid body can have."""


class BadPath(RobodynError):
    """A path that cannot be followed: a kink, a segment without length, out of reach or singular; says where."""


class InfeasiblePlan(RobodynError):
    """No motion along a path keeps the limits; carries where, which limit (kind and axis), by how much, and whether proved."""

    def __init__(self, message: str, s: float, label: tuple[str, str], excess: float, proved: bool = True):
        super().__init__(message)
        self.s, self.label, self.excess, self.proved = s, label, excess, proved
