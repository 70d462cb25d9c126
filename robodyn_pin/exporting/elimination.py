"""[J; S] x = right by expressions, leg by leg as closures/elimination.py: Householder steps without branches, zeros left out.

Orthogonal steps keep least squares: redundant but consistent equations are solved as they are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_pin.closures.kernel_tables import LoopTable
from robodyn_pin.exporting.symbols import X, applied, constant, objects, total

Step = tuple[int, dict[int, X], X]  # first row, entries of the Householder vector by row, scale


@dataclass(frozen=True)
class Eliminated:
    """[J; S], reduced; solves for any right side."""

    loops: LoopTable
    S: np.ndarray  # (d, nv) numbers
    blocks: list[np.ndarray]  # triangles of the closures
    steps: list[list[Step]]
    shared: np.ndarray  # triangle of the shared system
    shared_steps: list[Step]

    @property
    def pivots(self) -> list[X]:
        """What the unknowns are divided by, one after the other; one is zero where the system is singular."""
        own = [block[r, r] for block, n in zip(self.blocks, self.loops.n_own, strict=True) for r in range(n)]
        return own + [self.shared[r, r] for r in range(len(self.loops.shared))]

    def solve(self, right: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """x (nv,) with J x = right (m,) and S x = rates (d,)."""
        loops, S = self.loops, self.S
        x = objects(np.zeros(S.shape[1]))
        for joint, row in zip(loops.known, loops.known_row, strict=True):
            x[joint] = rates[row] / float(S[row, joint])
        sides, left = [], []
        for k, block in enumerate(self.blocks):
            own, joints = loops.n_own[k], _joints(loops, k)
            y = _turned(right[loops.first_row[k] + np.arange(len(block))], self.steps[k])
            known = [c for c in range(own, len(joints)) if loops.place[loops.start[k] + c] < 0]
            left += [y[r] - _product(block[r], x, joints, known) for r in range(own, len(block))]
            sides.append(y)
        for row in loops.mixed:
            left.append(rates[row] - total(float(S[row, j]) * x[j] for j in loops.known if S[row, j]))
        h = _turned(np.array(left, object), self.shared_steps)
        n = len(loops.shared)
        for r in range(n - 1, -1, -1):
            rest = _product(self.shared[r], x, loops.shared, range(r + 1, n))
            x[loops.shared[r]] = (h[r] - rest) / self.shared[r, r]
        for k, (block, y) in enumerate(zip(self.blocks, sides, strict=True)):
            joints = _joints(loops, k)
            for r in range(loops.n_own[k] - 1, -1, -1):
                rest = _product(block[r], x, joints, range(r + 1, len(joints)))
                x[joints[r]] = (y[r] - rest) / block[r, r]
        return x


def eliminate(loops: LoopTable, S: np.ndarray, blocks: list[np.ndarray]) -> Eliminated:
    """Reduce the rows `blocks` of the closures and the coordinates S (d, nv)."""
    n, triangles, steps, left = len(loops.shared), [], [], []
    for k, block in enumerate(blocks):
        A, own = block.copy(), loops.n_own[k]
        steps.append(triangular_steps(A, own))
        triangles.append(A)
        for row in A[own:]:
            onto = objects(np.zeros(n))
            for c in range(own, A.shape[1]):
                if (place := loops.place[loops.start[k] + c]) >= 0:
                    onto[place] = row[c]
            left.append(onto)
    left += [objects(S[row, loops.shared]) for row in loops.mixed]
    shared = np.array(left, object).reshape(len(left), n)
    return Eliminated(loops, S, triangles, steps, shared, triangular_steps(shared, n))


def _joints(loops: LoopTable, k: int) -> np.ndarray:
    return loops.joint[loops.start[k] : loops.start[k + 1]] - 1


def _product(row: np.ndarray, x: np.ndarray, joints: np.ndarray, columns: Any) -> X:
    return total(row[c] * x[joints[c]] for c in columns if not row[c].is_zero)


def triangular_steps(A: np.ndarray, columns: int) -> list[Step]:
    """Return the Householder steps that make the first columns of A (m, c) a triangle, in place."""
    steps: list[Step] = []
    for j in range(min(columns, len(A))):
        u = {r: A[r, j] for r in range(j, len(A)) if not A[r, j].is_zero}
        if set(u) <= {j}:
            continue
        norm = applied("sqrt", total(x * x for x in u.values()))
        top = u.get(j, constant(0.0))
        scale = 1 / (norm * (norm + applied("fabs", top)))
        pivot = -applied("copysign", norm, top) if j in u else -norm
        u[j] = top - pivot
        step = j, u, scale
        for c in range(j + 1, A.shape[1]):
            A[:, c] = _reflected(A[:, c], step)
        A[j, j] = pivot
        for r in range(j + 1, len(A)):
            A[r, j] = constant(0.0)
        steps.append(step)
    return steps


def _reflected(y: np.ndarray, step: Step) -> np.ndarray:
    _, u, scale = step
    if all(y[r].is_zero for r in u):
        return y
    along = scale * total(x * y[r] for r, x in u.items())
    y = y.copy()
    for r, x in u.items():
        y[r] = y[r] - x * along
    return y


def _turned(y: np.ndarray, steps: list[Step]) -> np.ndarray:
    for step in steps:
        y = _reflected(y, step)
    return y
