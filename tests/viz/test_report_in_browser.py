"""The report page in a browser without a net: it draws, the robot moves, it fits screen and paper."""

from urllib.parse import urlparse

import numpy as np
import pytest
from conftest import new_page
from test_report import slider_result

from robodyn_pin.viz.report import write_report


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """The page in a browser without a net; errors and requests that would leave it end in `problems`."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(slider_result(), path)
    page = new_page(browser, viewport={"width": 1366, "height": 768}, offline=True)
    page.problems = problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: problems.append(request.url) if leaves(request.url) else None)
    page.goto(path.as_uri())
    assert not page.frames[1].evaluate("() => 'viewer' in window")  # not before a reader comes there
    page.evaluate("() => document.querySelector('iframe').scrollIntoView()")
    frame = page.frames[1]
    frame.wait_for_function("() => window.viewer && viewer.animator.time > 0")  # it plays by itself
    frame.evaluate("() => { viewer.animator.pause(); viewer.renderer.setSize(300, 150, false) }")  # software is slow
    yield page
    page.context.close()


def leaves(url: str) -> bool:
    return urlparse(url).scheme not in ("file", "data", "blob", "about")


def picture(frame, t: float) -> np.ndarray:
    """The canvas at time t of the motion, (height, width, 4)."""
    bytes_of_canvas = frame.evaluate(
        """t => { viewer.animator.seek(t); viewer.render();
                  const canvas = document.createElement("canvas");
                  [canvas.width, canvas.height] = [300, 150];
                  const context = canvas.getContext("2d");
                  context.drawImage(viewer.renderer.domElement, 0, 0, 300, 150);
                  return [...context.getImageData(0, 0, 300, 150).data].join(); }""",
        t,
    )
    return np.array(bytes_of_canvas.split(","), dtype=int).reshape(150, 300, 4)


def test_page_works_offline_and_the_robot_moves(opened):
    frame = opened.frames[1]
    begin, later = picture(frame, 0.0), picture(frame, 0.6)
    frame.evaluate("() => { viewer.scene_tree.find(['meshcat', 'world']).object.visible = false }")
    empty = picture(frame, 0.0)
    frame.evaluate("() => { viewer.scene_tree.find(['meshcat', 'world']).object.visible = true }")
    assert (abs(begin - empty).max(axis=2) > 25).sum() > 300  # of 300 x 150
    assert (abs(begin - later).max(axis=2) > 25).sum() > 100
    assert not opened.problems


def test_page_fits_a_phone_and_is_dark_where_the_system_is(opened):
    size = opened.viewport_size
    ground = "() => getComputedStyle(document.body).backgroundColor"
    opened.set_viewport_size({"width": 390, "height": 768})
    assert opened.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    opened.set_viewport_size(size)
    light = opened.evaluate(ground)
    opened.emulate_media(color_scheme="dark")
    assert (light, opened.evaluate(ground)) == ("rgb(255, 255, 255)", "rgb(18, 24, 30)")
    opened.emulate_media(color_scheme="light")


def test_page_fits_a_laptop_and_draws_every_plot(opened):
    assert opened.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert opened.evaluate("() => [...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)")
    sizes = [plot.bounding_box() for plot in opened.query_selector_all("figure svg")]
    # Torques and residual spectra of two motors, the mass matrix, friction of two motors, residuals over position and speed of both.
    assert len(sizes) == 2 + 2 + 1 + 2 + 2
    assert all(size["width"] > 900 and size["height"] > 200 for size in [*sizes[:2], sizes[4]])
    assert all(size["width"] > 300 and size["height"] > 150 for size in [*sizes[2:4], *sizes[5:]])
    # Nothing outside the 3D view asks for another file either.
    assert not opened.query_selector_all("link[href^=http], script[src], img[src^=http]")


def test_print_cuts_no_table(opened):
    opened.emulate_media(media="print")
    opened.set_viewport_size({"width": 695, "height": 1000})  # A4 less its margins
    opened.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = opened.evaluate(
        "() => [...document.querySelectorAll('table, figure, pre')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.textContent.slice(0, 40))"
    )
    opened.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = false)")
    opened.emulate_media(media="screen")
    opened.set_viewport_size({"width": 1366, "height": 768})
    assert wide == []


def test_print_unfolds_what_the_screen_folds(opened):
    folded = "() => document.querySelectorAll('details:not([open])').length"
    before = opened.evaluate(folded)
    opened.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    during = opened.evaluate(folded)
    opened.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert before > 0
    assert during == 0
    assert opened.evaluate(folded) == before
