"""The robot in MeshCat, looked at in a real browser: what is on the canvas counts, not what was sent."""

import html
import re
import struct

import numpy as np
import pinocchio as pin
import pytest
from canvas import WORLD, at, differs, pixels, plays, robot_pixels, share_of_view, wait_for_animation, world_matrix
from conftest import painted, wait_until
from two_links import TWO_LINKS, swing, two_links

from robodyn_pin.errors import BadFile, ShapeMismatch
from robodyn_pin.viz.scene import Scene
from robodyn_pin.viz.skeleton import drawn


def test_live_robot_is_drawn_and_moves(look):
    with two_links() as scene:
        scene.display(np.zeros(2))
        page = look(scene.url)
        mask = robot_pixels(page)
        before = pixels(page)
        scene.display(np.array([0.8, -0.5]))
        assert mask.sum() > 3000
        wait_until(page, lambda: differs(before, pixels(page)).sum() > 1000)
        assert not page.problems


def test_live_animation_plays_and_survives_a_reload(look):
    with two_links() as scene:
        page = look(scene.url)
        scene.animate(*swing())  # into a page that is open already
        assert plays(page)
        page.reload()
        assert plays(page)
        assert not page.problems


def test_display_ends_an_animation(look):
    with two_links() as scene:
        scene.animate(*swing())
        page = look(scene.url)
        wait_for_animation(page)
        scene.display(np.array([0.3, 0.2]))
        page.wait_for_function("() => viewer.animator.duration === 0")
        there = pytest.approx(elbow_placement([0.3, 0.2]), abs=1e-6)
        wait_until(page, lambda: world_matrix(page, "arm|elbow") == there)
        still = pixels(page)
        for _ in range(10):
            painted(page)
        assert not differs(still, pixels(page)).any()
        assert world_matrix(page, "arm|elbow") == there


def test_exported_page_plays_offline(look, tmp_path):
    scene = two_links(title="Two <links> & a post")
    scene.animate(*swing())
    scene.write_html(tmp_path / "scene.html")
    page = look((tmp_path / "scene.html").as_uri(), offline=True)
    assert plays(page)
    assert page.title() == page.inner_text("#title") == "Two <links> & a post"
    assert [file.name for file in tmp_path.iterdir()] == ["scene.html"]
    assert not page.problems


def test_exported_page_can_reach_no_net(look, tmp_path):
    two_links().write_html(tmp_path / "scene.html")
    page = look((tmp_path / "scene.html").as_uri())
    reached = page.evaluate("() => fetch('https://example.org').then(() => true, error => String(error))")
    assert "Failed to fetch" in reached


def test_embedded_page_plays_offline(look, tmp_path):
    scene = two_links()
    scene.animate(*swing())
    report = f'<h1>Report</h1><iframe width="700" height="500" srcdoc="{html.escape(scene.html())}"></iframe>'
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    page = look((tmp_path / "report.html").as_uri(), offline=True)
    inner = page.frames[1]
    assert robot_pixels(inner).sum() > 3000
    assert plays(inner)
    assert not page.problems


def elbow_placement(q) -> np.ndarray:
    model = pin.buildModelFromXML(TWO_LINKS)
    data = model.createData()
    pin.forwardKinematics(model, data, np.asarray(q, dtype=float))
    return data.oMi[model.getJointId("arm/elbow")].homogeneous


def test_page_shows_the_pose_of_the_motion_at_each_time(look, tmp_path):
    scene = two_links()
    t, q = swing(2001)
    scene.animate(t, q)
    scene.write_html(tmp_path / "scene.html")
    page = look((tmp_path / "scene.html").as_uri(), offline=True)
    wait_for_animation(page)
    for time_of_page in (0.0, 0.77, 1.5):
        at(page, time_of_page)
        pose = [np.interp(time_of_page + t[0], t, column) for column in q.T]
        # Straight lines between pictures h = 1/30 s apart miss at most h² a / 8: elbow turn, a = 4 rad/s²: 6e-4.
        assert world_matrix(page, "arm|elbow") == pytest.approx(elbow_placement(pose), abs=1e-3)


