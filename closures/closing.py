"""Bringing joint positions onto the loops: Newton on [phi(q); S q + offset - c], batched, the assembly mode kept."""

from collections.abc import Callable

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.projection import solve_block
from robodyn_pin.errors import ClosureFailed

TOLERANCE = 1e-12  # [m or rad] residual that counts as closed
NEARLY = 0.01  # [m or rad] residual below which a pose that does not close is nearly closed
LAST_STEP = 1e-8  # [rad or m] after so short a Newton step the next would be below round-off
LONGEST_STEP = 0.5  # [rad or m] Newton far from a solution overshoots into other assembly modes
COARSE = 50  # every so many samples of a trajectory are closed in sequence, the others between them by spline
SMALL_MOVE = 0.2  # [rad or m] between neighbours: larger jumps are not one trajectory
LOST = 50  # strides in a row that do not close: a turn and a half, or ten metres; what lies beyond is not walked to
MOST_STRIDES = 20_000  # 4 km, or 600 turns that do not bring the mechanism back
GAP = 1e-6  # [m or rad] that a stride may leave open
MOST_TURNS = 1000  # walked turns that are kept


def close(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, start: np.ndarray, label: Callable[[int], str] = str
) -> np.ndarray:
    """Joint positions q (N, nv) with phi(q) = 0 and S q + offset = c (N, d), in the assembly mode of `start` (nv,).

    A trajectory is closed coarsely in sequence, splined, then corrected all at once; scattered states are each
    reached from `start` on a straight line of coordinates.

    Work does not grow with the distance of what is out of reach: a walk ends where the loops stay open.

    Raises:
        ClosureFailed: names the sample (through `label`), the closure and its residual.
    """
    if len(c) == 0:
        return np.empty((0, loops.model.nv))
    if loops.size == 0:
        return (c - offset) @ np.linalg.inv(S).T
    if len(c) == 1 and not (kernel_choice.chosen(1) and loops.compiled(S)):
        near = _nearby(loops, S, offset, c, start)
        if near is not None:
            return near
    scattered = np.abs(np.diff(c, axis=0)).max(initial=0.0) > SMALL_MOVE
    away, turned = _whole_turns(loops, S, offset, c if scattered else c[:1], start)
    c = c - away
    if kernel_choice.chosen(len(c)) and (compiled := loops.compiled(S)):
        q, closed = follow(compiled, S, offset, c, start, scattered)
        if closed.all():
            return q + turned  # else the other path has the last word, and names the sample
        if scattered:  # of many that are out of reach one is enough
            i = int(np.argmin(closed))
            one, _ = _walk(loops, S, offset, c[i : i + 1], start[None])
            one, phi = _newton(loops, S, offset, c[i : i + 1], one, 30)
            _check_closed(loops, S, offset, c[i : i + 1], one, phi, label, i)
    if scattered:
        q, _ = _walk(loops, S, offset, c, np.broadcast_to(start, (len(c), len(start))))
    else:
        q = _along(loops, S, offset, c, start, label)
    phi = np.empty((len(c), loops.size))
    for begin in range(0, len(c), loops.chunk):
        part = slice(begin, begin + loops.chunk)
        q[part], phi[part] = _newton(loops, S, offset, c[part], q[part], 30)
    _check_closed(loops, S, offset, c, q, phi, label)
    return q + turned


