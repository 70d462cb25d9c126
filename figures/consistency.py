"""Why consistency matters: the mass matrix of base parameters put into a standard vector, and of bodies that can exist.

SIMULATED IRB 360. The base parameters of weighted least squares stand in a vector of all parameters, the dropped ones
zero: it predicts torques as well as any other, and no body is like it. The mass matrix is linear in the parameters: for
any vector it follows from the regressor at unit accelerations.
"""

from dataclasses import dataclass, replace

import numpy as np
from make import ROOT, Row, Section
from matplotlib.figure import Figure
from workspaces import irb360

from robodyn_pin.dynamics.regressor import body_regressor, known_efforts, state_regressor
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.run import Selected, estimate, read_run
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.simulated_log import Noise, simulate

PICTURE = ROOT / "docs" / "pictures" / "consistency.png"
SIGMA = np.array([1.5, 1.5, 1.6, 0.16])  # published
POSES, CHUNK, SEED = 10_000, 500, 100
# The motion of the examples, as it is and poorer: times slower, times smaller.
LOGS = {"as it is": (1, 1.0), "3 times slower": (3, 1.0), "0.3 times as wide": (1, 0.3), "5 times slower": (5, 1.0)}
FAST = 500.0  # [rad/s] no joint gets there
SHOWN = "0.3 times as wide"


@dataclass(frozen=True)
class Models:
    """What one log gives, as vectors of all parameters."""

    base: np.ndarray  # (p,) dropped ones zero
    consistent: np.ndarray  # (p,)
    rmse: tuple[np.ndarray, np.ndarray]  # (d,) of both on held-out rows [N m]


def study() -> Section:
    robot, c = load("irb360"), irb360(np.random.default_rng(SEED), POSES).c
    rows = []
    for what, (slower, smaller) in LOGS.items():
        found = models(robot, slower, smaller)
        lows = {name: smallest(robot, getattr(found, name), c) for name in ("base", "consistent")}
        errors = "; ".join(" ".join(f"{e:.2f}" for e in rmse) for rmse in found.rmse)
        rows += [
            Row(f"motion {what}: held-out rms, base parameters; consistent [N m]", "1.5 1.5 1.6 0.16", errors),
            Row(f"motion {what}: smallest eigenvalue of M, base parameters", "", said(robot, lows["base"], c)),
            Row(f"motion {what}: smallest eigenvalue of M, consistent", "> 0", said(robot, lows["consistent"], c), bool(lows["consistent"].min() > 0)),
        ]  # fmt: skip
        if what == SHOWN:
            picture(robot, lows, c)
            goal = c[lows["base"].argmin()]
            ends = {name: forward(robot, getattr(found, name), goal) for name in lows}
            rows += [
                Row(
                    f"motion {what}: forward simulation with a PD controller to the worst pose, base parameters",
                    "fails",
                    ends["base"].said,
                    ends["base"].failed,
                ),
                Row(
                    f"motion {what}: the same, consistent",
                    "runs",
                    ends["consistent"].said,
                    not ends["consistent"].failed,
                ),
            ]
    return Section(
        "Consistency", "python figures/make.py consistency", tuple(rows),
        f"Log of 20 s with the published torque noise and encoders of 15 bits (SIMULATED), fitted on its first 70 %. M at {POSES} "
        "random poses of the stated workspace. A rich log gives base parameters whose M is positive as well; with a poorer one "
        "the torques are predicted as well as before, and M is not. ![](pictures/consistency.png)",
    )  # fmt: skip


def models(robot: Robot, slower: float, smaller: float, seconds: float = 20.0) -> Models:
    """Base and consistent parameters from the examples' motion, slower or smaller."""
    motion = read_yaml(ROOT / "examples/irb360_motion.yaml", FourierMotion)
    sin, cos = ({k: [smaller * x for x in v] for k, v in part.items()} for part in (motion.sin, motion.cos))
    poorer = motion.model_copy(update={"period": motion.period * slower, "duration": seconds, "sin": sin, "cos": cos})
    log, run = simulate(robot, poorer, Noise(SIGMA, 15, 1)), read_run(ROOT / "examples/irb360.yaml")
    cut = int(0.7 * log.size)
    result = estimate(robot, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size - run.rows.cut)])
    rmse = tuple(result.scored[name].held_out.rmse for name in ("WLS", "feasible"))
    return Models(result.wls.full(result.layout.size), result.feasible.values, rmse)


