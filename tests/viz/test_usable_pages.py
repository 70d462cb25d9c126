"""Pages for everybody: what axe-core finds, what a keyboard reaches, values and zoom, and legends."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from conftest import new_page
from matplotlib.figure import Figure
from test_report import slider, slider_result

from robodyn_pin.viz.motion_scene import scene_of
from robodyn_pin.viz.overlays import ColourBar
from robodyn_pin.viz.plot_data import with_numbers
from robodyn_pin.viz.plots import choice_figure, svg
from robodyn_pin.viz.report import write_report
from robodyn_pin.viz.report_tables import short_name
from robodyn_pin.viz.scene import Scene
from robodyn_pin.viz.sheet import Section, section_page

SIZES = {"laptop": (1366, 768), "tablet": (768, 1024), "phone": (390, 844)}
SERIOUS = """async () => (await axe.run(document, {iframes: false, resultTypes: ["violations"]})).violations
  .filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " + v.nodes[0].html)"""
COVERED = """() => [...document.querySelectorAll("figure > .zoom")].flatMap(button => {
  const over = button.getBoundingClientRect();
  return [...button.parentElement.querySelectorAll("svg text, figcaption")].filter(text => { const r = text.getBoundingClientRect();
    return r.left < over.right && over.left < r.right && r.top < over.bottom && over.top < r.bottom }).map(text => text.textContent) })"""
DRAWN = """() => [...Bokeh.documents[0].all_models].filter(m => m.type === "ColumnDataSource").map(m =>
  ["x", "y"].map(axis => [...(m.data.get ? m.data.get(axis) : m.data[axis])]))"""
TIME = "() => viewer.animator.actions[0].time"


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    robot = slider()
    write_report(slider_result(), folder / "report.html")
    scene_of(robot, None, None).write_html(folder / "home.html")
    moving = Scene(robot.model, robot.urdf_xml)
    moving.animate(np.linspace(0, 2, 21), np.linspace(0, 1, 42).reshape(21, 2))
    moving.bar = ColourBar("deviation [µm]", ("12 µm", "345 µm"), ("#440154", "#fde725"))
    moving.marks = [("#0073b3", "border of the region")]
    moving.write_html(folder / "motion.html")
    figure = choice_figure([1.0, 2.0], [3.0, 4.0], 1.0, "cutoff [Hz]")
    drawn = with_numbers(svg(figure, "choice"), figure)
    section = Section("Robots", ["Worst first."], [{"robot": "a", "chance": "0.1"}], [drawn])
    sheet = section_page("fleet", "SIMULATED", True, "No robot differs", ("a reason",), [section])
    (folder / "sheet.html").write_text(sheet, encoding="utf-8")
    return folder


