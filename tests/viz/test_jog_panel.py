"""Sliders in a real browser: one is moved, the robot follows, the loops stay closed."""

import io
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import leaves, new_page, wait_until
from test_jog import gap

from robodyn_pin.errors import RobodynError
from robodyn_pin.poses.jog import static_loads
from robodyn_pin.robot.robot import load

SIZE = {"width": 840, "height": 620}
CANVAS = {"x": 0, "y": 150, "width": 440, "height": 470}  # without the panel and the browser's notice of slow WebGL


def panel_of(*arguments, **options):
    """The panel, where its extra is installed."""
    pytest.importorskip("viser", reason="viser is not installed")
    from robodyn_pin.viz import jog_panel as panel

    return panel.Panel(*arguments, **options)


@pytest.fixture
def opened(browser):
    """A panel and its page; errors and requests that leave the machine end in `page.problems`."""
    things = []

    def open_page(robot):
        panel = panel_of(robot, port=0)
        page = new_page(browser, viewport=SIZE)
        things.extend([page.context, panel])
        page.problems = problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if leaves(request.url) else None)
        page.goto(panel.url)
        page.wait_for_selector("#residual")
        return panel, page

    yield open_page
    for thing in things:
        thing.close()


def drag(page, number, pixels):
    """Take a slider's thumb and pull it along, as a hand does."""
    box = page.get_by_role("slider").nth(number).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 9):
        page.mouse.move(x + pixels * k / 8, y)
    page.mouse.up()


def drag_until(page, number, pixels, true):
    """Drag, and drag again where a page that is still busy has missed the hand."""
    tries = iter(range(100_000))

    def pulled():
        if next(tries) % 400 == 0:
            drag(page, number, pixels)
        return true()

    wait_until(page, pulled)


def settled(page) -> np.ndarray:
    """A picture that does not change any more: shadows and floor fade in."""
    pictures = [picture(page)]

    def same():
        pictures.append(picture(page))
        return (abs(pictures[-1] - pictures[-2]).max(axis=2) > 2).sum() == 0

    wait_until(page, same)
    return pictures[-1]


def picture(page) -> np.ndarray:
    Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=CANVAS))).convert("RGB")).astype(int)


def shown_coordinates(page) -> list[float]:
    return [float(x) for x in page.locator("[data-c]").get_attribute("data-c").split()]


def test_a_slider_is_moved_the_robot_follows_the_loop_stays_closed(opened):
    panel, page = opened(load("delta3"))
    before, start = settled(page), panel.pose.c.copy()
    drag_until(page, 0, 45, lambda: panel.pose.c[0] > start[0] + 0.3)
    wait_until(page, lambda: shown_coordinates(page) == pytest.approx(panel.pose.c, abs=1e-6))
    c = panel.pose.c
    assert c[1:] == pytest.approx(start[1:])
    assert panel.robot.coordinates.S @ panel.pose.state.q[0] == pytest.approx(c, abs=1e-9)
    assert gap(panel.robot, panel.pose.state.q[0]) < 1e-9
    assert shown_coordinates(page) == pytest.approx(c, abs=1e-6)
    wait_until(page, lambda: (abs(picture(page) - before).max(axis=2) > 25).sum() > 1000)
    page.get_by_role("button", name="Home").click()
    wait_until(page, lambda: np.array_equal(panel.pose.c, start))
    assert not page.problems


def test_out_of_reach_the_robot_stays_and_the_panel_names_the_closure(opened):
    panel, page = opened(load("delta3").with_coordinates(["x", "y", "z"]))
    # To the end, 0.4 m, in one step: where a dragged robot stops depends on which moves of the hand a busy page sees.
    page.get_by_role("slider").nth(0).press("End")
    page.wait_for_selector("#refusal")
    assert "ball_" in page.inner_text("#refusal") or "singularity" in page.inner_text("#refusal")
    assert abs(panel.pose.c[0]) < 1e-12
    assert gap(panel.robot, panel.pose.state.q[0]) < 1e-9
    drag_until(page, 1, 20, lambda: panel.pose.c[1] > 0.02)  # another slider: from where the robot stands
    page.wait_for_selector("#refusal", state="detached")
    assert not page.problems