def mass_matrices(robot: Robot, x: np.ndarray, c: np.ndarray) -> np.ndarray:
    """M (N, d, d) of parameters x (p,) that no body need have, at the coordinates c (N, d)."""
    state, k = robot.close(c, 0 * c, 0 * c), 10 * len(robot.body_groups)
    model = robot.model.copy()
    model.gravity.linear = np.zeros(3)
    floating, still = replace(robot, model=model), np.zeros_like(state.q)
    unit = [body_regressor(floating, state.q, still, state.T[:, :, j]) @ x[:k] for j in range(c.shape[1])]
    M = np.stack(unit, axis=2)
    for effort in robot.efforts:
        if effort.spec.model == "armature":
            along = effort.rows @ state.T
            M += effort.initial[0] * along.transpose(0, 2, 1) @ along
    return M


def smallest(robot: Robot, x: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of M (N,) [kg m^2]."""
    parts = [c[k : k + CHUNK] for k in range(0, len(c), CHUNK)]
    return np.concatenate([np.linalg.eigvalsh(mass_matrices(robot, x, part))[:, 0] for part in parts])


@dataclass(frozen=True)
class Run:
    """A forward simulation."""

    failed: bool
    said: str


def forward(robot: Robot, x: np.ndarray, goal: np.ndarray, seconds: float = 0.4) -> Run:
    """Runge-Kutta steps of 1 ms from the middle to a pose (d,), held by a PD controller; Coulomb friction left out of both
    models: its width would make them stiff."""
    smooth = replace(robot, efforts=tuple(e for e in robot.efforts if e.spec.model != "coulomb"))
    labels = [label for e in robot.efforts if not e.spec.known for label in e.labels]
    x = x[[True] * (10 * len(robot.body_groups)) + [not label.startswith("coulomb") for label in labels]]
    stiff, damp, start = np.array([400, 400, 400, 4.0]), np.array([20, 20, 20, 0.2]), robot.home

    def accelerate(c: np.ndarray, cd: np.ndarray) -> np.ndarray:
        state = smooth.close(c[None], cd[None], 0 * c[None], start)
        asked = (state_regressor(smooth, state) @ x + known_efforts(smooth, state))[0]
        return np.linalg.solve(mass_matrices(smooth, x, c[None])[0], stiff * (goal - c) - damp * cd - asked)

    c, cd, h = np.array([0.3, 0.3, 0.3, 0.0]), np.zeros(4), 1e-3
    for k in range(round(seconds / h)):
        try:
            a1 = accelerate(c, cd)
            a2 = accelerate(c + h / 2 * cd, v2 := cd + h / 2 * a1)
            a3 = accelerate(c + h / 2 * v2, v3 := cd + h / 2 * a2)
            a4 = accelerate(c + h * v3, v4 := cd + h * a3)
        except ClosureFailed:
            return Run(True, f"leaves the workspace after {1e3 * k * h:.0f} ms, at {np.abs(cd).max():.3g} rad/s")
        c, cd = c + h / 6 * (cd + 2 * v2 + 2 * v3 + v4), cd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        if np.abs(cd).max() > FAST:
            return Run(True, f"diverges after {1e3 * k * h:.0f} ms")
        start = smooth.close(c[None], cd[None], 0 * c[None], start).q[0]
    return Run(
        False,
        f"{np.abs(goal - c).max():.3f} rad from the pose after {1e3 * seconds:.0f} ms, at {np.abs(cd).max():.2g} rad/s",
    )


def platform(robot: Robot, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of the platform from the middle, and its height above its home [m], (N,) each."""
    q = robot.close(c, 0 * c, 0 * c).q
    x, y, z = (q[:, list(robot.model.names)[1:].index(name)] for name in "xyz")
    return np.hypot(x, y), z


def said(robot: Robot, low: np.ndarray, c: np.ndarray) -> str:
    text = f"{low.min():.2g} kg m^2, not positive at {(low <= 0).sum()} of {len(low)} poses"
    if (low > 0).all():
        return text
    r, z = platform(robot, c[low <= 0])
    return f"{text}: {r.min():.2f} to {r.max():.2f} m from the middle, {z.min():.2f} to {z.max():.2f} m above home"


def picture(robot: Robot, lows: dict[str, np.ndarray], c: np.ndarray) -> None:
    r, z = platform(robot, c)
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    for axes, (name, low) in zip(figure.subplots(1, 2, sharey=True), lows.items(), strict=True):
        order = np.argsort(-low)
        drawn = axes.scatter(
            r[order], z[order], c=1000 * low[order], s=2, cmap="RdBu", vmin=-4, vmax=4, rasterized=True
        )
        axes.set_title(f"{name}: {(low <= 0).sum()} of {len(low)} poses not positive (SIMULATED)", fontsize=8)
        axes.set_xlabel("platform from the middle [m]")
    figure.axes[0].set_ylabel("above home [m]")
    figure.colorbar(drawn, ax=figure.axes, label="smallest eigenvalue of M [g m²]")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
