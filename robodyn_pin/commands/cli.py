"""The command line: which commands there are, and what becomes of a user's mistake."""

import os
import sys
from typing import Annotated

import typer

from robodyn_pin.commands.catalogue import check, robots
from robodyn_pin.commands.egm import record, stream
from robodyn_pin.commands.elastic import design, stiffness
from robodyn_pin.commands.forces import forces, joints, predict
from robodyn_pin.commands.friction import friction
from robodyn_pin.commands.identify import compare, excite, identify
from robodyn_pin.commands.plan import plan
from robodyn_pin.commands.pose import pose
from robodyn_pin.commands.repair import repair
from robodyn_pin.commands.show import show
from robodyn_pin.commands.simulate import simulate
from robodyn_pin.commands.track import track
from robodyn_pin.errors import RobodynError

# Our matrices are small: a second BLAS thread costs more than it gives (QR of 1300 x 123: 6 ms on one, 800 ms on two
# busy cores). NumPy is imported by the commands, after this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
for _command in (
    robots, check, repair, pose, show, simulate, excite, identify, friction, design, stiffness, compare, predict, forces,
    joints, track, record, stream, plan,
):  # fmt: skip
    app.command()(_command)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"robodyn_pin {version('robodyn_pin')}, pin {version('pin')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions and end.")
    ] = False,
) -> None:
    """Dynamics of robots with closed loops: from a measured log to parameters that a real body can have."""


def main() -> None:
    """Entry point: a user's mistake deserves a sentence, not a traceback."""
    try:
        app()
    except RobodynError as error:
        print(f"robodyn: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
