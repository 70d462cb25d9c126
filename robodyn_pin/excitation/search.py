"""An exciting motion from run file to result: random motions first, the best of them improved, checked densely."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.equations import coordinate_efforts, motor_torques
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadFile, ClosureFailed, RobodynError, UnknownName
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.model import ExcitationModel, noisy
from robodyn_pin.excitation.result import Dense, Excitation
from robodyn_pin.excitation.workspace import Workspace, translations, workspace
from robodyn_pin.files import resolve
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.excitation import (
    Climb,
    ExcitingSeries,
    begun,
    largest_amplitude,
    log_information,
    maximise,
    scaled,
)
from robodyn_pin.identification.fold import absorb
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.bearing_axes import refuse_bearing
from robodyn_pin.robot.efforts import Effort, refuse_warmth
from robodyn_pin.robot.limits import limits_of, torque_limits
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.sources import DESCRIPTIONS

SEARCH, CHECK = 32, 100  # samples in the shortest period of the series: while searching, and to compare motions
SMOOTH = 0.025  # width of Coulomb friction while searching, in parts of each rate's rms: its sign has no slope
ASSUMED_NOISE = 0.01  # of each torque limit, where the run file says nothing of the noise
INSIDE = 0.9  # of a random motion's amplitudes, where a search begins
ROUND = 20  # iterations, after which friction is softened anew
LEFT = 1.05  # amplitudes that a search may leave unused
CLOSER = 5  # times as many random motions as starts are looked at closely
STILL = 1e-6  # [rad or m] less is no motion
TRIMS = 5  # how often a motion that breaks a limit between the samples of the search is made smaller

Progress = Callable[[float], None]


@threadpool_limits.wrap(
    limits=1
)  # BLAS would share out products that are too small for that, and take four times as long
def excite(run: ExcitationFile, folder: Path = Path(), progress: Progress = lambda share: None) -> Excitation:
    """Find the motion; paths start from `folder`.

    Raises:
        BadFile, UnknownName: what is wrong in the run file.
        RobodynError: limits that forbid any motion.
    """
    plan = _planned(run, folder)
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


@dataclass(frozen=True)
class _Plan:
    """What all motions of a search share."""

    run: ExcitationFile
    model: ExcitationModel
    series: ExcitingSeries
    base: BaseSet
    region: Workspace | None
    centre: np.ndarray  # (d,) of random motions
    unit: np.ndarray  # (d,) typical amplitudes

    @cached_property
    def rough(self) -> np.ndarray:
        """Return the basis at the times of the search."""
        return self.series.basis(self.series.clock(SEARCH * self.run.harmonics))

    @cached_property
    def fine(self) -> np.ndarray:
        """Return the basis at the times at which motions are compared."""
        return self.series.basis(self.series.clock(CHECK * self.run.harmonics))

    def information(self, X: np.ndarray) -> float:
        return log_information(self.model.rows(*(self.fine @ X)))

    def factor(self, X: np.ndarray, basis: np.ndarray, most: float, first: float = 1.0) -> float:
        """Return how much larger the amplitudes of X can be within the limits, at most `most`; `first`: where to begin."""

        def load(factor: float) -> np.ndarray:
            samples = basis if factor else basis[:, :1]  # at rest one says all
            try:
                return self.model.loads(*(samples @ scaled(X, factor)))
            except ClosureFailed:
                return np.array(np.inf)

        return largest_amplitude(load, most, first)

    def fitted(self, X: np.ndarray, most: float = 1.0) -> np.ndarray:
        """Return X, its amplitudes smaller where the limits ask for that, or up to `most` times as large where they do not."""
        return scaled(X, self.factor(X, self.fine, most))

    def written(self, X: np.ndarray, note: str) -> FourierMotion:
        run, names = self.run, self.model.robot.coordinates.names
        parts = (dict(zip(names, part.T.tolist(), strict=True)) for part in self.series.amplitudes(X))
        series = dict(zip(("centre", "sin", "cos"), parts, strict=True))
        times = {"rate": run.rate, "duration": run.period, "period": run.period, "coordinates": run.coordinates}
        note = f"robodyn excite, seed {run.seed}: {note}"
        return FourierMotion.model_validate(times | series | {"note": note})


def _planned(run: ExcitationFile, folder: Path) -> _Plan:
    path = resolve(folder, run.robot)
    identified = path.is_dir() and any(path.glob("*_identified.yaml"))
    robot = load(path if path.suffix in DESCRIPTIONS or identified else run.robot)
    refuse_bearing(robot.efforts, "excite")
    refuse_warmth(robot.efforts, "excite")
    _check_bandwidth(run)
    labels = columns(robot).layout.labels
    for name in run.asked:
        if name not in labels:
            raise UnknownName("parameter", name, "'asked' of the run file", labels)
    moved = robot if run.coordinates is None else robot.with_coordinates(run.coordinates)
    base, limits = check(robot).base, limits_of(robot, run.limits, run.margin)
    model = ExcitationModel(moved, robot, limits, _noise(run, robot), base.columns)
    region = workspace(moved, limits) if translations(moved) else None
    series, centre = ExcitingSeries(run.period, run.harmonics), _centre(run, model, region)
    return _Plan(run, model, series, base, region, centre, _amplitudes(run, model, region))


def _random_motions(plan: _Plan, progress: Progress) -> list[tuple[float, np.ndarray]]:
    """Return random motions as large as the limits allow, with their log det, the best ones first; those at more samples than the others."""
    run, rng, found, factor = plan.run, np.random.default_rng(plan.run.seed), [], 1.0
    finer = plan.base.size * np.log(CHECK / SEARCH)  # what as many more samples add
    for k in range(run.random):
        X = plan.series.draw(rng, plan.centre, plan.unit)
        factor = plan.factor(
            X, plan.rough, most=1e3, first=INSIDE * factor or 1.0
        )  # much like that of the motion before
        X = scaled(X, factor)
        found.append((log_information(plan.model.rows(*(plan.rough @ X))) + finer, X))
        progress((k + 1) / run.random)
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


def _improved(plan: _Plan, starts: list[np.ndarray], progress: Progress) -> np.ndarray:
    """Return the best motion that a search leads to: a round from each start, then rounds from the best; the first start itself where none is better."""
    run, found, climbs = plan.run, [(plan.information(starts[0]), starts[0])], []
    rounds = max(1, run.iterations // ROUND)

    def round_from(climb: Climb, k: int) -> tuple[float, Climb]:
        """The information after a round, friction softened anew for the motion where it begins."""
        smooth = softened(plan.model, plan.fine @ climb.X)

        def step(share: float) -> None:
            progress((k + share) / (len(starts) + rounds - 1))

        iterations = min(ROUND, run.iterations)
        climb = maximise(smooth, plan.series, climb, plan.unit, SEARCH * run.harmonics, iterations, step)
        X = plan.fitted(climb.X, LEFT)  # the search stays below a maximum over time that is a little too high
        found.append((plan.information(X), X))
        return found[-1][0], climb

    for k, X in enumerate(starts):
        climbs.append(round_from(begun(scaled(X, INSIDE)), k))
    best = max(climbs, key=lambda pair: pair[0])[1]
    for k in range(len(starts), len(starts) + rounds - 1):
        best = round_from(best, k)[1]
    return max(found, key=lambda pair: pair[0])[1]


def _check_bandwidth(run: ExcitationFile) -> None:
    fastest = run.harmonics / run.period
    if fastest > run.bandwidth:
        raise BadFile(
            f"{run.harmonics} harmonics of a period of {run.period:g} s reach {fastest:.4g} Hz, the drives follow up to "
            f"{run.bandwidth:g} Hz ('bandwidth'); make the period at least {run.harmonics / run.bandwidth:.4g} s"
        )


def _noise(run: ExcitationFile, robot: Robot) -> np.ndarray:
    names = noisy(robot).names
    for name in run.noise:
        if name not in names:
            raise UnknownName(
                "motor" if names == robot.motors.names else "coordinate", name, "noise of the run file", names
            )
    if run.noise:
        missing = [name for name in names if name not in run.noise]
        if missing:
            raise BadFile(f"noise of the run file: {', '.join(missing)} missing; name all of {', '.join(names)}")
        return np.array([run.noise[name] for name in names])
    limits = dict(zip(robot.motors.names, torque_limits(robot, run.limits), strict=True))
    if not all(np.isfinite(limits.get(name, np.inf)) for name in names):
        raise BadFile(f"the run file needs 'noise' of {', '.join(names)} [N m or N]: not all have a torque limit")
    return np.array([ASSUMED_NOISE * limits[name] for name in names])


def _centre(run: ExcitationFile, model: ExcitationModel, region: Workspace | None) -> np.ndarray:
    """Return where random motions begin: as the run file says, else in the middle of the limits, else at home."""
    axes = model.robot.coordinates
    for name in run.centre:
        if name not in axes.names:
            raise UnknownName("coordinate", name, "centre of the run file", axes.names)
    home = axes.S @ model.robot.home + axes.offset
    positions = [b for b in model.limits.bounds if b.kind == "position"]
    middle = {name: centre for b in positions for name, centre in zip(b.names, b.centre, strict=True)}
    if region is not None:
        middle |= dict(zip(_platform(model.robot), region.hemisphere.centroid.tolist(), strict=True))
    still, worst = np.zeros((1, len(home))), -1
    for default in (middle, {}):
        c = np.array([run.centre.get(n, default.get(n, h)) for n, h in zip(axes.names, home, strict=True)])
        try:
            loads = np.abs(model.loads(c[None], still, still)[0])
        except ClosureFailed:
            continue
        if loads.max(initial=0.0) < 1:
            return c
        worst = int(loads.argmax())
    if worst < 0:
        raise RobodynError("the centre of the motion is out of reach; give 'centre' in the run file, within the limits")
    (kind, name), (low, high) = model.limits.labels[worst], model.limits.ranges[worst]
    raise RobodynError(
        f"the limits forbid any motion: at rest in the centre of the motion {kind} of {name!r} is outside [{low:.4g}, "
        f"{high:.4g}] ({100 * run.margin:g} % kept free); widen the limit or give another 'centre'"
    )


def _amplitudes(run: ExcitationFile, model: ExcitationModel, region: Workspace | None) -> np.ndarray:
    """Return the typical amplitude of each coordinate (d,): half its range, less where its speed limit asks for less."""
    half = {(b.kind, name): float(h) for b in model.limits.bounds for name, h in zip(b.names, b.half, strict=True)}
    if region is not None:
        half |= {("position", name): region.hemisphere.radius / 2 for name in _platform(model.robot)}
    fastest = 2 * np.pi * run.harmonics / run.period
    names = model.robot.coordinates.names
    position, velocity = (np.array([half.get((kind, n), np.inf) for n in names]) for kind in ("position", "velocity"))
    return np.minimum(np.minimum(position, velocity / fastest), 1e2)


def _platform(robot: Robot) -> list[str]:
    return [robot.coordinates.names[k] for k in translations(robot)]


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