def open_page(browser, path: Path, size: str = "laptop", **settings):
    width, height = SIZES[size]
    page = new_page(browser, viewport={"width": width, "height": height}, offline=True, **settings)
    page.problems = problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["report", "home", "motion", "sheet"])
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_screen(browser, pages, name, size, scheme):
    page = open_page(browser, pages / f"{name}.html", size, color_scheme=scheme)
    page.evaluate(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    assert page.evaluate(SERIOUS) == []
    assert page.locator("main").count() == 1
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(COVERED) == []
    assert not page.problems
    page.context.close()


@pytest.mark.parametrize("size", SIZES)
def test_the_robot_ends_above_the_player(browser, tmp_path, size):
    robot = slider()
    with Scene(robot.model, robot.urdf_xml) as moving:
        moving.animate(np.linspace(0, 2, 21), np.linspace(0, 1, 42).reshape(21, 2))
        moving.write_html(tmp_path / "motion.html")
    page = open_page(browser, tmp_path / "motion.html", size)
    drawn, player = (page.locator(x).bounding_box() for x in ("#meshcat-pane canvas", "#player"))
    assert drawn["y"] + drawn["height"] <= player["y"]
    page.context.close()


def test_a_motion_is_played_by_space_and_stepped_by_arrows(browser, pages):
    page = open_page(browser, pages / "motion.html")
    page.wait_for_function("() => viewer.animator.time > 0")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('#player button').textContent.includes('Play')")
    still = page.evaluate(TIME)
    for key, step in (("ArrowRight", 0.02), ("ArrowLeft", -0.02)):  # hundredths of 2 s
        at = 1.0
        page.evaluate("() => player.go(1)")
        page.wait_for_function("() => Number(document.querySelector('#player input').value) === 1")
        page.keyboard.press(key)
        assert page.evaluate(TIME) == pytest.approx(at + step, abs=1e-6)
    page.wait_for_function("() => document.querySelector('#player span').textContent === '0.98 s of 2.00 s'")
    page.keyboard.press("Space")
    page.wait_for_function("() => viewer.animator.playing")
    assert 0 < still < 2
    assert page.get_by_role("slider", name="Time [s]").count() == 1
    page.context.close()


def test_a_legend_says_what_colours_mean_and_how_wide_the_grid_is(browser, pages):
    page = open_page(browser, pages / "motion.html")
    said = page.inner_text("#legend")
    assert all(
        x in said for x in ("border of the region", "deviation [µm]", "12 µm", "345 µm", "Squares of the grid: ")
    )
    page.context.close()


def test_pictures_show_values_and_zoom_by_keyboard_and_go_back(browser, pages):
    page = open_page(browser, pages / "report.html")
    button = page.get_by_role("button", name="Values and zoom").first
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.Bokeh && Bokeh.documents.length === 1")
    page.wait_for_function("() => document.querySelector('.live > div')?.getBoundingClientRect().height > 150")
    said = page.evaluate("() => JSON.parse(document.querySelector('figure script').textContent).panels[0].lines[0]")
    drawn = page.evaluate(DRAWN)
    assert said["label"] == "measured"
    assert [said["x"], said["y"]] in drawn  # the measured torque, as the figure has it
    hovers = "() => [...Bokeh.documents[0].all_models].filter(m => m.type === 'HoverTool').length"
    assert page.evaluate(hovers) >= len(drawn)
    assert not page.problems
    page.keyboard.press("Enter")
    assert page.locator("figure.zoomed").count() == 0
    page.context.close()


@pytest.mark.parametrize(
    ("label", "short"),
    [
        ("viscous(swing)", "viscous(swing)"), ("mz(arm_1=arm_2)", "mz(arm_1, …)"), ("Izz(a) - 0.5 m(b)", "Izz(a) + …"),
        ("Iyy(a=b) + 0.5 m(c)", "Iyy(a, …) + …"),
    ],
)  # fmt: skip
def test_base_parameters_have_short_names(label, short):
    assert short_name(label) == short


STOPS = """() => { let count = 0; return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, iframe, [tabindex]")]
  .filter(e => e.tabIndex >= 0 && !e.disabled && !e.closest("[inert]") && e.checkVisibility() && e.getClientRects().length)
  .map(e => e.dataset.stop = String(count++)) }"""
STOPPED = """() => { const e = document.activeElement, style = getComputedStyle(e);
  return [e.dataset.stop ?? "", style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0, e.getBoundingClientRect().height] }"""


@pytest.mark.parametrize("name", ["report", "home", "motion", "sheet"])
def test_the_tab_key_reaches_every_control_and_shows_where_it_is(browser, pages, name):
    page = open_page(browser, pages / f"{name}.html")
    stops, seen = set(page.evaluate(STOPS)), {}
    for _ in range(3 * len(stops) + 10):  # a page inside a page has stops of its own
        page.keyboard.press("Tab")
        stop, shown, height = page.evaluate(STOPPED)
        if stop:
            seen[stop] = shown and height > 0
    assert set(seen) == stops
    framed = {page.locator("iframe").first.get_attribute("data-stop")} if page.locator("iframe").count() else set()
    assert not [stop for stop, shown in seen.items() if not shown and stop not in framed]
    page.context.close()


def test_the_controls_of_the_view_open_and_close_by_keyboard(browser, pages):
    page = open_page(browser, pages / "home.html")
    button = page.locator(".close-button").last
    rows = "() => viewer.gui.domElement.querySelector('ul').inert"
    assert page.evaluate(rows)
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => !viewer.gui.domElement.querySelector('ul').inert")
    page.keyboard.press("Enter")
    page.wait_for_function(rows)
    page.context.close()


def test_an_axis_that_is_bent_shows_the_values_that_were_drawn(browser, tmp_path):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1, 2, 3], [-300.0, -1.0, 0.5, 20.0])
    axes.set_yscale("symlog", linthresh=2.0)
    bent = axes.yaxis.get_transform().transform(np.array([-300.0, -1.0, 0.5, 20.0]))
    section = Section("Bent", figures=[with_numbers(svg(figure, "bent"), figure)])
    (tmp_path / "bent.html").write_text(section_page("bent", "", True, "", (), [section]), encoding="utf-8")
    page = open_page(browser, tmp_path / "bent.html")
    page.get_by_role("button", name="Values and zoom").click()
    page.wait_for_function("() => window.Bokeh && Bokeh.documents.length === 1")
    ((_, y),) = page.evaluate(DRAWN)
    assert y == pytest.approx(bent)
    page.context.close()