def test_forces_at_rest_are_shown_on_request(opened):
    panel, page = opened(load("irb360"))
    assert not page.locator("#struts").is_visible()
    box = page.get_by_role("checkbox")

    def ticked() -> bool:
        if not box.is_checked():  # a busy page loses a click, or shows it later
            box.click(force=True)
            page.wait_for_timeout(1000)
        return box.is_checked()

    wait_until(page, ticked)
    page.wait_for_selector("#struts")
    expected = static_loads(panel.robot, panel.pose).struts.upper[0]
    shown = [row.split("\t")[1] for row in page.inner_text("#struts").splitlines()[1:]]
    assert [float(x) for x in shown] == pytest.approx(expected, abs=0.051)
    assert "phi1" in page.inner_text("#torques")


@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400", "irb6660", "delta3"])
def test_every_robot_opens_with_all_its_coordinates(name):
    robot = load(name)
    with panel_of(robot, port=0) as panel:
        step = 0.02 * np.eye(len(panel.pose.c))[0]
        panel.move(panel.pose.c + step)
        for choice in panel._choices:
            panel._change_coordinates(choice)
            assert panel.robot.coordinates.names == tuple(choice.split(", "))
            assert gap(robot, panel.pose.state.q[0]) < 1e-9


def test_robot_of_meshes_and_without_inertia_opens_too(tmp_path):
    corners = [0, 0, 0, 400, 0, 0, 0, 0, 400]  # one triangle in millimetres, as CAD writes it
    (tmp_path / "sail.stl").write_bytes(bytes(80) + struct.pack("<I12fH", 1, 0, -1, 0, *corners, 0))
    (tmp_path / "mast.urdf").write_text(
        '<robot name="mast"><link name="foot"/><link name="sail"><visual><geometry>'
        '<mesh filename="package://sail.stl" scale="0.001 0.001 0.001"/></geometry></visual></link>'
        '<joint name="turn" type="revolute"><parent link="foot"/><child link="sail"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
    )
    with panel_of(load(tmp_path / "mast.urdf"), port=0) as panel:
        (sail,) = panel._robot_scene._bodies[1]
        assert np.ptp(sail.vertices, axis=0) == pytest.approx([0.4, 0, 0.4])
        panel.move(np.array([0.5]))
        assert panel._robot_scene._joints[1].wxyz == pytest.approx([np.cos(0.25), 0, 0, np.sin(0.25)])


def test_a_taken_port_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(RobodynError, match="is taken"):
            panel_of(load("delta3"), port=taken.getsockname()[1])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_ctrl_c_ends_the_command_and_its_server():
    port = free_port()
    program = Path(sys.executable).with_name("robodyn")
    command = subprocess.Popen(
        [program, "move", "delta3", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"BROWSER": "true"},
    )  # fmt: skip
    assert command.stdout.readline() == f"delta3 at http://127.0.0.1:{port} (Ctrl-C ends)\n"
    command.send_signal(signal.SIGINT)
    out, err = command.communicate()
    assert (command.returncode, out, err) == (0, "", "")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_without_viser_one_sentence_names_the_command(tmp_path):
    (tmp_path / "viser.py").write_text("raise ModuleNotFoundError(\"No module named 'viser'\", name='viser')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    program = Path(sys.executable).with_name("robodyn")
    ended = subprocess.run([program, "move", "delta3"], capture_output=True, text=True, env=environment)
    assert ended.returncode == 1
    assert ended.stderr.strip() == "robodyn: move needs viser: pip install 'robodyn_pin[panel]'"


def test_move_and_motion_exclude_each_other(robodyn):
    ended = robodyn("show", "delta3", "--move", "--export", "x.html")
    assert ended.returncode == 1
    assert "leave --motion, --forces and --export out" in ended.stderr
