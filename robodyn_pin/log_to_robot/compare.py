"""Two result folders side by side: parameters, errors, and whether the difference is more than chance."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.files import parse_json, read_arrays
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.comparison import Change, Known, changes

SAME_PERIOD = 0.01  # relative
SAME_PLACE = 0.05  # of the motion's size
FEWEST = 6  # independent pieces: with fewer, Student's quantiles are so large that nothing is ever found


@dataclass(frozen=True)
class Stored:
    """What is compared of a result folder."""

    folder: Path
    summary: dict[str, Any]  # result.json
    arrays: dict[str, np.ndarray]  # parameters.npz

    @property
    def base(self) -> BaseSet:
        a = self.arrays
        return BaseSet(a["base_columns"], a["base_dropped"], a["base_regroup"], self.summary["base"]["condition"])

    @property
    def known(self) -> Known:
        """What is compared.

        Raises:
            BadFile: of an older version.
        """
        a = self.arrays
        if "wls_without" not in a:
            raise BadFile(
                f"{self.folder} was identified by an older version, which kept no pieces of its logs; identify again"
            )
        return Known(self.base, a["wls"], a["wls_without"], a["wls_covariance"])

    @property
    def rows(self) -> tuple[float, float]:
        """Independent rows as the filter leaves them, and how many with white noise would leave the same uncertainty."""
        said = self.summary["pieces"]
        return said["rows"], said["effective_rows"]

    @property
    def logs(self) -> set[str]:
        """SHA-256 of the logs that were fitted."""
        return {log["sha256"] for log in self.summary["logs"] if log["use"] == "fit"}


@dataclass(frozen=True)
class Compared:
    """What changed from the first to the second result."""

    robot: str
    labels: list[str]  # of the compared base parameters
    change: Change
    cause: list[str]  # the parameters that explain the change best, each alone; empty: nothing changed
    not_common: list[str]  # base parameters of the first that the second does not know
    unsure: list[str]  # those that a single piece of a log shows
    errors: dict[str, tuple[float, float]]  # held-out RMSE of the feasible fit per coordinate [N m or N]
    accepted: tuple[bool, bool]
    same_log: bool  # both fitted the same file: then they are not independent
    same_motion: bool  # the model's errors repeat with it, and cancel
    effective: tuple[tuple[float, float], tuple[float, float]]  # rows of each, and independent ones that they count as

    def summary(self) -> dict[str, object]:
        """For JSON."""
        c, e = self.change, self.change.certainty
        columns = zip(
            self.labels, c.first, c.second, e.deviations, e.reach(), c.probability, c.significant, strict=True
        )
        cause = c.cause and {"parameters": self.cause, "change": c.cause.size, "interval": _around(c.cause.size, c.cause.reach),
                             "probability": c.cause.probability,
                             "explains": c.cause.share}  # fmt: skip
        return {
            "robot": self.robot,
            "changed": c.changed,
            "probability": c.least,
            "cause": cause,
            "parameters": [
                {"label": label, "first": float(a), "second": float(b), "change": float(b - a), "interval": _around(b - a, r),
                 "deviation": float(s), "probability": float(p), "changed": bool(yes)}
                for label, a, b, s, r, p, yes in columns
            ],
            "not_common": self.not_common, "shown_by_one_piece": self.unsure,
            "held_out_rmse": {name: {"first": a, "second": b} for name, (a, b) in self.errors.items()},
            "accepted": {"first": self.accepted[0], "second": self.accepted[1]},
            "same_log": self.same_log, "same_motion": self.same_motion,
            "evidence": {
                which: {"pieces": n, "rows": rows, "effective_rows": count}
                for which, n, (rows, count) in zip(("first", "second"), e.pieces, self.effective, strict=True)
            },
        }  # fmt: skip


def _around(value: float, reach: float) -> list[float]:
    return [float(value - reach), float(value + reach)]


def read_result(folder: Path) -> Stored:
    """Read a result folder.

    Raises:
        BadFile: no result in it, or one that is broken or older than what is compared.
    """
    try:
        summary = parse_json((folder / "result.json").read_text(encoding="utf-8"))
        arrays = read_arrays(folder / "parameters.npz")
        stored = Stored(folder, summary, arrays)
        _ = (stored.base, stored.logs, arrays["labels"], arrays["wls"], arrays["wls_covariance"])
        _ = [*map(float, summary["errors"]["feasible"]["held_out"]["rmse"].values())]
    except OSError as error:
        raise BadFile(
            f"{folder} is no result folder: cannot read {error.filename}; give the --out of an identify"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadFile(f"{folder}: its result.json or parameters.npz is broken ({error}); identify again") from None
    return stored


def compare(first: Stored, second: Stored) -> Compared:
    """What changed, with the interval and the significance of each base parameter (weighted least squares).

    Raises:
        RobodynError: results of different robots, or of different models of one robot; logs too short to tell how sure they are.
    """
    names = [s.summary["robot"] for s in (first, second)]
    if names[0] != names[1]:
        raise RobodynError(
            f"{first.folder} is a result of robot {names[0]!r}, {second.folder} of {names[1]!r}; only results of one robot "
            "can be compared"
        )
    labels, others = (list(s.arrays["labels"]) for s in (first, second))
    if labels != others:
        odd = sorted(set(labels) ^ set(others))
        raise RobodynError(
            f"both results are of robot {names[0]!r}, but with different parameters ({', '.join(odd[:3]) or 'another order'}"
            f"{', ...' if len(odd) > 3 else ''}); compare results of one robot file"
        )
    one, other = first.known, second.known
    paired = same_motion(first, second)
    change = changes(one, other, paired)
    _check(first, second, change)
    known = first.base.labels(labels)
    unsure = [
        known[k] for k in np.flatnonzero(np.isnan(first.arrays["wls_without"]).any(axis=0)) if k not in change.rows
    ]
    left = [label for k, label in enumerate(known) if k not in change.rows]
    rmse = [s.summary["errors"]["feasible"]["held_out"]["rmse"] for s in (first, second)]
    return Compared(
        robot=names[0],
        labels=[known[k] for k in change.rows],
        change=change,
        cause=[labels[k] for k in change.cause.columns] if change.cause else [],
        not_common=[label for label in left if label not in unsure],
        unsure=unsure,
        errors={name: (value, rmse[1][name]) for name, value in rmse[0].items() if name in rmse[1]},
        accepted=(first.summary["verdict"]["accepted"], second.summary["verdict"]["accepted"]),
        same_log=bool(first.logs & second.logs),
        same_motion=paired,
        effective=(first.rows, second.rows),
    )


def same_motion(first: Stored, second: Stored) -> bool:
    """Whether both logs repeat one motion: the same period or duration, and the same mean position in each piece."""
    periods = [s.summary["pieces"]["seconds"] for s in (first, second)]
    a, b = (s.arrays["piece_positions"] for s in (first, second))
    if a.shape != b.shape or abs(periods[1] / periods[0] - 1) > SAME_PERIOD:
        return False
    return bool(np.sqrt(np.mean((b - a) ** 2)) < SAME_PLACE * np.sqrt(np.mean((a - a.mean(axis=0)) ** 2)))


def _check(first: Stored, second: Stored, change: Change) -> None:
    if not len(change.rows):
        raise RobodynError(
            f"{first.folder} and {second.folder} have no base parameter in common that more than one piece of each log shows; "
            "compare logs of motions that move the same joints, all the time"
        )
    for stored, pieces in zip((first, second), change.certainty.pieces, strict=True):
        if pieces < FEWEST:
            raise RobodynError(
                f"{stored.folder}: the errors of neighbouring pieces of the log ({stored.summary['pieces']['seconds'] / len(stored.arrays['wls_without']):.2g} s each) "
                f"are so alike that they count as {pieces:.1f} independent ones, and a comparison needs {FEWEST}; record a motion that "
                f"takes {np.ceil(FEWEST / pieces):.0f} times as long"
            )
