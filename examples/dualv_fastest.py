"""The fastest motion of the DualV between two poses, path and time free, by what `robodyn export` writes for CasADi.

python examples/dualv_fastest.py [--out results/dualv_fastest]     about half a minute

The platform's coordinates c are double integrators whose accelerations, constant on each interval, are sought together with the
duration T. The exported inverse dynamics close the loops and say what the four motors give, which stays within their limits; CasADi
differentiates them, loops and all, and IPOPT, which CasADi brings, finds T. Along the straight line first, then anywhere. Whether that is
right is asked of the package, which shares no expression with the exported functions: its inverse dynamics all along the motion,
and where its simulation ends under those torques.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

import robodyn_pin as rp

BEGIN, END = np.array([-0.1, -0.06, 0.0]), np.array([0.1, 0.06, 0.4])  # x, y [m], phi [rad]
LIMIT, KEPT_FREE = 127.0, 0.02  # [N m] of each motor, and the part for what happens inside of the intervals
INTERVALS, FINE = 24, 50  # and points of each where the package is asked
GUESS = 0.1  # [s]


@dataclass(frozen=True)
class Motion:
    """Accelerations cdd (N, 3), constant on N intervals of equal length, from rest at BEGIN."""

    time: float  # [s]
    cdd: np.ndarray

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """c, c', c'' (n, 3) at times t (n,) [s]."""
        h = self.time / len(self.cdd)
        v = np.vstack([np.zeros(3), h * np.cumsum(self.cdd, axis=0)])
        c = BEGIN + np.vstack([np.zeros(3), np.cumsum(h * v[:-1] + h**2 / 2 * self.cdd, axis=0)])
        k = np.clip((t / h).astype(int), 0, len(self.cdd) - 1)
        s, a = (t - k * h)[:, None], self.cdd[k]
        return c[k] + s * v[k] + s**2 / 2 * a, v[k] + s * a, a


def exported(folder: Path) -> ca.Function:
    """The DualV's inverse dynamics: (start, c, c', c'') -> (joints, residual, torques)."""
    words = ["export", "dualv", "--to", "casadi", "--functions", "inverse_dynamics", "--out", str(folder)]
    subprocess.run([Path(sys.executable).with_name("robodyn"), *words], check=True, stdout=subprocess.DEVNULL)
    return ca.Function.load(str(folder / "dualv_inverse_dynamics.casadi"))


def fastest(robot: rp.Robot, dynamics: ca.Function, along: np.ndarray) -> Motion:
    """The fastest motion whose coordinates are BEGIN + along @ x: one column (3, 1) is a straight line, three (3, 3) are any path."""
    N, m, nlp = INTERVALS, along.shape[1], ca.Opti()
    T, a = nlp.variable(), nlp.variable(m, N)
    x, v = [ca.DM.zeros(m)], [ca.DM.zeros(m)]
    for k in range(N):
        x.append(x[k] + T / N * v[k] + (T / N) ** 2 / 2 * a[:, k])
        v.append(v[k] + T / N * a[:, k])
    goal = np.linalg.lstsq(along, END - BEGIN)[0]
    nlp.subject_to(x[N] == goal)
    nlp.subject_to(v[N] == 0)
    u = np.linspace(0, 1, N + 1)[:, None]
    near = robot.at_rest(BEGIN + (10 * u**3 - 15 * u**4 + 6 * u**5) * (END - BEGIN)).q  # where closing begins
    for part in (slice(0, N), slice(1, N + 1)):  # at the intervals' beginnings, and at their ends
        c = ca.repmat(BEGIN, 1, N) + ca.mtimes(along, ca.horzcat(*x[part]))
        cd, cdd = ca.mtimes(along, ca.horzcat(*v[part])), ca.mtimes(along, a)
        tau = dynamics.map(N)(near[part].T, c, cd, cdd)[2]
        nlp.subject_to(nlp.bounded(-(1 - KEPT_FREE) * LIMIT, ca.vec(tau), (1 - KEPT_FREE) * LIMIT))
    middle = (u[:-1, 0] + u[1:, 0]) / 2
    nlp.set_initial(T, GUESS)
    nlp.set_initial(a, goal[:, None] * (60 * middle - 180 * middle**2 + 120 * middle**3) / GUESS**2)
    nlp.subject_to(T >= 0.01)
    nlp.minimize(T)
    options = {"print_level": 0, "sb": "yes", "max_iter": 500, "tol": 1e-6, "hessian_approximation": "limited-memory"}
    nlp.solver("ipopt", {"print_time": False}, options)
    found = nlp.solve()
    return Motion(float(found.value(T)), np.array(found.value(a)).reshape(m, N).T @ along.T)


def asked_of_the_package(robot: rp.Robot, motion: Motion) -> dict[str, float]:
    """What the package's own dynamics say of a motion."""
    t = np.linspace(0, motion.time, FINE * INTERVALS + 1)
    tau = rp.inverse_dynamics(robot, *motion.at(t[:-1] + t[1] / 2))
    c, cd, _ = motion.at(t)
    rolled = rp.roll_out(robot, lambda now, *_: tau[min(int(now / t[1]), len(tau) - 1)], c[0], cd[0], t)
    return {
        "time [s]": motion.time,
        "largest torque over the limit": float(np.abs(tau).max() / LIMIT),
        "simulated, from the end pose [m or rad]": float(np.abs(rolled.c[-1] - END).max()),
    }


def main() -> None:
    """Both motions, asked of the package, into OUT/result.json and OUT/motion.csv."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/dualv_fastest"))
    out = parser.parse_args().out
    robot, dynamics = rp.load("dualv"), exported(out)
    line = fastest(robot, dynamics, (END - BEGIN)[:, None])
    free = fastest(robot, dynamics, np.eye(3))
    said = {name: asked_of_the_package(robot, m) for name, m in (("along the line", line), ("free", free))}
    t = np.linspace(0, free.time, FINE * INTERVALS + 1)
    table = np.hstack([t[:, None], *free.at(t)])
    names = ["t", *(f"{name}{dot}" for dot in ("", "_d", "_dd") for name in robot.coordinates.names)]
    np.savetxt(out / "motion.csv", table, delimiter=",", header=",".join(names), comments="")
    (out / "result.json").write_text(json.dumps(said, indent=2) + "\n")
    for name, numbers in said.items():
        print(name, ", ".join(f"{what} {x:.4g}" for what, x in numbers.items()), sep=": ")


if __name__ == "__main__":
    main()
