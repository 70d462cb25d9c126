"""An exciting motion from run file to result: random motions first, the best of them improved, checked densely."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts, motor_torques
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import RobodynError
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.model import ExcitationModel
from robodyn_pin.excitation.result import Dense, Excitation
from robodyn_pin.excitation.search_plan import CHECK, SEARCH, SearchPlan, planned
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.excitation import Climb, ExcitingSeries, begun, log_information, maximise, scaled
from robodyn_pin.identification.fold import absorb
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each, one_thread

SMOOTH = 0.025  # width of Coulomb friction while searching, in parts of each rate's rms: its sign has no slope
INSIDE = 0.9  # of a random motion's amplitudes, where a search begins
ROUND = 20  # iterations, after which friction is softened anew
LEFT = 1.05  # amplitudes that a search may leave unused
TOGETHER = 25  # random motions that one process looks at
CLOSER = 5  # times as many random motions as starts are looked at closely
STILL = 1e-6  # [rad or m] less is no motion
TRIMS = 5  # how often a motion that breaks a limit between the samples of the search is made smaller

Progress = Callable[[float], None]


@one_thread()
def excite(run: ExcitationFile, folder: Path = Path(), progress: Progress = lambda share: None) -> Excitation:
    """Find the motion; paths start from `folder`.

    Raises:
        BadFile, UnknownName: what is wrong in the run file.
        RobodynError: limits that forbid any motion.
    """
    plan = planned(run, folder)
    random = _random_motions(plan, lambda share: progress(0.4 * share))
    X = _improved(plan, [X for _, X in random[: run.starts]], lambda share: progress(0.4 + 0.55 * share))
    gain = plan.information(X) - random[0][0]
    X, dense = _trimmed(plan.model, plan.series, X, run.rate)
    progress(1.0)
    robot, named = plan.model.identified, columns(plan.model.identified)
    R = dense.R[:, plan.base.columns]
    shown = base_set(R)
    deviations = np.full(plan.base.size, np.inf)
    deviations[shown.columns] = np.linalg.norm(np.linalg.inv(np.linalg.qr(R[:, shown.columns], mode="r")), axis=1)
    return Excitation(
        run=run, robot=robot, moved=plan.model.robot, limits=plan.model.limits, dense=dense,
        motion=plan.written(X, f"starts and ends at rest, uses at most {100 * (1 - run.margin):g} % of the limits"),
        rival=plan.written(random[0][1], f"the best of {run.random} random motions inside the same limits"),
        base=plan.base, shown=shown, labels=tuple(plan.base.labels(named.layout.labels)),
        values=plan.base.of(named.values), deviations=deviations, gain=gain, random=np.array([x for x, _ in random]),
        region=plan.region, information=log_information(R[None]),
    )  # fmt: skip


def _random_motions(plan: SearchPlan, progress: Progress) -> list[tuple[float, np.ndarray]]:
    """Return random motions as large as the limits allow, with their log det, the best ones first; those at more samples than the others."""
    run, rng = plan.run, np.random.default_rng(plan.run.seed)
    drawn = [plan.series.draw(rng, plan.centre, plan.unit) for _ in range(run.random)]
    blocks = [drawn[k : k + TOGETHER] for k in range(0, run.random, TOGETHER)]
    found = [pair for block in each(partial(_as_large, plan), blocks, progress) for pair in block]
    amplitudes = np.max([np.abs(X[1:]).max(axis=0) for _, X in found], axis=0)
    for name, amplitude in zip(plan.model.robot.coordinates.names, amplitudes, strict=True):
        if amplitude < STILL:
            raise RobodynError(
                f"the limits forbid any motion of {name!r} about the centre; widen them or give another 'centre'"
            )
    found.sort(key=lambda pair: -pair[0])
    best = [plan.fitted(X) for _, X in found[: CLOSER * run.starts]]
    closer = sorted(((plan.information(X), X) for X in best), key=lambda pair: -pair[0])
    if np.isinf(closer[0][0]):
        raise RobodynError("no random motion shows all base parameters; allow more harmonics or a longer period")
    return closer + found[CLOSER * run.starts :]


def _as_large(plan: SearchPlan, drawn: list[np.ndarray]) -> list[tuple[float, np.ndarray]]:
    """Return motions as large as the limits allow at the times of the search, with the log det that they have at finer ones."""
    found, factor = [], 1.0
    finer = plan.base.size * np.log(CHECK / SEARCH)  # what as many more samples add
    for X in drawn:
        factor = plan.factor(
            X, plan.rough, most=1e3, first=INSIDE * factor or 1.0
        )  # much like that of the motion before
        X = scaled(X, factor)
        found.append((log_information(plan.model.rows(*(plan.rough @ X))) + finer, X))
    return found


def _improved(plan: SearchPlan, starts: list[np.ndarray], progress: Progress) -> np.ndarray:
    """Return the best motion that a search leads to: a round from each start, then rounds from the best; the first start itself where none is better."""
    rounds = max(1, plan.run.iterations // ROUND)
    steps = len(starts) + rounds - 1
    first = [begun(scaled(X, INSIDE)) for X in starts]
    climbed = each(partial(_round, plan), first, lambda share: progress(share * len(starts) / steps))
    best = max(climbed, key=lambda one: one[0])[2]
    for k in range(len(starts), steps):
        climbed.append(_round(plan, best, partial(_within, progress, k, steps)))
        best = climbed[-1][2]
    found = [(plan.information(starts[0]), starts[0]), *((information, X) for information, X, _ in climbed)]
    return max(found, key=lambda pair: pair[0])[1]


def _within(progress: Progress, k: int, steps: int, share: float) -> None:
    progress((k + share) / steps)


def _round(plan: SearchPlan, climb: Climb, step: Progress = lambda share: None) -> tuple[float, np.ndarray, Climb]:
    """Return the information and the motion after a round, friction softened anew for the motion where it begins, and where the search is."""
    smooth, iterations = softened(plan.model, plan.fine @ climb.X), min(ROUND, plan.run.iterations)
    climb = maximise(smooth, plan.series, climb, plan.unit, SEARCH * plan.run.harmonics, iterations, step)
    X = plan.fitted(climb.X, LEFT)  # the search stays below a maximum over time that is a little too high
    return plan.information(X), X, climb


def softened(model: ExcitationModel, motion: np.ndarray) -> ExcitationModel:
    """Return the model with Coulomb friction as wide as a search needs; motion (3, N, d)."""
    state = model.robot.close(*motion)
    widths = [SMOOTH * float(np.sqrt(np.mean(e.rates(state.q, state.v) ** 2))) for e in model.identified.efforts]

    def softer(effort: Effort, width: float) -> Effort:
        return replace(
            effort, spec=effort.spec.model_copy(update={"width": max(width, effort.spec.width or 0.0, 1e-6)})
        )

    def soft(robot: Robot) -> Robot:
        return replace(robot, efforts=tuple(softer(e, w) for e, w in zip(robot.efforts, widths, strict=True)))

    identified = soft(model.identified)
    return replace(
        model, robot=identified if model.robot is model.identified else soft(model.robot), identified=identified
    )


def _trimmed(model: ExcitationModel, series: ExcitingSeries, X: np.ndarray, rate: float) -> tuple[np.ndarray, Dense]:
    """Return the motion at the log's rate, made smaller until no limit is exceeded at any sample."""
    for _ in range(TRIMS):
        dense = _dense(model, series, X, rate)
        load = float(dense.load(model.limits).max(initial=0.0))
        if load <= 1:
            return X, dense
        X = scaled(X, (1 - 1e-4) / load)
    raise RobodynError(f"the motion exceeds a limit by {100 * load - 100:.2g} % between the samples of the search")


def _dense(model: ExcitationModel, series: ExcitingSeries, X: np.ndarray, rate: float) -> Dense:
    t = np.arange(round(series.period * rate) + 1) / rate
    c, cd, cdd = series.basis(t) @ X
    parts = []
    p = columns(model.identified).layout.size
    R = np.zeros((p, p))
    for _, state in model.robot.close_parts(c, cd, cdd, lambda i: f"t = {t[i]:.4g} s"):
        rows, quantities = model.every(state)
        R = absorb(R, rows.reshape(-1, p))
        tau = motor_torques(model.robot, state, coordinate_efforts(model.robot, state))
        parts.append((state.q, state.v, state.a, tau, quantities))
    q, v, a, tau, quantities = (np.concatenate(x) for x in zip(*parts, strict=True))
    return Dense(t, q, v, a, tau, quantities, R)
