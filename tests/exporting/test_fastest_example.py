"""The example that optimises with exported CasADi functions: against the package's planner, inverse dynamics and simulation."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.planning.plan_file import PlanFile
from robodyn_pin.planning.task import plan_task, read_task

EXAMPLE = Path(__file__).parents[2] / "examples" / "dualv_fastest.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("fastest")
    done = subprocess.run([sys.executable, EXAMPLE, "--out", out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def test_the_straight_line_takes_as_long_as_the_planner_says(folder):
    """The planner knows nothing of CasADi, and its accelerations are not constant on intervals: it is a little faster."""
    said = json.loads((folder / "result.json").read_text())
    points = [[-0.1, -0.06, 0.0], [0.1, 0.06, 0.4]]
    spec = PlanFile.model_validate(
        {"robot": "dualv", "path": {"kind": "lines", "radius": 0, "points": points}, "margins": {"torque": 0.02},
         "without": ["velocity"], "ends": ["free", "free"], "costs": False}
    )  # fmt: skip
    planned = plan_task(read_task(spec, Path())).plan.time
    assert planned <= said["along the line"]["time [s]"] <= 1.015 * planned
    assert said["free"]["time [s]"] < 0.98 * said["along the line"]["time [s]"]


def test_the_motors_can_and_the_simulated_robot_arrives(folder):
    for motion in json.loads((folder / "result.json").read_text()).values():
        assert 0.97 < motion["largest torque over the limit"] <= 1
        assert motion["simulated, from the end pose [m or rad]"] < 3e-4
    table = np.loadtxt(folder / "motion.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[-1, 1:7], [0.1, 0.06, 0.4, 0, 0, 0], atol=1e-6)
