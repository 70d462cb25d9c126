"""The command line: reads, calls one function, prints."""

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from robodyn_pin.console import bar, print_comparison, print_excitation, print_json, print_result, print_table, status
from robodyn_pin.errors import RobodynError

if TYPE_CHECKING:
    pass

# Our matrices are small: a second BLAS thread costs more than it gives (QR of 1300 x 123: 6 ms on one, 800 ms on two
# busy cores). NumPy is imported by the commands, after this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

NEGATIVE = 3  # exit code: ran, but the verdict is negative

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")

RobotArg = Annotated[str, typer.Argument(help="Catalogue name, robot file (.yaml, .urdf) or result folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable results on stdout and nothing else.")]
ParamsOption = Annotated[
    Path | None, typer.Option(help="Result folder of an identification; default: the robot's own files.")
]


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


@app.command()
def robots(as_json: JsonOption = False) -> None:
    """List the catalogue.

    Example: robodyn robots
    """
    from robodyn_pin.robot import load
    from robodyn_pin.urdf import catalogue

    loaded = [load(name) for name in catalogue()]
    rows = [
        {"name": r.name, "joints": r.model.nv, "degrees of freedom": len(r.coordinates.names), "motors": len(r.motors.names),
         "loops": len(r.loops.closures), "closure equations": r.loops.size}
        for r in loaded
    ]  # fmt: skip
    if as_json:
        print_json(rows)
    else:
        print_table("Robots of the catalogue", rows)


@app.command()
def check(robot: RobotArg, as_json: JsonOption = False) -> None:
    """Do the loops close? What can a log show of the robot? Which bodies cannot exist, and why?

    Ends with exit code 3 if a body cannot exist.

    Example: robodyn check irb360
    """
    from robodyn_pin.check import check as examine
    from robodyn_pin.robot import load

    found = examine(load(robot))
    facts: dict[str, Any] = {
        "tree joints": found.joints, "degrees of freedom": found.mobility, "closure equations": found.closure_rows,
        "redundant closure equations": found.redundant_rows, "closure residual at home [m or rad]": found.residual,
        "base parameters": found.base.size, "of bodies": found.inertial,
        "of friction and the like": found.base.size - found.inertial,
    }  # fmt: skip
    if as_json:
        print_json(facts | {"base": found.base_labels, "not physical": found.not_physical, "assumed": found.assumed})
    else:
        for what, value in facts.items():
            print(f"{what:38s}{value:.3g}" if isinstance(value, float) else f"{what:38s}{value}")
        for name, reason in found.not_physical.items():
            print(f"{name} cannot exist: {reason}")
        if not found.not_physical:
            print("every body can exist")
        if found.assumed:
            print("assumed, not measured or published:")
            print("\n".join(f"  {line}" for line in found.assumed))
    if found.not_physical:
        raise typer.Exit(NEGATIVE)


@app.command()
def show(
    robot: RobotArg,
    motion: Annotated[Path | None, typer.Option(help="Log (.csv, .parquet) to play, loops closed.")] = None,
    params: ParamsOption = None,
    forces: Annotated[
        bool, typer.Option("--forces", help="Colour the struts by their force; without struts: the motors' torques.")
    ] = False,
    limit: Annotated[
        float | None,
        typer.Option(help="With --forces: of every strut [N] or motor [N m, N]; default: the robot file's.", min=0),
    ] = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="With --forces: the reduced model of Delta-like robots.")
    ] = False,
    export: Annotated[
        Path | None, typer.Option(help="Write one HTML file that works offline, instead of a live page.")
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Move it by sliders, loops closed live; needs the extra 'panel'.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(help="With --move: of the page; default: the first free one from 8080.", min=1, max=65535),
    ] = None,
) -> None:
    """Show the robot in the browser, at home or along a motion, with the forces in its struts if asked.

    Example: robodyn show irb360 --motion results/irb360_log.csv --forces --limit 60 --export irb360.html
    or: robodyn show irb360 --move
    """
    model, run = _with_params(robot, params)
    if not forces and (limit is not None or reduced):
        raise RobodynError("--limit and --reduced say how forces are shown; add --forces")
    if forces and motion is None:
        raise RobodynError("--forces shows the forces of a motion; add --motion LOG")
    if move:
        if motion is not None or export is not None:
            raise RobodynError("--move is led by hand; leave --motion and --export out")
        _move(model, port)
        return
    if forces and motion is not None:
        from robodyn_pin.viz.film import film_of

        drawn = film_of(model, motion, run, limit, "U2" if reduced else None)
    else:
        from robodyn_pin.viz.show import scene_of

        drawn = scene_of(model, motion, run)
    with drawn as scene:
        if export is not None:
            scene.write_html(export)
            print(export)
            return
        print(f"{model.name} at {scene.url} (Ctrl-C ends)")
        scene.open_browser()
        try:
            while True:
                input()
        except (KeyboardInterrupt, EOFError):
            pass


