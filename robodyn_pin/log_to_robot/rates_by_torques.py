"""Which rates predict torques best: of splines over positions and over measured rates, as the fit logs say by cross-validation.

Positions alone cannot tell motion from what a servo or a bus makes of it; torques can: what is no motion needs no torque.
"""

from collections.abc import Callable, Sequence

import numpy as np

from robodyn_pin.errors import BadLog, ClosureFailed
from robodyn_pin.log_to_robot.instruments import HIGHEST
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.stored_log import AnyLog

MOST, ENOUGH = 20_000, 5_000  # samples of all logs that are looked at, and rows of these that are fitted
START = 12.0  # [Hz] first cut-off; robots move more slowly, their structures vibrate faster
LOWEST = 0.75  # [Hz]
FACTORS = (2.0, 2.0**0.5)  # from one cut-off to the next, coarse and fine
WORTH = 0.005  # of a motor's share of the error: by more its own cut-off must lower it
BETTER, LITTLE = 0.99, 0.01  # of the error of automatic rates, and [%]: by so much another cut-off must lower it


def rates_by_torques(
    run: RunFile,
    logs: Sequence[AnyLog],
    error: Callable[[RunFile, Sequence[AnyLog]], float],
    progress: Callable[[str], None],
    closing: Callable[[Sequence[AnyLog]], None],
) -> tuple[RunFile, str]:
    """The run file with the rates that predict the torques of the fit logs best, and what was compared; empty if nothing was.

    Args:
        error: cross-validated percentage error of a run file on logs. closing: raises where positions of logs do not close as they are.

    Raises:
        ClosureFailed: as `closing`, where a first cut-off fails to close: no other would.
    """
    said = run.preparation
    if said.way != "auto" or said.cutoff or said.filter or said.period or run.choose.cutoff:
        return run, ""
    share = MOST // len(logs)
    logs = [log.window(0, min(log.size, share)) for log in logs]
    every = max(run.rows.every, sum(log.size for log in logs) // ENOUGH)
    thin = run.model_copy(update={"rows": run.rows.model_copy(update={"every": every})})
    lowest = max(LOWEST, *(8 * log.rate / log.size for log in logs))
    highest = HIGHEST * min(log.rate for log in logs)
    known: dict[Preparation, float] = {}

    def tried(preparation: Preparation) -> float:
        if preparation not in known:
            progress(f"rates by torques: {preparation.rates}, {_hertz(preparation)} Hz")
            try:
                known[preparation] = error(thin.model_copy(update={"preparation": preparation}), logs)
            except BadLog:
                known[preparation] = np.inf
            except ClosureFailed:
                if not np.isfinite([*known.values()]).any():
                    closing(logs)
                known[preparation] = np.inf
        return known[preparation]

    motors = logs[0].section(0, 1).q.shape[1]

    def error_at(rates: str, *cutoffs: float) -> float:
        return tried(_spline(rates, cutoffs)) if lowest <= min(cutoffs) <= max(cutoffs) <= highest else np.inf

    def best_of(rates: str, start: float) -> tuple[str, float]:
        """One cut-off for all motors."""
        best = float(np.clip(start, lowest, highest))
        for factor in FACTORS:
            for step in (1 / factor, factor):
                while error_at(rates, best * step) < error_at(rates, best):
                    best *= step
        return rates, best

    def of_each(rates: str, common: float) -> tuple[float, ...]:
        """A higher or a lower cut-off for each motor that is worth it: heavy axes move more slowly than light ones."""
        best = (common,) * motors
        for k in range(motors if motors > 1 else 0):
            for step in (1 / FACTORS[0], FACTORS[0]):
                other = (*best[:k], common * step, *best[k + 1 :])
                if error_at(rates, *other) < (1 - WORTH / motors) * error_at(rates, *best):
                    best = other
        return best

    found = [best_of("positions", START)]
    if all(log.section(0, 1).dq is not None for log in logs):
        found.append(best_of("measured", found[0][1]))
    plain = error(thin, logs)
    leading = min(found, key=lambda each: error_at(*each))
    best = _spline(leading[0], of_each(*leading))
    offered = [best if each is leading else _spline(each[0], each[1:]) for each in found]
    least = [
        f"{p.rates} {'rates ' if p.rates == 'measured' else ''}{tried(p):.4g} % at {_hertz(p)} Hz" for p in offered
    ]
    text = f"error of torques inside the fit logs, cross-validated: {', '.join(least)}, by the encoders' noise {plain:.4g} %"
    # Noise that was interpolated onto a uniform clock is no encoders' noise: it has no lead over other rates.
    even = all(log.quality.regular for log in logs)
    if tried(best) > (min(BETTER * plain, plain - LITTLE) if even else plain):
        return run, text
    return run.model_copy(update={"preparation": best}), text


def _spline(rates: str, cutoff: Sequence[float]) -> Preparation:
    """Splines of one cut-off [Hz], or of each motor's."""
    rounded = [float(f"{c:.4g}") for c in cutoff]
    one = rounded[0] if len(set(rounded)) == 1 else rounded
    return Preparation.model_validate({"rates": rates, "differentiation": "auto", "cutoff": one})


def _hertz(preparation: Preparation) -> str:
    """The cut-offs, in the motors' order where they differ."""
    return ", ".join(f"{c:.3g}" for c in np.atleast_1d(preparation.cutoff or 0.0))
