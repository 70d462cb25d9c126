"""Films of forces, looked at in a real browser: colours, arrows and labels against the forces and Pinocchio's frames."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from canvas import LAPTOP, at, is_inside, robot_pixels, wait_for_animation, world_matrix
from conftest import wait_until

from robodyn_pin.errors import RobodynError
from robodyn_pin.files import read_yaml
from robodyn_pin.forces.strut_history import StrutHistory, strut_history
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.viz.film import AT_LIMIT, colours, film_of
from robodyn_pin.viz.film_loads import DrawnLoads
from robodyn_pin.viz.scene import Scene

MOTION = Path(__file__).parents[2] / "examples" / "irb360_motion.yaml"
LIMIT = 30.0  # [N]; the motion goes beyond it
TIMES = (2.0, 11.3, 24.1)


@pytest.fixture(scope="module")
def irb360() -> Robot:
    return load("irb360")


@pytest.fixture(scope="module")
def log_file(irb360, tmp_path_factory) -> Path:
    motion = read_yaml(MOTION, FourierMotion).model_copy(update={"rate": 250.0, "duration": 30.0})
    path = tmp_path_factory.mktemp("film") / "log.parquet"
    write_log(path, simulate(irb360, motion, Noise(np.zeros(4))), irb360, "SIMULATED")
    return path


@pytest.fixture(scope="module")
def history(irb360, log_file) -> StrutHistory:
    return strut_history(irb360, read_log(log_file, irb360, torque=False), Preparation())


@pytest.fixture(scope="module")
def film(irb360, log_file) -> Scene:
    return film_of(irb360, log_file, None, LIMIT)


def forces(history: StrutHistory, t: float) -> dict[str, tuple[float, float]]:
    """Upper and lower end of each strut at a time of the log."""
    ends = zip(history.names, history.upper.T, history.lower.T, strict=True)
    return {name: (np.interp(t, history.t, upper), np.interp(t, history.t, lower)) for name, upper, lower in ends}


def page_colours(page, names) -> np.ndarray:
    """Red, green, blue of the struts, as the page holds them."""
    path = "['meshcat', 'world', 'loads', name, 'upper', 'body', '<object>']"
    read = f"names => names.map(name => viewer.scene_tree.find({path}).object.material.color.toArray())"
    return np.array(page.evaluate(read, list(names)))


def check_colours(page, history: StrutHistory) -> None:
    start = page_start(history)
    for t in TIMES:
        at(page, t - start)
        carried = np.array([max(ends, key=abs) for ends in forces(history, t).values()])
        found = page_colours(page, history.names)
        assert (
            np.abs(found - colours(carried / LIMIT)).max() < 0.03
        )  # a tolerance of 1 % of the limit, and colours up to 1.5 as steep
        loud = np.abs(carried) > 0.1 * LIMIT
        assert (
            np.sign(found[loud, 0] - found[loud, 2]) == np.sign(carried[loud])
        ).all()  # red: tension, blue: compression
        assert loud.any()


def page_start(history: StrutHistory) -> float:
    """Time of the log at which the film starts: pictures of every eighth row, inside the edges."""
    rows = np.arange(0, len(history.t), 8)
    return float(history.t[rows[rows >= history.edge][0]])


def test_colours_follow_the_forces_live_after_a_reload_and_offline(look, film, history, tmp_path):
    with film:
        page = look(film.url)
        wait_for_animation(page)
        page.reload()
        wait_for_animation(page)
        check_colours(page, history)
        assert "irb360" in page.inner_text("#title")
        assert not page.problems
    film.write_html(tmp_path / "film.html")
    page = look((tmp_path / "film.html").as_uri(), offline=True)
    wait_for_animation(page)
    check_colours(page, history)
    assert not page.problems


def test_struts_show_their_colours_on_the_canvas(look, film, history, tmp_path):
    film.write_html(tmp_path / "film.html")
    page = look((tmp_path / "film.html").as_uri(), offline=True, size=LAPTOP)
    wait_for_animation(page)
    assert page.evaluate("[...document.querySelectorAll('input, select')].filter(e => !e.ariaLabel).length") == 0
    canvas = at(page, TIMES[0])
    for colour in page_colours(page, history.names):
        assert (np.abs(canvas - 255 * colour).max(axis=2) < 2).sum() > 300
    mask = robot_pixels(page)
    assert is_inside(mask)
    assert np.ptp(np.nonzero(mask)[0]) > 0.6 * LAPTOP[1]


def test_arrows_are_the_forces_on_arm_and_platform(look, film, irb360, log_file, history, tmp_path):
    film.write_html(tmp_path / "film.html")
    page = look((tmp_path / "film.html").as_uri(), offline=True)
    wait_for_animation(page)
    log = read_log(log_file, irb360, torque=False)
    model, data, signs = irb360.model, irb360.model.createData(), set()
    for row in (400, 2800, 6000):  # of these rows there are pictures
        at(page, float(log.t[row]) - page_start(history))
        still = np.zeros((1, 4))
        pin.framesForwardKinematics(model, data, irb360.close(log.q[row : row + 1], still, still).q[0])
        for name, tensions in forces(history, float(log.t[row])).items():
            balls = [data.oMf[model.getFrameId(link)].translation for link in irb360.file.struts[name]]
            for end, here, other, tension in zip(("upper", "lower"), balls, balls[::-1], tensions, strict=True):
                arrow = world_matrix(page, "loads", name, end, "arrow")
                expected = (
                    AT_LIMIT * tension / LIMIT * (other - here)
                )  # a strut in tension pulls what it holds to itself
                assert arrow[:3, 3] == pytest.approx(here, abs=1e-3)
                assert arrow[:3, 2] == pytest.approx(expected, abs=0.03 * AT_LIMIT * 1.106)
                signs.add(np.sign(tension))
    assert signs == {-1.0, 1.0}


def test_film_of_thirty_seconds_stays_below_4_mb(film):
    assert len(film.html()) < 4e6


def test_keys_keep_every_peak_and_of_noise_not_too_many():
    t = np.linspace(0, 4, 4001)
    x = np.sin(3 * t)
    x[1234], x[2500:] = -5.0, x[2500:] + 1  # a peak and a jump between regular keys
    loads = DrawnLoads("", ("a",), ("N",), t, x[None, :, None], (None,))
    keys = loads.keys(0)
    assert {0, 1234, 4000} <= set(keys)
    assert np.abs(x - np.interp(t, t[keys], x[keys])).max() <= 0.01 * 5
    assert len(keys) < 130  # 25 a second and a few
    noise = np.random.default_rng(8).normal(size=(1, 4001, 1))
    assert len(DrawnLoads("", ("a",), ("N",), t, noise, (None,)).keys(0)) == 400


def test_scale_without_a_limit_is_one_for_all_and_that_of_a_limit_its_own():
    ends = np.array([[[3.0, -8.0, 1.0]], [[-4.0, 2.0, 1.0]]])
    loads = DrawnLoads("", ("a", "b", "c"), ("N",) * 3, np.zeros(1), ends, (None, None, 20.0))
    assert loads.worst.tolist() == [[-4.0, -8.0, 1.0]]
    assert loads.full.tolist() == [8.0, 8.0, 20.0]


def lightness(rgb: np.ndarray) -> np.ndarray:
    """CIE L* of sRGB colours (n, 3)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16


