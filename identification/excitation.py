"""Exciting motions: the truncated Fourier series inside the limits whose log carries the most information.

What is maximised is log det(W'W), W the base columns of the regressor in units of the noise: the volume of the
parameters' uncertainty. The condition number is only reported; it falls as a by-product and depends on units.

Coordinates are c(t) = centre + sum_k a_k sin(k w t) + b_k cos(k w t). With sum k a_k = 0 and sum k^2 b_k = 0 rate and
acceleration vanish at both ends of a period: the motion starts and ends at rest. The variables are these equations'
null space, so that every X is such a motion and c is linear in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import null_space, solve_triangular

from robodyn_pin.errors import ClosureFailed

SHARPNESS = 300.0  # of the smooth maximum over time: above the true one by log(samples near it) / 300, about 1 %
PENALTY = 5.0  # [nats per base parameter] for a limit that is exceeded by its own size: above what motions gain so
RADIUS, SHORTEST = 0.1, 1e-4  # trust region at the start, and where the search ends, in units of the variables
ACCEPTED, GOOD = 0.1, 0.7  # parts of the promised gain
PRECISE = 1e-3  # of the largest amplitude
NEARLY = 1e-4  # of its own length: less is left of a column beside the others where W'W is too coarse
TOLERANCE = 1e-5  # [nats per base parameter] gain that ends the search


@dataclass(frozen=True)
class Sampled:
    """What a model says of N samples; derivatives have a last axis of 3 d: along c, c', c''."""

    rows: np.ndarray  # (N, r, p) base columns of the regressor, in units of the noise
    loads: np.ndarray  # (N, m) whatever is limited, in units of its limit: allowed within -1 to 1


