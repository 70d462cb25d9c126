"""Breakaway: from the effort that rises at standstill until an axis moves, static friction and stiffness before the break.

Before it slides an axis yields like a spring (presliding); the break is where its position leaves that line.
"""

from dataclasses import dataclass

import numpy as np

BLOCK = 0.02  # [s] of which means tell where an axis stands
REST = 0.3  # [s] shorter is no standstill, and a faster rise no ramp
FLOOR = 0.05  # of the rise: what is lower is before the ramp
SOFT = (0.1, 0.5)  # of the rise: between these the stiffness is read
LAST = 0.4  # of a ramp, before the break: the line on which the effort there is read
TRIED = 60  # moments of a break
NEAR, MANY = 2.5, 10  # times the way before the break, steps of the encoder: farther is far behind it
PROFILE = 4.0  # by how much, in variances of the residuals, a moment of the break may fit worse
STILL, QUIET = 0.05, 0.1  # [s]; of `slip`: an axis that moves farther within that time does not stand
ALIKE = 10  # blocks whose means show how well a line is known
FEWEST = 3  # encoder steps of presliding that show a stiffness
SURE = 5.0  # deviations of the noise that a ramp rises by, at the least


@dataclass(frozen=True)
class Break:
    """An axis that breaks away."""

    place: float  # [rad or m] where it stood
    sign: int  # of the motion
    effort: float  # signed [N m or N] at the break
    effort_error: float  # standard deviation
    stiffness: float  # [N m/rad or N/m]; nan where the encoder does not show it
    stiffness_error: float  # standard deviation, infinite likewise
    yielding: float  # [rad or m] displacement before the break, without sign
    begin: int  # sample at which the ramp begins
    at: int  # sample of the break


