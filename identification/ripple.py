"""What a servo's ripple, or sticking, does to a motion that is even on average: whether its force is that of one speed."""

from collections.abc import Sequence

import numpy as np

SHORT, COUNTS = 2, 8  # samples, encoder steps over which the own speed of a moment is judged
STUCK_FOR, STUCK_COUNTS = 0.01, 2  # [s], encoder steps, likewise, of what stands still
QUANTILES = 24
SLOW, STICKING = 0.2, 1 / 3  # of its mean speed; of the time: slower for longer sticks and slips
BACK = 3e-4  # of the time: turned round for less, the motion is even enough
SURE, ALIKE = 3.0, 10.0  # standard errors; samples that a ripple makes alike
FOLLOWS = 0.2  # of half the difference of both directions: what follows the turns by less is no friction


def sticks(q: np.ndarray, rate: float, grain: float) -> bool:
    """Whether q (N,) stands still again and again on its way: it sticks and slips; `grain` is the encoder's step."""
    speed = own_speed(q, rate, grain * STUCK_COUNTS / COUNTS, round(STUCK_FOR * rate))
    return bool(np.mean(np.abs(speed) < SLOW * abs(np.mean(speed))) > STICKING)


def turned_round(q: np.ndarray, rate: float, grain: float) -> bool:
    """Whether ripple turns q (N,) round on its way, again and again."""
    return bool(np.mean(own_speed(q, rate, grain) * (q[-1] - q[0]) < 0) > BACK)


def own_speed(q: np.ndarray, rate: float, grain: float, shortest: int = 0) -> np.ndarray:
    """The speed (N - h,) [rad/s or m/s] of q (N,) over the shortest time h that its encoder's grain lets judge."""
    mean = abs(q[-1] - q[0]) / max(len(q) - 1, 1)
    h = max(SHORT, shortest, int(np.ceil(COUNTS * grain / mean)) if mean > 0 else 0)
    h = min(h + h % 2, len(q) - 1)
    return (q[h:] - q[:-h]) * rate / h


def speed_quantiles(q: np.ndarray, rate: float, grain: float) -> np.ndarray:
    """The own speeds of q (N,) as so many quantiles, of the mean that q has."""
    speed = own_speed(q, rate, grain)
    found = np.quantile(speed, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    slope = float(np.polyfit(np.arange(len(q)) / rate, q - q[0], 1)[0])
    return found + (slope - found.mean())


def force_turns(stretches: Sequence[tuple[np.ndarray, np.ndarray]], rate: float, grain: float) -> bool:
    """Whether force turns with a motion that its ripple turns round: then it is no ripple of the reading alone.

    Force = friction sign(speed) + damping speed + inertia acceleration, about its mean over each stretch.

    Args:
        stretches: positions (N,) and efforts (N,) of each that is turned round; none: true, as nothing speaks against it.
    """
    if not stretches:
        return True
    rows, forces = [], []
    for q, tau in stretches:
        speed = own_speed(q, rate, grain)
        aside = (len(q) - len(speed)) // 2
        columns = np.column_stack([np.sign(speed), speed, np.gradient(speed) * rate])
        force = tau[aside : aside + len(speed)]
        rows.append(columns - columns.mean(axis=0))
        forces.append(force - force.mean())
    A, y = np.concatenate(rows), np.concatenate(forces)
    x, *_ = np.linalg.lstsq(A, y, rcond=None)
    variance = np.mean((y - A @ x) ** 2) * np.linalg.pinv(A.T @ A)[0, 0] * ALIKE
    means = {way: [tau.mean() for q, tau in stretches if (q[-1] - q[0]) * way > 0] for way in (1, -1)}
    level = (np.median(means[1]) - np.median(means[-1])) / 2 if means[1] and means[-1] else 0.0
    return bool(x[0] > max(SURE * np.sqrt(variance), FOLLOWS * level))
