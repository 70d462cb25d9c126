"""A live page of a robot on this machine: the base of the interactive pages."""

import contextlib
import http
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server

from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.viser_scene import ViserScene

FIRST_PORT = 8080  # without a given port, the first free one from here
BRAND = (36, 84, 148)


def foreign(host: str | None, origin: str | None) -> bool:
    """Whether a request comes from another page than ours: by its Origin, or by a name that was turned to this machine.

    Args:
        host, origin: headers of the request; None: it has none.
    """
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return True
    return name not in ("127.0.0.1", "localhost") or origin not in (None, f"http://{host}")


@contextlib.contextmanager
def _own_pages_only() -> Iterator[None]:
    """Servers that viser starts in a `with` block answer no foreign page, neither over http nor over websockets.

    viser has no setting for it, so what it asks of the websockets library is completed.
    """
    library: Any = websockets.asyncio.server
    serve = library.serve

    def refusing(*things: Any, process_request: Callable[[Any, Any], Any] | None = None, **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            hosts, origins = (request.headers.get_all(name) or [None] for name in ("Host", "Origin"))
            if len(hosts) > 1 or len(origins) > 1 or foreign(hosts[0], origins[0]):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "This page answers its own requests only.\n")
            return process_request(connection, request) if process_request else None

        return serve(*things, process_request=check, **options)

    library.serve = refusing
    try:
        yield
    finally:
        library.serve = serve


class ViserPage(ABC):
    """A page of the robot, with the controls that `_build` adds. `close` it, or write `with ... as page`.

    Raises:
        RobodynError: the given port is taken.
    """

    def __init__(self, robot: Robot, port: int | None):
        with _own_pages_only(), contextlib.redirect_stdout(io.StringIO()):  # the command prints the address itself
            self._server = viser.ViserServer(
                "127.0.0.1", FIRST_PORT if port is None else port, robot.name, verbose=False
            )
        if port and self._server.get_port() != port:
            self.close()
            raise RobodynError(f"port {port} is taken; choose another or leave --port out")
        try:
            gui = self._server.gui
            gui.configure_theme(show_logo=False, show_share_button=False, control_width="large", brand_color=BRAND)
            gui.main_panel.dock_right()
            self._robot_scene = ViserScene(self._server, robot)
            self._build(gui)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _build(self, gui: viser.GuiApi) -> None:
        """Add the controls beside the robot."""

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://127.0.0.1:{self._server.get_port()}"

    def close(self) -> None:
        """End the server."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
