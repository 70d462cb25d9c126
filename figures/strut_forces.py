"""Strut forces of the IRB 360: the reduced and the full model, an independent engine, and a simulated load cell."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from delta_motion import arm_motion
from make import Row, Section
from mujoco_twin import tensions, twin
from workspaces import WORKSPACES

import robodyn_pin as rp
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.families.reduced_delta import reduced_forces, reduced_model, tree_forces
from robodyn_pin.files import read_yaml
from robodyn_pin.forces.load_cell import compare_cell
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.payload import LoadSpec, loaded
from robodyn_pin.robot.robot import Robot, build

PLATFORM = ("x", "y", "z", "psi")
WORKING = np.array([0, 0, -0.157, 0])  # ball plane 1.05 m below the shoulders
CYCLE = 400.0  # [us] of the controller


def study() -> Section:
    one, (least, greatest) = unloaded(1), unloaded(20)
    measured = measured_strut()
    rows = [
        Row("full strut forces, both ends, against MuJoCo at 50 states up to the torque limits [N]", "<= 1e-6",
            f"{(worst := against_mujoco()):.1e}", worst <= 1e-6),
        Row("reduced against full on the example motion, largest difference [N]", "", f"{reduced_against_full():.2f}"),
        Row("unloaded, Fourier motion within 0.5 m, up to 10 m/s²: lambda_P [N]", "-6 .. 16 (paper: about -10 .. 15)",
            f"{one[0]:.1f} .. {one[1]:.1f}", one[0] >= -6 and one[1] <= 16),
        Row("the same, extremes over 20 such motions [N]", "", f"{least:.1f} .. {greatest:.1f}"),
        *measured, *timings(),
    ]  # fmt: skip
    return Section(
        "Strut forces", "python figures/make.py strut_forces", tuple(rows),
        "All SIMULATED. The load cell is MuJoCo's force at the upper end of the measurement strut plus 1 N of noise, not a "
        "measurement; times are one Python thread on whatever else the machine did.",
    )  # fmt: skip


def against_mujoco() -> float:
    robot = without_friction(rp.load("irb360"))
    rng = np.random.default_rng(7)
    reach = WORKSPACES["irb360"](rng, 50)
    cd, direction = 2 * rng.normal(size=reach.c.shape), rng.normal(size=reach.c.shape)
    limits = np.array([robot.file.limits[m].torque for m in robot.motors.names])
    still, more = (rp.inverse_dynamics(robot, reach.c, cd, x) for x in (0 * direction, direction))
    room = np.abs(np.where(more > still, limits, -limits) - still) / np.abs(more - still)
    cdd = room.min(axis=1, keepdims=True) * direction
    state, at = robot.close(reach.c, cd, cdd), twin(robot)
    loads = Loads(robot, state).struts
    worst = 0.0
    for k in range(50):
        q = np.array([reach.joints[joint][k] for joint in at.joints])
        found = np.array(list(tensions(at, robot, q, cd[k], cdd[k]).values()))
        worst = max(worst, np.abs(found - np.stack([loads.lower[k], loads.upper[k]], axis=1)).max())
    return worst


def without_friction(robot: Robot) -> Robot:
    rotors = [effort for effort in robot.file.efforts if effort.model == "armature"]
    return build(robot.name, robot.file.model_copy(update={"efforts": rotors}), robot.urdf_xml, robot.urdf_path)


def reduced_against_full() -> float:
    robot = rp.load("irb360")
    state = robot.close(*example(robot))
    full = Loads(robot, state).struts
    reduced = tree_forces(reduced_model(robot), state.q, state.v, state.a)
    return float(max(np.abs(full.lower - reduced.lower).max(), np.abs(full.upper - reduced.upper).max()))


def example(robot: Robot, every: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    motion = read_yaml(Path(__file__).parents[1] / "examples/irb360_motion.yaml", FourierMotion)
    _, *moved = fourier(motion, robot.coordinates.names)
    c, cd, cdd = (x[::every] for x in moved)
    return c, cd, cdd


def unloaded(seeds: int) -> tuple[float, float]:
    """Least and greatest force at the platform over random series of five harmonics of 0.2 Hz that use both limits."""
    robot = rp.load("irb360")
    by_platform, reduced = robot.with_coordinates(PLATFORM), reduced_model(robot)
    t, w = np.arange(0, 5, 0.005), 2 * np.pi * 0.2 * np.arange(1, 6)
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    found = []
    for seed in range(seeds):
        a, b = np.random.default_rng(seed).normal(size=(2, 4, 5)) * np.array([1, 1, 0.25, 1])[:, None]
        c, cd, cdd = (
            sine @ a.T + cosine @ b.T, (cosine * w) @ a.T - (sine * w) @ b.T, -(sine * w**2) @ a.T - (cosine * w**2) @ b.T,
        )  # fmt: skip
        scale = min(0.5 / np.linalg.norm(c[:, :3], axis=1).max(), 10 / np.linalg.norm(cdd[:, :3], axis=1).max())
        state = by_platform.close(scale * c + WORKING, scale * cd, scale * cdd)
        found.append(tree_forces(reduced, state.q, state.v, state.a).lower)
    return float(np.min(found)), float(np.max(found))


def measured_strut() -> list[Row]:
    """5 kg at the flange, 80 mm up and down on the centre line at 1 Hz; upper end of the first strut."""
    plate = LoadSpec(link="end_effector", mass=5.0, radius=0.1, length=0.02, at=(0, 0, -0.03))
    robot = loaded(rp.load("irb360_measure"), plate)
    t = np.arange(0, 5, 0.01)
    w = 2 * np.pi
    z = 0.08 * np.stack([np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)])[..., None] * [0, 0, 1, 0]
    state = robot.with_coordinates(PLATFORM).close(z[0] + WORKING, z[1], z[2])
    motors = [x @ robot.motors.S.T for x in (state.q, state.v, state.a)]
    bare = without_friction(robot)
    at = twin(bare)
    joints = [list(robot.model.names).index(name) - 1 for name in at.joints]
    cell = np.array(
        [tensions(at, bare, state.q[k, joints], motors[1][k], motors[2][k])["strut_1a"][1] for k in range(len(t))]
    )
    cell += np.random.default_rng(1).normal(size=len(t))
    full = Loads(bare, state).struts.upper[:, 0]
    rows = []
    for name, computed in (
        ("full model", full),
        ("reduced model, bar at U2", tree_forces(reduced_model(robot), state.q, state.v, state.a).upper[:, 0]),
        (
            "reduced model, bar at the platform",
            tree_forces(reduced_model(robot, "platform"), state.q, state.v, state.a).upper[:, 0],
        ),
    ):
        found = compare_cell(t, computed, t, cell)
        reached = f"{found.rmse:.2f}, {found.bias:+.2f}, {1e3 * found.delay:.0f} ms; force {computed.min():.1f} .. {computed.max():.1f}"
        rows.append(
            Row(
                f"measurement strut, 5 kg, load cell (simulated, 1 N noise) against the {name}: RMSE, bias [N], delay",
                "",
                reached,
            )
        )
    return rows


def timings() -> list[Row]:
    robot = rp.load("irb360")
    reduced, moved = reduced_model(robot), example(robot, every=2)
    state = robot.close(*moved)
    n, calls = len(state.q), 10_000

    def one(i: int) -> None:
        k = slice(i % n, i % n + 1)
        tree_forces(reduced, state.q[k], state.v[k], state.a[k])

    def from_motors(i: int) -> None:
        k = slice(i % n, i % n + 1)
        c, cd, cdd = (x[k] for x in moved)
        motion = arm_motion(reduced.delta, c[:, :3], cd[:, :3], cdd[:, :3])
        reduced_forces(reduced, motion, c[:, 3], cd[:, 3], cdd[:, 3])

    given, closed = microseconds(one, calls), microseconds(from_motors, calls)
    batch = min(timed(lambda: tree_forces(reduced, state.q, state.v, state.a)) for _ in range(5)) / n * 1e6
    full = min(timed(lambda: full_forces(robot, state)) for _ in range(3)) / n * 1e6
    return [
        Row("one sample from Python, reduced, q v a given: median [us]", "<= 60", f"{np.median(given):.0f}", bool(np.median(given) <= 60)),
        Row("the same from motor angles and rates, closing included: median [us]", "<= 150", f"{np.median(closed):.0f}", bool(np.median(closed) <= 150)),
        Row("99.9th percentile of both, controller cycle 400 us [us]", "reported", f"{np.quantile(given, 0.999):.0f}, {np.quantile(closed, 0.999):.0f}"),
        Row("batch, q v a given, reduced [us a sample]", "<= 5", f"{batch:.1f}", batch <= 5),
        Row("batch, q v a given, full: multipliers, torques, struts at both ends [us a sample]", "<= 40", f"{full:.1f}", full <= 40),
    ]  # fmt: skip


def full_forces(robot: Robot, state: rp.State) -> np.ndarray:
    return Loads(robot, state).struts.upper


def microseconds(call: Callable[[int], None], calls: int) -> np.ndarray:
    spent = np.empty(calls)
    for i in range(calls):
        begin = time.perf_counter_ns()
        call(i)
        spent[i] = time.perf_counter_ns() - begin
    return spent / 1e3


def timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
