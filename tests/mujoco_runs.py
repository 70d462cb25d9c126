"""Robots with dry friction, rotors and loops under a sampled law, in MuJoCo and in the package's steps: the same bodies, who moves how."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import mujoco
import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import inverse_dynamics, mass_matrix
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import course
from robodyn_pin.robot.mjcf_out import mjcf_of
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.schemes import scheme_of
from robodyn_pin.simulation.stepping import stepper_of

RATE = 1000  # [Hz] of the loop
BANDWIDTH, SECONDS = 2 * np.pi * 5, 2.0  # [rad/s], [s]
HARD = (0.9999, 0.9999, 1e-3, 0.5, 2.0)  # solimp
JUMP = 1e-6  # [rad/s or m/s] width of friction's change of sign


class Settings(NamedTuple):
    """How MuJoCo goes on."""

    name: str
    steps: int  # between two samples
    hard: bool  # loops and dry friction as hard as the step allows, else as MuJoCo has them


@dataclass(frozen=True)
class Run:
    """N samples of the motors, whose positions are the coordinates, and what the loops leave open."""

    q: np.ndarray  # (N, n)
    rates: np.ndarray  # (N, n)
    tau: np.ndarray  # (N, n) held until the next sample
    gap: float  # largest, of the loops [m or rad]


class Law(NamedTuple):
    """PD with a model's torques along the reference."""

    q: np.ndarray  # (N, n)
    rates: np.ndarray  # (N, n)
    nominal: np.ndarray  # (N, n)
    p: np.ndarray  # (n,)
    d: np.ndarray  # (n,)

    def torque(self, k: int, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        return self.nominal[k] + self.p * (self.q[k] - q) + self.d * (self.rates[k] - rates)


def dry(robot: Robot) -> Robot:
    """The robot, friction's change of sign a jump: MuJoCo knows no width of it."""
    narrow = [
        replace(e, spec=e.spec.model_copy(update={"width": JUMP})) if e.spec.model == "coulomb" else e
        for e in robot.efforts
    ]
    return replace(robot, efforts=tuple(narrow))


def apart(ours: Run, theirs: Run) -> tuple[float, float]:
    """Largest difference of positions [rad or m] and, in parts of the largest one, of torques."""
    return float(np.abs(ours.q - theirs.q).max()), float(np.abs(ours.tau - theirs.tau).max() / np.abs(ours.tau).max())


def law_of(robot: Robot, wide: float, stands: bool, seconds: float = SECONDS) -> Law:
    """A slow swing of all coordinates (motors); whether it stands still after half the time [s]."""
    names, home = robot.coordinates.names, robot.coordinates.S @ robot.home + robot.coordinates.offset
    turns = {name: [0.0, wide] if k % 2 else [wide] for k, name in enumerate(names)}
    motion = FourierMotion(
        rate=RATE, duration=seconds, period=seconds / 2, centre=dict(zip(names, home.tolist(), strict=True)), sin=turns
    )
    _, c, cd, cdd = course(motion, names)
    if stands:
        half = int(0.55 * len(c))
        c[half:], cd[half:], cdd[half:] = c[half], 0, 0
    bare = replace(robot, efforts=tuple(e for e in robot.efforts if e.spec.model == "armature"))
    inertia = np.diag(mass_matrix(bare, c[:1])[0])
    return Law(c, cd, inverse_dynamics(bare, c, cd, cdd), BANDWIDTH**2 * inertia, 2 * BANDWIDTH * inertia)


def run_ours(robot: Robot, law: Law, steps: int) -> Run:
    start = robot.close(law.q[:1], law.rates[:1], 0 * law.q[:1])
    with kernel_choice.preferred():
        stepper = stepper_of(replace(scheme_of(robot, start, 1 / RATE), steps=steps))
        at, kept = stepper.begin(law.q[0], law.rates[0], robot.home, str), []
        for k in range(len(law.q)):
            tau = law.torque(k, at.c, at.cd)
            kept.append((at.c, at.cd, tau, at.q))
            at = stepper.held(at, 1 / RATE, tau)
    q, rates, tau, joints = (np.array(x) for x in zip(*kept, strict=True))
    return Run(q, rates, tau, float(np.abs(robot.loops.evaluate(joints).phi).max(initial=0.0)))


def run_mujoco(robot: Robot, law: Law, settings: Settings) -> Run:
    model = mujoco.MjModel.from_xml_string(mjcf_of(robot)[0])
    model.opt.timestep, model.opt.integrator = 1 / RATE / settings.steps, mujoco.mjtIntegrator.mjINT_IMPLICIT
    if settings.hard:
        model.eq_solref[:] = model.dof_solref[:] = 2 * model.opt.timestep, 1.0
        model.dof_solimp[:] = HARD
    model.opt.tolerance, model.opt.iterations = 1e-14, 300
    data, joints = mujoco.MjData(model), list(robot.model.names)[1:]
    order = [joints.index(model.joint(k).name) for k in range(model.njnt)]
    S = robot.motors.S[:, order]
    start = robot.close(law.q[:1], law.rates[:1], 0 * law.q[:1])
    data.qpos[:], data.qvel[:] = start.q[0, order], start.v[0, order]
    kept, gap = [], 0.0
    for k in range(len(law.q)):
        q, rates = S @ data.qpos + robot.motors.offset, S @ data.qvel
        tau = law.torque(k, q, rates)
        kept.append((q.copy(), rates.copy(), tau))
        data.qfrc_applied[:] = S.T @ tau
        for _ in range(settings.steps):
            mujoco.mj_step(model, data)
        ties = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        gap = max(gap, float(np.abs(data.efc_pos[ties]).max(initial=0.0)))
    q, rates, tau = (np.array(x) for x in zip(*kept, strict=True))
    return Run(q, rates, tau, gap)
