"""From where a scene is seen: the camera, the robot that fills the view whatever its size and motion, the grid below it."""

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import umsgpack
from canvas import WORLD, at, is_inside, plays, robot_pixels, share_of_view, wait_for_animation
from two_links import TWO_LINKS, swing, two_links

from robodyn_pin.viz.scene import Scene

IRB360 = Path(__file__).parents[2] / "urdf" / "irb360.urdf"


def test_camera_looks_at_the_robot_from_the_front_right_and_above(look, tmp_path):
    scene = two_links()
    scene.display(np.zeros(2))
    scene.write_html(tmp_path / "scene.html")
    page = look((tmp_path / "scene.html").as_uri(), offline=True)
    eye, up = page.evaluate(
        f"""() => {{
            viewer.render();
            const to_robot = {WORLD}.object.matrixWorld.clone().invert();
            const camera = viewer.camera.matrixWorld.clone().premultiply(to_robot).elements;
            return [[12, 13, 14].map(i => camera[i]), [4, 5, 6].map(i => camera[i])];
        }}"""
    )
    x, y, z = np.array(eye) - [0.5, 0.0, 1.6]  # the middle of the robot: it hangs from 2.05 m down to 1.24 m
    assert x > 0.5
    assert y < -0.5
    assert np.hypot(x, y) * 0.3 < z < np.hypot(x, y) * 0.6
    assert np.array(up)[2] > 0.9 * np.linalg.norm(up)


@pytest.mark.parametrize(
    ("scale", "size"), [(1.0, (500, 500)), (1.0, (1200, 400)), (0.1, (600, 400)), (20.0, (600, 400))]
)
def test_robot_of_any_size_fills_the_view_and_stays_inside(look, tmp_path, scale, size):
    urdf = re.sub(  # a larger robot of the same shape: every length, no angle
        r'(xyz|size|radius|length)="([^"]*)"',
        lambda m: f'{m[1]}="{" ".join(str(scale * float(x)) for x in m[2].split())}"',
        TWO_LINKS,
    )
    scene = Scene(pin.buildModelFromXML(urdf), urdf)
    scene.write_html(tmp_path / "scene.html")
    mask = robot_pixels(look((tmp_path / "scene.html").as_uri(), offline=True, size=size))
    assert max(share_of_view(mask)) > 0.5
    assert is_inside(mask)


def test_view_contains_the_whole_motion_and_a_later_pose_outside_it(look, tmp_path):
    scene = two_links()
    scene.display(np.zeros(2))
    scene.display(np.array([3.0, 0.0]))  # upside down: above all that was shown before
    scene.write_html(tmp_path / "pose.html")
    t, q = swing()
    scene.animate(t, q * 4)
    scene.write_html(tmp_path / "motion.html")
    still = robot_pixels(look((tmp_path / "pose.html").as_uri(), offline=True))
    page = look((tmp_path / "motion.html").as_uri(), offline=True)
    wait_for_animation(page)
    masks = [still]
    for time_of_page in np.linspace(0, 1.9, 8):
        at(page, time_of_page)
        masks.append(robot_pixels(page))
    for mask in masks:
        assert mask.sum() > 500  # two thin links of 600 x 400 pixels
        assert is_inside(mask)


def height_of_grid(scene: Scene) -> float:
    """In the robot's world frame [m], from the commands that the page gets."""
    sent = {
        path: umsgpack.unpackb(data)["matrix"]
        for kind, path, data in scene._page.commands.values()
        if kind == "set_transform"
    }
    world, grid = (np.reshape(sent[path], (4, 4)).T for path in ("/meshcat/world", "/Grid"))
    return float((np.linalg.inv(world) @ grid)[2, 3])


@pytest.mark.parametrize("height", [-5.0, 5.0])
def test_the_grid_lies_just_below_all_that_is_shown(height):
    """Whether that is the robot, or a point far below it."""
    scene = two_links()
    scene.contain(np.array([[0.0, 0.0, height]]))
    scene.display(np.zeros(2))
    robot = 1.6 - 0.36 * np.cos(0.3) - 0.06 * np.sin(0.3)  # a corner of the box around the ball at the end
    assert min(robot, height) - 0.1 < height_of_grid(scene) < min(robot, height)


def test_irb360_fills_the_view_and_moves(look, tmp_path):
    urdf = IRB360.read_text(encoding="utf-8")
    model = pin.buildModelFromXML(urdf)
    scene = Scene(model, urdf)
    t = np.linspace(0, 2, 100)
    scene.animate(t, 0.2 * np.sin(np.outer(t, np.linspace(1, 3, model.nv))))
    scene.write_html(tmp_path / "irb360.html")
    page = look((tmp_path / "irb360.html").as_uri(), offline=True)
    assert plays(page)
    at(page, 0.0)
    assert min(share_of_view(robot_pixels(page))) > 0.25
    assert not page.problems