def test_mesh_is_drawn_in_its_urdf_scale(look, tmp_path):
    # One triangle in millimetres, as CAD writes it, 0.4 m wide and high in the URDF's scale.
    corners = [0, 0, 0, 400, 0, 0, 0, 0, 400]
    (tmp_path / "sail.stl").write_bytes(bytes(80) + struct.pack("<I12fH", 1, 0, -1, 0, *corners, 0))
    urdf = TWO_LINKS.replace(
        '<geometry><box size="0.05 0.05 0.3"/></geometry>',
        '<geometry><mesh filename="package://sail.stl" scale="0.001 0.001 0.001"/></geometry><material name="red"/>',
    )
    scene = Scene(pin.buildModelFromXML(urdf), urdf, package_dirs=[tmp_path])
    scene.write_html(tmp_path / "scene.html")
    page = look((tmp_path / "scene.html").as_uri(), offline=True)
    shape = f"{WORLD}.find(['arm|elbow', 'lower_0', '<object>']).object"
    page.evaluate("() => viewer.render()")
    width = page.evaluate(
        f"""() => {{
            const box = new MeshCat.THREE.Box3().setFromObject({shape});
            return box.max.y - box.min.y;  // the page's y is up
        }}"""
    )
    assert width == pytest.approx(0.4 * page.evaluate(f"() => {WORLD}.object.scale.x"), rel=1e-5)
    assert share_of_view(robot_pixels(page))[1] > 0.5  # a mesh taken for 400 m wide would shrink the rest to nothing
    assert not page.problems


def test_thirty_moving_bodies_for_thirty_seconds_stay_below_4_mb():
    n = 30
    links = "".join(
        f'<link name="l{i}"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>' for i in range(n + 1)
    )
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0.1 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="9" effort="9"/></joint>'
        for i in range(n)
    )
    urdf = f'<robot name="chain">{links}{joints}</robot>'
    scene = Scene(pin.buildModelFromXML(urdf), urdf)
    t = np.linspace(0, 30, 3000)
    scene.animate(t, 0.1 * np.sin(np.outer(t, np.linspace(1, 2, n))))
    assert len(scene.html()) < 4e6


def test_what_stands_still_takes_no_keyframes():
    scene = two_links()
    t, q = swing()
    scene.animate(t, q)
    both = len(scene.html())
    scene.animate(t, q * [0, 1])
    elbow = len(scene.html())
    scene.animate(t, q * [0, 0])
    none = len(scene.html())
    # 61 pictures in base64 (4/3): times of two or three tracks, a quaternion each, the elbow's position.
    assert both - none > 61 * (4 + 16 + 4 + 16 + 4 + 12) * 4 / 3
    assert elbow - none == pytest.approx(61 * (4 + 16) * 4 / 3, rel=0.2)


def test_urdf_without_visuals_is_drawn_as_a_skeleton():
    bare = re.sub("(?s)<visual>.*?</visual>", "", TWO_LINKS)
    assert "<sphere" in drawn(bare)
    assert drawn(TWO_LINKS) == TWO_LINKS
    assert len(Scene(pin.buildModelFromXML(TWO_LINKS), bare).html()) > 800_000  # the page with MeshCat in it


def test_urdf_with_a_lost_mesh_says_so():
    model = pin.buildModelFromXML(TWO_LINKS)
    with pytest.raises(BadFile, match=r"lost\.stl"):
        Scene(model, TWO_LINKS.replace('<box size="0.05 0.05 0.3"/>', '<mesh filename="package://a/lost.stl"/>'))


def test_motion_of_another_robot_or_without_a_clock_is_refused():
    scene = two_links()
    t, q = swing()
    with pytest.raises(ShapeMismatch, match="2 joints"):
        scene.animate(t, np.zeros((len(t), 3)))
    with pytest.raises(ShapeMismatch, match="2 joints"):
        scene.display(np.zeros(3))
    with pytest.raises(ShapeMismatch, match="increasing"):
        scene.animate(t[::-1], q)
    with pytest.raises(ShapeMismatch, match="a q for each"):
        scene.animate(t, q[:-1])
