"""DualV, over-actuated: both projections against an unknown internal torque; simulated, the truth is Briot et al., table 2."""

from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np
from make import Row, Section

from robodyn_pin.choose import fitted_rows, independent_share
from robodyn_pin.dynamics import motor_map
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.base import BaseSet, base_set
from robodyn_pin.identification.copies import compare_copies
from robodyn_pin.identification.essential import EssentialEstimate, essential, relative_deviations
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor, weighted
from robodyn_pin.identification.least_squares import BaseEstimate, weighted_least_squares
from robodyn_pin.identification.validation import errors, pooled
from robodyn_pin.knowledge import bounds_of, prior_of, shape
from robodyn_pin.motion import Log
from robodyn_pin.observations import add, fold_log
from robodyn_pin.overconstraint import overconstraint
from robodyn_pin.payload import LoadSpec, carrying, loaded
from robodyn_pin.regression import columns, state_regressor
from robodyn_pin.robot import Robot, load
from robodyn_pin.run import read_run
from robodyn_pin.simulation import FourierMotion, Noise, fourier, simulate

EXAMPLES = Path(__file__).parents[1] / "examples"
SIGMA, SEEDS, INTERNAL = 10.0, 16, 6.0  # [N m] raw noise: about 10 % of the torques after decimation
DUALV, RUN = load("dualv"), read_run(EXAMPLES / "dualv.yaml")
BODY = read_yaml(EXAMPLES / "dualv_payload_body.yaml", LoadSpec)
HALF = 0.11  # [m] of the platform
CASES = {"case 1": ("x", "y", "phi"), "case 2": ("m1", "m2", "m3")}
OTHERS = [tuple(f"m{k}" for k in range(1, 5) if k != left) for left in range(1, 5)]
# Parameters by the columns that stand for them, and what the paper printed: case 1, case 2.
TABLE_2 = {
    "Izz(proximal_1)": ("zz_11R", 0.0445, 0.0412), "Izz(proximal_2)": ("zz_12R", 0.0481, 0.0462),
    "Izz(proximal_3)": ("zz_13R", 0.0481, 0.0457), "Izz(proximal_4)": ("zz_14R", 0.0507, 0.0579),
    "Izz(platform)": ("zz_4", 0.0206, 0.0205), "m(platform)": ("m_4", 1.92, 1.96),
    "Izz(payload)": ("zz_5", 0.0161, 0.0164), "mx(payload)": ("mx_5", -0.127, -0.127), "m(payload)": ("m_5", 5.42, 5.52),
}  # fmt: skip
TABLE_3 = {
    "case 1": ((9.1, 8.5, 7.5, 8.9), (9.8, 8.5, 7.6, 10.5)),
    "case 2": ((9.1, 8.5, 8.0, 8.6), (10.0, 8.6, 8.2, 11.7)),
}


@dataclass(frozen=True)
class Case:
    """The robot with its payload's columns, torques projected onto some coordinates."""

    robot: Robot

    @classmethod
    def along(cls, names: tuple[str, ...]) -> "Case":
        return cls(carrying(DUALV.with_coordinates(names), "payload", "platform"))

    @property
    def labels(self) -> list[str]:
        return columns(self.robot).layout.labels

    @property
    def nine(self) -> np.ndarray:
        return np.array([self.labels.index(name) for name in TABLE_2])

    @property
    def truth(self) -> np.ndarray:
        x = columns(self.robot).values.copy()
        x[self.robot.payload_columns] = shape(BODY)
        return x

    def rows(self, logs: tuple[Log, ...]) -> list[Factor]:
        """One factor per coordinate, decimated as the run file says."""
        folded = [fold_log(self.robot, log, RUN.preparation, [fitted_rows(self.robot, RUN, log)])[0] for log in logs]
        return pooled(reduce(add, folded))

    def base(self, groups: list[Factor]) -> BaseSet:
        return base_set(weighted(groups, np.ones(len(groups)))[:, :-1], columns(self.robot).layout.order)


@dataclass(frozen=True)
class Found:
    """What one seed gave."""

    wls: BaseEstimate
    essential: EssentialEstimate
    feasible: np.ndarray  # (p,)
    consistent: bool
    residual: float  # relative, as fitted


def motion(name: str) -> FourierMotion:
    return read_yaml(EXAMPLES / f"{name}.yaml", FourierMotion)


def recorded(internal: float) -> tuple[Log, Log]:
    """The empty and the loaded log, exact but for the internal torque."""
    exact = Noise(np.zeros(4), seed=1, internal=internal), Noise(np.zeros(4), seed=2, internal=internal)
    empty = simulate(DUALV, motion("dualv_empty_motion"), exact[0])
    return empty, replace(simulate(loaded(DUALV, BODY), motion("dualv_loaded_motion"), exact[1]), loaded=True)


