"""Online identification: parameters estimated while the robot works."""

import contextlib
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robodyn_pin.commands.ending import ctrl_c_expected
from robodyn_pin.commands.options import (
    BrowserOption,
    ParamsOption,
    RobotArg,
    not_an_input,
    open_browser,
    robot_of,
    verdict,
)
from robodyn_pin.errors import RobodynError
from robodyn_pin.output.console import SIMULATED, print_table
from robodyn_pin.storage.staging import keep_results

if TYPE_CHECKING:
    from robodyn_pin.online.session import TrackingSession
    from robodyn_pin.online.track_file import TrackFile
    from robodyn_pin.robot.robot import Robot
    from robodyn_pin.viz.tracking_page import LivePage

LIVE = 10  # samples that are processed at once while a page shows them


def track_command(
    robot: RobotArg,
    logs: Annotated[list[Path], typer.Argument(help="Logs (.csv, .parquet), taken one after the other.")],
    params: ParamsOption = None,
    settings: Annotated[
        Path | None, typer.Option(help="Settings (.yaml): forgetting, noise, symmetry, payload, ...")
    ] = None,
    resume: Annotated[
        list[Path] | None,
        typer.Option(
            help="Saved state to continue from (state.npz), with the settings that made it; further states are merged into it."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for summary, table, figures and state.")] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show estimates and errors live in the browser; needs the extra 'panel'.")
    ] = False,
    speed: Annotated[float, typer.Option(help="With --live: how many times faster than the log.", min=0.01)] = 1.0,
    port: Annotated[
        int | None,
        typer.Option(help="With --live: port of the page; default: the first free one from 8080.", min=1, max=65535),
    ] = None,
    browser: BrowserOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line for each second, a summary as the last; nothing else.")
    ] = False,
) -> None:
    """Online identification: update the parameters with every sample, as far as the motion excites them.

    It also detects payloads that are picked or dropped, and slow drift. Columns, units, scale and zero are those of the settings,
    else as in the result's run.yaml. Ends with exit code 3 where the estimate is one of no robot and a log looks like having a mistake.

    Example: robodyn track delta3 log.csv --settings examples/delta3_track.yaml --out results/delta3_track
    or: robodyn track delta3 log.csv --settings examples/delta3_track.yaml --live
    """
    from robodyn_pin.files import json_text, prepare_folder, read_yaml
    from robodyn_pin.online.session import start_session
    from robodyn_pin.online.summary import json_line
    from robodyn_pin.online.track_file import TrackFile, reading_as

    if out is not None:
        not_an_input(out / "state.npz", *(resume or ()))
    model, identified = robot_of(robot, params)
    asked = read_yaml(settings, TrackFile) if settings else TrackFile()
    asked = reading_as(identified, asked) if identified else asked
    run = start_session(model, logs, asked, resume or ())
    if out is not None:
        prepare_folder(out)

    with contextlib.ExitStack() as stack:
        page = stack.enter_context(_page(run, port, browser)) if live else None
        for row in run.history_rows(page.paced(run.samples(LIVE), speed) if page else None):
            if as_json:
                print(json_text(json_line(row, run.stream.tracker), indent=None), flush=True)
            if page:
                page.show(row)
        mistaken = _end(run, model, logs, asked, as_json, out)
        if page:
            print("the log has ended; press Ctrl-C to close the page", file=sys.stderr)
            with ctrl_c_expected():
                threading.Event().wait()
        verdict(not mistaken)


