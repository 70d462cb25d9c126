"""What stiffness is used for: each against a search or a robot of its own."""

from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.elastic.deviation import compliance, deviation
from robodyn_pin.elastic.deviation_map import MapSpec, deviation_map
from robodyn_pin.elastic.path_correction import LoadedPath, LoadedPathSpec, correct_path, read_loaded_path
from robodyn_pin.elastic.pose_rules import ConeSpec
from robodyn_pin.elastic.springs import Springs, Tool, coordinates_of, pose_kinematics, springs_in
from robodyn_pin.elastic.stiffest_pose import StiffestPoseSpec, stiffest_pose
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import load

PRIOR = np.array([2.0, 3.0, 2.5, 0.8, 0.6, 0.4]) * 1e6  # [N m/rad] assumed
PATH = Path(__file__).parents[2] / "examples" / "irb6660_stiffness" / "path.csv"


@pytest.fixture(scope="module")
def springs() -> Springs:
    return springs_in(load("irb6660"), Tool(frame="flange", at=(0.2, 0, 0.3)))


def test_map_shows_the_deviation_of_the_compliance_at_the_place_and_leaves_out_what_is_out_of_reach(springs):
    spec = MapSpec(force=(0, 10, 5), region=((1.2, 2.4), (0.1, 0.1), (1.0, 1.2)), step=0.2, rpy=(0, np.pi / 2, 0))
    found = deviation_map(springs, PRIOR, "loaded", spec)
    assert found.grid.shape == (7, 1, 2)
    assert 0 < len(found.points) < found.grid.size
    assert np.isnan(found.grid[-1]).all()  # 2.4 m away
    at = pose_kinematics(springs, found.q @ springs.robot.coordinates.S.T)
    assert np.abs(at.point - found.points).max() < 1e-9
    assert np.allclose(found.deviation, compliance(at, PRIOR) @ [0, 10, 5], rtol=1e-3, atol=1e-9)


def test_stiffest_orientation_is_not_beaten_by_many_by_chance_and_keeps_its_place(springs):
    spec = StiffestPoseSpec(
        position=(1.3, 0.2, 1.0), force=(100, 200, 50), cone=ConeSpec(angle=60), random=40, starts=3
    )
    found = stiffest_pose(springs, PRIOR, "loaded", spec, seed=1)
    many = stiffest_pose(springs, PRIOR, "loaded", spec.model_copy(update={"random": 400, "starts": 1}), seed=2).random
    assert np.linalg.norm(found.deviation) < np.quantile(many, 0.01)
    at = pose_kinematics(springs, coordinates_of(springs, found.motors[None]))
    assert np.abs(at.point[0] - [1.3, 0.2, 1.0]).max() < 1e-6
    axis = at.rotation[0] @ [0.2, 0, 0.3] / np.hypot(0.2, 0.3)
    assert axis @ [1.3, 0.2, 0] / np.hypot(1.3, 0.2) >= 0.5 - 1e-6


@pytest.mark.parametrize("layout", ["motors", "joints"])
def test_corrected_path_of_a_robot_as_believed_ends_where_it_was_planned(layout):
    springs = springs_in(load("irb6660"), Tool(frame="flange", at=(0.2, 0, 0.3)), layout)
    path = read_loaded_path(PATH, springs, LoadedPathSpec(file=PATH))
    found = correct_path(springs, PRIOR, np.zeros((6, 6)), path)
    loaded = deviation(springs, coordinates_of(springs, found.q), path.force, PRIOR, "loaded").values
    ends = pose_kinematics(springs, coordinates_of(springs, found.q)).point + loaded
    assert np.abs(ends - pose_kinematics(springs, coordinates_of(springs, path.q)).point).max() < 1e-11


def test_what_is_left_goes_with_the_error_of_the_stiffness(springs):
    path = read_loaded_path(PATH, springs, LoadedPathSpec(file=PATH))
    for error in (0.02, 0.05):
        left = correct_path(springs, PRIOR, np.zeros((6, 6)), path, (1 + error) * PRIOR).remaining_share
        assert left == pytest.approx(error, rel=0.05)


def test_correction_works_with_motors_to_spare():
    springs = springs_in(load("dualv"), Tool(frame="platform", at=(0.05, 0, 0)))
    at_home = pose_kinematics(springs, (springs.robot.home @ springs.robot.coordinates.S.T)[None] + [[0.02, 0.01, 0.1]])
    k = np.array([1e4, 2e4, 1.5e4, 1e4])
    path = LoadedPath(None, at_home.angles, np.array([[20.0, 30, 0]]))
    found = correct_path(springs, k, np.zeros((4, 4)), path, k)
    assert found.remaining_share is not None
    assert found.remaining_share < 0.01  # motors work against each other a little: that moves nothing to first order


BAD = [
    (lambda s: deviation_map(s, PRIOR, "linear", MapSpec(force=(0, 0, 0), region=((1, 2), (0, 0), (1, 1)))), "map.force is zero"),
    (lambda s: deviation_map(s, PRIOR, "linear", MapSpec(force=(1, 0, 0), region=((5, 6), (0, 0), (1, 1)))), "the arm reaches from"),
    (lambda s: deviation_map(s, PRIOR, "linear", MapSpec(force=(1, 0, 0), region=((0, 9), (0, 9), (0, 9)), step=0.01)), "a wider 'step'"),
    (lambda s: stiffest_pose(s, PRIOR, "linear", StiffestPoseSpec(position=(1.3, 0, 1), force=(0, 0, 0)), 0), "task.force is zero"),
    (lambda s: stiffest_pose(s, PRIOR, "linear", StiffestPoseSpec(position=(5, 0, 1), force=(1, 0, 0), random=10), 0), "the arm reaches from"),
    (lambda s: correct_path(s, PRIOR, np.eye(6), LoadedPath(None, np.array([[0, -0.7, 1.4, 0, 0.5, 0]]), np.ones((1, 3)))), "2.1 rad, outside its limits -1.2217 to 1.2217 rad"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_wishes_are_told_in_a_sentence(springs, attempt, words):
    with pytest.raises(RobodynError) as error:
        attempt(springs)
    assert words in str(error.value)


FILES = [
    ("t,q1,q2,q3,q4,q5,q6\n", "no points below the header"),
    ("q1,q2,q3,q4,q5,q6\n0,0,0,0,0.5,0\n", "no columns fx, fy, fz"),
    ("q1,q2,q3,q4,q5,q6,fx,fy,fz\n0,0,0,0,0.5,0,0,0,0\n", "the force is zero all along"),
    ("q1,q2,q3,q4,q5\n0,0,0,0,0.5\n", "'q6'"),
]


@pytest.mark.parametrize(("text", "words"), FILES, ids=[words for _, words in FILES])
def test_bad_path_files_are_told_in_a_sentence(springs, tmp_path, text, words):
    (tmp_path / "path.csv").write_text(text)
    with pytest.raises(RobodynError) as error:
        read_loaded_path(tmp_path / "path.csv", springs, LoadedPathSpec(file=tmp_path / "path.csv"))
    assert words in str(error.value)
