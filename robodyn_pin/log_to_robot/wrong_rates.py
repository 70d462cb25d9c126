"""Measured rates and accelerations that are no derivatives of what they belong to: where they are used, the equations are wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.log_to_robot.instruments import HIGHEST, LOOKED_AT, band
from robodyn_pin.log_to_robot.picked_samples import WIDE
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.quality import GRAVE, LITTLE, UNLIKE
from robodyn_pin.logs.stored_log import AnyLog

COUNTS = 0.1  # share of a rate's spread that a delay or an offset must make to be called wrong
SEEN = 0.02  # the same from which a delay of the rates may pass for one of the torques
REMEDY = "with 'rates: positions' under 'preparation' they come from positions"


LATE = "late against the derivative of the position (below zero: early)"


@dataclass(frozen=True)
class WrongRates:
    """What is wrong with the measured rates and accelerations of a log, in sentences."""

    wrong: list[str]  # from which results are wrong
    late: list[str]  # delays that matter less


def wrong_rates(log: AnyLog, motors: Sequence[str]) -> WrongRates:
    """Compare measured rates with positions, and measured accelerations with the rates, all through one filter."""
    part = log.section(0, min(log.size, LOOKED_AT))
    if part.dq is None:
        return WrongRates([], [])
    contrary = log.quality.contrary
    lowpass = Lowpass(order=4, cutoff=min(WIDE * band(log), HIGHEST * log.rate))
    taken = [rates_of(part, Preparation(rates=rates, filter=lowpass)) for rates in ("positions", "measured")]
    edge = min(max(each.reach for each in taken), part.size // 10)
    (q, x, xd), (_, y, yd) = ([z[edge : part.size - edge] for z in each.motion(part)] for each in taken)
    accelerations, offsets, delays, little = (dict[str, str]() for _ in range(4))
    for k in np.flatnonzero(np.ptp(q, axis=0) > LITTLE).tolist():
        m = motors[k]
        if part.ddq is not None and (told := _acceleration(yd[:, k], xd[:, k])):
            accelerations[m] = told
        if m in contrary:
            continue
        off = _Off.of(x[:, k], xd[:, k], y[:, k])
        if abs(off.offset) > max(COUNTS * off.spread, off.left):
            offsets[m] = f"{off.offset:+.3g} rad/s (or m/s)"
        if off.by_delay > max(SEEN * off.spread, off.left):
            (delays if off.by_delay > COUNTS * off.spread else little)[m] = f"{1e3 * off.delay:.0f} ms"
    wrong = [
        *log.quality.of_rates(contrary),
        *_alike("ddq", accelerations),
        *_alike("dq", offsets, "too much all the time"),
        *_alike("dq", delays, LATE),
    ]
    return WrongRates(wrong, _alike("dq", little, LATE))


@dataclass(frozen=True)
class _Off:
    """How a rate is off the derivative of a position."""

    offset: float
    delay: float  # [s]
    spread: float  # standard deviation of the rate,
    by_delay: float  # of it by the delay,
    left: float  # and by nothing of this

    @classmethod
    def of(cls, x: np.ndarray, xd: np.ndarray, y: np.ndarray) -> "_Off":
        """Of a rate y (n,) from a derivative x (n,) and its own: y(t) = factor x(t - delay) + offset, to first order."""
        columns = np.column_stack([x, -xd, np.ones(len(x))])
        factor, delayed, offset = (float(c) for c in np.linalg.lstsq(columns, y, rcond=None)[0])
        left = y - columns @ [factor, delayed, offset]
        return cls(offset, delayed / factor, float(y.std()), abs(delayed) * float(xd.std()), float(left.std()))


def _alike(column: str, said: dict[str, str], more: str = "") -> list[str]:
    """A sentence for all motors of which the same is said."""
    motors = {text: [m for m in said if said[m] == text] for text in said.values()}
    return [f"{', '.join(f'{column}_{m}' for m in some)}: {text} {more}".rstrip() for text, some in motors.items()]


def _acceleration(measured: np.ndarray, derived: np.ndarray) -> str:
    """What is wrong with accelerations (n,) beside derived ones; nothing where nothing is."""
    xx, xy, yy = (float(a @ b) for a, b in ((derived, derived), (derived, measured), (measured, measured)))
    if not yy:
        return "zero in all rows although the motor moves"
    if abs(xy) < UNLIKE * np.sqrt(xx * yy):
        return f"hardly correlated with the second derivative of the position ({xy / np.sqrt(xx * yy):.2f}): is it another column?"
    low, high = xy / xx, yy / xy  # noise makes the first too small, or the second too large
    if low < 0 or low > GRAVE or high < 1 / GRAVE:
        return f"{low:.3g} times the second derivative of the position: a wrong unit, sign or filter"
    return ""
