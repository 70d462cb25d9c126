"""Where the measured logs are, how a command is run as a user runs it, and a real browser."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

import pytest

HERE = Path(__file__).parent
FLAGS = [
    "--no-sandbox",  # containers run as root
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),  # WebGL in software
    *("--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
WAIT = 20_000  # [ms]; an error in a page must not end as a silent wait


LONGEST = ("test_readme", "test_campaign", "test_measured_logs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: at the end no core waits for one of them."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


@pytest.fixture(scope="session")
def measured_logs() -> Path:
    """The folder of measured logs, also as ROBODYN_DATA, which the run files name."""
    folder = Path(os.environ.get("ROBODYN_DATA", HERE.parents[1] / "shared" / "data")).resolve()
    if not (folder / "score.py").exists():
        pytest.skip("the measured logs are not here; set ROBODYN_DATA to their folder")
    os.environ["ROBODYN_DATA"] = str(folder)
    return folder


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def robodyn() -> Command:
    """Run `robodyn` with arguments; the outcome has returncode, stdout, stderr."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("robodyn")
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)

    return run


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def look(browser):
    """Open a page; every error on it and every request that leaves the machine ends in `page.problems`."""
    contexts = []

    def open_page(url: str, offline: bool = False, size: tuple[int, int] = (600, 400)):
        contexts.append(browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=offline))
        page = contexts[-1].new_page()
        page.problems = problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if is_problem(message) else None)
        page.on("request", lambda request: problems.append(request.url) if leaves(request.url) else None)
        page.goto(url)
        frame = page.frames[-1]
        frame.wait_for_function("() => window.viewer && viewer.camera.fov === 40", timeout=WAIT)
        page.wait_for_timeout(300)
        return page

    yield open_page
    for context in contexts:
        context.close()


def is_problem(message) -> bool:
    return message.type == "error" and "404" not in message.text  # 404: the live page has no icon


def leaves(url: str) -> bool:
    return urlparse(url).hostname not in (None, "127.0.0.1")
