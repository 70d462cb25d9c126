"""An exciting motion, what it uses of the limits, and what its log will show."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.workspace import Workspace
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot

LITTLE = 0.05  # [nats] that print as zero


@dataclass(frozen=True)
class Dense:
    """A motion at every sample of its log."""

    t: np.ndarray  # (N,) [s]
    q: np.ndarray  # (N, nv)
    v: np.ndarray  # (N, nv)
    a: np.ndarray  # (N, nv)
    tau: np.ndarray  # (N, n_motors)
    quantities: np.ndarray  # (N, m) as the labels of the limits
    R: np.ndarray  # (p, p) triangular factor of all columns, in units of the noise

    def load(self, limits: Limits) -> np.ndarray:
        """Return the largest part of each limit that is used (m,)."""
        centre, half = limits.scale
        return np.asarray(np.abs((self.quantities - centre) / half).max(axis=0))


@dataclass(frozen=True)
class Excitation:
    """An exciting motion and what its log will show."""

    run: ExcitationFile
    robot: Robot  # in the coordinates that are identified
    moved: Robot  # in the coordinates of the series
    motion: FourierMotion
    rival: FourierMotion  # the best random motion
    limits: Limits  # less the margin
    dense: Dense
    base: BaseSet  # what any motion can show
    shown: BaseSet  # what this motion shows of it: columns are numbers of base.columns
    labels: tuple[str, ...]  # of the base parameters
    values: np.ndarray  # (r,) of the base parameters in the robot's files
    deviations: np.ndarray  # (r,) predicted for one log; infinite where not shown
    gain: float  # [nats] log det above the best random motion
    random: np.ndarray  # (n,) log det of the random motions, at the samples of the comparison
    region: Workspace | None  # of a platform
    information: float  # log det at the log's rate

    @property
    def unknown(self) -> list[str]:
        """Say what the log will not determine: combinations that the motion does not excite, and requests that cannot be met."""
        found = [f"{self.labels[k]} stays unknown: the motion does not excite it" for k in self.shown.dropped]
        for name, wanted in self.run.asked.items():
            rows = [k for k, label in enumerate(self.labels) if _mentions(label, name)]
            alone = len(rows) == 1 and self.labels[rows[0]] == name
            if not rows:
                found.append(f"{name} stays unknown: no motion excites it")
            elif not alone:
                found.append(
                    f"{name} stays unknown by itself; the log determines {' and '.join(self.labels[k] for k in rows)}"
                )
            elif self.deviations[rows[0]] > wanted:
                found.append(
                    f"{name}: a standard deviation of {wanted:g} is asked for, the log gives {self.deviations[rows[0]]:.3g}"
                )
        return found

    @property
    def gained(self) -> str:
        """Return a sentence about the gain over random motions."""
        text = f"the log determinant of the information is {self.gain:.1f} above that of the best of {len(self.random)} random motions"
        if self.gain < LITTLE:
            return f"{text}: the search found nothing better than chance; widen the limits, or add harmonics"
        return text

    @property
    def condition(self) -> float:
        """Return the condition number of the base columns, each scaled to length one."""
        return self.shown.condition

    @property
    def plain_condition(self) -> float:
        """Return the condition number of the base columns in SI units, rows in units of the noise."""
        return float(np.linalg.cond(self.dense.R[:, self.base.columns]))

    @property
    def loads(self) -> list[dict[str, Any]]:
        """Return what the motion uses of each limit, margin included."""
        ranges, share, found = self.limits.ranges, self.dense.load(self.limits), []
        for (kind, name), x, allowed, part in zip(
            self.limits.labels, self.dense.quantities.T, ranges.tolist(), share, strict=True
        ):
            used = {"what": kind, "of": name, "least": float(x.min()), "greatest": float(x.max())}
            found.append(used | {"allowed": allowed, "used_percent": float(100 * part)})
        return found

    def summary(self) -> dict[str, object]:
        """Return what excitation.json holds."""
        robot = {"robot": self.robot.name, "coordinates": list(self.moved.coordinates.names)}
        run = {name: getattr(self.run, name) for name in ("period", "harmonics", "seed", "margin")}
        rest = {"rest": "rate and acceleration are zero at both ends: sum k a_k = 0, sum k^2 b_k = 0"}
        gain = {"log_det": self.information, "gain_nats": self.gain, "random_motions": len(self.random)}
        condition = {"condition": self.condition, "condition_si": self.plain_condition}
        shown = {"base_parameters": self.base.size, "shown": self.shown.size, "unknown": self.unknown}
        parameters = [
            {"parameter": label, "file_value": float(x), "predicted_deviation": float(d)}
            for label, x, d in zip(self.labels, self.values, self.deviations, strict=True)
        ]
        note = "planned with the parameters of the robot's files; not measured"
        found = {"limits": self.loads, "parameters": parameters, "note": note}
        return robot | run | rest | gain | condition | shown | found


def _mentions(label: str, name: str) -> bool:
    """Return whether a combination as `BaseSet.labels` writes it contains a parameter."""
    return name in label.replace(" + ", " ").replace(" - ", " ").split(" ")
