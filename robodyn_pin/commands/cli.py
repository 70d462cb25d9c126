"""The command line: which commands there are, and what becomes of a user's mistake."""

import os
import sys
from typing import Annotated

import typer

from robodyn_pin.commands.catalogue import check_command, robots_command
from robodyn_pin.commands.egm import record_command, stream_command
from robodyn_pin.commands.elastic import design_command, stiffness_command
from robodyn_pin.commands.forces import forces_command, joints_command, predict_command
from robodyn_pin.commands.friction import friction_command
from robodyn_pin.commands.identify import compare_command, excite_command, identify_command
from robodyn_pin.commands.options import with_checked_numbers
from robodyn_pin.commands.plan import plan_command
from robodyn_pin.commands.pose import pose_command
from robodyn_pin.commands.repair import repair_command
from robodyn_pin.commands.show import show_command
from robodyn_pin.commands.simulate import simulate_command
from robodyn_pin.commands.track import track_command
from robodyn_pin.errors import RobodynError, shortened

# Our matrices are small: a second BLAS thread costs more than it gives (QR of 1300 x 123: 6 ms on one, 800 ms on two
# busy cores). NumPy is imported by the commands, after this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

LONGEST = 900  # characters of a refusal: long lists of names are cut

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
for _command in (
    robots_command, check_command, repair_command, pose_command, show_command, simulate_command, excite_command, identify_command, friction_command, design_command, stiffness_command, compare_command, predict_command, forces_command,
    joints_command, track_command, record_command, stream_command, plan_command,
):  # fmt: skip
    app.command(_command.__name__.removesuffix("_command"))(with_checked_numbers(_command))


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
        message = " ".join(str(error).split())
    except (MemoryError, RecursionError) as error:  # larger than any robot, motion or log that was thought of
        message = f"this needs more than the machine has: {shortened(str(error) or type(error).__name__, 200)}; use a smaller input"
    else:
        return
    print(f"robodyn: {message if len(message) <= LONGEST else shortened(message, LONGEST)}", file=sys.stderr)
    raise SystemExit(1) from None


if __name__ == "__main__":
    main()
