"""Which columns of somebody's log are time, positions, rates and torques, by their names; in which units, by names and numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.units import FACTORS

TIME = ("t", "time", "timestamp", "stamp", "secs", "seconds", "clock")
# Words of a header, by what it is; those of accelerations before those of rates, those before positions.
KINDS = {
    "ddq_": ("ddq", "qdd", "acc", "acceleration", "accel"),
    "dq_": ("dq", "qd", "vel", "velocity", "velocities", "speed", "rate", "omega", "qdot"),
    "tau_": ("tau", "torque", "torques", "effort", "efforts", "trq", "moment", "force"),
    "q_": ("q", "pos", "position", "positions", "angle", "theta", "joint", "axis", "enc", "encoder"),
}
OTHERS = ("current", "amps", "temp", "temperature", "voltage", "power", "error", "err", "status", "mode", "flag")
ASKED_FOR = (
    "cmd", "command", "commanded", "target", "desired", "des", "ref", "reference", "setpoint", "set", "setpos", "sp", "goal", "nominal",
    "demand", "wanted", "planned", "soll", "d",
)  # fmt: skip
MEASURED = ("actual", "act", "measured", "meas", "feedback", "fbk", "fb", "present", "ist", "real")
SUFFIXES = {
    "s": "s",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "rad": "rad",
    "deg": "deg",
    "nm": "N m",
    "mnm": "mN m",
    "mm": "mm",
    "m": "m",
}
TURNS = 4 * np.pi  # a column that covers more is in degrees
STEPS = {"s": 0.5, "ms": 500.0, "us": 5e5, "ns": np.inf}  # longest step of a clock in each unit


@dataclass(frozen=True)
class Guessed:
    """What the columns of a log seem to be."""

    columns: dict[str, str]  # our name -> header
    by_number: bool  # motors were told by numbers in the headers, in their order
    rivals: dict[str, tuple[str, ...]]  # our name -> further headers that would do as well


def guess_columns(headers: Sequence[str], motors: Sequence[str], where: str) -> Guessed:
    """Which header is which, by the words in it and by the motor's name, else by a number.

    Raises:
        BadLog: no clock, or no position and torque for each motor; says what was found.
    """
    clocks = [h for h in headers if set(_words(h)) & set(TIME) and _kind(h) is None] or [
        h for h in headers if h in TIME
    ]
    found: dict[str, str] = {"t": clocks[0]} if clocks else {}
    by_number = False
    rivals: dict[str, tuple[str, ...]] = {}
    for prefix in KINDS:
        group = [h for h in headers if _kind(h) == prefix and h not in clocks]
        measured = [h for h in group if not set(_words(h)) & set(ASKED_FOR)] or group
        measured.sort(key=lambda h: (not set(_words(h)) & set(MEASURED), len(h)))
        named = {m: [h for h in measured if _names(h, m)] for m in motors}
        if all(named.values()):
            found |= {prefix + m: hs[0] for m, hs in named.items()}
            rivals |= {prefix + m: tuple(hs[1:]) for m, hs in named.items() if hs[1:]}
            continue
        numbered = _numbered(measured)
        if len(numbered) == len(motors):
            by_number = True
            found |= {prefix + m: h for m, h in zip(motors, numbered, strict=True)}
    if missing := [
        what for what, prefix in (("position", "q_"), ("torque", "tau_")) if prefix + motors[0] not in found
    ]:
        raise BadLog(
            f"{where}: no {' and no '.join(missing)} is found for each of the motors {', '.join(motors)} in its columns {', '.join(headers)}; "
            "name them under 'columns' of a run file, as in 'columns: {q_" + motors[0] + ": HEADER}'"
        )
    return Guessed(found, by_number, rivals)


def _words(header: str) -> list[str]:
    """Words and numbers of a header, units apart: actual_q_3 [deg] -> actual, q, 3."""
    plain = re.sub(r"[\[(].*?[\])]", " ", header)
    return re.findall(r"[a-z]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", plain).lower())


def _kind(header: str) -> str | None:
    words = set(_words(header))
    if words & set(OTHERS):
        return None
    return next((prefix for prefix, known in KINDS.items() if words & set(known)), None)


def _names(header: str, motor: str) -> bool:
    """Whether a header holds a motor's name as words of its own."""
    words, name = _words(header), _words(motor)
    return any(words[k : k + len(name)] == name for k in range(len(words) - len(name) + 1))


def _numbered(headers: Sequence[str]) -> list[str]:
    """Headers that differ in their last number, in its order; of those with one number the first."""
    last = [(next((int(w) for w in reversed(_words(h)) if w.isdigit()), None), h) for h in headers]
    numbers: dict[int, str] = {}
    for number, header in last:
        if number is not None:
            numbers.setdefault(number, header)
    return [numbers[k] for k in sorted(numbers)]


def named_unit(header: str) -> str | None:
    """The unit that a header says, in brackets or as its last word; None: none."""
    inside = re.search(r"[\[(](.*?)[\])]", header)
    text = inside.group(1) if inside else header.rsplit("_", 1)[-1] if "_" in header else ""
    return SUFFIXES.get(text.replace(" ", "").replace(".", "").replace("*", "").lower())


def _said(headers: Sequence[str], *units: str) -> str | None:
    """The one of some units that headers say; None: none or several."""
    said = [unit for unit in units if any(named_unit(h) == unit for h in headers)]
    return said[0] if len(said) == 1 else None


def unit_of_time(header: str, t: np.ndarray) -> str:
    """The unit of a clock (N,): as its header says, else by its step, which is between 10 us and half a second."""
    said = named_unit(header)
    step = float(np.median(np.diff(t)))
    return said if said in ("s", "ms", "us", "ns") else next(unit for unit, longest in STEPS.items() if step <= longest)


def unit_of_angles(headers: Sequence[str], t: np.ndarray, q: np.ndarray, fastest: np.ndarray) -> str:
    """Degrees or radians of positions (N, n) at times t (N,) [s]: as headers say, else degrees where radians would be too wide or fast.

    Args:
        fastest: (n,) [rad/s] speed limits, infinite where none is known.
    """
    said = _said(headers, "rad", "deg")
    if said:
        return said
    speed = np.abs(q[-1:] - q[:1]) if len(q) < 3 else np.abs(q[2:] - q[:-2]) / (t[2:] - t[:-2])[:, None]
    wide, fast = np.ptp(q, axis=0) > TURNS, np.quantile(speed, 0.99, axis=0) > fastest
    return "deg" if (wide | fast).any() else "rad"


def unit_of_torques(headers: Sequence[str], tau: np.ndarray, most: np.ndarray) -> str:
    """N m or mN m of torques (N, n): as headers say, else by the limits (n,) [N m], infinite where none is known."""
    said = _said(headers, "N m", "mN m")
    if said:
        return said
    beyond = np.abs(tau).max(axis=0) > 3 * most
    return "mN m" if beyond.any() and (np.abs(tau).max(axis=0) * FACTORS["mN m"] <= most).all() else "N m"