def _nearby(loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """One sample c (1, d) that a single stride reaches, closed (1, nv); None where it is further away, or does not close."""
    limit = TOLERANCE * max(1.0, float(np.abs(c).max()))
    if np.abs(S @ start + offset - c[0]).max() > SMALL_MOVE:
        return None
    q, phi = _newton(loops, S, offset, c, start[None], 30)
    away = q @ S.T + offset - c
    return q if np.abs(phi).max() <= limit and np.abs(away).max() <= limit else None


def reachable(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, start: np.ndarray, searching: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions (N, nv), and which samples of a sequence close (N,): the positions of the others mean nothing.

    Unless `searching`, what comes after a sample that does not close may be left out: it does not count as closed either.

    For searches that often ask for what is out of reach. Neighbours may lie further apart than in a trajectory that
    `close` follows; what a search ends with must be closed by `close`, which names what is wrong.
    """
    if loops.size == 0 or len(c) == 0:
        return close(loops, S, offset, c, start), np.ones(len(c), bool)
    away, turned = _whole_turns(loops, S, offset, c[:1], start)
    c = c - away
    if kernel_choice.chosen(len(c)) and (compiled := loops.compiled(S)):
        q, closed = follow(compiled, S, offset, c, start, scattered=False, searching=searching)
        return q + turned, closed
    q, closed = np.empty((len(c), len(start))), np.empty(len(c), bool)
    for begin in range(0, len(c), loops.chunk):
        part = slice(begin, begin + loops.chunk)
        with np.errstate(all="ignore"):  # far out of reach numbers may overflow; they are not kept
            q[part], _ = _walk(loops, S, offset, c[part], np.broadcast_to(start, (len(c[part]), len(start))))
            q[part], phi = _newton(loops, S, offset, c[part], q[part], 30)
            away_from = np.abs(q[part] @ S.T + offset - c[part]).max(axis=1)
            closed[part] = np.maximum(np.abs(phi).max(axis=1), away_from) <= TOLERANCE
    return q + turned, closed


def follow(
    compiled: tuple,
    S: np.ndarray,
    offset: np.ndarray,
    c: np.ndarray,
    start: np.ndarray,
    scattered: bool,
    searching: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions q (N, nv) at c (N, d) by the compiled walk, and which samples close (N,); Ctrl-C ends it on the way.

    Args:
        compiled: tree and loops, of `Loops.compiled`. scattered: each sample from `start`, not from the one before.
        searching: go on after samples that do not close.
    """
    walk = kernel_choice.kernel("robodyn_pin.closures.kernel_solve").follow_samples
    q, closed, k = np.empty((len(c), len(start))), np.zeros(len(c), bool), 0
    task = kernel_choice.ready(S, offset, c, start)
    while k < len(c):
        k = walk(*compiled, *task, scattered, searching, q, closed, k)
    return q, closed


def newton(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, q: np.ndarray, steps: int = 30
) -> np.ndarray:
    """Newton from q (N, nv), all samples at once, each step bounded."""
    return _newton(loops, S, offset, c, q, steps)[0]


def _newton(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, q: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Newton, and the residuals (N, m) that it ends with.

    Short steps end it, not a small residual: near a stretched leg a gap of 1e-13 m is ten times that angle.
    """
    q = q.copy()
    phi = np.empty((len(q), loops.size))
    active = np.arange(len(q))
    for step_number in range(steps + 1):
        at = loops.at(q[active])
        missing = at.residual()
        phi[active] = missing
        if step_number == steps:
            break
        away = c[active] - offset - q[active] @ S.T
        J = at.jacobian()
        step = solve_block(loops, J, S, -missing[..., None], away[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
        q[active] += step
        last = longest[:, 0] <= LAST_STEP
        phi[active[last]] += np.einsum(
            "nij,nj->ni", J[last], step[last]
        )  # zero, unless equations contradict each other
        active = active[~last]
        if not len(active):
            break
    return q, phi


def _whole_turns(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whole turns between `start` and c (N, d), as moves of the coordinates (N, d) and of the joints (N, nv).

    A shaft that brings the mechanism back after one turn, other joints turned whole times with it, does so after
    every turn: one turn is walked instead of all.
    """
    begin, away, turned = S @ start + offset, np.zeros_like(c), np.zeros((len(c), len(start)))
    for k, row in enumerate(S):
        turn = 2 * np.pi * row.sum()
        turns = np.rint((c[:, k] - begin[k]) / turn) if np.count_nonzero(row) == 1 else np.zeros(len(c))
        if turns.any() and (moves := _moves_of_a_turn(loops, S, offset, start, k)) is not None:
            away[:, k] = turns * turn
            turned += turns[:, None] * moves
    return away, turned


def _moves_of_a_turn(loops: Loops, S: np.ndarray, offset: np.ndarray, start: np.ndarray, k: int) -> np.ndarray | None:
    """Moves of the joints (nv,) [rad], whole turns, while the shaft of coordinate k turns once; None: it does not bring
    the mechanism back. What was walked once is kept: searches begin thousands of times at the same start."""
    key, kept = (k, S.tobytes(), offset.tobytes(), start.tobytes()), loops.turns
    if key not in kept:
        if len(kept) >= MOST_TURNS:
            kept.clear()
        kept[key] = _walk_a_turn(loops, S, offset, start, k)
    return kept[key]


def _walk_a_turn(loops: Loops, S: np.ndarray, offset: np.ndarray, start: np.ndarray, k: int) -> np.ndarray | None:
    q, begin, turn = start[None], S @ start + offset, 2 * np.pi * S[k].sum() * (np.arange(len(S)) == k)
    strides = int(np.ceil(2 * np.pi / SMALL_MOVE))  # of the joint, whatever its gear
    for stride in range(1, strides + 1):
        q, phi = _newton(loops, S, offset, begin[None] + stride / strides * turn, q, 8)
        if not np.abs(phi).max() <= TOLERANCE:
            return None
    moves = 2 * np.pi * np.rint((q[0] - start) / (2 * np.pi))
    back = not moves[loops.sliding].any() and np.abs(q[0] - start - moves).max() < LAST_STEP
    return np.asarray(moves) if back else None


def _along(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, start: np.ndarray, label: Callable[[int], str]
) -> np.ndarray:
    """First guess for a trajectory: coarse samples in sequence, a spline between them.

    Raises:
        ClosureFailed: a coarse sample is out of reach; those after it are not looked at.
    """
    from scipy.interpolate import make_interp_spline

    coarse = np.unique(np.append(np.arange(0, len(c), COARSE), len(c) - 1))
    closed = np.empty((len(coarse), len(start)))
    q = start[None]
    for k, i in enumerate(coarse):
        q, arrived = _walk(loops, S, offset, c[i : i + 1], q)
        if not arrived[0]:
            q, phi = _newton(loops, S, offset, c[i : i + 1], q, 30)
            _check_closed(loops, S, offset, c[i : i + 1], q, phi, label, int(i))
        closed[k] = q[0]
    degree = min(5, len(coarse) - 1)
    return make_interp_spline(coarse, closed, degree - (degree + 1) % 2)(np.arange(len(c))) if degree else closed


def _walk(
    loops: Loops, S: np.ndarray, offset: np.ndarray, c: np.ndarray, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From closed states q (N, nv) to the coordinates c on straight lines, in steps that keep the assembly mode.

    Returns: q (N, nv), and which samples are there (N,). The others stand where the loops have stayed open for too long.
    """
    q, begin = q.copy(), q @ S.T + offset
    strides = np.maximum(1, np.ceil(np.abs(c - begin).max(axis=1) / SMALL_MOVE))
    missed = np.where(strides > MOST_STRIDES, LOST + 1, 0)
    left, k = np.flatnonzero(missed == 0), 0
    while len(left):
        k += 1
        share = (k / strides[left])[:, None]
        q[left], phi = _newton(loops, S, offset, begin[left] + share * (c[left] - begin[left]), q[left], 8)
        missed[left] = np.where(np.abs(phi).max(axis=1) <= GAP, 0, missed[left] + 1)
        left = left[(k < strides[left]) & (missed[left] <= LOST)]
    return q, missed == 0


def _check_closed(
    loops: Loops,
    S: np.ndarray,
    offset: np.ndarray,
    c: np.ndarray,
    q: np.ndarray,
    phi: np.ndarray,
    label: Callable[[int], str],
    begin: int = 0,
) -> None:
    """Raise ClosureFailed for the worst of the samples begin.. that is not closed; phi (N, m) is the residual there."""
    residual = np.abs(phi)
    residual[~np.isfinite(residual)] = np.inf
    worst, row = divmod(int(residual.argmax()), residual.shape[1])
    away = np.abs(q @ S.T + offset - c).max(axis=1)
    limit = TOLERANCE * max(1.0, float(np.abs(c).max()))
    if residual[worst, row] <= limit and away.max() <= limit:
        return
    if residual[worst, row] <= limit:
        worst, row = int(away.argmax()), 0
    K = np.concatenate([loops.at(q[worst : worst + 1]).jacobian()[0], S], axis=0)
    smallest = np.linalg.svd(K, compute_uv=False)[-1] if np.isfinite(K).all() else 0.0
    value = float(residual[worst, row])
    # Far from closed, a stretched mechanism is singular as well, or nearly so, as round-off has it: its target is out of reach.
    singular = smallest < 1e-6 and value < NEARLY
    why = "the mechanism is singular there" if singular else "the pose is out of reach"
    raise ClosureFailed(
        f"closure {loops.row_owner[row]!r} does not close at {label(begin + worst)}: residual {value:.3g}, {why} "
        f"(smallest singular value {smallest:.2g})",
        begin + worst,
        loops.row_owner[row],
        value,
    )