def noisy(log: Log, rng: np.random.Generator, sigma: float = SIGMA) -> Log:
    assert log.tau is not None
    return replace(log, tau=log.tau + sigma * rng.normal(size=log.tau.shape))


def least_norm_rows(name: str, with_body: bool) -> np.ndarray:
    """Columns (N, 4, p) of the motor torques of least norm along a motion, rates exact."""
    case = Case.along(CASES["case 1"])
    _, *rates = fourier(motion(name), case.robot.coordinates.names)
    state = case.robot.close(*rates)
    W, B = state_regressor(case.robot, state), motor_map(case.robot, state)
    if not with_body:
        W[:, :, case.robot.payload_columns] = 0.0
    return np.linalg.pinv(B.transpose(0, 2, 1)) @ W


def found(case: Case, groups: list[Factor], base: BaseSet) -> Found:
    share, layout = independent_share(RUN, 500.0), columns(case.robot).layout
    wls = weighted_least_squares(groups, base, share)
    bounds, prior = bounds_of(RUN, case.robot), prior_of(RUN, case.robot)
    feasible = fit_feasible(groups, wls.sigma, layout, bounds, prior)
    consistent = bool(feasible.eigenvalues.min() >= 0.999 * bounds.eigenvalue)
    residual = errors(groups, wls.full(layout.size)).percent_all / 100
    return Found(wls, essential(groups, base, 10.0, share), feasible.values, consistent, residual)


def nine_of(case: Case, estimate: BaseEstimate, x: np.ndarray) -> np.ndarray:
    """Entries of x (r,), by base parameter, for the nine of table 2; nan where one has fallen out."""
    place = {int(c): k for k, c in enumerate(estimate.base.columns)}
    return np.array([x[place[c]] if c in place else np.nan for c in case.nine])


