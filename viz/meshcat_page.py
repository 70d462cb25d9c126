"""A MeshCat page: its drawing commands, an animation in few bytes, and a server if the page is shown live."""

import base64
import contextlib
import html
import json
import re
import subprocess
import sys
import uuid
import weakref
from pathlib import Path
from typing import Any

import meshcat
import numpy as np
import umsgpack
import zmq

from robodyn_pin.errors import RobodynError

# MeshCat's server with our page, on the loopback interface whatever MeshCat's defaults are, for requests by that name only:
# else a page from elsewhere whose name is turned to this machine could read the scene. It ends with its parent process,
# however that ends: its standard input is a pipe that the parent holds open; the first line on it is the page.
SERVER = """
import functools, json, os, sys, threading
page = json.loads(sys.stdin.readline())
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from meshcat.servers.zmqserver import ZMQWebSocketBridge
from tornado.web import Application, RequestHandler
HERE = "127.0.0.1"

class Show(RequestHandler):
    def get(self):
        self.write(page)

class Refuse(RequestHandler):
    def prepare(self):
        self.send_error(403)

make_app = ZMQWebSocketBridge.make_app
def with_page(bridge):
    app = make_app(bridge)
    app.add_handlers(".*", [("/static/", Show)])
    find, refusing = app.find_handler, Application([(".*", Refuse)])
    def known(request):
        own = request.host_name in (HERE, "localhost") and request.headers.get("Origin") in (None, "http://" + request.host)
        return (find if own else refusing.find_handler)(request)
    app.find_handler, app.listen = known, functools.partial(app.listen, address=HERE)
    return app
ZMQWebSocketBridge.make_app = with_page
bridge = ZMQWebSocketBridge(host=HERE)
print("zmq_url=" + bridge.zmq_url)
print("web_url=" + bridge.web_url, flush=True)
bridge.run()
"""

# The content security policy prevents requests from the page.
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; worker-src blob:;
 style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'{reach}">