class Model(Protocol):
    """A robot as its excitation sees it. Both raise ClosureFailed where it cannot be."""

    def at(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Sampled:
        """Values for coordinates and their rates (N, d)."""

    def slopes(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> tuple[Sampled, Sampled]:
        """Values and derivatives."""


@dataclass(frozen=True)
class ExcitingSeries:
    """Fourier series of one period that start and end at rest; X (2 K - 1, d) are centres and null-space coordinates."""

    period: float  # [s]
    harmonics: int  # K, at least 2

    @cached_property
    def _at_rest(self) -> tuple[np.ndarray, np.ndarray]:
        k = np.arange(1.0, self.harmonics + 1)
        return null_space(k[None]), null_space(k[None] ** 2)

    @property
    def size(self) -> int:
        """Variables a coordinate."""
        return 2 * self.harmonics - 1

    def clock(self, samples: int) -> np.ndarray:
        """Times (samples,) of one period, its end left out [s]."""
        return np.arange(samples) * self.period / samples

    def basis(self, t: np.ndarray) -> np.ndarray:
        """Functions (3, N, 2 K - 1): c, c', c'' = basis @ X."""
        w = 2 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        (A, B), angle = self._at_rest, np.outer(t, w)
        s, o = np.sin(angle), np.cos(angle)
        one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
        return np.stack(
            [
                np.hstack([one, s @ A, o @ B]),
                np.hstack([zero, o * w @ A, -s * w @ B]),
                np.hstack([zero, -s * w**2 @ A, -o * w**2 @ B]),
            ]
        )

    def amplitudes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centres (d,), sine and cosine amplitudes (K, d)."""
        A, B = self._at_rest
        return X[0], A @ X[1 : self.harmonics], B @ X[self.harmonics :]

    def draw(self, rng: np.random.Generator, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """A random motion about `centre` (d,): normal amplitudes in units of `scale` (d,), all harmonics alike."""
        return np.vstack([centre, scale * rng.normal(size=(self.size - 1, len(centre)))])


def log_information(rows: np.ndarray) -> float:
    """log det(W'W) of rows (N, r, p); minus infinity where a combination of the columns vanishes."""
    W = rows.reshape(-1, rows.shape[2])
    length = np.linalg.norm(W, axis=0)
    if not length.all() or len(W) < W.shape[1]:
        return -np.inf
    W = W / length
    try:  # a tenth of the time of the triangle of W, and as good where no combination nearly vanishes
        diagonal = np.diag(np.linalg.cholesky(W.T @ W))
    except np.linalg.LinAlgError:
        diagonal = np.zeros(1)
    if diagonal.min() < NEARLY:
        diagonal = np.abs(np.diag(np.linalg.qr(W, mode="r")))
    with np.errstate(divide="ignore"):
        return float(2 * np.sum(np.log(diagonal) + np.log(length)))


def highest(loads: np.ndarray) -> float:
    """The largest load (N, m) in parts of its limit."""
    return float(np.abs(loads).max(initial=0.0))


def largest_amplitude(load: Callable[[float], np.ndarray], most: float = 1e3, first: float = 1.0) -> float:
    """The factor up to which the amplitudes of a motion can grow about its centres until a limit is met; at most `most`.

    Each load is nearly quadratic in the factor, so a parabola through the last three says where the first of them meets its limit.

    Args:
        load: loads of the motion at a factor, in parts of their limits, any shape that goes with the others; infinite where the
            robot cannot follow; at most 1 at zero, in the centres. first: factor to begin with.
    """
    points = [(0.0, load(0.0))]
    low, high, factor = 0.0, np.inf, min(first, most)
    while np.isinf(high) or high - low > PRECISE * high:
        values = load(factor)
        top = highest(values)
        low, high = (factor, high) if top <= 1 else (low, factor)
        if low == most:
            return low
        if np.isinf(top):
            factor = (low + high) / 2
            continue
        points = [*points[-2:], (factor, values)]
        end = _first_at_limit(points, low)
        if low >= (1 - PRECISE) * end:
            return low
        inside = (1 - PRECISE / 2) * end
        if not low < inside < high:
            inside = (low + high) / 2 if np.isfinite(high) else 4 * factor
        factor = min(inside, 4 * factor, most)
    return low


def _first_at_limit(points: list[tuple[float, np.ndarray]], beyond: float) -> float:
    """The least factor `beyond` one at which a load, a parabola through points (two: a line), is 1 or -1."""
    (x, _), last = points[-1], points[-1][1]
    near = np.abs(last) > highest(last) / 2
    values = [np.broadcast_to(y, last.shape)[near] for _, y in points]
    slope = (values[-1] - values[-2]) / (x - points[-2][0])
    bend = np.zeros_like(slope)
    if len(points) > 2:
        before = (values[-2] - values[-3]) / (points[-2][0] - points[-3][0])
        bend = (slope - before) / (x - points[-3][0])
        slope = slope + bend * (x - points[-2][0])
    found = np.inf
    with np.errstate(all="ignore"):
        for side in (1.0, -1.0):  # values + slope h + bend h^2 = side, both roots without cancellation
            c = values[-1] - side
            half = -(slope + np.copysign(np.sqrt(slope**2 - 4 * bend * c), slope)) / 2
            for step in (half / bend, c / half):
                ends = x + step[np.isfinite(step)]
                found = min(found, float(ends[ends > beyond].min(initial=np.inf)))
    return found


def scaled(X: np.ndarray, factor: float) -> np.ndarray:
    """The motion with all amplitudes times `factor`, centres kept."""
    return np.vstack([X[:1], factor * X[1:]])


@dataclass(frozen=True)
class Climb:
    """Where a search is, and what it has learnt on the way."""

    X: np.ndarray  # (2 K - 1, d)
    B: np.ndarray  # Hessian of the Lagrangian in the variables of the search
    radius: float = RADIUS  # of the trust region


def begun(X: np.ndarray) -> Climb:
    """A search that begins at X (2 K - 1, d), within reach."""
    return Climb(X, np.eye(X.size) * 1e-2)


def maximise(
    model: Model,
    series: ExcitingSeries,
    start: Climb,
    scale: np.ndarray,
    samples: int,
    iterations: int,
    progress: Callable[[float], None] = lambda share: None,
) -> Climb:
    """A motion with more information than that of the start, inside the limits (to about 1 %) at `samples` times.

    Sequential quadratic programming in a trust region on log det, less a penalty for what is above a smooth maximum
    over time of each limit (Fletcher's S l1 QP): a step into what the robot cannot reach only makes the region smaller.
    Gradients are exact but for the model's slopes: d log det(W'W) = 2 tr((W'W)^-1 W'dW), chained through the linear
    basis; the Hessian of the Lagrangian is Powell's damped BFGS.

    Args:
        start: as `begun`, or what an earlier call returned, to go on from. scale: (d,) typical amplitudes of the coordinates: units of the variables.
    """
    units = np.tile(scale, (series.size, 1))
    search = Search(model, series.basis(series.clock(samples)), units)
    x, B, radius = (start.X / units).ravel(), start.B, start.radius
    f, room = search.values(x)
    f_slope, room_slope = search.slopes(x)
    for k in range(iterations):
        progress(k / iterations)
        step, force, promised = _quadratic_step(B, f_slope, room, room_slope, radius)
        new_f, new_room = search.values(x + step)
        gained = _merit(f, room) - _merit(new_f, new_room)
        if not gained > ACCEPTED * promised:
            radius = np.abs(step).max() / 3
            if radius < SHORTEST:
                radius = RADIUS  # for who goes on with another model
                break
            continue
        if gained > GOOD * promised and np.abs(step).max() > 0.99 * radius:
            radius *= 2
        lagrange = f_slope - force @ room_slope
        x, f, room = x + step, new_f, new_room
        f_slope, room_slope = search.slopes(x)
        B = _damped_update(B, step, f_slope - force @ room_slope - lagrange)
        if gained < TOLERANCE and np.minimum(room, 0).min(initial=0.0) > -0.01:
            break
    return Climb(x.reshape(units.shape) * units, B, radius)


def _merit(f: float, room: np.ndarray) -> float:
    return f + PENALTY * float(-np.minimum(room, 0).sum())


def _quadratic_step(
    B: np.ndarray, f_slope: np.ndarray, room: np.ndarray, room_slope: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Step (n,) within the radius, multipliers of the limits (m,), and the gain of merit that it promises."""
    import clarabel
    from scipy.sparse import bmat, csc_matrix, eye

    m, n = room_slope.shape
    P = csc_matrix(np.triu(np.block([[B, np.zeros((n, m))], [np.zeros((m, n + m))]])))
    A = bmat([[csc_matrix(-room_slope), -eye(m)], [None, -eye(m)], [eye(n), None], [-eye(n), None]], format="csc")
    b = np.concatenate([room, np.zeros(m), np.full(2 * n, radius)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    q = np.concatenate([f_slope, np.full(m, PENALTY)])
    found = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(len(b))], settings).solve()
    step = np.clip(np.array(found.x)[:n], -radius, radius)
    model = f_slope @ step + step @ B @ step / 2
    promised = -model + _merit(0.0, room) - _merit(0.0, room + room_slope @ step)
    return step, np.array(found.z)[:m], float(promised)


def _damped_update(B: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """BFGS, the change of slope drawn towards B step so far that B stays positive definite."""
    Bs = B @ step
    curved, sBs = step @ change, step @ Bs
    share = 1.0 if curved >= 0.2 * sBs else 0.8 * sBs / (sBs - curved)
    y = share * change + (1 - share) * Bs
    return B - np.outer(Bs, Bs) / sBs + np.outer(y, y) / (step @ y)


class Search:
    """Objective, limits and their derivatives in the variables of `maximise`."""

    def __init__(self, model: Model, basis: np.ndarray, units: np.ndarray):
        self.model, self.basis, self.units = model, basis, units

    def _motion(self, x: np.ndarray) -> np.ndarray:
        return self.basis @ (x.reshape(self.units.shape) * self.units)

    def values(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus log det per parameter, infinite out of reach, and what each limit leaves (m,)."""
        try:
            sampled = self.model.at(*self._motion(x))
        except ClosureFailed:
            return np.inf, np.zeros(0)
        return -log_information(sampled.rows) / sampled.rows.shape[2], 1 - _smooth_maximum(sampled.loads)[0]

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of both: (n,) and (m, n)."""
        values, slopes = self.model.slopes(*self._motion(x))
        rows, p = values.rows, values.rows.shape[2]
        length = np.linalg.norm(rows.reshape(-1, p), axis=0)
        Q, R = np.linalg.qr(rows.reshape(-1, p) / length)
        left = solve_triangular(R, Q.T).T.reshape(rows.shape) / length  # W (W'W)^-1
        N, r, _ = rows.shape
        information = 2 * (left.reshape(N, 1, r * p) @ slopes.rows.reshape(N, r * p, -1))[:, 0]
        loads = _smooth_maximum(values.loads)[1][:, :, None] * slopes.loads
        return -self._chain(information[:, None])[0] / p, -self._chain(loads)

    def _chain(self, local: np.ndarray) -> np.ndarray:
        """Derivatives (k, n) along the variables from those along c, c', c'' (N, k, 3 d), summed over time."""
        N, k, _ = local.shape
        local = local.reshape(N, k, 3, -1).transpose(1, 2, 0, 3).reshape(k, 3 * N, -1)
        return (self.basis.reshape(3 * N, -1).T @ local * self.units).reshape(k, -1)


def _smooth_maximum(loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Over time, of |loads| (N, m): never below the true one (m,), and its derivatives along the loads (N, m)."""
    top = np.abs(loads).max(axis=0)
    up, down = (np.exp(SHARPNESS * (sign * loads - top)) for sign in (1, -1))
    total = (up + down).sum(axis=0)
    return top + np.log(total) / SHARPNESS, (up - down) / total
