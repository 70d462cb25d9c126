"""What numba keeps of compiled kernels, after the package has changed."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from robodyn_pin.closures.kernel_choice import installed
from robodyn_pin.dynamics.compile_kernels import PROCESSES
from robodyn_pin.workers import cores

RUN = """
import numpy as np
from robodyn_pin.closures.kernel_choice import kernel
z = np.zeros((2, 1))
kernel("robodyn_pin.robot.stops_kernel").run(np.array([[0.0], [3.0]]), np.ones(1), z[0].copy(), z[0].copy(), z)
print(z[1, 0])
"""


USED = """
import sys
import numpy as np
import robodyn_pin as rp
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.compile_kernels import compile_kernels
from robodyn_pin.dynamics.prepared import prepared
from robodyn_pin.dynamics.strut_slopes import strut_force_derivatives

def signatures():
    modules = [module for name, module in sys.modules.items() if name.startswith("robodyn_pin") and "kernel" in name]
    functions = {f for module in modules for f in vars(module).values() if hasattr(f, "py_func")}
    by_python = [f for f in functions if not f.targetoptions.get("no_cpython_wrapper")]
    return {f.py_func.__name__: len(f.signatures) for f in by_python}

compile_kernels(processes=1)
compiled = signatures()
with forced("kernel"):
    for name in ("irb360", "dualv", "irb2400", "delta3", "irb6660"):
        robot = rp.load(name)
        c = robot.coordinates.S @ robot.home + robot.coordinates.offset + 1e-3 * np.arange(40)[:, None]
        motion = c, 0 * c, 0 * c
        rp.inverse_dynamics(robot, *motion)
        rp.regressor(robot, *motion)
        rp.constraint_forces(robot, *motion)
        rp.inverse_dynamics_derivatives(robot, *motion)
        rp.regressor_derivatives(robot, *motion)
        if robot.file.struts:
            strut_force_derivatives(robot, *motion)
        prepared(robot).inverse_dynamics(*(x[0] for x in motion))
print(compiled, [name for name, n in compiled.items() if n != 1], signatures() == compiled)
"""


LOGS = """
import sys
import numpy as np
import robodyn_pin as rp
from robodyn_pin.dynamics.compile_kernels import compiling_for_logs
from robodyn_pin.logs.filters import Lowpass

with compiling_for_logs():
    robot = rp.load("irb360")
c = robot.coordinates.S @ robot.home + robot.coordinates.offset + 1e-3 * np.arange(40)[:, None]
rp.regressor(robot, c, 0 * c, 0 * c)
rp.inverse_dynamics(robot, c, 0 * c, 0 * c)
Lowpass(order=4, cutoff=1.0).apply(c, 10.0, "")
modules = [module for name, module in sys.modules.items() if name.startswith("robodyn_pin") and "kernel" in name]
used = {f for module in modules for f in vars(module).values() if hasattr(f, "py_func") and f.signatures}
print(len(used) >= 4, [f.py_func.__name__ for f in used if sum(f.stats.cache_misses.values())])
"""


class Gone:
    """A table of a version before."""


@pytest.mark.skipif(not installed(), reason="numba is not installed")
def test_what_another_version_has_kept_is_compiled_again(tmp_path):
    def stretched() -> str:
        run = subprocess.run(
            [sys.executable, "-P", "-c", RUN], capture_output=True, text=True, check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    assert stretched() == "1.0"
    (index,) = Path(tmp_path).rglob("stops_kernel.*.nbi")
    version = pickle.loads(index.read_bytes())
    index.write_bytes(pickle.dumps(version) + pickle.dumps(Gone()))  # which nobody else can read
    os.utime(index, (0, 0))
    assert stretched() == "1.0"


@pytest.mark.skipif(not installed(), reason="numba is not installed")
@pytest.mark.parametrize("name", ["closures.kernel", "closures.kernel_placed", "dynamics.kernel_slopes"])
def test_single_samples_use_kernels_after_any_of_a_robot_has_served(name):
    code = f"""
from robodyn_pin.closures.kernel_choice import chosen, kernel
before = chosen(1)
kernel("robodyn_pin.{name}")
print(before, chosen(1))
"""
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


@pytest.mark.skipif(not installed(), reason="numba is not installed")
def test_every_kernel_is_compiled_on_request_and_none_later():
    run = subprocess.run([sys.executable, "-P", "-c", USED], capture_output=True, text=True, check=True)
    assert "'bend_samples': 1" in run.stdout
    assert run.stdout.strip().endswith("} [] True"), run.stdout


@pytest.mark.skipif(
    not installed() or cores() < PROCESSES, reason="numba is not installed, or one core compiles as it goes"
)
def test_what_logs_need_is_compiled_by_other_processes(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-P", "-c", LOGS], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.strip() == "True []", run.stdout + run.stderr
    kept = "from robodyn_pin.closures.kernel_choice import none_of_loops_are_kept; print(none_of_loops_are_kept())"
    run = subprocess.run(
        [sys.executable, "-P", "-c", kept], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.strip() == "False"  # or the next log starts the processes again
