"""Motion logs in memory, SI units."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.quality import UNSEEN, Quality

if TYPE_CHECKING:
    import polars as pl

    from robodyn_pin.logs.units import ByMotor, Scale, Units, Zero
    from robodyn_pin.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """N samples of all motors, SI units."""

    name: str
    t: np.ndarray  # (N,) [s], increasing
    q: np.ndarray  # (N, n) motor positions [rad or m]
    tau: np.ndarray | None  # (N, n) motor torques [N m or N]
    dq: np.ndarray | None = None  # (N, n) measured rates
    ddq: np.ndarray | None = None
    simulated: bool = False  # the file says so
    loaded: bool = False  # the robot carried the payload of the run
    begin: int = 0  # row of the file that is sample 0, from 0
    line: Callable[[int], int] = (2).__add__  # of the file that holds a row
    quality: Quality = UNSEEN
    stamps: bool = False  # rows are taken as new and as sampled at their stamps, whatever the motion says
    delay: float = 0.0  # [s] by which torques come later than positions; none is left of a log on a uniform clock
    further: Mapping[str, np.ndarray] = field(
        default_factory=dict
    )  # (N,) temperatures that efforts of the robot name, by column
    after: np.ndarray | None = None  # (N,) [s] after t at which torques were sampled, of a log put on a uniform clock

    @staticmethod
    def from_frame(
        frame: Any, robot: "Robot", columns: Mapping[str, str | int] | None = None, units: "Units | Mapping[str, str] | None" = None,
        torque: bool = True, scale: "Scale | ByMotor | None" = None, rate: float | None = None, clock: str = "found",
        simulated: bool = False, name: str = "frame", delay: float = 0.0, zero: "Zero | ByMotor | None" = None,
    ) -> "Log":  # fmt: skip
        """Return the log in a data frame of pandas or polars, or in a mapping of names to arrays; nothing is written.

        Args:
            frame: columns `t, q_<motor>, tau_<motor>` and, where present, `dq_`, `ddq_`; `t` in seconds or as datetime.
            columns, units, torque, scale, rate, clock, delay, zero: as `read_log`.
            simulated: whether results say so. name: what messages call the frame; its rows count from 0.

        Raises:
            BadFile, BadLog, UnknownName: as `read_log`.
        """
        from robodyn_pin.logs.frame_table import frame_table
        from robodyn_pin.logs.reading import keys_of, read_table

        keys = keys_of(
            "Log.from_frame", columns=columns, units=units, scale=scale, rate=rate, clock=clock, delay=delay, zero=zero
        )
        return read_table(keys, frame_table(frame, name, simulated), robot, torque)

    def to_frame(self, robot: "Robot") -> "pl.DataFrame":
        """Return the log as a data frame in SI units: `t, q_<motor>`, and what else it holds of `dq_, ddq_, tau_`."""
        import polars as pl

        parts = {"q": self.q, "dq": self.dq, "ddq": self.ddq, "tau": self.tau}
        names = robot.motors.names
        return pl.DataFrame(
            {"t": self.t}
            | {f"{key}_{m}": x[:, k] for key, x in parts.items() if x is not None for k, m in enumerate(names)}
        )

    def __repr__(self) -> str:
        measured = [key for key in ("tau", "dq", "ddq") if getattr(self, key) is not None]
        said = "simulated, " if self.simulated else ""
        return f"Log({self.name}: {said}{self.size} samples of {self.q.shape[1]} motors at {self.rate:.4g} Hz, with {', '.join(measured) or 'positions only'})"

    @cached_property
    def content(self) -> str:
        """SHA-256 of the samples, and of what else decides what they mean; names and row numbers aside."""
        measured = {"q": self.q, "tau": self.tau, "dq": self.dq, "ddq": self.ddq, "after": self.after, **self.further}
        found = hashlib.sha256(repr((self.loaded, self.stamps, self.delay, self.rate)).encode())
        for name, x in {"t": self.t, **measured}.items():
            if x is not None:
                found.update(f"{name}{x.shape}".encode() + np.ascontiguousarray(x, float).tobytes())
        return found.hexdigest()

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def rate(self) -> float:
        """Mean sampling rate [Hz]."""
        return (len(self.t) - 1) / float(self.t[-1] - self.t[0])

    @property
    def apart(self) -> bool:
        """Whether torques were sampled at other times than positions."""
        return self.after is not None

    @property
    def efforts(self) -> np.ndarray:
        """Motor torques (N, n) of a log that must hold them.

        Raises:
            BadLog: it holds none.
        """
        if self.tau is None:
            raise BadLog(f"{self.name} has no columns tau_<motor>; record torques too")
        return self.tau

    def row(self, i: int) -> str:
        """How to call sample i in a message."""
        return f"row {self.line(self.begin + i)} of {self.name} (t = {self.t[i]:.4g} s)"

    def section(self, begin: int, end: int) -> "Log":
        """Samples begin..end."""
        tau, dq, ddq, after = (None if x is None else x[begin:end] for x in (self.tau, self.dq, self.ddq, self.after))
        t, q, further = self.t[begin:end], self.q[begin:end], {key: x[begin:end] for key, x in self.further.items()}
        return replace(self, t=t, q=q, tau=tau, dq=dq, ddq=ddq, begin=self.begin + begin, further=further, after=after)

    window = section


def joined(parts: Sequence[Log]) -> Log:
    """Consecutive parts of a log as one."""

    def whole(columns: Sequence[np.ndarray | None]) -> np.ndarray | None:
        given = [x for x in columns if x is not None]
        return np.concatenate(given) if given else None

    return replace(
        parts[0], t=np.concatenate([p.t for p in parts]), q=np.concatenate([p.q for p in parts]),
        tau=whole([p.tau for p in parts]), dq=whole([p.dq for p in parts]), ddq=whole([p.ddq for p in parts]),
        after=whole([p.after for p in parts]),
        further={key: np.concatenate([p.further[key] for p in parts]) for key in parts[0].further},
    )  # fmt: skip
