"""The command line: which commands there are, and what becomes of a user's mistake."""

import logging
import os
import sys
from typing import Annotated, Any, NoReturn, get_args, get_type_hints

import typer

from robodyn_pin.commands.calibrate import calibrate_command
from robodyn_pin.commands.catalogue import check_command, robots_command
from robodyn_pin.commands.compile import compile_command
from robodyn_pin.commands.egm import record_command, stream_command
from robodyn_pin.commands.elastic import design_command, stiffness_command
from robodyn_pin.commands.ending import whole
from robodyn_pin.commands.export import export_command
from robodyn_pin.commands.fleet import fleet_command
from robodyn_pin.commands.forces import forces_command, joints_command, predict_command
from robodyn_pin.commands.friction import friction_command
from robodyn_pin.commands.identify import compare_command, excite_command, identify_command
from robodyn_pin.commands.init import init_command
from robodyn_pin.commands.move import move_command
from robodyn_pin.commands.plan import plan_command
from robodyn_pin.commands.pose import pose_command
from robodyn_pin.commands.repair import repair_command
from robodyn_pin.commands.schema import schema_command
from robodyn_pin.commands.show import show_command
from robodyn_pin.commands.simulate import simulate_command
from robodyn_pin.commands.track import track_command
from robodyn_pin.commands.track_fleet import track_fleet_command
from robodyn_pin.errors import INTERRUPTED, RobodynError, UnknownKey, quoted, shortened
from robodyn_pin.numbers import parsed
from robodyn_pin.telling import LOGGER

# Our matrices are small: a second BLAS thread costs more than it gives (QR of 1300 x 123: 6 ms on one, 800 ms on two
# busy cores). NumPy is imported by the commands, after this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# What Arrow's own pool has held of a long log, it keeps; from the system's, arrays that follow are made of it.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

PRINTED = 285  # characters of a message, so that a line with our name has less than 300

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    robots_command, init_command, schema_command, check_command, repair_command, pose_command, show_command, move_command, simulate_command, excite_command, identify_command, fleet_command, friction_command, design_command, stiffness_command, calibrate_command, compare_command, predict_command, forces_command,
    joints_command, track_command, track_fleet_command, record_command, stream_command, plan_command, export_command, compile_command,
):  # fmt: skip
    app.command(_command.__name__.removesuffix("_command").replace("_", "-"))(whole(_command))


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


def command_line() -> Any:
    """All commands, the numbers of their options behind the gate of files, too."""
    group: Any = typer.main.get_command(app)
    everywhere = typer.Typer(add_completion=False)
    everywhere.command()(_loudness)
    loudness = typer.main.get_command(everywhere).params
    for command in (group, *group.commands.values()):
        command.params += loudness
    for registered in app.registered_commands:
        kinds = get_type_hints(registered.callback)
        for option in group.commands[registered.name].params:
            if {int, float} & {kinds.get(option.name), *get_args(kinds.get(option.name))}:
                _gate(option)
    return group


def _at(level: int, long: str, short: str, text: str) -> Any:
    """A flag that makes the package speak from a level of logging on."""

    def listen(asked: bool) -> None:
        if asked:
            LOGGER.setLevel(level)

    return typer.Option(long, short, callback=listen, expose_value=False, help=text)


STAGES = "Say on stderr what is being done, each stage in a line with the seconds so far."
ERRORS = "Print errors only; files and the exit code (3: negative verdict) say the rest."


def _loudness(
    verbose: Annotated[bool, _at(logging.INFO, "--verbose", "-v", STAGES)] = False,
    quiet: Annotated[bool, _at(logging.ERROR, "--quiet", "-q", ERRORS)] = False,
) -> None:
    """The options that all commands have, before the command's name or behind it."""


def _gate(option: Any) -> None:
    """Let an option take texts that are plain numbers only: neither nan nor 2_6 is one."""
    process = option.process_value

    def checked(ctx: Any, value: Any) -> Any:
        if isinstance(value, str) and parsed(value) is None:
            raise typer.BadParameter(f"{quoted(value)} is no number; expected a finite one such as 0.5", ctx, option)
        return process(ctx, value)

    option.process_value = checked


def main() -> None:
    """Entry point: a user's mistake deserves a sentence, not a traceback."""
    _listen()
    try:
        code = command_line()(standalone_mode=False)
    except UnknownKey as error:
        _end(1, _mistaken(error) or str(error))
    except RobodynError as error:
        _end(1, str(error))
    except _NotUnderstood as error:
        _explain(error)
    except (MemoryError, RecursionError) as error:  # what no gate foresaw
        _end(1, f"this takes more memory than there is ({quoted(str(error))}); use a smaller input")
    except (KeyboardInterrupt, typer.Abort):
        _end(INTERRUPTED, "interrupted; nothing was written")
    raise SystemExit(code if isinstance(code, int) else 0)


def _mistaken(error: UnknownKey) -> str:
    """What a file is that belongs elsewhere, if it can be told from its keys."""
    from robodyn_pin.output.schemas import kinds_with

    kinds = kinds_with(error.keys)
    if len(kinds) != 1:
        return ""
    title = kinds[0].replace("`", "'")
    return f"{error.where} has the keys of another kind of file ({title}); '--help' says which kind is expected here"


def _listen() -> None:
    """Show what the package tells: warnings as our sentences, stages with the seconds since the start."""

    class Lines(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            stage = record.levelno < logging.WARNING
            return f"{f'{record.relativeCreated / 1e3:8.1f} s  ' if stage else 'robodyn: '}{record.getMessage()}"

    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.WARNING)
    LOGGER.propagate = False


_NotUnderstood: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _explain(error: Any) -> None:
    """Say what of the command line is not understood, and where to read more; without any words, all of the help."""
    context: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(context.get_help())
        raise SystemExit(error.exit_code)
    message = " ".join(error.format_message().split()).removesuffix(".")
    _end(error.exit_code, f"{shortened(message, 200)}; see '{context.command_path if context else 'robodyn'} --help'")


def _end(code: int, message: str) -> NoReturn:
    """One line on stderr, and the exit code."""
    print(f"robodyn: {shortened(' '.join(message.split()), PRINTED)}", file=sys.stderr)
    raise SystemExit(code) from None


if __name__ == "__main__":
    main()
