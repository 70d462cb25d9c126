"""The quality of an identification: uncertainty and identifiability of each parameter, bias by noise in the motion, residuals."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import mass_matrix
from robodyn_pin.identification.feasible import with_noise_taken
from robodyn_pin.identification.feasible_intervals import feasible_intervals
from robodyn_pin.identification.fold import Factor, merge_factors
from robodyn_pin.identification.instrumental import InstrumentalEstimate, instrumental
from robodyn_pin.identification.uncertainty import LEVEL, freedom, intervals
from robodyn_pin.identification.whiteness import ljung_box, widening
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.further_estimates import Estimates
from robodyn_pin.log_to_robot.informative_motions import KnownParameters, known
from robodyn_pin.log_to_robot.likely_mistakes import Mistake, likely_mistakes
from robodyn_pin.log_to_robot.missing_structure import against_bounds
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.overconstraint import Overconstraint, overconstraint
from robodyn_pin.log_to_robot.second_pass import SecondPass
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

ALONE = 1e-9  # a parameter with a smaller weight does not count as part of a base parameter
FAR_ABOVE = 3.0  # residuals over white noise, at the frequencies of the motion, from which they are a sign of a mistake
POSES = 300  # of the held-out motion at which the mass matrix is evaluated


@dataclass(frozen=True)
class Residuals:
    """Held-out residuals of the feasible fit, one sample after the other, not filtered."""

    rate: float  # [Hz]
    series: np.ndarray  # (n, d)
    probability: np.ndarray  # (d,) that white noise has as much autocorrelation (Ljung and Box)
    widening: np.ndarray  # (d,) factor on standard deviations because the residuals are not white


@dataclass(frozen=True)
class Diagnosis:
    """The quality of a result."""

    rows: float  # number of independent ones that were fitted
    freedom: float  # degrees of freedom of the residuals
    intervals: np.ndarray  # (r, 2) 95 %, of the base parameters by weighted least squares
    feasible_base: np.ndarray | None  # (r, 2) 95 %, of base parameters over bodies that can exist
    feasible: np.ndarray | None  # (p, 2) the same of every parameter
    known: KnownParameters
    instruments: InstrumentalEstimate | None  # None: switched off
    cutoff: float  # [Hz] of the instruments' motion
    residuals: Residuals
    seconds: float  # of the fit logs
    fastest: np.ndarray  # (d,) speeds of the fit [rad/s or m/s]; 99 of 100 samples are slower
    sharpest: np.ndarray  # (d,) accelerations
    overconstraint: Overconstraint | None  # None: no more motors than degrees of freedom
    mistakes: tuple[Mistake, ...]  # whose correction explains the fit logs clearly better
    stopped: tuple[str, ...]  # parameters at bounds that least squares would exceed
    beyond: tuple[str, ...]  # sentences about joints or motors of the fit logs outside their limits
    outliers: str  # among the fitted samples, a sentence; empty: none that are worth one
    unseen: float  # error on pieces of the fit logs that an estimate has not seen, over that of the fit

    def signs(self, names: Sequence[str]) -> str:
        """What besides speaks for a mistake in the log, names of the coordinates; empty: nothing."""
        found = [f"at its bound against the log: {'; '.join(self.stopped)}"] if self.stopped else []
        wide = self.residuals.widening
        if wide.max(initial=0.0) > FAR_ABOVE:
            j = int(np.argmax(wide))
            found.append(
                f"the held-out error of {names[j]} is {wide[j]:.3g} times its noise at the motion's frequencies"
            )
        return "; ".join(found)

    def summary(self, labels: list[str], names: list[str]) -> dict[str, object]:
        """What `result.json` holds of it; labels of the parameters, names of the coordinates."""

        def per(x: np.ndarray) -> dict[str, float]:
            return dict(zip(names, x.tolist(), strict=True))

        known, beside = self.known, self.instruments
        return {
            "intervals": {
                "level": LEVEL, "freedom": self.freedom, "base": self.intervals.tolist(),
                "feasible_base": [] if self.feasible_base is None else self.feasible_base.tolist(),
                "feasible": None if self.feasible is None else dict(zip(labels, self.feasible.tolist(), strict=True)),
            },
            "identifiability": {
                p.label: p.kind if p.kind != "combination" else p.combination for p in known.parameters
            },
            "best_motion": [
                {"base": label, "motion": motion, "factor": factor}
                for label, motion, factor in zip(known.base.labels(labels), known.gain.motion, known.gain.factor.tolist(), strict=True)
            ],
            "instruments": None if beside is None else {
                "cutoff": self.cutoff, "values": beside.values.tolist(), "deviations": beside.deviations.tolist(),
                "chi_square": beside.statistic, "freedom": beside.freedom, "probability": beside.probability,
                "disagree": beside.biased,
            },
            "residuals": {"ljung_box": per(self.residuals.probability), "widening": per(self.residuals.widening)},
            "scope": {"seconds": self.seconds, "speeds": per(self.fastest), "accelerations": per(self.sharpest)},
            "overconstraint": None if self.overconstraint is None else self.overconstraint.summary(),
            "against_bounds": list(self.stopped),
            "mistakes": [m.__dict__ for m in self.mistakes], "beyond_limits": list(self.beyond),
            "outliers": self.outliers, "unseen_over_fit": self.unseen if np.isfinite(self.unseen) else None,
        }  # fmt: skip


def diagnose(
    fitted: Fitted, logs: Sequence[AnyLog], again: SecondPass, left: np.ndarray, seen: AnyLog, groups: Sequence[Factor],
    found: Estimates, unlike: Collection[int] = (),
) -> Diagnosis:  # fmt: skip
    """Examine a fit.

    Args:
        again: what the fit logs showed in the second pass. left: (n, d) residual over consecutive samples of the held-out log
            `seen`. groups: the fitted rows of each coordinate. unlike: numbers of logs whose mistakes are looked for by themselves.
    """
    settings, share, wls, feasible = fitted.settings, fitted.independent, found.wls, found.feasible
    robot, run, layout = settings.robot, settings.run, settings.layout
    rows = sum(g.rows for g in groups)
    many = freedom(wls, rows, share)
    over_base = over_all = None
    if run.intervals:
        # A base parameter that consists of a single parameter has the interval of that parameter.
        sums = np.count_nonzero(np.abs(wls.base.matrix) > ALONE, axis=1) > 1
        asked = np.concatenate([np.eye(layout.size), wls.base.matrix[sums]])
        ends = feasible_intervals(asked, feasible, with_noise_taken(groups, wls), layout, found.bounds, many).ends
        over_all, over_base = ends[: layout.size], ends[wls.base.columns]
        over_base[sums] = ends[layout.size :]
    beside = None
    if run.instruments:
        folded = [merge_factors(of_logs) for of_logs in zip(*(each.instruments for each in again.logs), strict=True)]
        beside = instrumental(folded, wls.sigma, share) if sum(f.rows for f in folded) > 3 * wls.base.size else None
    residuals = _residuals(fitted, left, seen, again.motion)
    stopped = tuple(against_bounds(layout, feasible.values, wls, found.bounds))
    suspicious = bool(stopped) or bool(residuals.widening.max(initial=0.0) > FAR_ABOVE)
    usual = [log for k, log in enumerate(logs) if k not in unlike]
    paces = [each.pace for each in again.logs]
    fastest, sharpest = (np.max(of_logs, axis=0) for of_logs in ([p.fast for p in paces], [p.sharp for p in paces]))
    return Diagnosis(
        share * rows, many, intervals(wls, many), over_base, over_all,
        known(robot, paces[0], logs[0].loaded, groups, wls, share, motor_noise(run, robot)), beside, again.cutoff, residuals,
        sum(log.size / log.rate for log in logs), fastest, sharpest, overconstraint(robot, logs, run.preparation),
        likely_mistakes(robot, usual or logs, run, suspicious), stopped,
        tuple(text for pace in paces for text in pace.beyond), again.outliers, found.pieces.unseen,
    )  # fmt: skip


def _residuals(fitted: Fitted, series: np.ndarray, log: AnyLog, motion: float) -> Residuals:
    lowpass = fitted.settings.run.rows.filter
    passed = min(lowpass.cutoff, log.rate / 2) if lowpass else log.rate / 2
    return Residuals(log.rate, series, ljung_box(series), widening(series, log.rate, motion, passed))


def mass_eigenvalues(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Eigenvalues (n, d), ascending, of the mass matrix at some of the poses q (N, nv), units of the coordinates."""
    picked = q[np.linspace(0, len(q) - 1, min(POSES, len(q))).astype(int)]
    return np.linalg.eigvalsh(mass_matrix(robot, picked @ robot.coordinates.S.T + robot.coordinates.offset))
