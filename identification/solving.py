"""Conic programmes: solved without cvxpy's warnings, with what became of it in words."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp


SOLVERS = ("CLARABEL", "SCS")  # in the order in which they are tried


def solve(problem: cp.Problem, solver: str, **options: float) -> str:
    """The solver's status, which says what cvxpy's warnings say, or why the solver gave up; callers look at the answer."""
    import cvxpy as cp

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver, **options)
    except cp.error.SolverError as error:
        return " ".join(str(error).split())
    return str(problem.status)