def torque_errors(W: np.ndarray, tau: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Relative error (4,) per motor in percent."""
    return 100 * np.linalg.norm(W @ x - tau, axis=0) / np.linalg.norm(tau, axis=0)


def study() -> Section:
    rows: list[Row] = []
    cases = {name: Case.along(names) for name, names in CASES.items()}
    by_internal = {internal: recorded(internal) for internal in (INTERNAL, 20.0)}
    checks = [(least_norm_rows(f"dualv_check_{k}", False), simulate(DUALV, motion(f"dualv_check_{k}"), Noise(np.zeros(4))).tau) for k in (1, 2)]  # fmt: skip
    note = ["Simulated throughout: truth is table 2 of the paper (case 1) with a payload of 5.37 kg."]
    for internal, logs in by_internal.items():
        for name, case in cases.items():
            rows += exact_rows(
                f"{name}, {internal:g} N m internal, no noise", case, logs, checks if internal == INTERNAL else []
            )
        rows += ignored_rows(internal, logs)
    tables = {}
    for name, case in cases.items():
        more, tables[name] = seed_rows(name, case, by_internal[INTERNAL], checks)
        rows += more
    rows += conditioning_rows(by_internal[INTERNAL]) + dependent_rows(by_internal[INTERNAL])
    note += [printed(tables), FIT_NOTE]
    return Section("Over-actuated: DualV", "python figures/make.py dualv", tuple(rows), "\n\n".join(note))


FIT_NOTE = (
    "Least-norm torques fitted directly leave the internal torque as residual. Their parameters agree nevertheless: at every sample "
    "the internal torque is orthogonal to the columns of the least-norm regressor, which lie in the range of B."
)


def exact_rows(what: str, case: Case, logs: tuple[Log, Log], checks: list) -> list[Row]:
    groups = case.rows(logs)
    estimate = weighted_least_squares(groups, case.base(groups))
    truth = nine_of(case, estimate, estimate.base.of(case.truth))
    off = nine_of(case, estimate, estimate.values) / truth - 1
    x = estimate.full(len(case.truth))
    left, grams = errors(groups, x).percent_all / 100, 1000 * abs(off[-1]) * BODY.mass
    rows = [
        Row(f"{what}: relative residual", "<= 5e-4", f"{left:.1e}", left <= 5e-4),
        Row(f"{what}: worst of nine parameters, payload", "<= 0.5 %, 10 g", f"{100 * abs(off).max():.2g} %, {grams:.2g} g",
            bool(abs(off).max() <= 5e-3 and grams <= 10)),
    ]  # fmt: skip
    limit = 0.5 if "case 1" in what else 1.0
    for k, (W, tau) in enumerate(checks, start=1):
        worst = torque_errors(W, tau, x).max()
        rows.append(
            Row(
                f"{what}: torques of unused motion {k}, worst motor",
                f"<= {limit:g} %",
                f"{worst:.2g} %",
                bool(worst <= limit),
            )
        )
    return rows


def ignored_rows(internal: float, logs: tuple[Log, Log]) -> list[Row]:
    """The overconstraint ignored: measured torques fitted as if they were of least norm."""
    case = Case.along(CASES["case 1"])
    W = np.concatenate([least_norm_rows("dualv_empty_motion", False), least_norm_rows("dualv_loaded_motion", True)])
    y = np.concatenate([log.tau for log in logs])
    projected = case.base(case.rows(logs))
    A, y = W.reshape(-1, W.shape[2])[:, projected.columns], y.ravel()
    values = np.linalg.lstsq(A, y, rcond=None)[0]
    left = float(np.linalg.norm(A @ values - y) / np.linalg.norm(y))
    place = [list(projected.columns).index(c) for c in case.nine]
    off = np.abs(values[place] / projected.of(case.truth)[place] - 1).max()
    asked = 0.1 if internal < 10 else 0.3
    return [
        Row(f"overconstraint ignored, {internal:g} N m: relative residual", f">= {asked}", f"{left:.3f}", left >= asked),
        Row(f"overconstraint ignored, {internal:g} N m: worst of nine parameters", "agrees", f"{100 * off:.1e} %", bool(off < 5e-3)),
    ]  # fmt: skip


def seed_rows(name: str, case: Case, logs: tuple[Log, Log], checks: list) -> tuple[list[Row], dict]:
    results, unseen, passed = [], [], []
    base = None
    held_out = replace(simulate(loaded(DUALV, BODY), motion("dualv_check_2"), Noise(np.zeros(4))), loaded=True)
    for seed in range(SEEDS):
        rng = np.random.default_rng(100 + seed)
        groups = case.rows(tuple(noisy(log, rng) for log in logs))
        base = base or case.base(groups)
        f = found(case, groups, base)
        results.append(f)
        other = case.rows((noisy(held_out, rng),))
        unseen.append(errors(other, f.feasible).percent_all / errors(other, f.wls.full(len(case.truth))).percent_all)
        x = f.essential.estimate.full(len(case.truth))
        for W, tau in checks:
            size = 0.1 * np.sqrt(np.mean(tau**2, axis=0))  # 10 % of each motor's torque
            white = size * rng.normal(size=tau.shape)
            put_in = 100 * np.linalg.norm(white, axis=0) / np.linalg.norm(tau + white, axis=0)
            passed.append(torque_errors(W, tau + white, x) / put_in)
    truth = nine_of(case, results[0].wls, base.of(case.truth))
    values = np.array([nine_of(case, f.essential.estimate, f.essential.estimate.values) for f in results])
    sigmas = np.array([nine_of(case, f.essential.estimate, f.essential.estimate.deviations) for f in results])
    survived = np.mean([set(f.essential.estimate.base.columns) == set(case.nine) for f in results])
    off = values / truth - 1
    ratio = np.sqrt(np.nanmean(sigmas**2, axis=0)) / np.nanstd(values, axis=0, ddof=1)
    payload, rms = 100 * np.abs(values[:, -1] / BODY.mass - 1), 100 * np.sqrt(np.nanmean(off**2, axis=0))
    limits = (1.0, 4.0) if name == "case 1" else (2.5, 6.0)
    residual = float(np.mean([f.residual for f in results]))
    what = f"{name}, noise, {SEEDS} seeds"
    rows = [
        Row(f"{what}: relative residual", "about 0.1", f"{residual:.3f}", 0.08 <= residual <= 0.12),
        Row(f"{what}: exactly the nine parameters survive", ">= 90 %", f"{100 * survived:.0f} %", bool(survived >= 0.9)),
        Row(f"{what}: payload, worst seed", f"<= {limits[0]:g} %", f"{payload.max():.2f} %", bool(payload.max() <= limits[0])),
        Row(f"{what}: rms error of a parameter, worst of nine", f"<= {limits[1]:g} %", f"{rms.max():.2f} %", bool(rms.max() <= limits[1])),
        Row(f"{what}: estimated sigma over empirical spread, nine parameters", "1/1.5 to 1.5", f"{ratio.min():.2f} to {ratio.max():.2f}",
            bool(ratio.min() >= 1 / 1.5 and ratio.max() <= 1.5)),
        Row(f"{what}: LMI fit consistent; held-out error over that of WLS, worst", "all; <= 1.03",
            f"{sum(f.consistent for f in results)} of {SEEDS}; {max(unseen):.4f}", all(f.consistent for f in results) and max(unseen) <= 1.03),
        Row(f"{what}: torques of two unused motions, error over the noise put in, mean per motor", "<= 1.05",
            f"{np.mean(passed, axis=0).max():.3f} (single logs to {np.max(passed):.3f})", bool(np.mean(passed, axis=0).max() <= 1.05)),
    ]  # fmt: skip
    first = results[0].essential.estimate
    copies = compare_copies(columns(case.robot).layout, results[0].wls)
    legs = next(c for c in copies if c.label.startswith("Izz(proximal_1)"))
    rows.append(
        Row(
            f"{name}, seed 0: legs equal? zz_1R of four legs, differences by chance",
            "they differ in truth",
            f"{legs.probability:.1e}",
        )
    )
    relative = 100 * nine_of(case, first, relative_deviations(first))
    return rows, {
        "values": values[0],
        "relative": relative,
        "residual": results[0].residual,
        "checks": checks,
        "x": first.full(len(case.truth)),
    }


def conditioning_rows(logs: tuple[Log, Log]) -> list[Row]:
    """The motion that is fixed in the files: worst condition numbers, the platform's rotation in units of its half length."""
    state = [
        DUALV.close(*fourier(motion(n), DUALV.coordinates.names)[1:])
        for n in ("dualv_empty_motion", "dualv_loaded_motion")
    ]
    T = np.concatenate([s.T for s in state]) * [1, 1, 1 / HALF]
    sub, pose = (np.linalg.cond(S @ T).max() for S in (DUALV.motors.S[:3], DUALV.motors.S))
    said = overconstraint(DUALV.with_coordinates(CASES["case 2"]), logs, RUN.preparation)
    assert said is not None
    return [
        Row("fit motions: worst condition of the sub-robot of motors 1 to 3, of the pose", "< 9, reported", f"{sub:.2f}, {pose:.2f}", bool(sub < 9)),
        Row("the same as every result reports it (rotation in units of the robot's own length)", "reported",
            f"{said.chosen_condition[1]:.2f}, {said.pose_condition[1]:.2f}"),
        Row("internal torque found in logs with 6 N m rms, no noise: rms, max", "reported", f"{said.internal_rms:.2f}, {said.internal_max:.1f} N m"),
    ]  # fmt: skip


def dependent_rows(logs: tuple[Log, Log]) -> list[Row]:
    """Which torque moves to the left side: deviations that the first seed gives."""
    rows = []
    for left, names in enumerate(OTHERS, start=1):
        case, rng = Case.along(names), np.random.default_rng(100)
        groups = case.rows(tuple(noisy(log, rng) for log in logs))
        estimate = found(case, groups, case.base(groups)).essential.estimate
        relative = 100 * nine_of(case, estimate, relative_deviations(estimate))
        state = [
            DUALV.close(*fourier(motion(n), DUALV.coordinates.names)[1:])
            for n in ("dualv_empty_motion", "dualv_loaded_motion")
        ]
        sub = np.linalg.cond(case.robot.coordinates.S @ np.concatenate([s.T for s in state]) * [1, 1, 1 / HALF]).max()
        mass = nine_of(case, estimate, estimate.values)[-1]
        rows.append(
            Row(f"torque {left} to the left side: worst and payload's relative deviation, payload, worst condition", "reported",
                f"{np.nanmax(relative):.2f} %, {relative[-1]:.2f} %, {mass:.3f} kg, {sub:.1f}")
        )  # fmt: skip
    return rows


def printed(tables: dict[str, dict]) -> str:
    """Tables 2 and 3 of the paper beside ours."""
    lines = ["| essential parameter | paper, case 1 | ours, SIMULATED | % sigma | paper, case 2 | ours, SIMULATED | % sigma |",
             "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    one, two = tables["case 1"], tables["case 2"]
    for k, (label, first, second) in enumerate(TABLE_2.values()):
        lines.append(
            f"| {label} | {first:g} | {one['values'][k]:.4g} | {one['relative'][k]:.2f} | {second:g} | {two['values'][k]:.4g} | {two['relative'][k]:.2f} |"
        )
    lines.append(f"| relative residual | 0.110 | {one['residual']:.3f} | | 0.091 | {two['residual']:.3f} | |")
    lines += ["", "| torque error [%], motors 1 to 4 | motion 1 | motion 2 |", "| --- | --- | --- |"]
    rng = np.random.default_rng(7)
    for name, table in tables.items():
        ours = []
        for W, tau in table["checks"]:
            measured = tau + 0.1 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
            ours.append(" ".join(f"{e:.1f}" for e in torque_errors(W, measured, table["x"])))
        paper = [" ".join(f"{e:g}" for e in errors_) for errors_ in TABLE_3[name]]
        lines += [
            f"| paper, {name} (other motions) | {paper[0]} | {paper[1]} |",
            f"| ours, {name}, SIMULATED, 10 % noise | {ours[0]} | {ours[1]} |",
        ]
    return "\n".join(lines)
