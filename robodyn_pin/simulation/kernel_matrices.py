"""Small systems of equations, compiled: what `np.linalg` has takes seconds to compile, for what it would say on other shapes."""

import numpy as np

from robodyn_pin.closures.kernel_options import inner


@inner
def factor(A, L):
    """Fill L (n, n) with the lower triangle of A = L L' (n, n), which may be L itself; whether A is positive definite."""
    for r in range(len(A)):
        for s in range(r + 1):
            L[r, s] = A[r, s]
            for t in range(s):
                L[r, s] -= L[r, t] * L[s, t]
            if s < r:
                L[r, s] /= L[s, s]
        if not L[r, r] > 0:
            return False
        L[r, r] = np.sqrt(L[r, r])
    return True


@inner
def forward(L, x):
    for k in range(len(x)):
        for j in range(k):
            x[k] -= L[k, j] * x[j]
        x[k] /= L[k, k]


@inner
def backward(L, x):
    for k in range(len(x) - 1, -1, -1):
        for j in range(k + 1, len(x)):
            x[k] -= L[j, k] * x[j]
        x[k] /= L[k, k]


@inner
def solve_transposed(A, x):
    """Solve A' y = x, y into x (n,), by elimination with pivots; A (n, n) is used up. Not finite where A is singular."""
    n = len(x)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[k, i]) > abs(A[k, best]):
                best = i
        for j in range(n):
            A[j, k], A[j, best] = A[j, best], A[j, k]
        x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            share = A[k, i] / A[k, k]
            x[i] -= share * x[k]
            for j in range(k, n):
                A[j, i] -= share * A[j, k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= A[j, k] * x[j]
        x[k] /= A[k, k]
