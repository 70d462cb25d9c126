"""Bodies that the robot file calls identical are one in the URDF, or the robot is refused."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.payload import LoadSpec, loaded, with_tool
from robodyn_pin.robot.tools import ToolFile

I = {"ixx": 0.01, "ixy": 0.001, "ixz": 0.0, "iyy": 0.02, "iyz": 0.0, "izz": 0.03}


def bar(name: str, mass: float = 1.0, com: str = "0.1 0 0.02", **inertia: float) -> str:
    numbers = " ".join(f'{key}="{value}"' for key, value in (I | inertia).items())
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/><inertia {numbers}/></inertial></link>'
        f'<joint name="j_{name}" type="revolute"><parent link="base"/><child link="{name}"/><axis xyz="0 1 0"/>'
        '<limit lower="-4" upper="4" effort="9" velocity="9"/></joint>'
    )


def load(folder, second: str, more: str = "") -> rp.Robot:
    (folder / "twins.urdf").write_text(f'<robot name="twins"><link name="base"/>{bar("a")}{second}</robot>')
    (folder / "twins.yaml").write_text(f"urdf: twins.urdf\nidentical: [[a, b]]\n{more}")
    return rp.load(folder / "twins.yaml")


@pytest.mark.parametrize(
    ("second", "part"),
    [
        (bar("b", mass=1.2), "their masses are 1 and 1.2 kg"),
        (bar("b", com="0.1 0.03 0.02"), "their centres of mass are at y = 0 and 0.03 m"),
        (bar("b", izz=0.031), "their Izz about the joint are"),
    ],
)
def test_identical_bodies_that_differ_are_refused_with_what_differs(tmp_path, second, part):
    with pytest.raises(BadFile) as caught:
        load(tmp_path, second)
    assert "'a' and 'b' are identical by the robot file" in str(caught.value)
    assert part in str(caught.value)
    load(tmp_path, second, "separate: true\n")


def test_round_off_of_written_numbers_is_no_difference(tmp_path):
    load(tmp_path, bar("b", mass=1.000001, izz=0.0300001))


def agree(robot: rp.Robot) -> bool:
    """Regressor times values is the inverse dynamics."""
    c, cd, cdd = np.random.default_rng(0).uniform(-0.2, 0.2, (3, 20, len(robot.coordinates.names)))
    state = robot.close(c, cd, cdd)
    found = state_regressor(robot, state) @ columns(robot).values
    return bool(np.allclose(found, coordinate_efforts(robot, state), atol=1e-9))


def test_a_body_that_carries_something_is_no_longer_identical(tmp_path):
    robot = load(tmp_path, bar("b"))
    tool = {
        "name": "t", "link": "b", "mass": 0.5, "centre": (0.1, 0, 0), "inertia": {"xx": 0.01, "yy": 0.01, "zz": 0.01}
    }  # fmt: skip
    carrying = loaded(robot, LoadSpec.model_validate({"link": "b", "mass": 1, "radius": 0.1}))
    for other in (carrying, with_tool(robot, ToolFile.model_validate(tool))):
        assert other.body_groups == (("a",), ("b",))
        assert agree(other)
    assert robot.body_groups == (("a", "b"),)
    assert agree(robot)
    body = "tools: {t: {link: b, mass: 0.5, centre: [0.1, 0, 0], inertia: {xx: 0.01, yy: 0.01, zz: 0.01}}}\n"
    assert agree(load(tmp_path, bar("b"), body))


def test_copies_that_are_brought_together_start_from_their_mean():
    robot = rp.load("irb360_arms")
    own, shared = columns(robot), columns(robot.separated(False))
    np.testing.assert_allclose(shared.values[:10], own.values[:30].reshape(3, 10).mean(axis=0), atol=1e-15)
