"""A mesh that is not there stops neither `show` nor `check`: the rest is drawn, and where it was looked for is told."""

import struct

import numpy as np
import pytest

from robodyn_pin.robot.robot import load
from robodyn_pin.viz.meshes import drawable, located
from robodyn_pin.viz.scene import scene_of_robot

URDF = """<robot name="mast"><link name="foot"/><link name="sail"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="{}"/></geometry></visual>{}</link>
<joint name="turn" type="revolute"><parent link="foot"/><child link="sail"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
BOX = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
SAIL = bytes(80) + struct.pack("<I12fH", 1, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)


def saved(folder, mesh: str, more: str = ""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mast.urdf").write_text(URDF.format(mesh, more))
    return folder / "mast.urdf"


@pytest.mark.parametrize("more", ["", BOX])
@pytest.mark.parametrize(
    "mesh", ["package://boat/sail.stl", "sail.stl", "file:///no/sail.stl", "http://x/sail.stl", "bad.stl"]
)
def test_a_lost_mesh_stops_neither_show_nor_check(tmp_path, robodyn, mesh, more):
    path = saved(tmp_path, mesh, more)
    (tmp_path / "bad.stl").write_text("hello")
    shown = robodyn("show", path, "--export", tmp_path / "page.html")
    assert shown.returncode == 0, shown.stderr
    said = " ".join(shown.stderr.split())
    for part in (mesh, "beside the robot's file", "ROS_PACKAGE_PATH"):
        assert part in said
    assert (tmp_path / "page.html").stat().st_size > 500_000
    assert robodyn("check", path).returncode == 0
    made = robodyn("init", path, "--out", tmp_path / "boat.yaml", "--yes")
    assert made.returncode == 0, made.stderr
    assert f"not drawn: mesh {mesh}" in made.stdout


def test_meshes_are_found_beside_the_file_above_it_and_in_ros_packages(tmp_path, monkeypatch):
    beside, above, elsewhere = (
        tmp_path / "boat" / "urdf" / "beside.stl", tmp_path / "boat" / "meshes" / "sail.stl", tmp_path / "ros" / "gear" / "rope.stl"
    )  # fmt: skip
    for file in (beside, above, elsewhere):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(SAIL)
    folder = tmp_path / "boat" / "urdf"
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    assert located("beside.stl", folder) == beside
    assert located(f"file://{above}", folder) == above
    assert located("package://boat/meshes/sail.stl", folder) == above
    assert located("package://gear/rope.stl", folder) is None
    for entry in (tmp_path / "ros", tmp_path / "ros" / "gear"):  # a folder of packages, or a package
        monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{entry}")
        assert located("package://gear/rope.stl", folder) == elsewhere
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    installed = tmp_path / "install" / "share" / "chain" / "link.stl"
    installed.parent.mkdir(parents=True)
    installed.write_bytes(SAIL)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert located("package://chain/link.stl", folder) == installed
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    robot = load(saved(folder, "package://gear/rope.stl"))
    assert drawable(robot.urdf_xml, folder).lost == ()
    scene = scene_of_robot(robot, "mast")
    assert scene.remark == ""
    scene.display(np.array([0.3]))


def test_the_other_shapes_of_an_mjcf_file_are_drawn_where_a_mesh_is_lost(tmp_path):
    (
        tmp_path / "gone.xml"
    ).write_text("""<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody><body name="a">
    <joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/>
    <geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>""")
    robot = load(tmp_path / "gone.xml")
    assert "<box" in robot.urdf_xml
    assert robot.model.inertias[1].mass == 1
