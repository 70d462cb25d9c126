"""Pictures of the catalogue for the docs, drawn by a real browser: docs/pictures/NAME.png.

python figures/pictures.py [NAME ...]
"""

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import robodyn_pin as rp
from robodyn_pin.urdf import catalogue
from robodyn_pin.viz.scene import Scene

OUT = Path(__file__).parents[1] / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p, tempfile.TemporaryDirectory() as scratch:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": 720, "height": 540})
        for name in sys.argv[1:] or catalogue():
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


if __name__ == "__main__":
    main()
