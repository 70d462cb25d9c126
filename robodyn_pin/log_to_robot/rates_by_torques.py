"""Which rates predict torques best: of splines over positions and over measured rates, as the fit logs say by cross-validation.

Positions alone cannot tell motion from what a servo or a bus makes of it; torques can: what is no motion needs no torque.
"""

from collections.abc import Callable, Sequence

import numpy as np

from robodyn_pin.errors import BadLog, ClosureFailed
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.stored_log import AnyLog

MOST, ENOUGH = 20_000, 5_000  # samples of all logs that are looked at, and rows of these that are fitted
START = 12.0  # [Hz] first cut-off; robots move more slowly, their structures vibrate faster
LOWEST = 0.75  # [Hz]
HIGHEST = 0.4  # of the sampling rate
FACTORS = (2.0, 2.0**0.5)  # from one cut-off to the next, coarse and fine
BETTER, LITTLE = 0.99, 0.01  # of the error of automatic rates, and [%]: by so much another cut-off must lower it


def rates_by_torques(
    run: RunFile,
    logs: Sequence[AnyLog],
    error: Callable[[RunFile, Sequence[AnyLog]], float],
    progress: Callable[[str], None],
) -> tuple[RunFile, str]:
    """The run file with the rates that predict the torques of the fit logs best, and what was compared; empty if nothing was.

    Args:
        error: cross-validated percentage error of a run file on logs.
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
            progress(f"rates by torques: {preparation.rates}, {preparation.cutoff or 0:.3g} Hz")
            try:
                known[preparation] = error(thin.model_copy(update={"preparation": preparation}), logs)
            except (BadLog, ClosureFailed):
                known[preparation] = np.inf
        return known[preparation]

    def best_of(rates: str, start: float) -> Preparation:
        best = _spline(rates, float(np.clip(start, lowest, highest)))
        for factor in FACTORS:
            for step in (1 / factor, factor):
                while lowest <= (cutoff := (best.cutoff or 0.0) * step) <= highest:
                    if tried(other := _spline(rates, cutoff)) >= tried(best):
                        break
                    best = other
        return best

    offered = [best_of("positions", START)]
    if all(log.section(0, 1).dq is not None for log in logs):
        offered.append(best_of("measured", offered[0].cutoff or START))
    plain = error(thin, logs)
    best = min(offered, key=tried)
    least = [
        f"{p.rates} {'rates ' if p.rates == 'measured' else ''}{tried(p):.4g} % at {p.cutoff:.3g} Hz" for p in offered
    ]
    text = f"error of torques inside the fit logs, cross-validated: {', '.join(least)}, by the encoders' noise {plain:.4g} %"
    # Noise that was interpolated onto a uniform clock is no encoders' noise: it has no lead over other rates.
    even = all(log.quality.regular for log in logs)
    if tried(best) > (min(BETTER * plain, plain - LITTLE) if even else plain):
        return run, text
    return run.model_copy(update={"preparation": best}), text


def _spline(rates: str, cutoff: float) -> Preparation:
    return Preparation.model_validate({"rates": rates, "differentiation": "auto", "cutoff": float(f"{cutoff:.4g}")})
