"""Names that stand twice in an MJCF, which MuJoCo refuses, too."""

from pathlib import Path

import mujoco
import pytest

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.robot import load

ARM = """<mujoco model="arm"><worldbody>
<body name="upper"><joint name="a" axis="0 1 0"/><inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.002"/>
<geom name="g1" size="0.01"/><geom name="g2" size="0.01"/><site name="s1"/><site name="s2"/>
<body name="lower" pos="0 0 0.2"><joint name="b" axis="0 1 0"/><inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.002"/>
</body></body></worldbody>
<actuator><motor name="m1" joint="a"/><position name="m2" joint="b"/></actuator>
<equality><joint name="e1" joint1="a" joint2="b" active="false"/><joint name="e2" joint1="a" joint2="b" active="false"/></equality></mujoco>"""


def test_names_of_their_own_are_read(tmp_path: Path):
    (tmp_path / "arm.xml").write_text(ARM)
    assert load(tmp_path / "arm.xml").motors.names == ("a", "b")


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [("geom", "g1", "g2"), ("site", "s1", "s2"), ("actuator", "m1", "m2"), ("equality", "e1", "e2"), ("body", "upper", "lower")],
)  # fmt: skip
def test_one_name_for_two_is_refused_by_name(tmp_path: Path, kind: str, one: str, other: str):
    text = ARM.replace(f'name="{other}"', f'name="{one}"')
    with pytest.raises(ValueError, match="repeated name"):
        mujoco.MjModel.from_xml_string(text)
    (tmp_path / "arm.xml").write_text(text)
    with pytest.raises(BadFile, match=f"{kind} '{one}' stands 2 times"):
        load(tmp_path / "arm.xml")
