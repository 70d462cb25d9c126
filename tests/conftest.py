"""Where the measured logs are, how a command is run as a user runs it, and a real browser."""

import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest
from warm_robodyn import WarmRobodyn

from robodyn_pin.closures.kernel_choice import installed, none_of_loops_are_kept
from robodyn_pin.dynamics.compile_kernels import compile_kernels

HERE = Path(__file__).parent
FLAGS = [
    "--no-sandbox",  # containers run as root
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),  # WebGL in software
    *("--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
WAIT = 300_000  # [ms] after which a page never answers; no test depends on how busy the machine is


LONGEST = ("test_readme", "test_campaign", "test_measured_logs", "test_evidence", "test_leaf", "test_usable_pages")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels that are missing once, before several processes need them at the same time."""
    if session.config.getoption("numprocesses", None) and installed() and none_of_loops_are_kept():
        compile_kernels()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: at the end no core waits for one of them. The last one works with two processes itself."""
    items.sort(key=lambda item: (item.path.stem == "test_fuzz", item.path.stem not in LONGEST))


@pytest.fixture(autouse=True)
def _logger_left_as_found():
    """A command that a test calls within its own process tells the package's logger where to speak."""
    logger = logging.getLogger("robodyn_pin")
    found = logger.level, logger.propagate, list(logger.handlers)
    yield
    logger.setLevel(found[0])  # which forgets what is enabled
    logger.propagate, logger.handlers = found[1:]


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
def robodyn() -> Iterator[Command]:
    """Run `robodyn` with arguments; the outcome has returncode, stdout, stderr."""
    warm = WarmRobodyn()
    yield lambda *arguments: warm.run(list(map(str, arguments)))
    warm.end()


@pytest.fixture
def robodyn_here(monkeypatch, capsys) -> Command:
    """As `robodyn`, in this process: without the time of a start."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        from robodyn_pin.commands.cli import main

        words = list(map(str, arguments))
        monkeypatch.setattr(sys, "argv", ["robodyn", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, int(ended.value.code or 0), said.out, said.err)

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


@pytest.fixture(autouse=True)
def _pages_left_as_found(request):
    """A page that a failed test leaves open and that plays a motion would take a core from the others."""
    running = request.getfixturevalue("browser") if "browser" in request.fixturenames else None
    found = list(running.contexts) if running else []
    yield
    for context in running.contexts if running else []:
        if context not in found:
            context.close()


def new_page(browser, **options):
    """A page in a context of its own, which waits as long as it takes."""
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT)
    context.set_default_navigation_timeout(WAIT)
    return context.new_page()


def wait_until(page, true) -> None:
    """Look again and again; a test that fails here says so after WAIT."""
    end = time.monotonic() + WAIT / 1000
    while not true():
        assert time.monotonic() < end, "nothing happened"
        page.wait_for_timeout(50)


def painted(page) -> None:
    """Wait until the page has drawn what it knows: two pictures."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture
def look(browser):
    """Open a page; every error on it and every request that leaves the machine ends in `page.problems`."""
    contexts = []

    def open_page(url: str, offline: bool = False, size: tuple[int, int] = (600, 400)):
        page = new_page(browser, viewport={"width": size[0], "height": size[1]}, offline=offline)
        contexts.append(page.context)
        page.problems = problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if is_problem(message) else None)
        page.on("request", lambda request: problems.append(request.url) if leaves(request.url) else None)
        page.goto(url)
        frame = page.frames[-1]
        frame.wait_for_function("() => window.viewer && viewer.camera.fov === 40")
        painted(page)
        return page

    yield open_page
    for context in contexts:
        context.close()


def is_problem(message) -> bool:
    return message.type == "error" and "404" not in message.text  # 404: the live page has no icon


def leaves(url: str) -> bool:
    return urlparse(url).hostname not in (None, "127.0.0.1")
