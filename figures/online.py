"""Online identification of the SIMULATED small Delta: 500 Hz, forgetting 0.995, torque noise 0.05 N m; times from Python."""

from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
from make import Row, Section
from online_motions import NOISE, RATE, delta, drift, hold, new_tracker, rich, rows_of, set_off, sine, wrong
from online_times import long_run, one_hour, times
from recursive import DirectionalForgetting, RecursiveLeastSquares
from scipy.stats import chi2

from robodyn_pin.identification.drift import Trend
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.online.summary import SIGNIFICANT_DRIFT
from robodyn_pin.online.tracked import Tracked

SEEDS = 20
RUNS = 200
SHORT = 50  # runs from one start
STANDING = 10_000  # samples
LAST = 4000  # samples of a run that statistics are taken of: four periods of the rich motion


def study() -> Section:
    model = delta()
    rows = [
        *standing_still(model), *up_and_down(model), *payload(model), *statistics(model), *slow_drift(model), *times(model),
        *long_run(model), one_hour(model),
    ]  # fmt: skip
    return Section(
        "Online identification", "python figures/make.py online", tuple(rows),
        f"SIMULATED small Delta (all its parameters assumed), 16 parameters, {SEEDS} seeds, the worst one counts. Sine: 60 mm up and "
        "down at 1 Hz; rich: five harmonics of 0.5 Hz inside 70, 70, 50 mm. Start: truth with errors of 5 %, signs drawn; for the "
        "statistics normally distributed, drawn anew in each run. Drift, excited directions and torque errors as asked: parameters divided by their "
        "nominal values, errors before the update against noise-free torques. Resuming: from rest, at full size after one second; largest error of a motor in the first two seconds.",
    )  # fmt: skip


@dataclass(frozen=True)
class Trace:
    """One run."""

    values: np.ndarray  # (N, n) after each sample
    errors: np.ndarray  # (N, d) of the noise-free torque, before each update


def run(
    estimator: DampedLeastSquares | RecursiveLeastSquares | DirectionalForgetting,
    rows: np.ndarray,
    truth: np.ndarray,
    rng: np.random.Generator,
) -> Trace:
    values, errors = np.empty((len(rows), len(truth))), rows @ truth
    measured = errors + NOISE * rng.normal(size=errors.shape)
    for k, (W, y) in enumerate(zip(rows, measured, strict=True)):
        errors[k] -= W @ estimator.values
        estimator.step(W / NOISE, y / NOISE)
        values[k] = estimator.values
    return Trace(values, errors)


def standing_still(model: Tracked) -> list[Row]:
    nominal = model.values
    still, moving = rows_of(model, hold(STANDING))[0], {"rich": rich, "sine": sine}
    drifts, outside, resumed, later = [], [], {name: [] for name in moving}, {name: [] for name in moving}
    plain = {"plain RLS": [], "RLS without forgetting": [], "directional forgetting": []}
    for seed in range(SEEDS):
        start = wrong(nominal, np.random.default_rng(seed))
        for name, motion in moving.items():
            rng, estimator = np.random.default_rng(seed), DampedLeastSquares(start, model.scale)
            trace = run(estimator, still, nominal, rng)
            away, V = (trace.values[-1] - start) / nominal, estimator.excited
            drifts.append(drift(trace.values, start, nominal).max())
            outside.append(np.abs(away - V @ (V.T @ away)).max())
            trace = run(estimator, rows_of(model, set_off(motion(2000)))[0], nominal, rng)
            resumed[name].append(np.abs(trace.errors[:1000]).max())
            later[name].append(drift(trace.values[-1], start, nominal))
        others = (RecursiveLeastSquares(start, model.scale), RecursiveLeastSquares(start, model.scale, 1.0),
                  DirectionalForgetting(start, model.scale))  # fmt: skip
        if seed < 3:  # they cost as much as ours, and say the same each time
            for other, found in zip(others, plain.values(), strict=True):
                both = np.concatenate([still, rows_of(model, rich(500))[0]])
                with np.errstate(all="ignore"):
                    found.append(
                        np.nanmax(drift(run(other, both, nominal, np.random.default_rng(seed)).values, start, nominal))
                    )
    truth = float(np.linalg.norm(0.05 * np.ones(len(nominal))) / np.sqrt(len(nominal)))
    return [
        Row(f"stands still for {STANDING} samples: drift", "<= 0.05", f"{max(drifts):.4f}", max(drifts) <= 0.05),
        Row("the same, change outside the excited directions", "<= 1e-9", f"{max(outside):.1e}", max(outside) <= 1e-9),
        *(Row(f"the same, then moves ({name}): torque error on resuming [N m]", "<= 0.1", f"{max(x):.3f}", max(x) <= 0.1)
          for name, x in resumed.items()),
        *(Row(f"the same, 4 s later ({name}): distance from the start, of which {truth:.2f} is the way to the truth", "reported",
              f"{max(x):.4f}") for name, x in later.items()),
        Row("the same, plain RLS: drift", "> 1e3 (shown)", f"{min(plain['plain RLS']):.1e}", min(plain["plain RLS"]) > 1e3),
        *(Row(f"the same, {name}: drift", "reported", f"{max(x):.4f}") for name, x in list(plain.items())[1:]),
    ]  # fmt: skip


