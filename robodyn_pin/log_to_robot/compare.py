"""Two result folders side by side: parameters, errors, and whether the difference is more than chance."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.comparison import Change, changes


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
    def logs(self) -> set[str]:
        """SHA-256 of the logs that were fitted."""
        return {log["sha256"] for log in self.summary["logs"] if log["use"] == "fit"}


@dataclass(frozen=True)
class Compared:
    """What changed from the first to the second result."""

    robot: str
    labels: list[str]  # of the compared base parameters
    change: Change
    not_common: list[str]  # base parameters of the first that the second does not know
    errors: dict[str, tuple[float, float]]  # held-out RMSE of the feasible fit per coordinate [N m or N]
    accepted: tuple[bool, bool]
    same_log: bool  # both fitted the same file: then they are not independent

    def summary(self) -> dict[str, object]:
        """For JSON."""
        c = self.change
        columns = zip(self.labels, c.first, c.second, c.deviations, c.probability, c.significant, strict=True)
        return {
            "robot": self.robot,
            "chi_square": c.statistic, "freedom": len(c.rows), "probability": c.joint,
            "parameters": [
                {"label": label, "first": float(a), "second": float(b), "deviation": float(s), "probability": float(p),
                 "changed": bool(yes)}
                for label, a, b, s, p, yes in columns
            ],
            "not_common": self.not_common,
            "held_out_rmse": {name: {"first": a, "second": b} for name, (a, b) in self.errors.items()},
            "accepted": {"first": self.accepted[0], "second": self.accepted[1]},
            "same_log": self.same_log,
        }  # fmt: skip


def read_result(folder: Path) -> Stored:
    """Read a result folder.

    Raises:
        BadFile: no result in it, or one that is broken or older than what is compared.
    """
    try:
        summary = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        with np.load(folder / "parameters.npz") as file:
            arrays = {name: file[name] for name in file.files}
        stored = Stored(folder, summary, arrays)
        _ = (stored.base, stored.logs, arrays["labels"], arrays["wls"], arrays["wls_covariance"], summary["errors"])
    except OSError as error:
        raise BadFile(
            f"{folder} is no result folder: cannot read {error.filename}; give the --out of an identify"
        ) from None
    except (ValueError, KeyError, BadZipFile) as error:
        raise BadFile(f"{folder}: its result.json or parameters.npz is broken ({error}); identify again") from None
    return stored


def compare(first: Stored, second: Stored) -> Compared:
    """What changed, with the significance of each base parameter and of all together (weighted least squares).

    Raises:
        RobodynError: results of different robots, or of different models of one robot.
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
    change = changes(
        first.base, first.arrays["wls"], first.arrays["wls_covariance"],
        second.base, second.arrays["wls"], second.arrays["wls_covariance"],
    )  # fmt: skip
    known = first.base.labels(labels)
    rmse = [s.summary["errors"]["feasible"]["held_out"]["rmse"] for s in (first, second)]
    return Compared(
        robot=names[0],
        labels=[known[k] for k in change.rows],
        change=change,
        not_common=[label for k, label in enumerate(known) if k not in change.rows],
        errors={name: (value, rmse[1][name]) for name, value in rmse[0].items() if name in rmse[1]},
        accepted=(first.summary["verdict"]["accepted"], second.summary["verdict"]["accepted"]),
        same_log=bool(first.logs & second.logs),
    )
