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


@dataclass(frozen=True)
class Sticking:
    """The truth of an axis that breaks away: a spring up to static friction, then Coulomb friction and a mass."""

    static: float = 3.0
    coulomb: float = 2.0
    viscous: float = 8.0
    load: float = -0.6
    stiffness: float = 5e4
    inertia: float = 1.0
    grain: float = 1.3e-6
    noise: float = 0.05
    scatter: float = 0.02  # of static friction, from one break to the next
    rising: float = 1.0  # effort per second
    slip: float = 1e-3
    places: tuple[float, ...] = (0.05, 0.1, 0.15)
    turns: bool = False

    def static_at(self, place: float) -> float:
        """It changes along the axis."""
        return self.static * (1 + 0.2 * np.sin(40 * place))


STUCK_SLIDE = Sticking()
STUCK_HINGE = Sticking(4.0, 3.0, 1.5, 0.7, 800.0, 0.1, 2e-5, 0.05, 0.02, 1.0, 0.05, (-0.5, 0.2, 0.9), True)


def ramps(axis: Sticking, seed: int, repeats: int = 4, rate: float = 500.0) -> dict[str, np.ndarray]:
    """Columns of a log: at each place, ramps to both sides until the axis slips; a servo brings it back."""
    rng, dt, every = np.random.default_rng(seed), 1e-4, round(1e4 / rate)
    q, tau = [], []
    for place in axis.places:
        for sign in [1, -1] * repeats:
            static = axis.static_at(place) * (1 + axis.scatter * rng.normal())
            rest = round(0.6 / dt)
            rising = np.arange(rest, rest + round(static / axis.rising / dt)) - rest
            stuck = sign * axis.rising * rising * dt
            q += [np.full(rest, place), place + stuck / axis.stiffness]
            tau += [np.full(rest, axis.load), axis.load + stuck]
            x, v, slid, pushed = place + sign * static / axis.stiffness, 0.0, [], []
            push = static
            while abs(x - place) < axis.slip:
                push += axis.rising * dt
                v += sign * (push - axis.coulomb - axis.viscous * abs(v)) / axis.inertia * dt
                x += v * dt
                slid.append(x)
                pushed.append(axis.load + sign * push)
            time = np.linspace(0, 1, round(0.8 / dt))  # the servo catches it and moves it back
            tangent = v * 0.8
            back = x + tangent * time * (1 - time) ** 2 + (place - x) * time**2 * (3 - 2 * time)
            q += [np.array(slid), back]
            speed = np.gradient(back) / dt
            tau += [np.array(pushed), axis.load + axis.coulomb * np.tanh(speed / 1e-3) + axis.viscous * speed]
    where, effort = np.concatenate(q)[::every], np.concatenate(tau)[::every]
    t = np.arange(len(where)) / rate + 0.1 / rate * rng.uniform(-1, 1, len(where))
    measured = effort + axis.noise * rng.normal(size=len(t))
    stale = rng.random(len(t)) < 0.1
    stale[0] = False
    fresh = np.maximum.accumulate(np.where(stale, 0, np.arange(len(t))))
    return {"t": t, "q_x": (np.round(where / axis.grain) * axis.grain)[fresh], "tau_x": measured[fresh]}
