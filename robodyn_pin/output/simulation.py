"""A controlled motion as files: the log that it leaves, the tracking errors beside it as table, summary and plot."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.dynamics.loads import check_motion, check_positions
from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log, write_table
from robodyn_pin.motions.motion_file import Motion
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.elastic_drives import Drives, twists
from robodyn_pin.robot.kinematics import end_effector, frame_positions
from robodyn_pin.robot.limits import MOTION, limits_of
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.balance import Balance, balance
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile
from robodyn_pin.simulation.controllers import Controller
from robodyn_pin.simulation.learning import Learner
from robodyn_pin.simulation.simulated_log import Noise, check_noise, leaving


@dataclass(frozen=True)
class Trial:
    """A motion that a controller leads a robot along."""

    robot: Robot
    model: Robot  # that the controller knows
    motion: Motion
    controller: ControllerFile
    noise: Noise
    settings: TrackFile | None = None  # of the estimator of law adaptive
    drives: Drives | None = None  # that yield


def controlled_log(
    trial: Trial, out: Path, note: str, progress: Callable[[float], None], ignore_limits: bool
) -> dict[str, Any]:
    """Simulate a trial, write log, tracking errors and plot, and return the summary.

    Args:
        note: of the log, says that it is simulated.

    Raises:
        BeyondLimits: the reference leaves the robot's limits, or the robot its positions.
        RobodynError: as `prepare` and `track`; nothing is written then.
    """
    spec, noise = trial.controller, trial.noise
    check_noise(trial.robot, noise)
    robot, controller = prepare(trial.robot, trial.model, trial.motion, spec, trial.settings)
    ref, t = controller.reference, np.arange(len(controller.reference.c)) / spec.rate
    limits = limits_of(robot, {}, 0.0).of(MOTION)
    if not ignore_limits:  # torques are cut at their limits, and that is reported
        for part, state in robot.close_parts(ref.c, ref.cd, ref.cdd, lambda i: f"t = {t[i]:.4g} s"):
            check_motion(robot, limits, state, {}, partial(leaving, "reference", t[part]))
    found = track_motion(robot, controller, noise.encoder_bits, progress, trial.drives)
    if not ignore_limits:
        check_positions(robot, found.joints[:, : robot.model.nv], partial(leaving, "controlled robot", t))
    spent = balance(found)
    summary = summarise(robot, trial.model, spec, found, out) | energies(spent)
    if trial.drives is not None:
        summary |= yielding(robot, controller, found)
    if controller.learner is not None:
        summary |= learned(controller.learner)
    _write(robot, found, spent, round(spec.rate / trial.motion.rate), noise, summary, out, note)
    return summary


def summarise(robot: Robot, model: Robot, spec: ControllerFile, found: Tracking, out: Path) -> dict[str, Any]:
    """What the summary file holds."""
    values = (found.largest, found.rms, np.abs(found.tau).max(axis=0), found.saturated.sum(axis=0))
    rows = zip(robot.motors.names, *(x.tolist() for x in values), strict=True)
    motors = [
        {"motor": m, "largest error [rad or m]": most, "rms error [rad or m]": rms}
        | {"largest torque [N m or N]": tau, "samples at the torque limit": cut}
        for m, most, rms, tau, cut in rows
    ]
    about = {"robot": robot.name, "model": model.name, "simulated": True, "law": spec.law, "rate [Hz]": spec.rate}
    about |= {"delay [samples]": spec.delay, "samples": len(found.t), "motors": motors}
    about |= {"stable": found.stability.stable, "stability": found.stability.sentence(spec)}
    about["scheme"] = found.scheme
    return about | {"files": [f"{out.stem}_tracking{suffix}" for suffix in (out.suffix, ".svg", ".json")]}


def yielding(robot: Robot, controller: Controller, found: Tracking) -> dict[str, Any]:
    """What the summary file holds of drives that yield: where the joints are, which no controller sees."""
    joints, ref = found.joints[:, : robot.model.nv], controller.reference
    turned = joints @ robot.motors.S.T + robot.motors.offset
    rows = {
        "largest twist [rad or m]": np.abs(twists(robot, found.joints)).max(axis=0),
        "largest error of the joints [rad or m]": np.abs(ref.q - turned).max(axis=0),
    }
    told: dict[str, Any] = {name: dict(zip(robot.motors.names, x.tolist(), strict=True)) for name, x in rows.items()}
    if frame := end_effector(robot):
        wanted = np.concatenate(
            [frame_positions(robot, state.q, frame) for _, state in robot.close_parts(ref.c, ref.cd, ref.cdd, str)]
        )
        away = np.linalg.norm(frame_positions(robot, joints, frame) - wanted, axis=1)
        told[f"largest distance of {frame} from the reference [m]"] = float(away.max())
    return {"elastic drives": told}


def learned(learner: Learner) -> dict[str, Any]:
    """What the summary file holds of the estimator of law adaptive."""
    tracker = learner.tracker
    loads = [{"begin [s]": c.begin, "found [s]": c.found, "mass [kg]": c.size} for c in tracker.changes]
    values = zip(tracker.tracked.labels, tracker.start.tolist(), tracker.estimator.values.tolist(), strict=True)
    return {
        "estimator": {
            "parameters": {name: {"file": start, "estimate": end} for name, start, end in values},
            "loads": loads, "refused samples": dict(tracker.refused),
        }
    }  # fmt: skip


def energies(spent: Balance) -> dict[str, Any]:
    """What the summary file holds of works, and of axes that friction held."""
    parts = {"work of the motors": spent.motors, "work of the disturbance": spent.disturbance}
    parts |= {"lost to friction": spent.friction, "taken by springs and offsets": spent.other}
    ends = {what: float(x[-1]) for what, x in parts.items()}
    if spent.brought.any():
        ends["brought by the load"] = float(spent.brought[-1])
    ends["gain of kinetic and potential energy"] = float(spent.energy[-1] - spent.energy[0])
    ends["largest part that is missing"] = float(np.abs(spent.missing).max())
    share = dict(zip(spent.axes, spent.stuck.mean(axis=0).tolist(), strict=True))
    return {"energy [J]": ends, "stood still [share of samples]": share}


def _write(
    robot: Robot,
    found: Tracking,
    spent: Balance,
    every: int,
    noise: Noise,
    summary: dict[str, Any],
    out: Path,
    note: str,
) -> None:
    from robodyn_pin.viz.plots import svg_file
    from robodyn_pin.viz.tracking import tracking_figure

    kept = slice(None, None, every)
    tau = found.tau[kept]
    tau = tau + noise.of(len(tau), np.random.default_rng(noise.seed))
    log = Log("simulated", found.t[kept], found.q[kept], tau, simulated=True)
    named = {"t": log.t}
    columns = {"reference": found.reference, "error": found.error, "commanded": found.commanded, "given": found.tau}
    columns |= {"disturbance": found.disturbance}
    for prefix, x in columns.items():
        named |= {f"{prefix}_{motor}": x[kept, k] for k, motor in enumerate(robot.motors.names)}
    if found.joints.shape[1] > robot.model.nv:
        S, offset, nv = robot.motors.S, robot.motors.offset, robot.model.nv
        named |= {f"motor_{m}": found.joints[kept, nv + k] + offset[k] for k, m in enumerate(robot.motors.names)}
        named |= {
            f"joint_{m}": x
            for m, x in zip(robot.motors.names, S @ found.joints[kept, :nv].T + offset[:, None], strict=True)
        }
    named |= {f"stuck_{axis}": spent.stuck[kept, k].astype(int) for k, axis in enumerate(spent.axes)}
    works = {"energy": spent.energy, "work_motors": spent.motors, "work_disturbance": spent.disturbance}
    works |= {"work_load": spent.brought} if spent.brought.any() else {}
    works |= {"work_friction": spent.friction, "work_other": spent.other, "work_missing": spent.missing}
    named |= {f"{name} [J]": x[kept] for name, x in works.items()}
    beside = [out.with_name(name) for name in summary["files"]]
    figure = tracking_figure(found, robot, f"{robot.name} (SIMULATED), {summary['law']}")
    write_table(beside[0], named, f"tracking of {out.name}, reference minus measured; {note}")
    write_text(beside[1], svg_file(figure, "tracking"))
    write_json(beside[2], summary)
    write_log(out, log, robot, note)