def up_and_down(model: Tracked) -> list[Row]:
    found, steady = [], {}
    for name, motion in {"sine": sine, "rich": rich}.items():
        rows = rows_of(model, motion(10_000))[0]
        torque, percent = rows[2000:] @ model.values, []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            start = wrong(model.values, rng)
            trace = run(DampedLeastSquares(start, model.scale), rows, model.values, rng)
            if name == "sine":
                found.append(drift(trace.values, start, model.values).max())
            percent.append(100 * np.sqrt(np.mean(trace.errors[2000:] ** 2) / np.mean(torque**2)))
        steady[name] = max(percent)
    return [
        Row("vertical sine only, 20 s: drift", "<= 0.06", f"{max(found):.4f}", max(found) <= 0.06),
        *(
            Row(f"steady prediction error, {name}, rms [%]", "<= 0.5", f"{x:.3f}", x <= 0.5)
            for name, x in steady.items()
        ),
    ]


def payload(model: Tracked) -> list[Row]:
    """Half a kilogram on the platform after 20 s, through the tracker with its detector."""
    rows = []
    for name, motion in {"sine": sine, "rich": rich}.items():
        W = rows_of(model, motion(12_500))[0]
        back, masses, late, events = [], [], [], []
        for seed in range(SEEDS):
            tracker = new_tracker(model, seed)
            before, after = W[:10_000] @ model.values, W[10_000:] @ (model.values + 0.5 * model.payload)
            torque = np.concatenate([before, after])
            rng, errors = np.random.default_rng(100 + seed), np.empty_like(torque)
            measured = torque + NOISE * rng.normal(size=torque.shape)
            for k in range(len(W)):
                errors[k] = torque[k] - W[k] @ tracker.estimator.values
                tracker.take(k / RATE, W[k], measured[k], measured[k], np.eye(3) / NOISE)
            window = np.cumsum((errors[10_000:] ** 2).mean(axis=1))
            share = np.sqrt((window[50:] - window[:-50]) / 50 / np.mean(after**2))  # rms of 0.1 s
            back.append((50 + np.flatnonzero(share >= 0.01).max()) / RATE)
            change = tracker.changes[-1]
            events.append(len(tracker.changes))
            masses.append(change.size)
            late.append(change.found + tracker.settings.payload.duration - 20)
        worst, bias, allowed = (
            max(abs(m - 0.5) / 0.5 for m in masses),
            1e3 * (np.mean(masses) - 0.5),
            {"sine": 5, "rich": 3}[name],
        )
        rows += [
            Row(f"+0.5 kg at 20 s, {name}: torque prediction back under 1 % after [s]", "<= 1.5" if name == "sine" else "reported",
                f"{max(back):.2f}", max(back) <= 1.5 if name == "sine" else None),
            Row("the same: mass within [%], known after [s]", f"<= {allowed}{', <= 2' if name == 'rich' else ''}",
                f"{100 * worst:.2f}, {max(late):.2f}", bool(100 * worst <= allowed and max(late) <= 2)),
            Row(f"the same: bias [g]; changes found, of {SEEDS}", "<= 5; no other" if name == "rich" else "reported; no other",
                f"{bias:+.2f}; {sum(events)}", sum(events) == SEEDS and (name == "sine" or abs(bias) <= 5)),
        ]  # fmt: skip
    return rows


