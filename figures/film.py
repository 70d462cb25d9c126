"""A film of 30 s of strut forces: its size, how long it takes to load, and its colours against the forces."""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from make import ROOT, Row, Section
from pictures import FLAGS
from playwright.sync_api import Page, sync_playwright

from robodyn_pin.files import read_yaml
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.viz.film import COLOURS, film_of
from robodyn_pin.viz.film_loads import DrawnLoads, strut_film_loads
from robodyn_pin.viz.plots import STOPS

LIMIT = 50.0  # [N] above the motion's largest force: beyond a limit colours say no more
TIMES = 200
LOADS = 5
COLOUR = (
    "viewer.scene_tree.find(['meshcat', 'world', 'loads', name, 'upper', 'body', '<object>']).object.material.color"
)
READY = "() => window.viewer && viewer.animator.duration > 0 && viewer.renderer.info.render.frame > 2"


def study() -> Section:
    robot = load("irb360")
    motion = read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion).model_copy(update={"duration": 30.0})
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as p:
        file, log = Path(scratch) / "film.html", Path(scratch) / "log.parquet"
        write_log(log, simulate(robot, motion, Noise(np.zeros(4))), robot, "SIMULATED")
        begin = time.perf_counter()
        film = film_of(robot, log, None, LIMIT)
        film.write_html(file)
        made = time.perf_counter() - begin
        loads = strut_film_loads(robot, read_log(log, robot, torque=False), Preparation(), LIMIT)
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=FLAGS)
        busy = os.getloadavg()[0]
        seconds = [loading(browser.new_page, file.as_uri()) for _ in range(LOADS)]
        context = browser.new_context(viewport={"width": 1366, "height": 768}, offline=True)
        start = float(re.findall(r'"start": ([0-9.e-]+)', film.overlay)[0])  # [s] of the log
        offline = colour_errors(opened(context.new_page(), file.as_uri()), loads, start)
        with film:
            page = opened(browser.new_page(), film.url)
            page.reload()
            page.wait_for_function(READY)
            live = colour_errors(page, loads, start)
        size = file.stat().st_size / 1e6
        browser.close()
    median = float(np.median(seconds))
    worst = max(offline.max(), live.max())
    return Section(
        "Film", "python figures/make.py film",
        (
            Row("30 s, 6 struts and all bodies [MB]", "<= 4", f"{size:.2f}", size <= 4),
            Row(f"loads in headless Chromium, median of {LOADS} (worst) [s]", "<= 5", f"{median:.2f} ({max(seconds):.2f})", bool(median <= 5)),
            Row("colours right after a reload and offline", "right", f"worst {100 * worst:.1f} % of the limit", bool(worst < 0.05)),
            Row("rms of that, reload and offline [% of the limit]", "reported", f"{100 * rms(live):.2f}, {100 * rms(offline):.2f}"),
            Row("made from the log, 30 000 rows [s]", "reported", f"{made:.1f}"),
        ),
        f"`examples/irb360_motion.yaml` for 30 s at 1 kHz (SIMULATED), limit {LIMIT:g} N. Load time: from the address to the third "
        f"drawn frame with its animation, software WebGL, {os.cpu_count()} processors with a load of {busy:.1f}. Colours: read from the page at {TIMES} random times (seed 7), turned "
        "back into a force by the colour bar, against the force of the same row of the log.",
    )  # fmt: skip


def opened(page: Page, url: str) -> Page:
    page.goto(url)
    page.wait_for_function(READY)
    return page


def loading(new_page: Callable[..., Page], url: str) -> float:
    page = new_page(viewport={"width": 1366, "height": 768})
    begin = time.perf_counter()
    opened(page, url)
    seconds = time.perf_counter() - begin
    page.close()
    return seconds


def colour_errors(page: Page, loads: DrawnLoads, start: float) -> np.ndarray:
    """Load that a strut's colour says less that of the log, over the limit (TIMES, 6)."""
    duration = page.evaluate("() => viewer.animator.duration")
    t = np.random.default_rng(7).uniform(0, duration, TIMES)
    read = f"([t, names]) => {{ viewer.animator.pause(); viewer.animator.seek(t); return names.map(name => {COLOUR}.toArray()); }}"
    said = np.array([[told(c) for c in page.evaluate(read, [float(x), list(loads.names)])] for x in t])
    rows = np.searchsorted(loads.t, start + t).clip(0, len(loads.t) - 1)
    return np.abs(said - loads.worst[rows] / LIMIT)


def told(colour: list[float]) -> float:
    """The load whose place on the colour bar is nearest."""
    x = np.linspace(-1, 1, 4001)
    line = np.column_stack([np.interp(x, STOPS, channel) for channel in COLOURS.T])
    return float(x[np.square(line - colour).sum(axis=1).argmin()])


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))
