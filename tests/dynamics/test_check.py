"""How far closing the loops moves home: a length that is mistyped closes, but somewhere else."""

from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.check import check
from robodyn_pin.files import parse_yaml
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.urdf import catalogue

INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
BODY = f'<inertial><origin xyz="0.1 0 0"/><mass value="1"/>{INERTIA}</inertial>'


def hinge(name: str, parent: str, child: str, at: str) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>'
        '<axis xyz="0 0 1"/><limit lower="-4" upper="4" effort="9" velocity="9"/></joint>'
    )


def rectangle(crank: float) -> str:
    """A rectangle 0.5 wide and 0.35 high at zero: crank and follower up, the coupler across."""
    return f"""<robot name="rectangle"><link name="base"/>
    <link name="crank">{BODY}</link><link name="coupler">{BODY}</link><link name="follower">{BODY}</link>
    {hinge("j_crank", "base", "crank", "0 0 0")}{hinge("j_coupler", "crank", "coupler", f"0 {crank} 0")}
    {hinge("j_follower", "base", "follower", "0.5 0 0")}</robot>"""


FILE = """urdf: rectangle.urdf
motors: [j_crank]
closures:
  - {name: pin, kind: planar_point, between: [coupler, follower], at: [[0.5, 0, 0], [0, 0.35, 0]]}
"""


def robot(crank: float, more: str = "") -> rp.Robot:
    file = parse_yaml(FILE + more, RobotFile, "rectangle.yaml")
    return build("rectangle", file, rectangle(crank), Path("rectangle.urdf"))


def closed_by_hand(crank: float) -> tuple[float, float]:
    """Angles of coupler and follower with the crank upright: two circles meet above the base line."""
    start, foot = np.array([0.0, crank]), np.array([0.5, 0.0])
    line = foot - start
    d = np.linalg.norm(line)
    along = (0.5**2 - 0.35**2 + d**2) / (2 * d)
    pin = start + along * line / d + np.sqrt(0.5**2 - along**2) * np.array([-line[1], line[0]]) / d
    coupler, follower = pin - start, pin - foot
    return np.arctan2(coupler[1], coupler[0]), -np.arctan2(follower[0], follower[1])


def test_a_mistyped_lever_arm_shows_where_home_went():
    found = check(robot(0.45))
    coupler, follower = closed_by_hand(0.45)
    assert found.residual < 1e-12
    assert set(found.moved) == {"j_coupler", "j_follower"}
    assert found.moved["j_coupler"] == pytest.approx((0, coupler), abs=1e-9)
    assert found.moved["j_follower"] == pytest.approx((0, follower), abs=1e-9)
    assert found.shift == pytest.approx(max(abs(coupler), abs(follower)), abs=1e-9)
    right = check(robot(0.35))
    assert right.moved == {}
    assert right.shift < 1e-9


def test_a_home_that_was_found_is_no_longer_warned_of():
    coupler, follower = closed_by_hand(0.45)
    assert check(robot(0.45, f"home: {{j_coupler: {coupler:.6f}, j_follower: {follower:.6f}}}\n")).moved == {}


def test_a_coupling_moves_home_as_it_is_told_to():
    text = "urdf: r.urdf\nmotors: [j_crank, j_coupler]\nclosures:\n"
    text += "  - {name: belt, kind: coupling, of: {j_follower: 1, j_crank: -1}, offset: 0.4}\n"
    belted = build("r", parse_yaml(text, RobotFile, "r.yaml"), rectangle(0.35), Path("r.urdf"))
    assert belted.home[list(belted.model.names).index("j_follower") - 1] == pytest.approx(0.4)
    assert check(belted).moved == {}


def test_no_robot_of_the_catalogue_is_warned_of():
    for name in catalogue():
        assert check(rp.load(name)).shift < 1e-9, name


def test_check_prints_the_warning_and_stays_positive(tmp_path, robodyn):
    (tmp_path / "rectangle.urdf").write_text(rectangle(0.45))
    (tmp_path / "rectangle.yaml").write_text(FILE)
    outcome = robodyn("check", tmp_path / "rectangle.yaml")
    said = " ".join(outcome.stdout.split())
    assert outcome.returncode == 0
    for part in ("j_follower", "warning: the loops close", "(more than 0.001)", "mistyped"):
        assert part in said
    assert "warning" not in robodyn("check", "irb2400").stdout