def _page(run: "TrackingSession", port: int | None, browser: bool | None) -> "LivePage":
    """The live page, opened in the user's browser."""
    try:
        from robodyn_pin.viz.tracking_page import LivePage
    except ModuleNotFoundError as error:
        raise RobodynError(f"--live needs {error.name}: pip install 'robodyn_pin[panel]'") from None

    page = LivePage(run.stream.tracker, run.simulated, port)
    print(f"{run.stream.tracker.tracked.robot.name} at {page.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
    open_browser(browser, page.url)
    return page


def _end(
    run: "TrackingSession", robot: "Robot", logs: list[Path], settings: "TrackFile", as_json: bool, out: Path | None
) -> list[str]:
    """Print the results, write them if a folder is given, and return what the logs look like being wrong in."""
    from robodyn_pin.files import json_text
    from robodyn_pin.log_to_robot.mispredicted import mistakes_of_tracked
    from robodyn_pin.online.summary import tracking_summary
    from robodyn_pin.output.tracking import write_tracking

    summary = tracking_summary(run.stream, run.history.rows, run.simulated)
    summary["columns not used"] = dict(run.unused)
    summary["mistakes"] = mistakes_of_tracked(robot, logs, settings, summary)
    if out is not None:
        summary["files"] = write_tracking(out, run.stream, run.history.rows, summary)
        keep_results()
    if as_json:
        print(json_text({"summary": summary}, indent=None))
    else:
        _print(summary, out)
    return list(summary["mistakes"])


def _print(summary: dict[str, Any], out: Path | None) -> None:
    if summary["simulated"]:
        print(SIMULATED)
    print_table(
        f"Parameters of {summary['robot']} after {summary['samples']} samples [SI]",
        [
            {"parameter": p["name"], "start": f"{p['start']:.4g}", "estimate": f"{p['estimate']:.4g}",
             "standard deviation": f"{p['deviation']:.2g}", "excited": f"{p['excited']:.0%}"}
            for p in summary["parameters"]
        ],
    )  # fmt: skip
    print_table(
        f"Directions of the parameters, best excited first; the estimate moves along {summary['excited directions']} of {len(summary['directions'])}",
        [
            {"known to [%]": "not at all" if d["relative deviation"] is None or d["relative deviation"] > 10 else f"{100 * d['relative deviation']:.2g}",
             "estimate moves": "yes" if d["excited"] else "", "mostly along": d["mostly"]}
            for d in summary["directions"]
        ],
    )  # fmt: skip
    print_table(
        "Rms torque error with the parameters at the start, and with the tracked ones before each update",
        [
            {
                "along": e["along"],
                "unit": e["unit"],
                "torque": e["effort"],
                "error at the start": f"{e['before']:.4f}",
                "error tracked": f"{e['after']:.4f}",
            }
            for e in summary["errors"]
        ],
    )
    _print_events(summary)
    near = summary["consistency"]
    print(
        near["reason"]
        if "reason" in near
        else f"the nearest physically consistent parameters are {near['distance, relative']:.2%} away, "
        f"{near['distance in deviations']:.2g} standard deviations (rms)"
    )
    for name, columns in summary["columns not used"].items():
        print(f"{name}: columns not used: {columns}")
    print(f"the estimate lags by {1e3 * summary['delay [s]']:.3g} ms, the delay of the differentiation")
    if out is not None:
        print(f"{out}: {', '.join(summary['files'])}")
    for text in summary["mistakes"]:
        print(f"NOT GOOD: {text}")


def _print_events(summary: dict[str, Any]) -> None:
    """Payloads, drift, and samples that were refused or irregular."""
    for change in summary["changes"]:
        if change["payload"]:
            verb = "picked" if change["mass [kg]"] > 0 else "dropped"
            print(
                f"payload {verb} after {change['begin [s]']:.3f} s, noticed at {change['found [s]']:.3f} s: "
                f"{abs(change['mass [kg]']):.4g} +- {change['deviation [kg]']:.1g} kg on {summary['payloads on']}"
            )
        else:
            print(
                f"a change after {change['begin [s]']:.3f} s is not explained by a payload on {summary['payloads on']}"
            )
    for drift in summary["trend"]:
        if drift["significant"]:
            print(f"{drift['name']} drifts by {drift['per hour']:+.3g} +- {drift['deviation']:.1g} per hour")
    for title, counts in (("samples refused", summary["refused"]), ("irregularities of the log", summary["noted"])):
        if counts:
            print(f"{title}: " + ", ".join(f"{reason} {count}" for reason, count in counts.items()))