def test_colours_darken_to_both_limits_and_differ_to_colour_blind_eyes():
    load = np.linspace(0, 1, 21)
    pull, push = colours(load), colours(-load)
    for side in (pull, push):
        assert (np.diff(lightness(side)) < 0).all()
    assert colours(np.array([-2.0, 2.0])) == pytest.approx(colours(np.array([-1.0, 1.0])))
    # Blue is what protanopes and deuteranopes see as others do.
    assert (push[1:, 2] - pull[1:, 2] > 0.05).all()
    assert push[10, 2] - pull[10, 2] > 0.4


def test_legend_says_limit_and_unit_and_the_slider_moves_the_robot(look, film, tmp_path):
    film.write_html(tmp_path / "film.html")
    page = look((tmp_path / "film.html").as_uri(), offline=True, size=LAPTOP)
    wait_for_animation(page)
    assert "Limit ±30 N" in page.inner_text("#film")
    assert "tension" in page.inner_text("#film")
    page.evaluate(
        "() => { const s = document.querySelector('#player input'); s.value = 12; s.dispatchEvent(new Event('input')); }"
    )
    wait_until(page, lambda: abs(page.evaluate("() => viewer.animator.actions[0].time") - 12) < 0.02)
    assert not page.evaluate("() => viewer.animator.playing")
    page.click("#film .row >> nth=2")  # goes to the largest load of the third strut, and says that it is near or over
    marked = "() => /near|over/.test(document.querySelectorAll('#film .row')[2].className)"
    page.wait_for_function(marked)


# Of each, whether nothing lies over its corners, and the slider's width [px].
ON_TOP = """() => ['#player button', '#player input', '#player span', '#film p'].map(name => {
  const element = document.querySelector(name), r = element.getBoundingClientRect();
  return [[r.left + 2, r.top + 2], [r.right - 2, r.bottom - 2]].every(([x, y]) => element.contains(document.elementFromPoint(x, y)));
}).concat(document.querySelector('#player input').clientWidth)"""


def test_on_a_phone_slider_and_button_are_whole_beside_a_long_time(look, film, tmp_path, monkeypatch):
    monkeypatch.setattr(film, "clock", replace(film.clock, slow=20.0))
    film.write_html(tmp_path / "film.html")
    page = look((tmp_path / "film.html").as_uri(), offline=True, size=(390, 844))
    page.wait_for_function("() => document.querySelector('#player span').textContent.includes('20 times slower')")
    *whole, wide = page.evaluate(ON_TOP)
    assert all(whole)
    assert wide > 100


@pytest.mark.parametrize(("rows", "said"), [(400, r"1\.5\d* s.*'phi1'.*1\.745"), (600, r"t = 2\.\d+ s.*out of reach")])
def test_motion_outside_the_workspace_names_time_and_joint(irb360, tmp_path, rows, said):
    lines = [f"{0.004 * i:.3f},{0.3 + 0.6 * (0.004 * i) ** 2:.6f},0.3,0.3,0" for i in range(rows)]
    (tmp_path / "far.csv").write_text("\n".join(["t,q_phi1,q_phi2,q_phi3,q_psi", *lines]))
    with pytest.raises(RobodynError, match=said):
        film_of(irb360, tmp_path / "far.csv", None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["irb360", "--forces"], "--motion"),
        (["irb360", "--limit", "50"], "--forces"),
        (["irb360", "--forces", "--limit", "0", "--motion", "LOG"], "positive"),
        (["dualv", "--forces", "--reduced", "--motion", "LOG"], "dualv"),
    ],
)
def test_impossible_films_are_one_sentence(robodyn, log_file, arguments, said):
    done = robodyn(
        "show", *(log_file if x == "LOG" else x for x in arguments), "--export", log_file.with_suffix(".html")
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not log_file.with_suffix(".html").exists()
