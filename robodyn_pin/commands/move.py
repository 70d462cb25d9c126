"""Move a robot by hand in the browser."""

import sys
import threading
from typing import Annotated

import typer

from robodyn_pin.commands.ending import ctrl_c_expected
from robodyn_pin.commands.options import BrowserOption, ParamsOption, RobotArg, open_browser, robot_of
from robodyn_pin.errors import RobodynError


def move_command(
    robot: RobotArg,
    params: ParamsOption = None,
    port: Annotated[
        int | None, typer.Option(help="Port of the page; default: the first free one from 8080.", min=1, max=65535)
    ] = None,
    browser: BrowserOption = None,
) -> None:
    """Move a robot with sliders on a page: limits, singular poses and what holds it at rest are shown. Needs the extra 'panel'.

    Example: robodyn move irb360
    """
    model, _ = robot_of(robot, params)
    try:
        from robodyn_pin.viz.jog_panel import Panel
    except ModuleNotFoundError as error:
        raise RobodynError(f"move needs {error.name}: pip install 'robodyn_pin[panel]'") from None

    with Panel(model, port) as panel, ctrl_c_expected():
        if panel.remark:
            print(panel.remark, file=sys.stderr, flush=True)
        print(f"{model.name} at {panel.url} (Ctrl-C ends)", flush=True)
        open_browser(browser, panel.url)
        threading.Event().wait()
