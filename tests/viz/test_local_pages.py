"""Pages that only this machine sees: what they listen on, whom they answer, and that they are equal byte by byte."""

import http.client
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from robodyn_pin.robot.robot import load

PROGRAM = Path(sys.executable).with_name("robodyn")
FOREIGN = {"Origin": "http://attacker.example"}
WEBSOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *(x for child in text.split() for x in family(int(child)))]


def listening(pid: int) -> dict[str, list[str]]:
    """Addresses, as the system writes them in hexadecimal digits, of the TCP and UDP sockets that wait for others."""
    held = {os.readlink(x) for p in family(pid) for x in Path(f"/proc/{p}/fd").iterdir() if x.is_symlink()}
    found = {}
    for kind, waits in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        rows = [line.split() for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
        found[kind] = [r[1].partition(":")[0] for r in rows if r[3] == waits and f"socket:[{r[9]}]" in held]
    return found


HERE = "0100007F"  # 127.0.0.1


def answer(url: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    path = "/" if "Upgrade" in headers else urlsplit(url).path or "/"
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture
def shown():
    """Starts a command on a terminal and returns its process and the address of its page."""
    started = []

    def start(*arguments: str):
        master, terminal = pty.openpty()
        environment = {k: x for k, x in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
        process = subprocess.Popen(
            [PROGRAM, *arguments], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment,
        )  # fmt: skip
        started.append((process, master, terminal))
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                return process, found[0]
        raise AssertionError("the command ended without a page")

    yield start
    for process, master, terminal in started:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)  # 130: before the log had ended
        os.close(master)
        os.close(terminal)


@pytest.mark.parametrize("more", [(), ("--move",)])
def test_show_listens_on_the_loopback_alone_and_answers_its_own_pages_alone(shown, more):
    if more:
        pytest.importorskip("viser", reason="viser is not installed")
    process, url = shown("show", "delta3", *more)
    sockets = listening(process.pid)
    assert set(sockets["tcp"]) == {HERE}
    assert sockets["tcp6"] == sockets["udp"] == sockets["udp6"] == []
    own = {"Origin": url.removesuffix("/static/")}
    assert (answer(url, {}), answer(url, own), answer(url, own | WEBSOCKET)) == (200, 200, 101)
    assert (answer(url, FOREIGN), answer(url, FOREIGN | WEBSOCKET)) == (403, 403)
    assert answer(url, {"Host": "attacker.example"}) == 403
    assert answer(url, {"Origin": "http://attacker.example", "Host": "attacker.example"} | WEBSOCKET) == 403
    assert answer(url, {"Origin": "null"} | WEBSOCKET) == 403


def test_live_tracking_listens_on_the_loopback_alone(shown, simulated_delta, tmp_path):
    pytest.importorskip("viser", reason="viser is not installed")
    process, url = shown("track", "delta3", str(simulated_delta), "--live", "--speed", "100")
    assert set(listening(process.pid)["tcp"]) == {HERE}
    assert listening(process.pid)["tcp6"] == []
    assert (answer(url, {}), answer(url, FOREIGN), answer(url, FOREIGN | WEBSOCKET)) == (200, 403, 403)


@pytest.fixture
def simulated_delta(tmp_path):
    motion, log = Path(__file__).parents[2] / "examples" / "delta3_sine.yaml", tmp_path / "log.csv"
    subprocess.run([PROGRAM, "simulate", "delta3", "--motion", motion, "--out", log], check=True, capture_output=True)
    return log


def test_without_a_terminal_show_says_what_to_do():
    ended = subprocess.run([PROGRAM, "show", "delta3"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "add --export FILE.html" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_browser_is_opened_where_one_can_be(monkeypatch):
    import webbrowser

    from robodyn_pin.commands.options import open_browser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    open_browser(None, "none")
    open_browser(True, "asked")
    monkeypatch.setenv("DISPLAY", ":0")
    open_browser(None, "display")
    open_browser(False, "refused")
    assert opened == ["asked", "display"]


def test_pages_of_one_robot_are_equal_byte_by_byte():
    from robodyn_pin.viz.motion_scene import scene_of

    first, second = (scene_of(load("delta3"), None, None).html() for _ in range(2))
    assert first == second
