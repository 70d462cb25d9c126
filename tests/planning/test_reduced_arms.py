"""Plans with strut forces of the reduced model, for more arms than three."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_reduced_delta import LIGHT, with_masses

from robodyn_pin.dynamics.multipliers import constraint_forces
from robodyn_pin.errors import BadFile
from robodyn_pin.planning.limits import planning_limits
from robodyn_pin.planning.path import through
from robodyn_pin.planning.plan_file import PlanFile
from robodyn_pin.planning.solve import fastest
from robodyn_pin.planning.table import cycle_times, motion_at
from robodyn_pin.planning.task import plan_task, read_task
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.robot_file import Limit

POINTS = np.array([[0.0, 0.0, 0.0, 0.0], [0.2, 0.05, -0.1, 0.1], [0.3, 0.3, 0.2, 0.25]])
FORCE = 40.0  # [N] less than the motors would make of it
LIMITS = {"struts": Limit(force=FORCE)}


def light_rods() -> Robot:
    robot = load("h4")
    return with_masses(robot, dict.fromkeys(robot.file.struts, LIGHT))


def planned(robot: Robot, reduced: bool):
    path = through(robot.coordinates.names, POINTS, robot.slides(robot.coordinates.S))
    return path, fastest(robot, path, planning_limits(robot, LIMITS, {}, {}), points=60, reduced=reduced)


def test_where_rods_weigh_nothing_both_models_lead_to_the_same_motion():
    """Its strut forces, by the multipliers of the motion itself, touch the limit and keep it."""
    robot = light_rods()
    (path, plan), (_, full) = planned(robot, True), planned(robot, False)
    assert plan.time == pytest.approx(full.time, abs=5e-6)  # the searches end within microseconds of the optimum
    motion = motion_at(robot, path, plan.profile, cycle_times(plan.time, 2e-3))
    inside = motion.s[:, 0] < 1
    forces = constraint_forces(robot, motion.q[inside], motion.dq[inside], motion.ddq[inside]).struts
    largest = max(np.abs(force).max() for force in forces.values())
    assert 0.95 * FORCE < largest < 1.001 * FORCE


def test_a_plan_file_asks_for_it_and_the_result_says_both(tmp_path: Path):
    settings = PlanFile.model_validate(
        {
            "robot": "h4", "path": {"kind": "through", "points": POINTS.tolist()}, "limits": {"struts": {"force": FORCE}},
            "reduced": True, "points": 60, "costs": False, "cycle": 2e-3,
        }
    )  # fmt: skip
    result = plan_task(read_task(settings, tmp_path))
    uses = {use.model: use.force for use in result.struts}
    assert uses["reduced"] == pytest.approx(FORCE, rel=0.05)
    assert uses["full"] > uses["reduced"]  # rods of 0.1 kg each have inertia across themselves, too


def test_robots_that_it_does_not_fit_are_refused(tmp_path: Path):
    settings = {"robot": "hexapod", "path": {"kind": "through", "points": [[0.0] * 6, [0.1] * 6]}, "reduced": True}
    with pytest.raises(BadFile, match="'reduced' forces come from the reduced model: robot 'hexapod'"):
        read_task(PlanFile.model_validate(settings), tmp_path)
    settings |= {"robot": "h4", "path": {"kind": "through", "points": POINTS.tolist()}}
    only = re.escape("'end_effector' limits come from the reduced model of Deltas: robot 'h4'")
    with pytest.raises(BadFile, match=only):
        read_task(PlanFile.model_validate(settings | {"end_effector": {"force": 10}}), tmp_path)
