"""Tables that kernels hand on by where they lie."""

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import float64, njit

from robodyn_pin.closures.kernel_linking import OptimizedOnce, Sequential, Uncollected
from robodyn_pin.closures.kernel_options import allocating, compiled, inlined, inner, sequential
from robodyn_pin.closures.kernel_references import by_reference, still_needed

ROOT = Path(__file__).parents[2]
KERNELS = sorted([*(ROOT / "closures").glob("kernel*.py"), *(ROOT / "robodyn_pin").glob("*/kernel*.py")])

USED = """
import numpy as np
import robodyn_pin as rp
from numba.core.runtime import rtsys
from robodyn_pin.simulation.kernel_step import hold
from robodyn_pin.simulation.machine import machine_of

robot = rp.load("irb360")
home = robot.coordinates.S @ robot.home + robot.coordinates.offset
c = home + 0.1 * np.sin(np.linspace(0, 3, 40)[:, None] * np.arange(1, 5))
machine, still = machine_of(robot, np.zeros((0, robot.model.nv))), np.zeros(4)
for _ in range(3):
    rp.regressor(robot, c, 0 * c, 0 * c)
    rp.inverse_dynamics(robot, c, 0 * c, 0 * c)
    fine, _ = hold(machine, 0, robot.home.copy(), home.copy(), still.copy(), np.zeros(0), 1e-4, 3, still, 4)
    counts = rtsys.get_allocation_stats()
    print(fine, counts.mi_alloc > 20, counts.mi_alloc - counts.mi_free)
"""


class Spring(NamedTuple):
    stiffness: np.ndarray
    used: bool


class Pair(NamedTuple):
    count: int
    first: Spring
    lengths: np.ndarray


@inner
def force(pair, k):
    pair.lengths[k] += 1.0
    return pair.count * pair.first.stiffness[k] * pair.lengths[k] if pair.first.used else -1.0


@compiled
def forces(pair, k):
    there = by_reference(pair)
    return force(there, k), force(there, k)


@allocating
def new_pair(n):
    return Pair(2, Spring(np.full(n, 3.0), True), np.zeros(n))


@compiled
def forces_of_own(n):
    own = new_pair(n)
    there, total = by_reference(own), 0.0
    for k in range(n):
        other = np.full(n, 1e9)  # would take the place of what is forgotten
        total += force(there, k) + 0 * other[k]
    still_needed(own)
    return total


@allocating
def root(M):
    return np.linalg.cholesky(M)


@compiled
def first_of_root(M):
    return root(M)[0, 0]


@pytest.mark.parametrize(("used", "expected"), [(True, (18.0, 24.0)), (False, (-1.0, -1.0))])
def test_fields_are_read_and_written_where_they_lie(used, expected):
    pair = Pair(3, Spring(np.array([5.0, 2.0]), used), np.array([0.0, 2.0]))
    assert forces(pair, 1) == expected
    assert list(pair.lengths) == [0.0, 4.0]


def test_a_workspace_lives_while_it_is_kept():
    assert forces_of_own(200) == 200 * 2 * 3.0


def called(node, name):
    return [x for x in ast.walk(node) if isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == name]


def names_in(calls):
    return {x.id for call in calls for given in call.args for x in ast.walk(given) if isinstance(x, ast.Name)}


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_what_a_kernel_makes_and_refers_to_is_kept_to_its_end(path):
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        own = names_in(called(function, "by_reference")) - {x.arg for x in function.args.args}
        if not own:
            continue
        keeping = [x for x in function.body if called(x, "still_needed")]
        assert names_in([call for x in keeping for call in called(x, "still_needed")]) == own, function.name
        ends = [x.lineno for x in ast.walk(function) if isinstance(x, ast.Return)]
        last = [x for x in function.body if not isinstance(x, ast.Return)][-1]
        assert keeping == [last], function.name
        assert all(line > last.lineno for line in ends), function.name


def test_kernels_are_found():
    assert {"kernel_solve", "kernel_step", "kernel_slopes"} <= {path.stem for path in KERNELS}


def test_kernels_give_back_what_they_take():
    counting = os.environ | {"NUMBA_NRT_STATS": "1"}
    run = subprocess.run([sys.executable, "-P", "-c", USED], capture_output=True, text=True, check=True, env=counting)
    assert run.stdout.split() == ["True", "True", "0"] * 3


def test_an_error_inside_reaches_python():
    assert first_of_root(np.diag([4.0, 1.0])) == 2.0
    with pytest.raises(np.linalg.LinAlgError):
        first_of_root(np.diag([1.0, -1.0]))


@pytest.mark.parametrize(
    ("how", "alone"), [(compiled, True), (sequential, True), (allocating, False), (inner, False), (inlined, False)]
)
def test_only_what_python_calls_is_machine_code_on_its_own(how, alone):
    function = how(lambda x: 2 * x)
    function.compile((float64,))
    (found,) = function.overloads.values()
    assert found.library.codegen._engine.is_symbol_defined(found.fndesc.mangled_name) == alone


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize(("pipeline", "once"), [(Uncollected, False), (Sequential, True)])
def test_compiling_searches_for_no_garbage_and_leaves_python_as_it_is(pipeline, once, collecting):
    searched = []

    def search(phase, about):
        searched.append(phase)

    function = njit(pipeline_class=pipeline)(lambda x: 2 * x)
    (gc.enable if collecting else gc.disable)()
    gc.callbacks.append(search)
    try:
        function.compile((float64,))
        assert gc.isenabled() == collecting
    finally:
        gc.callbacks.remove(search)
        gc.enable()
    assert len(searched) <= 2  # before or after
    (found,) = function.overloads.values()
    assert isinstance(found.library, OptimizedOnce) == once
    assert function(1.5) == 3.0