@app.command()
def simulate(
    robot: RobotArg,
    motion: Annotated[
        Path, typer.Option(help="Motion of the coordinates (.yaml): Fourier series, or held poses or speeds.")
    ],
    out: Annotated[Path, typer.Option(help="Log to write (.csv or .parquet).")],
    params: ParamsOption = None,
    payload: Annotated[
        list[Path] | None,
        typer.Option(
            help="Body on a link, in its joint's frame (.yaml: link, mass, radius, length, axis, inner, at); may be repeated."
        ),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="White torque noise per motor [N m or N], '1.5,1.5,1.6,0.16'.")
    ] = None,
    encoder_bits: Annotated[
        int | None, typer.Option(help="Encoder steps of one motor turn, 2^bits, before the gear.", min=4, max=32)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = 0,
    internal: Annotated[
        float,
        typer.Option(
            help="Rms of a smooth random torque that moves nothing [N m], for robots with motors to spare.", min=0
        ),
    ] = 0.0,
    controller: Annotated[
        Path | None,
        typer.Option(
            help="Controller (.yaml) that moves the robot along the motion; without one the log follows the motion exactly."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a log of the robot; the file says that it is simulated.

    With a controller, tracking errors (.csv or .parquet, .svg, .json) go beside the log; a loop that is unstable about
    home ends with exit code 3.

    Example: robodyn simulate irb360 --motion examples/irb360_motion.yaml --out log.csv --noise 1.5,1.5,1.6,0.16 --seed 1

    Example: robodyn simulate dualv --motion examples/dualv_motion.yaml --controller examples/dualv_controller.yaml --out log.csv
    """
    import numpy as np

    from robodyn_pin.console import print_tracking
    from robodyn_pin.control import ControllerFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.log_files import write_log
    from robodyn_pin.payload import LoadSpec, loaded
    from robodyn_pin.simulation import Noise, read_motion
    from robodyn_pin.simulation import simulate as run_simulation
    from robodyn_pin.tracking_files import controlled_log, known_model

    model, _ = _with_params(robot, params)
    empty, carried = model, ""
    for file in payload or []:
        load = read_yaml(file, LoadSpec)
        model, carried = loaded(model, load), f"{carried} with {load.mass:g} kg on {load.link}"
    try:
        sigma = np.array([float(x) for x in noise.split(",")]) if noise else np.zeros(len(model.motors.names))
    except ValueError:
        raise RobodynError(f"--noise expects numbers separated by commas, found {noise!r}") from None
    course, disturbed = read_motion(motion), Noise(sigma, encoder_bits, seed, internal)
    if controller is not None and internal:
        raise RobodynError(
            "--internal goes with exact motions: under a controller, the controller decides what moves nothing"
        )
    note = (
        f"SIMULATED by robodyn_pin: {model.name}{carried}, motion {motion.name}, torque noise {noise or 0} (standard deviation), "
        f"encoder bits {encoder_bits or 'exact'}, seed {seed}"
        + (f", internal torque {internal:g} rms" if internal else "")
    )
    if controller is not None:
        law = read_yaml(controller, ControllerFile)
        note += f", under controller {controller.name} ({law.law}, {law.rate:g} Hz)"
        knows = known_model(law, controller.parent, empty)
        with bar("simulating") as step:
            summary = controlled_log(model, knows, course, law, disturbed, out, note, step)
        if as_json:
            print_json(summary)
        else:
            print_tracking(summary, out, carried)
        if not summary["stable"]:
            raise typer.Exit(NEGATIVE)
        return
    with bar("simulating") as step:
        log = run_simulation(model, course, disturbed, step)
    write_log(out, log, model, note)
    if as_json:
        print_json({"robot": model.name, "simulated": True, "rows": len(log.t), "out": str(out)})
    else:
        print(f"{out}: {len(log.t)} rows, {log.t[-1]:.4g} s, SIMULATED{carried}")


@app.command()
def excite(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write; default: 'output' of the run file, else results/RUN.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the motion inside the limits whose log says most about the parameters; it starts and ends at rest.

    Writes the motion for `robodyn simulate`, as a log, as a table for a controller, and as a picture. Ends with exit
    code 3 if something stays unknown that was asked for.

    Example: robodyn excite examples/irb360_excite.yaml --out results/irb360_excite
    """
    from robodyn_pin.excitation import excite as search
    from robodyn_pin.excitation_files import write_excitation
    from robodyn_pin.excitation_run import ExcitationFile
    from robodyn_pin.files import read_yaml
    from robodyn_pin.result import prepare_folder

    settings = read_yaml(run, ExcitationFile)
    folder = out or settings.output or Path("results") / run.stem
    prepare_folder(folder)
    with bar("searching") as step:
        found = search(settings, run.parent, step)
    write_excitation(found, folder)
    if as_json:
        print_json(found.summary())
    else:
        print_excitation(found, folder)
    if found.unknown:
        raise typer.Exit(NEGATIVE)


@app.command()
def identify(
    run: Annotated[Path, typer.Argument(help="Run file (.yaml).")],
    out: Annotated[
        Path | None, typer.Option(help="Result folder; default: 'output' of the run file, else results/RUN.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate a robot's parameters from logs, as the run file says.

    Ends with exit code 3 if the verdict is negative.

    Example: robodyn identify examples/irb360.yaml --out results/irb360
    """
    from robodyn_pin.result import prepare_folder
    from robodyn_pin.run import execute, read_run

    settings = read_run(run)
    folder = out or settings.output or Path("results") / run.stem
    prepare_folder(folder)
    with status() as say:
        result = execute(settings, run.parent, say)
        say("report")
        result.write(folder)
    if as_json:
        print_json(result.summary())
    else:
        print_result(result, folder)
    if not result.verdict.accepted:
        raise typer.Exit(NEGATIVE)


@app.command()
def friction(
    run: Annotated[Path, typer.Argument(help="Friction file (.yaml): robot, logs, motor, model.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write; default: 'output' of the file, else results/RUN.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Friction curve of a motor that turns freely, from logs that hold one speed after the other, in both directions.

    Hold each speed for a second and for a turn, slow to fast, the other motors still: at constant speed the torque is
    friction alone. Steady parts are found and averaged, one point a speed; three models are fitted.

    Example: robodyn friction examples/irb360_campaign/3_friction.yaml --out results/irb360_campaign/friction
    """
    from robodyn_pin.console import print_friction
    from robodyn_pin.files import read_yaml
    from robodyn_pin.friction import FrictionFile, measure
    from robodyn_pin.result import prepare_folder
    from robodyn_pin.run import load_named

    settings = read_yaml(run, FrictionFile)
    folder = out or settings.output or Path("results") / run.stem
    prepare_folder(folder)
    result = measure(settings, run.parent, load_named(settings.robot, run.parent))
    result.write(folder)
    if as_json:
        print_json(result.summary())
    else:
        print_friction(result, folder)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="Result folder.")],
    second: Annotated[Path, typer.Argument(help="Result folder of the same robot.")],
    as_json: JsonOption = False,
) -> None:
    """What changed between two results of one robot, and is it more than chance?

    Example: robodyn compare results/monday results/tuesday
    """
    from robodyn_pin.compare import compare as compare_results
    from robodyn_pin.compare import read_result

    found = compare_results(read_result(first), read_result(second))
    if as_json:
        print_json(found.summary())
    else:
        print_comparison(found)


@app.command()
def predict(
    robot: RobotArg,
    log: Annotated[Path, typer.Argument(help="Log with positions (.csv, .parquet).")],
    out: Annotated[
        Path, typer.Option(help="CSV or Parquet to write: t, tau_<motor>; one row for each row of the log.")
    ],
    params: ParamsOption = None,
    internal: Annotated[
        bool, typer.Option(help="Add the internal torque of the log, which moves nothing; else torques of least norm.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Motor torques that the model predicts for a motion. Columns, units and filter as in the result's run.yaml.

    Example: robodyn predict irb360 log.csv --params results/irb360 --out torques.csv
    """
    import numpy as np

    from robodyn_pin.differentiation import Preparation
    from robodyn_pin.log_files import write_torques
    from robodyn_pin.motion import read_log
    from robodyn_pin.prediction import edge_rows
    from robodyn_pin.prediction import predict as predict_torques

    model, run = _with_params(robot, params)
    data = read_log(log, model, run.columns if run else None, run.units if run else None, torque=internal)
    preparation = run.preparation if run else Preparation()
    tau, edge = predict_torques(model, data, preparation, internal), edge_rows(data, preparation)
    write_torques(out, data, tau, model)
    edge = edge if len(tau) > 2 * edge else 0  # of a log that is all edge, all rows count
    inside = tau[edge : len(tau) - edge]
    largest = dict(zip(model.motors.names, np.abs(inside).max(axis=0).tolist(), strict=True))
    if as_json:
        print_json({"rows": len(tau), "out": str(out), "edge rows": edge, "largest torque": largest})
    else:
        print(
            f"{out}: {len(tau)} rows; largest torque "
            + ", ".join(f"{m} {x:.4g}" for m, x in largest.items())
            + f" N m (or N), the {edge} rows at each end left out: there the filter and the differences miss samples"
        )


@app.command()
def forces(
    robot: RobotArg,
    log: Annotated[Path, typer.Argument(help="Log with positions (.csv, .parquet).")],
    out: Annotated[
        Path,
        typer.Option(
            help="CSV or Parquet to write: t, upper_<strut>, lower_<strut>; a plot (.svg) and a summary (.json) go beside it."
        ),
    ],
    params: ParamsOption = None,
    payload: Annotated[Path | None, typer.Option(help="What the robot carries (.yaml), as for simulate.")] = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="The reduced model of Delta-like robots instead of the full multipliers.")
    ] = False,
    bar: Annotated[
        Literal["U2", "platform"], typer.Option(help="Reduced model: where the weight of the bar's lower part acts.")
    ] = "U2",
    limit: Annotated[
        float | None, typer.Option(help="Largest force of a strut [N]; default: the robot file's.", min=0)
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="CSV of a load cell: t [s], force [N], tension positive.")
    ] = None,
    cell: Annotated[
        str, typer.Option(help="Where the load cell sits: STRUT or STRUT:lower; default: the upper end of the first.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Forces along the struts of a robot during a motion: extremes, margins to a limit, and a load cell beside them.

    Example: robodyn forces irb360 results/irb360_log.csv --out results/struts.csv --limit 120
    """
    from robodyn_pin.differentiation import Preparation
    from robodyn_pin.files import read_yaml
    from robodyn_pin.motion import read_log
    from robodyn_pin.payload import LoadSpec, loaded
    from robodyn_pin.strut_files import forces_of_log

    model, run = _with_params(robot, params)
    if payload is not None:
        model = loaded(model, read_yaml(payload, LoadSpec))
    data = read_log(log, model, run.columns if run else None, run.units if run else None, torque=False)
    summary = forces_of_log(
        model, data, run.preparation if run else Preparation(), bar if reduced else None, limit, out, compare, cell
    )
    if as_json:
        print_json(summary)
        return
    print_table(
        f"Struts of {model.name}, {summary['model']} model, tension positive{' (SIMULATED log)' if summary['simulated'] else ''}",
        [{key: "" if value is None else value for key, value in row.items()} for row in summary["struts"]],
    )
    if found := summary["load cell"]:
        print(
            ", ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in found.items()
            )
        )
    print(f"{out}: {summary['rows']} rows; {', '.join(summary['files'])} beside it")


def _move(robot: Any, port: int | None) -> None:
    """A live page with sliders, until Ctrl-C."""
    import threading
    import webbrowser

    try:
        from robodyn_pin.viz.panel import Panel
    except ModuleNotFoundError as error:
        raise RobodynError(f"--move needs {error.name}: pip install 'robodyn_pin[panel]'") from None

    with Panel(robot, port) as panel, contextlib.suppress(KeyboardInterrupt):
        print(f"{robot.name} at {panel.url} (Ctrl-C ends)", flush=True)
        webbrowser.open(panel.url)
        threading.Event().wait()


def _with_params(robot: str, params: Path | None) -> tuple[Any, Any]:
    """The robot, identified where a result folder is given, and that result's run settings."""
    from robodyn_pin.robot import load
    from robodyn_pin.run import read_run

    folder = params or (Path(robot) if Path(robot).is_dir() else None)
    if folder is None:
        return load(robot), None
    found = load(folder)
    if params is not None and not Path(robot).is_dir() and found.name != f"{Path(robot).stem}_identified":
        raise RobodynError(f"{folder} holds {found.name.removesuffix('_identified')!r}, not {robot!r}")
    return found, read_run(folder / "run.yaml")


if __name__ == "__main__":
    main()
