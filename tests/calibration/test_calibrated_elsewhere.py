"""A calibrated robot is a robot like any other: it is planned with, and a log of it identified, on its own geometry."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.planning.table import read_look_up

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("phi1", "phi2", "phi3", "psi")


@pytest.fixture
def folder(robodyn_here, tmp_path) -> Path:
    """The result folder of the example."""
    done = robodyn_here("calibrate", EXAMPLES / "irb360_calibration.yaml", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_motion_is_planned_within_the_limits_of_the_calibrated_robot(folder, robodyn_here):
    """Not with limits at the end effector, which need a perfect Delta and say so."""
    u_turn = yaml.safe_load((EXAMPLES / "irb360_u_turn.yaml").read_text()) | {
        "robot": "irb360_calibrated.yaml",
        "costs": False,
    }
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(u_turn))
    done = robodyn_here("plan", path, "--out", folder / "plan")
    assert done.returncode != 0
    assert "the reduced model does not fit it" in done.stderr
    path.write_text(yaml.safe_dump({key: value for key, value in u_turn.items() if key != "end_effector"}))
    done = robodyn_here("plan", path, "--out", folder / "plan")
    assert done.returncode == 0, done.stderr
    table = read_look_up(folder / "plan" / "table.csv")
    tau = np.abs(table.rows[:, [table.names.index(f"tau_phi{k}") for k in (1, 2, 3)]])
    assert 50 < tau.max() < 144


def test_a_log_of_the_calibrated_robot_is_identified(folder, robodyn_here):
    rng = np.random.default_rng(0)
    motion = {"rate": 200, "duration": 5, "period": 5, "centre": dict.fromkeys(NAMES, 0.3)} | {
        part: {name: (0.12 * rng.normal(size=5)).tolist() for name in NAMES} for part in ("sin", "cos")
    }
    (folder / "motion.yaml").write_text(yaml.safe_dump(motion))
    robot = folder / "irb360_calibrated.yaml"
    done = robodyn_here(
        "simulate", robot, "--motion", folder / "motion.yaml", "--out", folder / "log.csv", "--noise", "0.5,0.5,0.5,0.05", "--seed", 1
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = yaml.safe_load((EXAMPLES / "irb360.yaml").read_text()) | {
        "robot": robot.name, "fit": [{"file": "log.csv"}], "rows": {"filter": {"order": 4, "cutoff": 40}, "cut": 20, "every": 1}, "intervals": False,
    }  # fmt: skip
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    done = robodyn_here("identify", folder / "run.yaml", "--out", folder / "identified")
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "identified" / "result.json").read_text())
    assert result["verdict"]["accepted"] is True
    c = np.full((1, 4), 0.2)
    assert not np.array_equal(
        rp.forward_kinematics(rp.load(robot), c, "end_effector"),
        rp.forward_kinematics(rp.load("irb360"), c, "end_effector"),
    )
