"""A serial arm of seven joints, as a URDF."""

from pathlib import Path

from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

LINK = (
    '<link name="link{k}"><inertial><origin xyz="0.01 0.02 0.1"/><mass value="{mass}"/>'
    '<inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0.001" ixz="0.002" iyz="-0.001"/></inertial></link>'
    '<joint name="joint{k}" type="revolute"><parent link="{parent}"/><child link="link{k}"/>'
    '<origin xyz="0 0 0.2" rpy="{roll} 0 0"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="99" velocity="9"/></joint>'
)


def arm() -> Robot:
    """The arm, its joints the coordinates."""
    links = "".join(
        LINK.format(k=k, mass=4 - 0.4 * k, parent=f"link{k - 1}" if k > 1 else "base", roll=1.5708 * (-1) ** k)
        for k in range(1, 8)
    )
    urdf = f'<robot name="arm"><link name="base"/>{links}</robot>'
    return build("arm", RobotFile(urdf=Path("arm.urdf")), urdf, Path("arm.urdf"))
