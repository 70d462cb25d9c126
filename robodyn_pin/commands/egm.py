"""Record a controller's stream as a log, and simulate such a stream."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from robodyn_pin.commands.ending import ctrl_c_expected
from robodyn_pin.commands.options import JsonOption, RobotArg, answer, table_to_write
from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.output.progress import bar

if TYPE_CHECKING:
    from robodyn_pin.logs.units import Units

UnitsOption = Annotated[
    str,
    typer.Option(
        help="Units of the stream: 'angle=deg,torque=N m' (rad, deg; N m, mN m), for sliding motors 'length=mm,force=N'. The log is in SI units."
    ),
]
Share = Annotated[float, typer.Option(min=0, max=1)]
PORT = 6510  # default of ABB's controllers


def record_command(
    robot: RobotArg,
    out: Annotated[Path, typer.Option(help="Log to write (.csv or .parquet).")],
    units: UnitsOption,
    egm: Annotated[bool, typer.Option("--egm", help="ABB's Externally Guided Motion; needs the extra 'abb'.")] = False,
    port: Annotated[int, typer.Option(help="UDP port to listen on.", min=1, max=65535)] = PORT,
    address: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="Address of this machine to listen on, that of the controller's network; 0.0.0.0: all of them; default: only this machine can send.",
        ),
    ] = None,
    duration: Annotated[
        float,
        typer.Option(
            help="Duration of the recording \\[s], by the controller's clock; Ctrl-C ends it earlier. It is kept in memory until the end, up to a gigabyte per hour.",
            min=0.01,
            max=3600,
        ),
    ] = 10.0,
    wait: Annotated[float, typer.Option(help="Time to wait for the first packet \\[s].", min=0.1)] = 30.0,
    torques: Annotated[
        Literal["reference", "test-signals"],
        typer.Option(help="Field of the stream that holds the torques: torqueRef, or the test signals."),
    ] = "reference",
    as_json: JsonOption = False,
) -> None:
    """Record a controller's stream as a log. The command only listens: it sends nothing and moves nothing.

    Packets are sorted by their sequence numbers; missing, repeated, late and unreadable ones are counted. The torques are
    the controller's own estimates; older controllers stream none.

    A controller sends from another machine, so name the address that it sends to: --listen ADDRESS. By default only this
    machine is heard.

    Example: robodyn record irb2400 --egm --listen 192.168.125.10 --duration 10 --units "angle=deg,torque=N m" --out results/recorded.csv
    """
    from robodyn_pin.logs.writing import write_log
    from robodyn_pin.recording.packets import messages
    from robodyn_pin.recording.recorder import LOOPBACK, listen
    from robodyn_pin.recording.recorder import record as run
    from robodyn_pin.robot.robot import load

    if not egm:
        raise RobodynError("choose what to record; --egm, ABB's Externally Guided Motion, is the only supported stream")
    messages()
    declared, model = _units(units), load(robot)
    table_to_write(out)
    with listen(port, address or LOOPBACK) as listener, bar("recording") as step, ctrl_c_expected():
        found = run(listener, len(model.motors.names), duration, wait, torques, step)
    summary = found.summary(model, declared)
    write_log(out, found.log(declared, out.name, model.slides(model.motors.S)), model, _note(summary))
    answer(as_json, summary | {"out": str(out)}, _print_recording, summary, out)


def _units(text: str) -> "Units":
    """'angle=deg,torque=N m' as declared units; the angle must be there."""
    from robodyn_pin.files import parse_yaml
    from robodyn_pin.logs.units import Units

    pairs = [pair.split("=", 1) for pair in text.split(",")]
    if any(len(pair) != 2 for pair in pairs) or "angle" not in (pair[0].strip() for pair in pairs):
        raise BadFile(f"--units expects 'angle=deg,torque=N m', found {text!r}; the unit of time is fixed")
    return parse_yaml("\n".join(f"{key.strip()}: {value.strip()}" for key, value in pairs), Units, "--units")


def _note(summary: dict[str, Any]) -> str:
    counts = ", ".join(f"{what} {summary[what]}" for what in ("dropped", "repeated", "reordered", "rejected"))
    origin = "SIMULATED stream" if summary["simulated"] else "controller's stream"
    return f"EGM, {origin} of {summary['robot']} from {summary['sender']}: {summary['packets']} packets, {counts}; torque {summary['torque']}"


def _print_recording(summary: dict[str, Any], out: Path) -> None:
    if summary["simulated"]:
        print("SIMULATED stream: this log says nothing about a real machine.")
    rate = f"{summary['rate']:.4g} Hz"
    print(
        f"{out}: {summary['packets']} packets in {summary['seconds']:.4g} s at {rate} from {summary['sender']}; {summary['ended']}"
    )
    gaps = ", ".join(f"{gap['missing']} after {gap['after packet']}" for gap in summary["gaps"][:5])
    more = len(summary["gaps"]) - 5
    print(
        f"dropped {summary['dropped']}" + (f" ({gaps}{f' and {more} more gaps' if more > 0 else ''})" if gaps else "")
    )
    print(
        f"repeated {summary['repeated']}, reordered {summary['reordered']}, from other senders {summary['from other senders']}"
    )
    reasons = ", ".join(f"{reason}: {count}" for reason, count in summary["reasons"].items())
    print(f"rejected {summary['rejected']}" + (f" ({reasons})" if reasons else ""))
    print(f"torque {summary['torque']}")
    for caution in summary["cautions"]:
        print(f"caution: {caution}")


def stream_command(
    robot: RobotArg,
    log: Annotated[Path, typer.Argument(help="Log to play (.csv, .parquet).")],
    units: UnitsOption = "angle=deg,torque=N m",
    address: Annotated[str, typer.Option(help="Address to send to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = PORT,
    rate: Annotated[float, typer.Option(help="Packets per second.", min=1)] = 250.0,
    torque: Annotated[bool, typer.Option(help="Stream torques; --no-torque: none, as older controllers.")] = True,
    dropped: Share = 0.0,
    repeated: Share = 0.0,
    reordered: Share = 0.0,
    garbage: Annotated[float, typer.Option(help="Share of additional packets of random bytes.", min=0, max=1)] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the faults.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Play a log as the EGM stream of a simulated controller, to try `robodyn record`.

    Faults are given as shares of the packets. Every packet is marked as simulated, and so is a log recorded from them.

    Example: robodyn stream irb2400 results/irb2400_log.csv --dropped 0.01 --reordered 0.01
    """
    from robodyn_pin.logs.reading import read_log
    from robodyn_pin.recording.player import Faults, datagrams, resampled, send
    from robodyn_pin.robot.robot import load

    model = load(robot)
    played = resampled(read_log(log, model, torque=False), rate)
    faults = Faults(dropped, repeated, reordered, garbage, seed)
    sending, sent = datagrams(played, _units(units), faults, torque, slides=model.slides(model.motors.S))
    with bar("streaming") as step:
        for share in send(sending, (address, port)):
            step(share)
    summary = {
        "packets": sent.packets, "dropped": len(sent.dropped), "repeated": len(sent.repeated),
        "reordered": len(sent.reordered), "garbage": sent.garbage,
    }  # fmt: skip
    answer(as_json, summary, print, ", ".join(f"{what} {count}" for what, count in summary.items()) + ", SIMULATED")