def statistics(model: Tracked) -> list[Row]:
    rows, nominal = rows_of(model, rich(LAST))[0], model.values
    found, spread = [], {}
    for forgetting in (1.0, 0.995):
        errors, fixed = [], []
        for seed in range(RUNS):
            rng = np.random.default_rng(1000 + seed)
            start = nominal * (1 + 0.05 * rng.normal(size=len(nominal)))
            for first, kept in ((start, errors), (wrong(nominal, np.random.default_rng(0)), fixed)):
                if kept is fixed and (forgetting < 1 or seed >= SHORT):
                    continue
                estimator = DampedLeastSquares(first, model.scale, forgetting)
                measured = rows @ nominal + NOISE * rng.normal(size=rows.shape[:2])
                for W, y in zip(rows, measured, strict=True):
                    estimator.step(W / NOISE, y / NOISE)
                kept.append((estimator.values - nominal) / model.scale)
        V = estimator.excited  # the same in every run: it depends on the rows alone
        unit = estimator.covariance() / np.outer(model.scale, model.scale)
        whiten = np.linalg.inv(np.linalg.cholesky(V.T @ unit @ V)) @ V.T
        white = np.array(errors) @ whiten.T
        probability = chi2.sf(RUNS * np.sum(white.mean(axis=0) ** 2), V.shape[1])
        share = np.mean(white**2)
        spread[forgetting] = np.array(errors), V, unit
        name = f"forgetting {forgetting:g}, {RUNS} runs, {V.shape[1]} excited directions"
        found += [
            Row(
                f"{name}: mean error zero, chi-square probability", ">= 0.01", f"{probability:.3f}", probability >= 0.01
            ),
            Row(f"{name}: trace of the whitened covariance / rank", "0.9 .. 1.1", f"{share:.3f}", 0.9 <= share <= 1.1),
        ]
        if fixed:
            bias = np.linalg.norm(np.mean(np.array(fixed) @ V, axis=0)) / np.linalg.norm(
                (wrong(nominal, np.random.default_rng(0)) / nominal - 1) @ V
            )
            found.append(
                Row(
                    "the same from one start for all runs: share of its error that is left (it counts like data)",
                    "reported",
                    f"{100 * bias:.2f} %",
                )
            )
    (short, V, unit), (long, _, whole) = spread[0.995], spread[1.0]

    def ratio(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.trace(np.linalg.solve(V.T @ b @ V, V.T @ a @ V)) / V.shape[1])

    measured = (
        ratio(np.cov(short.T), np.cov(long.T)) * (RUNS - V.shape[1] - 2) / (RUNS - 1)
    )  # of an inverse Wishart matrix
    stated = LAST * 0.005 / 1.995
    found.append(Row(f"covariance with forgetting 0.995 against 1 after {LAST} samples, factor: N (1 - l) / (1 + l), predicted, measured",
                     "within 10 %", f"{stated:.2f}, {ratio(unit, whole):.2f}, {measured:.2f}", abs(measured / ratio(unit, whole) - 1) <= 0.1))  # fmt: skip
    return found


def slow_drift(model: Tracked) -> list[Row]:
    """Viscous friction of motor 1 grows by a fifth within an hour; 50 Hz, each sample the mean of ten."""
    rows = rows_of(model, rich(1000))[0][::10] / NOISE * np.sqrt(10)
    k = model.labels.index("viscous(phi1)")
    slope = 0.2 * model.values[k]
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        estimator, trend = DampedLeastSquares(model.values, model.scale, 0.995**10), Trend(len(model.values), 10.0)
        for i, W in enumerate(islice(cycle(rows), 180_000)):
            truth = model.values.copy()
            truth[k] += slope * i / 180_000
            estimator.step(W, W @ truth + rng.normal(size=3))
            trend.add(i / 50, estimator.values)
        found.append(trend.slope())
    worst = max(abs(s.per_hour[k] - slope) / slope for s in found)
    told = [s.significant & (np.abs(s.per_hour) > SIGNIFICANT_DRIFT * model.scale) for s in found]
    others = sum(int(x.sum()) - int(x[k]) for x in told)
    return [
        Row("viscous friction of one motor drifts by 20 % in an hour: found in, slope within [%], other drifts said", "reported",
            f"{sum(int(x[k]) for x in told)} of 2, {100 * worst:.1f}, {others} of {2 * (len(model.values) - 1)}"),
    ]  # fmt: skip
