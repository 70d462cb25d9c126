"""Sweeps of one axis as a real servo makes them, in plain NumPy: ripple, encoder counts, a clock that jitters, stale rows."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

URDF = """<robot name="axis"><link name="base"/><link name="part"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="{kind}"><parent link="base"/><child link="part"/><axis xyz="0 0 1"/>
<limit lower="-100" upper="100" effort="1000" velocity="100"/></joint></robot>"""


@dataclass(frozen=True)
class Axis:
    """The truth: a slide (m, N), or with `turns` a hinge (rad, N m)."""

    coulomb: float = 2.0
    viscous: float = 8.0
    offset: float = -0.6
    static: float = 0.0  # above Coulomb friction at rest
    stribeck: float = 0.02  # speed
    inertia: float = 1.0
    grain: float = 1.3e-6  # of the encoder
    ripple: float = 1e-4  # amplitude
    noise: float = 0.1  # of the effort, white
    stroke: float = 0.1
    speeds: tuple[float, ...] = (0.005, 0.01, 0.02, 0.035, 0.055, 0.08, 0.12, 0.16)
    turns: bool = False

    def friction(self, v: np.ndarray) -> np.ndarray:
        """At speeds v, its sign sharp."""
        falling = self.static * np.exp(-((v / self.stribeck) ** 2))
        return np.sign(v) * (self.coulomb + falling) + self.viscous * v


SLIDE = Axis()
HINGE = Axis(1.5, 0.6, 0.4, 0.0, 0.1, 0.05, 4e-6, 3e-4, 0.05, 1.0, (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5), True)


def reference(axis: Axis, rate: float, both: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Position and speed (N,): every speed over the stroke and back, 0.1 s ramps, 0.3 s of rest between."""
    pieces = [np.zeros(round(0.5 * rate))]
    for w in axis.speeds:
        for sign in (1, -1):
            hold = np.full(round(axis.stroke / w * rate), w if both or sign > 0 else 40 * w)
            hold = hold if both or sign > 0 else np.full(round(axis.stroke / w * rate / 4), 0.0)
            ramp = np.linspace(0, hold[0], round(0.1 * rate))
            pieces += [sign * np.concatenate([ramp, hold, ramp[::-1]]), np.zeros(round(0.3 * rate))]
    v = np.concatenate(pieces)
    return np.cumsum(v) / rate, v


def recorded(axis: Axis, seed: int, rate: float = 500.0) -> dict[str, np.ndarray]:
    """Columns of a log: t, q_x, tau_x. Two ripples of 5 to 60 Hz while the axis moves, 10 % of the rows repeat the one before."""
    rng = np.random.default_rng(seed)
    q, v = reference(axis, rate)
    a = np.gradient(v) * rate
    t = np.arange(len(q)) / rate
    for share in (0.7, 0.3):
        f, phase = 2 * np.pi * rng.uniform(5, 60), rng.uniform(0, 2 * np.pi)
        size = share * axis.ripple * (v != 0)
        wave = f * t + phase
        q, v, a = q + size * np.sin(wave), v + size * f * np.cos(wave), a - size * f**2 * np.sin(wave)
    tau = axis.offset + axis.friction(v) + axis.inertia * a + axis.noise * rng.normal(size=len(t))
    q = np.round(q / axis.grain) * axis.grain
    stale = rng.random(len(t)) < 0.1
    stale[0] = False
    fresh = np.maximum.accumulate(np.where(stale, 0, np.arange(len(t))))
    jittered = t + 0.1 / rate * rng.uniform(-1, 1, len(t))
    return {"t": jittered, "q_x": q[fresh], "tau_x": tau[fresh]}


def robot_files(folder: Path, turns: bool) -> Path:
    """The axis as URDF and robot file; the latter's path."""
    (folder / "axis.urdf").write_text(URDF.format(kind="revolute" if turns else "prismatic"))
    (folder / "axis.yaml").write_text("{urdf: axis.urdf, motors: [x]}")
    return folder / "axis.yaml"
