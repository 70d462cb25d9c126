"""The server of a live scene: it starts when it is asked for, says nothing, and ends with the scene or the program."""

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlparse

import pytest
from two_links import TWO_LINKS, swing, two_links


def listens(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlparse(url).port)) == 0


def ends(url: str) -> bool:
    deadline = time.monotonic() + 300
    while listens(url) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not listens(url)


def test_export_starts_no_process(monkeypatch, tmp_path):
    def forbidden(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", forbidden)
    scene = two_links()
    scene.animate(*swing())
    scene.write_html(tmp_path / "scene.html")
    with pytest.raises(AssertionError, match="process"):
        _ = scene.url


def test_server_starts_and_ends_without_a_word(capfd):
    with two_links() as scene:
        assert urllib.request.urlopen(scene.url).status == 200
        scene.animate(*swing())
    assert capfd.readouterr() == ("", "")


def test_close_ends_the_server_also_after_an_exception():
    scene = two_links()
    url = scene.url
    assert listens(url)
    with pytest.raises(ZeroDivisionError), scene:
        _ = 1 / 0
    assert ends(url)
    assert "MeshCat.Viewer" in scene.html()  # still to be exported
    assert listens(scene.url)  # and to be shown again
    url = scene.url
    del scene
    assert ends(url)


@pytest.mark.parametrize("end", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGTERM)", "os.kill(os.getpid(), 9)"])
def test_server_ends_with_its_parent(end):
    script = (
        "import os, signal, sys\nimport pinocchio as pin\nfrom robodyn_pin.viz.scene import Scene\n"
        f"xml = {TWO_LINKS!r}\nscene = Scene(pin.buildModelFromXML(xml), xml)\nprint(scene.url, flush=True)\n{end}\n"
    )
    parent = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True)
    assert parent.returncode in (3, -signal.SIGTERM, -signal.SIGKILL), parent.stderr
    assert ends(parent.stdout.strip())