<style>
body {{ margin: 0 }}
main {{ position: relative; height: 100vh; overflow: hidden }}
#meshcat-pane {{ width: 100vw; height: calc(100vh - var(--player, 0px)); overflow: hidden }}
#title {{ position: absolute; left: 1rem; top: .75rem; margin: 0; font: 1rem system-ui, sans-serif; color: #333; pointer-events: none }}
@media (max-width: 700px) {{ #title {{ top: 1.7rem }} }}
@media print {{ #meshcat-pane {{ width: 100%; height: auto }} #meshcat-pane canvas {{ width: 100% !important; height: auto !important }} .dg, #player {{ display: none !important }} }}
</style></head>
<body><main><div id="meshcat-pane"></div><h1 id="title">{title}</h1>
<script>{meshcat}</script>
<script>
var viewer = new MeshCat.Viewer(document.getElementById("meshcat-pane"));
{start}
function nameControls() {{  // MeshCat's have no labels that a screen reader finds
  for (const control of viewer.gui.domElement.querySelectorAll("input, select"))
    control.ariaLabel ||= control.closest("li")?.querySelector(".property-name")?.textContent || "value";
  for (const list of viewer.gui.domElement.querySelectorAll("ul")) {{
    list.inert = list.classList.contains("closed");  // what is folded is no stop of the Tab key
    list.role = "group";  // its items are buttons and controls
    for (const item of list.children) item.role ||= "none";
  }}
  for (const head of viewer.gui.domElement.querySelectorAll("li.title, .close-button")) {{  // nor are MeshCat's buttons any without this
    head.tabIndex = 0;
    head.role = "button";
  }}
}}
nameControls();
new MutationObserver(nameControls).observe(viewer.gui.domElement, {{childList: true, subtree: true, attributeFilter: ["class"]}});
viewer.gui.domElement.addEventListener("keydown", event => {{
  if (event.key !== "Enter" && event.key !== " " || event.target.role !== "button") return;
  event.preventDefault();
  event.stopPropagation();
  event.target.click();
}});
</script>
{overlay}</main>
<script>
// MeshCat takes the window's height for its own. The robot is framed for a square, so a narrow pane looks from farther away.
const fit = viewer.set_3d_pane_size.bind(viewer), pane = document.getElementById("meshcat-pane");
viewer.set_3d_pane_size = () => {{
  viewer.camera.zoom = Math.min(1, pane.offsetWidth / pane.offsetHeight);
  fit(pane.offsetWidth, pane.offsetHeight);
}};
viewer.set_3d_pane_size();
</script></body></html>
"""
ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EXPORTED = """for (const command of {commands})
  viewer.handle_command_bytearray(Uint8Array.from(atob(command), byte => byte.charCodeAt(0)));"""


def animation_track(name: str, kind: str, times: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """An animation track as flat float32 arrays of three.js, a third of the size of MeshCat's lists of keys."""
    # 0x17 is the MessagePack extension that MeshCat reads as a Float32Array.
    times, values = (umsgpack.Ext(0x17, x.astype("<f4").tobytes()) for x in (times, values))
    return {"name": f".{name}", "type": kind, "times": times, "values": values}


class Animation:
    """MeshCat's command `set_animation`; without clips it ends the running animation."""

    def __init__(self, clips: list[dict[str, Any]]):
        self.clips = clips

    def lower(self) -> dict[str, Any]:
        # A server sends a reloaded page its commands path by path, in order of first use, the root first. There
        # MeshCat files animations, before the objects that they move; a path of its own comes after them.
        options = {"play": True, "repetitions": float("inf")}
        return {"type": "set_animation", "path": "/animation", "animations": self.clips, "options": options}


class Page:
    """The drawing commands of a page, kept for export, and passed on to a server if one runs.

    Stands in for MeshCat's ViewerWindow, which starts a server at once, prints, and keeps nothing.
    """

    def __init__(self) -> None:
        self.commands: dict[tuple[str, ...], tuple[str, str, bytes]] = {}  # the latest of each kind, in order
        self._ids: dict[str, str] = {}  # those of MeshCat, which hold time and network card -> ours, in order of use
        self._url = ""
        self._socket: zmq.Socket | None = None
        self._end: weakref.finalize | None = None

    def send(self, command: Any) -> None:
        content = self._named(command.lower())
        kind, path = content["type"], content["path"]
        key = (kind, path, content.get("property", ""))
        self.commands.pop(key, None)
        self.commands[key] = (kind, path, umsgpack.packb(content))
        self._forward(*self.commands[key])

    def _named(self, content: Any) -> Any:
        """The content with ids that depend on nothing but the order of the objects, so that pages are equal byte by byte."""
        if isinstance(content, dict):
            return {key: self._named(x) for key, x in content.items()}
        if isinstance(content, list):
            return [self._named(x) for x in content]
        if isinstance(content, str) and ID.fullmatch(content):
            return self._ids.setdefault(content, str(uuid.UUID(int=len(self._ids) + 1)))
        return content

    def html(self, title: str, overlay: str = "") -> str:
        """All commands as one page that works without server and offline; `overlay` is HTML over the picture."""
        commands = json.dumps([base64.b64encode(data).decode() for _, _, data in self.commands.values()])
        return _page(title, overlay, EXPORTED.format(commands=commands))

    def serve(self, title: str, overlay: str = "") -> str:
        """Start the server unless it runs, and return the address of its page, which shows all commands so far and later ones."""
        if not self._url:
            server = subprocess.Popen(
                [sys.executable, "-P", "-c", SERVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the program that draws
            )
            self._socket = zmq.Context.instance().socket(zmq.REQ)
            self._end = weakref.finalize(self, _end, server, self._socket)
            assert server.stdin is not None
            assert server.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # it did not start; the error is raised below
                live = _page(title, overlay, "viewer.connect();", reach="; connect-src 'self'")
                server.stdin.write(json.dumps(live).encode() + b"\n")
                server.stdin.flush()
            zmq_url, web_url = (server.stdout.readline().decode().strip().partition("=")[2] for _ in range(2))
            if not web_url:
                self.close()
                raise RobodynError("MeshCat's server did not start: try `python -m meshcat.servers.zmqserver`")
            self._socket.setsockopt(zmq.RCVTIMEO, 10_000)
            self._socket.connect(zmq_url)
            self._url = web_url
            for command in self.commands.values():
                self._forward(*command)
        return self._url

    def close(self) -> None:
        if self._end is not None:
            self._end()
        self._url, self._socket, self._end = "", None, None

    def _forward(self, kind: str, path: str, data: bytes) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send_multipart([kind.encode(), path.encode(), data])
            self._socket.recv()
        except zmq.Again as error:
            self.close()
            raise RobodynError("MeshCat's server does not answer any more; `url` starts another") from error


def _page(title: str, overlay: str, start: str, reach: str = "") -> str:
    script = (Path(meshcat.__file__).parent / "viewer/dist/main.min.js").read_text(encoding="utf-8")
    return PAGE.format(title=html.escape(title), meshcat=script, overlay=overlay, start=start, reach=reach)


def _end(server: subprocess.Popen[bytes], socket: zmq.Socket) -> None:
    socket.close(linger=0)
    with server:  # closes its pipes and waits for it
        server.kill()
