"""A live page of a robot on this machine: the base of the interactive pages."""

import contextlib
import io
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

import viser

from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.viser_scene import ViserScene

FIRST_PORT = 8080  # without a given port, the first free one from here
BRAND = (36, 84, 148)


class ViserPage(ABC):
    """A page of the robot, with the controls that `_build` adds. `close` it, or write `with ... as page`.

    Raises:
        RobodynError: the given port is taken.
    """

    def __init__(self, robot: Robot, port: int | None):
        with contextlib.redirect_stdout(io.StringIO()):  # the command prints the address itself
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
