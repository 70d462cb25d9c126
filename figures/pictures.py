"""Pictures of the catalogue and of a film for the docs, drawn by a real browser: docs/pictures/NAME.png.

python figures/pictures.py [NAME ...]     film: the strut forces of the IRB 360 along examples/irb360_motion.yaml, simulated;
                                          phase_plane: of the plan examples/irb360_u_turn.yaml; report: of examples/irb360.yaml
"""

import base64
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import robodyn_pin as rp
from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.output.plan import write_plan
from robodyn_pin.planning.plan_file import PlanFile
from robodyn_pin.planning.task import plan_task, read_task
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.urdf import catalogue
from robodyn_pin.viz.film import film_of
from robodyn_pin.viz.scene import Scene

SIGMA = np.array([1.5, 1.5, 1.6, 0.16])  # [N m] published
OUT = Path(__file__).parents[1] / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p, tempfile.TemporaryDirectory() as scratch:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": 720, "height": 540})
        for name in sys.argv[1:] or [*catalogue(), "film", "phase_plane", "report"]:
            if name == "film":
                picture_film(browser, Path(scratch))
                continue
            if name == "report":
                picture_report(browser, Path(scratch))
                continue
            if name == "phase_plane":
                picture_plan(browser, Path(scratch))
                continue
            robot = rp.load(name)
            scene = Scene(robot.model, robot.urdf_xml, title=name)
            scene.display(robot.home)
            file = Path(scratch) / f"{name}.html"
            scene.write_html(file)
            page.goto(file.as_uri())
            page.wait_for_function("() => window.viewer && viewer.renderer.info.render.frame > 2")
            page.wait_for_timeout(300)
            picture = page.evaluate("() => viewer.capture_image()").split(",", 1)[1]  # without the page's menu
            (OUT / f"{name}.png").write_bytes(base64.b64decode(picture))
            print(OUT / f"{name}.png")
        browser.close()


def picture_plan(browser: Browser, scratch: Path) -> None:
    """The phase plane of the planned U-turn."""
    example = OUT.parents[1] / "examples/irb360_u_turn.yaml"
    settings = read_yaml(example, PlanFile).model_copy(update={"costs": False})
    write_plan(plan_task(read_task(settings, example.parent)), None, scratch)
    page = browser.new_page(viewport={"width": 920, "height": 620}, device_scale_factor=1.2)
    page.goto((scratch / "phase_plane.svg").as_uri())
    page.locator("svg").screenshot(path=OUT / "phase_plane.png")
    print(OUT / "phase_plane.png")


def picture_film(browser: Browser, scratch: Path) -> None:
    """The moment of the largest force, legend included."""
    motion = read_yaml(OUT.parents[1] / "examples/irb360_motion.yaml", FourierMotion)
    robot = rp.load("irb360")
    write_log(scratch / "log.parquet", simulate(robot, motion, Noise(np.zeros(4))), robot, "SIMULATED")
    film_of(robot, scratch / "log.parquet", None, limit=60.0).write_html(scratch / "film.html")
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto((scratch / "film.html").as_uri())
    page.wait_for_function("() => window.viewer && viewer.animator.duration > 0")
    page.evaluate("() => viewer.gui.hide()")
    page.click("#film .row >> nth=0")
    page.wait_for_timeout(1000)
    page.screenshot(path=OUT / "film.png")
    shrink(OUT / "film.png")


def picture_report(browser: Browser, scratch: Path) -> None:
    """The top of the report of the bundled example, simulated."""
    examples, robot = OUT.parents[1] / "examples", rp.load("irb360")
    log = simulate(robot, read_yaml(examples / "irb360_motion.yaml", FourierMotion), Noise(SIGMA, 15, 1))
    write_log(scratch / "irb360_log.csv", log, robot, "SIMULATED")
    run = read_run(examples / "irb360.yaml").model_copy(update={"fit": [LogSpec(file=scratch / "irb360_log.csv")]})
    rp.execute(run, examples).write(scratch / "result")
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto((scratch / "result/report.html").as_uri())
    page.wait_for_timeout(3000)
    page.screenshot(path=OUT / "report.png")
    shrink(OUT / "report.png")


def shrink(picture: Path) -> None:
    """Fewer colours and pixels: a page of a repository loads it."""
    found = Image.open(picture).convert("RGB")
    small = found.resize((960, 540), Image.Resampling.LANCZOS)
    small.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(picture, optimize=True)
    print(picture, f"{picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
