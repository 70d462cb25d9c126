"""Least squares with bounds: what friction takes in a step, as Gauss' principle asks. Plain arrays, so that kernels can compile it; numba
takes seconds for sums along an axis and for whole rows that are set, because of what it would say on another shape.

Active sets after Stark & Parker 1995 (BVLS), begun at a guess: what is free between its bounds solves least squares, who reaches a
bound on the way stays there, and who would leave its bound the right way is let go. Unknowns that depend on others which are free
stay where they are, so any number of them may be redundant; the misfit is unique.
"""

import numpy as np

TWICE = 1e-10  # of a column: what is left of it by columns that it depends on
NOTHING = 1e-13  # of misfit times column: a gradient that is round-off
CHANGES = 20  # of who is free, tried for each unknown


def bounded(K: np.ndarray, y: np.ndarray, low: np.ndarray, high: np.ndarray, p: np.ndarray, free: np.ndarray) -> int:
    """Minimise |y - p K| within low <= p <= high.

    Args:
        K: (e, n). y: (n,), becomes the misfit y - p K. p: (e,) a guess within the bounds, becomes the solution.
        free: (e,) which are guessed, and then found, to be free of their bounds and independent.

    Returns:
        How many are free.
    """
    e, n = K.shape
    Q, C, order = np.zeros((min(e, n), n)), np.zeros((e, e)), np.zeros(e, np.int64)  # free columns are C Q
    size, given, target = np.zeros(e), y.copy(), np.zeros(e)
    for i in range(e):
        size[i] = np.sqrt(K[i] @ K[i])
    scale = np.sqrt(y @ y)
    count = 0
    for _ in range(CHANGES * (e + 1)):
        count = 0
        for k in range(n):
            y[k] = given[k]
        for i in range(e):
            if free[i] and count < n:
                x = K[i].copy()
                C[count] = 0.0
                for _ in range(2):  # once leaves round-off of nearly dependent ones
                    along = Q[:count] @ x
                    x -= along @ Q[:count]
                    for k in range(count):
                        C[count, k] += along[k]
                left = np.sqrt(x @ x)
                if left > TWICE * size[i]:
                    C[count, count], order[count] = left, i
                    for k in range(n):
                        Q[count, k] = x[k] / left
                    count += 1
                    continue
            free[i] = False
            y -= p[i] * K[i]
        share, first = 1.0, -1
        along = Q[:count] @ y
        for k in range(count - 1, -1, -1):
            i = order[k]
            rest = along[k]
            for m in range(k + 1, count):
                rest -= C[m, k] * target[m]
            target[k] = rest / C[k, k]
            if target[k] > high[i] or target[k] < low[i]:
                bound = high[i] if target[k] > high[i] else low[i]
                way = target[k] - p[i]
                part = (bound - p[i]) / way if way != 0 else 0.0
                if first < 0 or part < share:
                    share, first = part, k
        for k in range(count):
            i = order[k]
            p[i] = min(max(p[i] + share * (target[k] - p[i]), low[i]), high[i])
        if first >= 0:
            i = order[first]
            p[i], free[i] = high[i] if target[first] > high[i] else low[i], False
            continue
        y -= along @ Q[:count]
        y -= (Q[:count] @ y) @ Q[:count]
        best, most = -1, 0.0
        for i in range(e):
            if free[i] or size[i] == 0 or high[i] <= low[i]:
                continue
            pull = (K[i] @ y) / size[i]
            if abs(pull) > NOTHING * scale and (p[i] < high[i] if pull > 0 else p[i] > low[i]) and abs(pull) > most:
                best, most = i, abs(pull)
        if best < 0:
            break
        free[best] = True
    return count
