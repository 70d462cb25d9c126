"""How many errors of a geometry can be known: published counts and counts by hand (exact_errors.py), exact ranks, the package's slopes."""

import random
from pathlib import Path

import pytest
from exact_errors import AXES, DELTAS, LIMIT, MODULUS, PUMA, exact, floating, hexapod_rows, names_of, puma_rows, rank
from finite_field import P

import robodyn_pin as rp
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile


def test_the_rank_knows_powers_of_p():
    assert rank([[1, 2], [2, 4]]) == 1
    assert rank([[1, 2], [2, 4 + P]]) == 1
    assert rank([[1, 2], [2, 4 + P]], MODULUS) == 2
    assert rank([[P, 0, 1], [0, P, 0], [P, P, 1]], MODULUS) == 2


@pytest.mark.parametrize("name", DELTAS)
def test_a_delta_as_drawn_shows_42_errors_of_perfect_balls_and_one_with_errors_the_published_54(name):
    robot = rp.load(name)
    assert exact(name, erring=False) == 42
    assert exact(name, erring=True) == 54
    for size, expected in ((0, 42), (5, 54)):
        for around in ([], ["base", "tool"]):
            found, gap = floating(robot, [*names_of(name), *around], "pose", "platform", size)
            assert found == expected
            assert gap > 1e3


@pytest.mark.parametrize("name", DELTAS)
def test_errors_that_keep_a_delta_s_platform_level_are_the_published_24(name):
    assert exact(name, erring=False, common=True) == 24


def test_a_puma_560_shows_the_published_30_errors_of_full_poses_and_27_of_points():
    """4 R + 2 P + 6 (Everett, Driels and Mooring 1987); a point has no orientation, three less."""
    rng = random.Random(3)
    poses = [puma_rows(rng) for _ in range(15)]
    assert rank([row for rows in poses for row in rows]) == 30
    assert rank([row for rows in poses for row in rows[:3]]) == 27
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="{place}"/>'
        f'<axis xyz="{" ".join(map(str, AXES["xyz".index(name)]))}"/>{LIMIT}</joint>'
        for k, (place, name) in enumerate(PUMA)
    )
    links = "".join(f'<link name="l{k}"/>' for k in range(8))
    tool = '<joint name="tool" type="fixed"><parent link="l6"/><child link="l7"/><origin xyz="0.1 0.05 0.2"/></joint>'
    urdf = f'<robot name="puma">{links}{joints}{tool}</robot>'
    robot = build("puma", RobotFile(urdf=Path("puma.urdf")), urdf, Path("puma.urdf"))
    wanted = ["joints", "offsets", "base", "tool"]
    for kind, expected in (("pose", 30), ("point", 27)):
        found, gap = floating(robot, wanted, kind, "l7", 0)
        assert found == expected
        assert gap > 1e3


def test_a_hexapod_with_perfect_joints_shows_the_published_42():
    """Masory, Wang and Zhuang 1993; the package's slopes show as many (test_erring_robot.py)."""
    rng = random.Random(4)
    rows = [row for _ in range(12) for row in hexapod_rows(rng)]
    assert rank(rows) == 42
    assert rank(rows[:36]) == 36  # six poses say six numbers of each leg
