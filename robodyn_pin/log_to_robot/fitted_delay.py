"""By how much a log's torques come later than its positions, from what a model leaves of them.

Where friction changes its sign torques jump, and a torque that comes late is then off by twice the friction: the sum of squares
has a corner where torques and motion belong together, which no curvature describes. So it is searched for without derivatives,
and its deviation comes from what is found without each piece of the log.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.base_parameters import shown_base
from robodyn_pin.errors import BadLog
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import residual_squares
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.delay import Delay
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.held_out import Selected, windows, within_torques
from robodyn_pin.log_to_robot.rows import fold_log
from robodyn_pin.log_to_robot.run_file import ChooseSpec, RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows
from robodyn_pin.logs.late_torques import LONGEST
from robodyn_pin.logs.stored_log import AnyLog, late

MOST = 100_000  # samples of a log that are looked at
SETTLED = 0.02  # samples to which a delay is searched for

Progress = Callable[[str], None]
Settle = Callable[[RunFile, Sequence[AnyLog], Progress], Fitted]  # settings for logs, chosen as a run file says


def in_time(
    run: RunFile, fit: list[Selected], held_out: list[Selected], settle: Settle, progress: Progress
) -> tuple[RunFile, list[Selected], list[Selected], tuple[Delay, ...]]:
    """The run with the mean delay, its logs with each torque beside the motion that it belongs to, and what was found.

    A held-out part of a fit log has the delay of that log, another log the mean: its torques are not looked at.

    Raises: as `fit_delay`.
    """
    found = tuple(Delay(s.log.name, s.sha256, 0.0, 0.0) for s in fit)
    # What is chosen, friction above all, asks for torques in their place, and the other way round.
    for now in (run.model_copy(update={"choose": ChooseSpec()}), run):
        now = now.model_copy(update={"delay": _mean(found)})
        logs = [_late(s, d.seconds) for s, d in zip(fit, found, strict=True)]
        fitted = settle(now, windows(logs), progress)
        found = tuple(fit_delay(fitted, s, d.seconds, progress) for s, d in zip(fit, found, strict=True))
    of_file = {(d.log, d.sha256): d.seconds for d in found}

    def right(s: Selected) -> Selected:
        return _late(s, of_file.get((s.log.name, s.sha256), _mean(found)))

    run = run.model_copy(update={"delay": _mean(found)})
    return run, [right(s) for s in fit], [right(s) for s in held_out], found


def _mean(delays: Sequence[Delay]) -> float:
    return float(np.mean([d.seconds for d in delays]))


def _late(selected: Selected, delay: float) -> Selected:
    """The same samples with torques put right; those at an end that has none are left out."""
    return replace(within_torques(selected, delay), log=late(selected.log, delay))


def fit_delay(fitted: Fitted, selected: Selected, start: float, progress: Progress) -> Delay:
    """The delay of one fit log that leaves least of its torques, by the settings of `fitted`.

    Args:
        selected: samples of the log as it is. start: [s] where the search begins.

    Raises:
        BadLog: none within LONGEST; too few samples.
    """
    log, rate = selected.log, selected.log.rate
    reach = int(np.ceil(LONGEST * rate))  # every delay is judged by the same samples
    begin, end = max(selected.begin, reach), min(selected.end, log.size - reach, selected.begin + MOST)
    if end - begin < 2 * reach:
        raise BadLog(
            f"{log.name}: {selected.end - selected.begin} samples are too few for 'delay: fit', at least {4 * reach} are needed; give "
            "the delay in seconds"
        )
    robot = fitted.settings.robot
    first_rows = _rows(fitted, late(log, start).window(begin, end))[0]
    here = fitted.weigh(first_rows, shown_base(robot, first_rows), 1.0)
    known: dict[float, np.ndarray] = {}

    def cost(delay: float) -> float:
        if abs(delay) > LONGEST:
            raise BadLog(
                f"{log.name}: 'delay: fit' finds none within {LONGEST:g} s; are torques and positions of one recording? Give the delay "
                "in seconds"
            )
        if delay not in known:
            progress(f"{log.name}: torques {1e3 * delay:.3g} ms late")
            groups = _rows(fitted, late(log, delay).window(begin, end))
            known[delay] = np.array([residual_squares(pieces, here.sigma, here.base.columns) for pieces in groups])
        return float(known[delay][0])

    from scipy.optimize import bracket, minimize_scalar

    first, _, last, *_ = bracket(cost, start, start + 1 / rate)
    minimize_scalar(cost, bounds=sorted((first, last)), method="bounded", options={"xatol": SETTLED / rate})
    at = np.array(sorted(known))
    best, *without = _least(at, np.array([known[d] for d in at]))
    deviation = np.sqrt(len(without) - 1) * np.std(without)
    return Delay(log.name, selected.sha256, float(best), float(deviation))


def _rows(fitted: Fitted, log: AnyLog) -> list[list[Factor]]:
    """All rows of a log, none thinned out, one factor per coordinate: of all its pieces, and without each of them.

    With one row of several, others would count at each delay.
    """
    robot, run = fitted.settings.robot, fitted.settings.run
    run = run.model_copy(update={"rows": run.rows.model_copy(update={"every": 1})})
    pieces = fold_log(robot, log, run.preparation, [fitted_rows(robot, run, log)])[0]
    return [pooled(pieces), *(pooled(pieces[:k] + pieces[k + 1 :]) for k in range(len(pieces)))]


def _least(at: np.ndarray, costs: np.ndarray) -> list[float]:
    """Where parabolas through the least of costs (n, k) at places (n,) and its neighbours are least, one for each column."""
    found = []
    for column in costs.T:
        i = int(np.clip(column.argmin(), 1, len(at) - 2))
        a, b, _ = np.polyfit(x := at[i - 1 : i + 2] - at[i], column[i - 1 : i + 2], 2)
        found.append(float(at[i] + (np.clip(-b / (2 * a), x[0], x[-1]) if a > 0 else 0.0)))
    return found
