"""How positions become rates and accelerations: filtered differences, a smoothing spline or a Fourier series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import Field, model_validator

from robodyn_pin.errors import BadLog
from robodyn_pin.files import Positive, Strict
from robodyn_pin.logs.filters import FORGOTTEN, SETTLED, Lowpass, differences
from robodyn_pin.logs.fourier_series import Series, find_period, fit_series
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.smoothing_spline import HIGHEST, Smoothing, edge_of, smoothing
from robodyn_pin.logs.spectrum import FEWEST, Spectrum, spectrum
from robodyn_pin.logs.stored_log import AnyLog

WITHIN = 0.5  # of the encoders' noise: what a series leaves beyond it; more is a motion that repeats only roughly

Motion = tuple[np.ndarray, np.ndarray, np.ndarray]  # positions, rates, accelerations of the motors (N, n)


class Preparation(Strict):
    """How rates come from a log."""

    rates: Literal["positions", "measured"] = "positions"  # where velocities come from
    differentiation: Literal["filter", "spline", "fourier", "auto"] | None = None  # default: `way`
    filter: Lowpass | None = None  # on positions and measured rates, before differentiation
    period: Annotated[float, Field(gt=0)] | None = None  # [s] of a motion that repeats; default: looked for in the log
    # [Hz] of the spline, of all motors or of each in the robot's order; default: as the encoders' noise asks
    cutoff: Positive | Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None

    @property
    def way(self) -> str:
        """What is asked for; else the filter that is named, or measured rates as they are, or automatic."""
        return self.differentiation or ("filter" if self.filter or self.rates == "measured" else "auto")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        way = self.way
        if self.cutoff and (way not in ("spline", "auto") or self.filter):
            raise ValueError(
                "'cutoff' is that of a spline; leave 'filter' out and choose spline or auto, or name 'filter: {cutoff: ...}'"
            )
        if way == "fourier" and self.rates == "measured":
            raise ValueError(
                "'differentiation: fourier' takes rates from positions; measured rates go with spline, filter or auto"
            )
        if way == "spline" and self.rates == "measured" and not self.cutoff:
            raise ValueError(
                "a spline over measured rates needs 'cutoff: ...' in Hz; name it, or choose filter or auto"
            )
        if way in ("spline", "fourier") and self.filter:
            raise ValueError(
                f"'differentiation: {way}' needs no filter on positions; leave it out, or choose filter or auto"
            )
        if way in ("filter", "spline") and self.period:
            raise ValueError(f"'differentiation: {way}' knows no period; leave it out, or choose fourier or auto")
        return self


class Rates(Protocol):
    """Motion of any section of one log."""

    @property
    def reach(self) -> int:
        """Samples on both sides that a sample depends on."""

    @property
    def edge(self) -> int:
        """Samples at both ends of the log whose accelerations are further off than elsewhere because it ends there."""

    @property
    def reason(self) -> str:
        """What is done, and why, in one line."""

    def motion(self, part: Log) -> Motion:
        """Motor positions, rates and accelerations (N, n) of a section.

        Raises:
            BadLog: measured rates asked of a log that has none; section shorter than the filter.
        """


def rates_of(log: AnyLog, preparation: Preparation) -> Rates:
    """The way to differentiate a log on a uniform clock; looks at the positions of all its samples, at no torque.

    Raises:
        BadLog: too short, or a Fourier series asked of a motion that does not repeat.
    """
    known = _KNOWN.setdefault(log, {})
    if preparation not in known:
        found = _rates_of(log, preparation)
        known[preparation] = found if not log.apart or isinstance(found, Spline) else AtTorques(found)
    return known[preparation]


def share_rates(log: AnyLog, other: AnyLog) -> None:
    """Let two logs of the same motion, whose torques differ, share what is found of their rates."""
    _KNOWN[other] = _KNOWN.setdefault(log, {})


# An identification folds the same logs once for each candidate of its settings; logs do not change.
_KNOWN: WeakKeyDictionary[AnyLog, dict[Preparation, Rates]] = WeakKeyDictionary()


def _rates_of(log: AnyLog, preparation: Preparation) -> Rates:
    if preparation.way == "filter":
        return _filtered(log, preparation)
    if preparation.cutoff:
        return _cut_off(log, preparation)
    if preparation.way == "auto":
        return _best(log, preparation)
    seen = spectrum(log)
    if preparation.way == "spline":
        spline, error = smoothing(seen)
        text = f"as asked: {_spline_text(spline, seen)}"
        return Spline(spline, *_clock(log), text, edge_of(spline, seen, error))
    series = _series(log, preparation, seen)
    if series is None:
        raise BadLog(
            f"{log.name}: no period is found, its motion does not repeat within the log; give 'period:' in seconds or choose "
            "'differentiation: spline'"
        )
    return Fourier(series, *_clock(log), f"as asked: {_series_text(series, seen)}")


def _best(log: AnyLog, preparation: Preparation) -> Rates:
    """The way with the least expected error of the accelerations.

    Accelerations suffer most, and inertia is seen through them. Each error is estimated from the positions alone: what the
    way leaves out of the motion that stands above the encoders' noise, and what it lets through of that noise. Errors of
    motors add in parts of each motor's rms acceleration.
    """
    if preparation.rates == "measured":
        return _filtered(log, preparation)
    if log.size < FEWEST:
        text = f"{log.size} rows are too few to tell motion from noise; "
        return _filtered(log, preparation, text)
    seen = spectrum(log)
    series = _series(log, preparation, seen)
    spline, error = smoothing(seen)
    text = f"{_repeats(series, seen)}; {_spline_text(spline, seen)}"
    offered: list[tuple[np.ndarray, Rates]] = [
        (error, Spline(spline, *_clock(log), text, edge_of(spline, seen, error)))
    ]
    # What an average of periods leaves out is not known in frequency: it must be no more than noise.
    if series is not None and _within_noise(series, seen):
        error = series.acceleration_error(seen.noise, seen.rate)
        offered.append((error, Fourier(series, *_clock(log), _series_text(series, seen))))
    if preparation.filter:
        response = preparation.filter.response(seen.frequency, seen.rate, log.name)
        through = (response * np.sinc(seen.frequency / np.pi) ** 2)[:, None]  # both differences, too
        found = _filtered(log, preparation, f"{_repeats(series, seen)}; ", ": expected to be as good as a spline")
        offered.append((seen.acceleration_error(through), found))
    scale = np.maximum(seen.acceleration, np.finfo(float).tiny)
    return min(offered, key=lambda pair: float(np.square(pair[0] / scale).sum()))[1]


def _cut_off(log: AnyLog, preparation: Preparation) -> Rates:
    """A spline of the cut-off named, over measured rates where they are asked for; `auto` does without them in a log that has none."""
    first = log.section(0, 1)
    measured = preparation.rates == "measured" and not (first.dq is None and preparation.way == "auto")
    if measured and first.dq is None:
        raise BadLog(f"{log.name} has no columns dq_<motor>; give them or set 'rates: positions'")
    asked, motors = np.atleast_1d(preparation.cutoff or 0.0), first.q.shape[1]
    if len(asked) not in (1, motors):
        raise BadLog(
            f"{log.name}: {len(asked)} cut-offs for {motors} motors; give one, or one for each motor in the robot's order"
        )
    spline = Smoothing(np.minimum(2 * np.pi * asked / log.rate, HIGHEST) * np.ones(motors))
    passes = _range(spline.cutoff * log.rate / (2 * np.pi))
    text = f"spline that passes {passes} Hz over {'measured rates' if measured else 'positions'}"
    return Spline(spline, *_clock(log), text, spline.settled, measured)


@dataclass(frozen=True)
class Filtered:
    """Zero-phase filter, and central differences of what the log does not hold."""

    preparation: Preparation
    reach: int
    edge: int
    reason: str

    def motion(self, part: Log) -> Motion:
        lowpass = self.preparation.filter
        smooth = lowpass.apply if lowpass else lambda x, rate, where: x
        q = smooth(part.q, part.rate, part.name)
        if len(q) < 3:
            raise BadLog(f"{part.name}: {len(q)} rows are too few for accelerations; at least 3 are needed")
        if self.preparation.rates == "positions":
            dq = differences(q, part.rate)
            return q, dq, differences(dq, part.rate)
        if part.dq is None:
            raise BadLog(f"{part.name} has no columns dq_<motor>; give them or set 'rates: positions'")
        dq = smooth(part.dq, part.rate, part.name)
        ddq = differences(dq, part.rate) if part.ddq is None else smooth(part.ddq, part.rate, part.name)
        return q, dq, ddq


@dataclass(frozen=True)
class Spline:
    """Smoothing spline."""

    smoothing: Smoothing
    begin: int  # row of the file that is the log's first; sections count from there
    rate: float  # of the log [Hz]
    reason: str
    edge: int
    measured: bool = False  # rates of the log are smoothed, and accelerations where it has some

    @property
    def reach(self) -> int:
        return self.smoothing.reach

    def motion(self, part: Log) -> Motion:
        begin, after = part.begin - self.begin, 0.0 if part.after is None else part.after
        q, dq, ddq = self.smoothing.motion(part.q, begin, self.rate, after)
        if self.measured and part.dq is not None:
            dq, ddq, _ = self.smoothing.motion(part.dq, begin, self.rate, after)
            ddq = ddq if part.ddq is None else self.smoothing.motion(part.ddq, begin, self.rate, after)[0]
        return q, dq, ddq


@dataclass(frozen=True)
class AtTorques:
    """The motion at the times at which the torques were sampled, of a log that was put on a uniform clock."""

    rates: Rates

    @property
    def reach(self) -> int:
        return self.rates.reach + 1

    @property
    def edge(self) -> int:
        return self.rates.edge

    @property
    def reason(self) -> str:
        return self.rates.reason

    def motion(self, part: Log) -> Motion:
        q, dq, ddq = self.rates.motion(part)
        if part.after is None:
            return q, dq, ddq
        jerk, h = np.gradient(ddq, 1 / part.rate, axis=0), part.after[:, None]
        return q + h * (dq + h / 2 * (ddq + h / 3 * jerk)), dq + h * (ddq + h / 2 * jerk), ddq + h * jerk


@dataclass(frozen=True)
class Fourier:
    """Fourier series; the positions are those of the series as well."""

    series: Series
    begin: int
    rate: float
    reason: str
    reach: int = 0
    edge: int = 0

    def motion(self, part: Log) -> Motion:
        return self.series.motion(part.size, part.begin - self.begin, self.rate)


def _clock(log: AnyLog) -> tuple[int, float]:
    return log.section(0, 1).begin, log.rate


def _filtered(log: AnyLog, preparation: Preparation, before: str = "", after: str = "") -> Filtered:
    """As the preparation asks, and what is to be said before and after the way it is done."""
    lowpass = preparation.filter
    reach, edge = (lowpass.reach(log.rate, log.name, left) if lowpass else 0 for left in (FORGOTTEN, SETTLED))
    return Filtered(preparation, 2 + reach, 2 + edge, before + _filter_text(preparation, log) + after)


def _series(log: AnyLog, preparation: Preparation, seen: Spectrum) -> Series | None:
    """The series of the period given or found.

    Raises:
        BadLog: not even one period of those given is in the log.
    """
    if preparation.period is None:
        period = find_period(log, seen)
    else:
        period = preparation.period * log.rate
        if period > log.size + 0.5:
            raise BadLog(
                f"{log.name}: {log.size / log.rate:.4g} s hold less than one period of {preparation.period:g} s; use a longer "
                "part of the log or 'differentiation: spline'"
            )
    return None if period is None else fit_series(log, period, seen.noise)


def _within_noise(series: Series, seen: Spectrum) -> bool:
    return bool((series.residual**2 <= (1 + WITHIN**2) * seen.noise**2).all())


def _repeats(series: Series | None, seen: Spectrum) -> str:
    if series is None:
        return "does not repeat"
    period = f"repeats every {2 * np.pi / (series.w * seen.rate):.6g} s"
    if _within_noise(series, seen):
        return f"{period} to within the encoders' noise"
    return f"{period}, but only to within {series.residual.max():.2g} rad (or m), encoder noise {_range(seen.noise)}"


def _filter_text(preparation: Preparation, log: AnyLog) -> str:
    """What is measured, what filter there is, and what comes from differences."""
    lowpass = preparation.filter
    smooth = f"zero-phase filter of order {lowpass.order} at {lowpass.cutoff:g} Hz" if lowpass else "no filter"
    if preparation.rates == "positions":
        return f"{smooth}, central differences" if lowpass else f"central differences, {smooth}"
    if log.section(0, 1).ddq is None:
        return f"rates are measured, accelerations are their central differences (no columns ddq_<motor>); {smooth}"
    return f"rates and accelerations are measured; {smooth}"


def _spline_text(spline: Smoothing, seen: Spectrum) -> str:
    cutoffs = spline.cutoff * seen.rate / (2 * np.pi)
    return f"spline, smoothing from an encoder noise of {_range(seen.noise)} rad (or m): it passes {_range(cutoffs)} Hz"


def _series_text(series: Series, seen: Spectrum) -> str:
    return f"{_repeats(series, seen)}: Fourier series with {series.harmonics} harmonics"


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"


def blocks(
    log: AnyLog, rates: Rates, filters: Sequence[Lowpass | None], begin: int, end: int, size: int
) -> Iterator[tuple[int, int, int, int]]:
    """Cut samples begin..end into blocks: (first with margin, first, end, end with margin)."""
    reach = rates.reach + max((f.reach(log.rate, log.name) for f in filters if f), default=0)
    size = max(size, 2 * reach)
    for first in range(begin, end, size):
        stop = min(first + size, end)
        yield max(0, first - reach), first, stop, min(log.size, stop + reach)
