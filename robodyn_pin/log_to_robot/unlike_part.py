"""A part of a log that is unlike the rest of it: something has changed on the way."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.logs.stored_log import AnyLog

PIECES, FEWEST = 16, 3  # of equal length; a part is several in a row, at most half of them
APART = 1.25  # times any other piece's error that each of them has at least,
WORSE = 1.5  # and times the usual error of the others that they have together, in N m and in parts of their torques
GAIN = 1.15  # times another torque that the others usually have
GAP = 0.4  # of the difference from them by which all gains of a part stand apart
LEAST = 0.1  # of its torque, error below which nobody needs to know what has changed
TINY = 1e-150  # smaller torques are none, and their inverse is still a number


def unlike_part(log: AnyLog, index: np.ndarray, left: np.ndarray, predicted: np.ndarray, names: Sequence[str]) -> str:
    """A sentence on a part of the log in which a coordinate's torque is explained far worse than in the rest, or has another gain; empty: none.

    Args:
        index: (n,) samples of the log. predicted, left: (n, d) their torques as the model has them, and what it leaves. names: (d,) of the coordinates.
    """
    if len(index) < PIECES:
        return ""
    pieces = np.array_split(np.arange(len(index)), PIECES)
    errors, sizes = (np.array([np.sqrt(np.mean(x[p] ** 2, axis=0)) for p in pieces]).T for x in (left, predicted))
    slopes = np.array([np.mean(left[p] * predicted[p], axis=0) for p in pieces]).T / np.maximum(sizes**2, TINY)
    told = []
    for e, size, slope, name in zip(errors, sizes, slopes, names, strict=True):
        if not size.any():
            continue  # nothing was predicted that could have changed
        relative = e / np.maximum(size, TINY)
        for part in [*_worst(e), *_worst(relative)]:
            worse = min(_ratio(e, part), _ratio(relative, part))
            if worse > WORSE:
                told.append((False, worse, f"the error of {name} is {worse:.2g} times as large as", part))
        if np.sum(e**2) > LEAST**2 * np.sum(size**2):
            for part in _other_gain(1 + slope):
                gain = _ratio(1 + slope, part)
                if (far := max(gain, 1 / gain)) > GAIN:
                    told.append((True, far, f"the torque of {name} is {gain:.2g} times that", part))
    if not told:
        return ""
    *_, text, part = max(told, key=lambda each: each[:2])  # a gain says more than an error
    ends = (index[pieces[part[0]][0]], index[pieces[part[-1]][-1]])
    first, last = (float(log.section(i, i + 1).t[0]) for i in map(int, ends))
    return (
        f"{log.name}: from about t = {first:.3g} to {last:.3g} s {text} in the rest of the fitted samples: has something changed (a gain, a "
        "load, friction)? With 'rows' the run file leaves a part out"
    )


def _worst(errors: np.ndarray) -> list[list[int]]:
    """Pieces in a row whose errors (PIECES,) all stand apart from those of the others."""
    order, found = np.argsort(-errors), []
    for many in range(FEWEST, PIECES // 2 + 1):
        part = sorted(order[:many].tolist())
        if part[-1] - part[0] + 1 == many and errors[order[many - 1]] > APART * errors[order[many]]:
            found.append(part)
    return found


def _other_gain(gains: np.ndarray) -> list[list[int]]:
    """Pieces in a row whose gains (PIECES,) are all larger, or all smaller, than those of the others by a good part of the difference."""
    if gains.min() <= 0:
        return []
    found = []
    for order in (np.argsort(gains), np.argsort(-gains)):
        for many in range(FEWEST, PIECES // 2 + 1):
            part, rest = sorted(order[:many].tolist()), order[many:]
            apart = abs(gains[rest[0]] - gains[order[many - 1]])
            if part[-1] - part[0] + 1 == many and apart > GAP * abs(gains[part].mean() - gains[rest].mean()):
                found.append(part)
    return found


def _ratio(values: np.ndarray, part: Sequence[int]) -> float:
    """The mean of some of the values (PIECES,) over the usual one of the others."""
    return float(np.mean(values[part]) / max(np.median(np.delete(values, part)), TINY))