def breaks(q: np.ndarray, tau: np.ndarray, rate: float, grain: float, slip: float) -> list[Break]:
    """Every ramp of q, tau (N,) that ends with a break.

    Args:
        rate: samples a second. grain: [rad or m] of the encoder. slip: [rad or m] farther is no presliding.
    """
    found, end = [], 0
    block = max(1, round(STILL * rate))
    mean = q[: len(q) // block * block].reshape(-1, block).mean(axis=1)
    quiet = np.abs(np.diff(mean)) <= QUIET * slip
    edges = np.flatnonzero(np.diff(np.concatenate([[False], quiet, [False]]).astype(int))).reshape(-1, 2)
    for begin in [(int(b) + 1) * block for b, e in edges if (e - b) * block >= REST * rate]:
        if begin < end:  # a little slip within a ramp
            continue
        away = np.flatnonzero(np.abs(q[begin:] - q[begin : begin + block].mean()) > slip)
        if not len(away):
            break
        end = begin + int(away[0]) + 1
        one = _break(q, tau, rate, grain, begin, end)
        found += [one] if one is not None else []
    return found


def _break(q: np.ndarray, tau: np.ndarray, rate: float, grain: float, begin: int, end: int) -> Break | None:
    sign = int(np.sign(q[end - 1] - q[begin]))
    effort, width = sign * tau[begin:end], max(1, round(BLOCK * rate))
    smooth = np.convolve(effort, np.ones(width) / width, "same")
    peak = int(np.argmax(smooth[width:-width])) + width if len(smooth) > 2 * width else 0
    low = float(np.min(smooth[width : peak + 1], initial=np.inf))
    rise = float(smooth[peak]) - low
    noise = float(np.std(np.diff(effort)) / np.sqrt(2))
    below = np.flatnonzero(smooth[width:peak] <= low + FLOOR * rise)
    start = width + int(below[-1]) if len(below) else width
    if not rise > SURE * noise or peak - start < REST * rate:
        return None
    x = sign * (q[begin + start : end] - q[begin + start])
    at, early, late = _leaving(x, max(grain, 1e-12))
    if at < REST * rate / 2:
        return None
    time = np.arange(at + 1) / rate
    ramp = effort[start : start + at + 1]
    last = slice(round((1 - LAST) * at), at + 1)
    line, error = _line(time[last] - time[at], ramp[last])
    doubt = abs(line[0]) * (late - early) / (2 * PROFILE**0.5 * rate)
    level = (ramp.size and line[1]) or 0.0
    soft = (smooth[start : start + at + 1] - low > SOFT[0] * (level - low)) & (
        smooth[start : start + at + 1] - low < SOFT[1] * (level - low)
    )
    stiffness, spread = _stiffness(time[soft], ramp[soft], x[: at + 1][soft], grain)
    yielding = float(x[max(0, at - width) : at + 1].mean())
    place = float(q[begin + start])
    return Break(
        place, sign, sign * level, float(np.hypot(error[1], doubt)), stiffness, spread, yielding, begin + start,
        begin + start + at,
    )  # fmt: skip


def _leaving(x: np.ndarray, grain: float) -> tuple[int, int, int]:
    """Sample at which x (N,) leaves its parabola over time for good, and between which samples that may be.

    After it, x grows with the square or the cube of the time since: a force that falls, or one that rises on.
    """
    early, late, at, tried = 0, len(x), len(x), np.array([])
    for k in range(3):
        if k == 1:  # what lies far behind the break says nothing of its moment
            far = np.flatnonzero(x > NEAR * max(float(x[max(0, at - 5) : at + 1].mean()), 0.0) + MANY * grain)
            x = x[: int(far[0]) + 1] if len(far) and far[0] > at + 5 else x
        low, high = (max(3, early), min(len(x) - 3, late)) if k == 2 else (len(x) // 5, len(x) - 3)
        step, time = max(1, len(x) // 400), np.linspace(0, 1, len(x))
        tried = np.unique(np.linspace(low, high, TRIED).astype(int))
        left = np.array([_left(time[::step], x[::step], time[i]) for i in tried])
        at = int(tried[np.argmin(left)])
        variance = max(float(left.min()) / len(time[::step]), grain**2 / 12)
        likely = tried[left <= left.min() + PROFILE * variance]
        gap = int(np.diff(tried).max(initial=1))
        early, late = int(likely[0]) - gap, int(likely[-1]) + gap
    return at, early, late


def _left(time: np.ndarray, x: np.ndarray, moment: float) -> float:
    """Squares that are left of x by a parabola, and the square and the cube of the time after a moment."""
    after = np.maximum(time - moment, 0)
    after /= max(float(after.max()), 1e-300)
    A = np.column_stack([np.ones_like(time), time, time**2, after**2, after**3])
    solution = np.linalg.lstsq(A, x, rcond=None)[0]
    return float(np.sum((A @ solution - x) ** 2))


def _line(time: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and value at zero of a line through y (n,), and their standard deviations, noise that lasts included."""
    A = np.column_stack([time, np.ones_like(time)])
    inverse = np.linalg.pinv(A)
    found = inverse @ y
    rest = y - A @ found
    scores = np.stack([part.sum(axis=1) for part in np.array_split(inverse * rest, min(ALIKE, len(y)), axis=1)])
    return found, np.sqrt((scores**2).sum(axis=0) * ALIKE / (ALIKE - 2))


def _stiffness(time: np.ndarray, effort: np.ndarray, x: np.ndarray, grain: float) -> tuple[float, float]:
    """Effort over displacement, both on lines in time so that noise of neither biases it; and its standard deviation."""
    if len(time) < 2 * ALIKE:
        return np.nan, np.inf
    force, force_error = _line(time - time.mean(), effort)
    way, way_error = _line(time - time.mean(), x)
    moved = way[0] * np.ptp(time)
    if not (moved > FEWEST * grain and force[0] > 0):
        return np.nan, np.inf
    found = force[0] / way[0]
    # Counts of the encoder are no noise: what is left of them over the ramp is at most a step.
    counts = grain / np.sqrt(12) / moved
    relative = np.sqrt((force_error[0] / force[0]) ** 2 + (way_error[0] / way[0]) ** 2 + counts**2)
    return float(found), float(found * relative)
