"""Reachable states of the catalogue's robots, every joint of them in closed form, from lengths and trigonometry alone.

Nothing here is taken from the package or from the URDFs: lengths are those of the robots' data sheets, so that a wrong
length, sign or offset in either shows up as a difference.
"""

from collections.abc import Callable
from dataclasses import dataclass

import loops_by_hand
import numpy as np


@dataclass(frozen=True)
class Reachable:
    """N states: the coordinates, and where every joint of the tree must be in the right assembly mode."""

    c: np.ndarray  # (N, d) as the robot file orders its coordinates
    joints: dict[str, np.ndarray]  # joint -> (N,) [rad or m]


# Delta robots -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Delta:
    """Lengths of a delta robot, arms at 0, 120 and 240 degrees [m]; base frame in the plane of the shoulder axes."""

    base: float  # shoulder axes from the centre
    arm: float
    rod: float
    platform: float  # middle of a pair of balls from the centre
    half: float  # half width of the parallelogram
    limb: str  # what the URDF calls a rod

    @property
    def home(self) -> float:
        """Height of the ball plane with all arms horizontal."""
        return -np.sqrt(self.rod**2 - (self.base + self.arm - self.platform) ** 2)

    def from_shoulder(self, k: int, p: np.ndarray) -> np.ndarray:
        """Middle of limb k's balls from its shoulder, along the limb's own axes (N, 3)."""
        return turn_z(np.full(len(p), -2 * np.pi * k / 3), p) + np.array([self.platform - self.base, 0, 0])


IRB360 = Delta(base=0.200, arm=0.500, rod=1.106, platform=0.048, half=0.050, limb="strut")
DELTA3 = Delta(base=0.15, arm=0.20, rod=0.40, platform=0.05, half=0.03, limb="rod")
U1 = 0.075  # upper universal joint of the IRB 360's bar above the base frame
U2 = 0.038  # lower universal joint above the ball plane


def turn_z(angle: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rz(angle) x for N vectors."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * x[:, 0] - s * x[:, 1], s * x[:, 0] + c * x[:, 1], x[:, 2]], axis=1)


def delta_angles(robot: Delta, p: np.ndarray) -> np.ndarray:
    """Arm angles (N, 3) for the centre p of the ball plane (N, 3); positive is down, elbows outwards.

    In the frame of an arm the middle of the platform's balls is (X, Y, Z) from the shoulder and the elbow at
    (L cos phi, 0, -L sin phi), so that X cos phi - Z sin phi = (X^2 + Y^2 + Z^2 + L^2 - l^2) / 2L. NaN: out of reach.
    """
    angles = np.empty((len(p), 3))
    for k in range(3):
        X, Y, Z = robot.from_shoulder(k, p).T
        right = (X**2 + Y**2 + Z**2 + robot.arm**2 - robot.rod**2) / (2 * robot.arm)
        cosine = right / np.hypot(X, Z)
        inside = np.where(np.abs(cosine) < 1, cosine, np.nan)
        angles[:, k] = np.arctan2(-Z, X) - np.arccos(inside)
    return angles


def delta_joints(robot: Delta, p: np.ndarray) -> dict[str, np.ndarray]:
    """Every joint of arms, rods and platform."""
    phi = delta_angles(robot, p)
    zero = np.zeros(len(p))
    joints = {"x": p[:, 0], "y": p[:, 1], "z": p[:, 2] - robot.home, "rx": zero, "ry": zero, "rz": zero}
    at_zero = np.arctan2(-robot.home, robot.platform - robot.base - robot.arm)  # of a rod below the horizontal
    for k in range(3):
        c, s = np.cos(phi[:, k]), np.sin(phi[:, k])
        to_ball = robot.from_shoulder(k, p)
        rod = (to_ball - np.stack([robot.arm * c, zero, -robot.arm * s], axis=1)) / robot.rod
        # A rod turns in the arm's frame by theta about y, then by zeta about z: Ry(theta) (cos zeta, sin zeta, 0).
        along, down = c * rod[:, 0] - s * rod[:, 2], -s * rod[:, 0] - c * rod[:, 2]
        joints[f"phi{k + 1}"] = phi[:, k]
        for side in "ab":
            joints[f"{robot.limb}_{k + 1}{side}_y"] = np.arctan2(down, along) - at_zero
            joints[f"{robot.limb}_{k + 1}{side}_z"] = np.arcsin(rod[:, 1])
    return joints


def irb360_joints(p: np.ndarray, psi: np.ndarray) -> dict[str, np.ndarray]:
    """With the telescopic bar: a Cardan shaft whose ends are parallel turns the end-effector exactly as its motor."""
    bar = p + np.array([0, 0, U2 - U1])
    length = np.linalg.norm(bar, axis=1)
    d = turn_z(-psi, bar) / length[:, None]
    second = np.arcsin(-d[:, 0])
    return delta_joints(IRB360, p) | {
        "psi": psi,
        "U1x": np.arctan2(d[:, 1], -d[:, 2]),
        "U1y": second,
        "U2y": -second,
        "ext": length - (U1 - U2 - IRB360.home),
        "R5": psi,
    }


def irb360(rng: np.random.Generator, n: int) -> Reachable:
    """Working diameter 1.6 m, arms inside -0.703 .. 1.745 rad, universal joints 0.80 .. 1.40 m apart."""

    def draw(m: int) -> np.ndarray:
        r, azimuth = 0.8 * np.sqrt(rng.uniform(0, 1, m)), rng.uniform(-np.pi, np.pi, m)
        return np.stack([r * np.cos(azimuth), r * np.sin(azimuth), rng.uniform(-1.37, -0.70, m)], axis=1)

    def inside(p: np.ndarray) -> np.ndarray:
        phi, bar = delta_angles(IRB360, p), np.linalg.norm(p + np.array([0, 0, U2 - U1]), axis=1)
        with np.errstate(invalid="ignore"):
            return ((phi > -0.703) & (phi < 1.745)).all(axis=1) & (bar > 0.80) & (bar < 1.40)

    p = _keep(draw, inside, n)
    joints = irb360_joints(p, rng.uniform(-np.pi, np.pi, n))
    return Reachable(np.stack([joints[name] for name in ("phi1", "phi2", "phi3", "psi")], axis=1), joints)


def delta3(rng: np.random.Generator, n: int) -> Reachable:
    """Cylinder r <= 0.12 m, z = -0.42 .. -0.28 m; the arms stay inside -0.8 .. 1.4 rad all over it."""
    r, azimuth = 0.12 * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(-np.pi, np.pi, n)
    p = np.stack([r * np.cos(azimuth), r * np.sin(azimuth), rng.uniform(-0.42, -0.28, n)], axis=1)
    joints = delta_joints(DELTA3, p)
    return Reachable(np.stack([joints[name] for name in ("phi1", "phi2", "phi3")], axis=1), joints)


def irb360_arms(rng: np.random.Generator, n: int) -> Reachable:
    """The arms alone, inside their limits; the shaft two turns."""
    c = rng.uniform([-0.703] * 3 + [-np.pi], [1.745] * 3 + [np.pi], (n, 4))
    return Reachable(c, dict(zip(("phi1", "phi2", "phi3", "psi"), c.T, strict=True)))


# Arms with a parallelogram ----------------------------------------------------------------------------------------


def parallelogram_arm(low: list[float], high: list[float], relative: float) -> Callable[..., Reachable]:
    """Six motors inside their limits, upper against lower arm inside +-relative; all in rad."""

    def sample(rng: np.random.Generator, n: int) -> Reachable:
        """Motor 3 turns the crank: crank and upper arm stay parallel, so do rod and lower arm."""
        c = _keep(lambda m: rng.uniform(low, high, (m, 6)), lambda c: np.abs(c[:, 2] - c[:, 1]) < relative, n)
        joints = {f"j{k + 1}": c[:, k] for k in (0, 1, 3, 4, 5)}
        joints |= {"j3": c[:, 2] - c[:, 1], "crank_joint": c[:, 2], "rod_joint": c[:, 1] - c[:, 2]}
        return Reachable(c, joints)

    return sample


irb2400 = parallelogram_arm(
    [-3.1416, -1.7453, -1.0472, -3.49, -2.0944, -6.981], [3.1416, 1.9199, 1.1345, 3.49, 2.0944, 6.981], 1.3
)
irb6660 = parallelogram_arm(
    [-3.1416, -0.733, -0.3491, -5.236, -2.0944, -6.2832], [3.1416, 1.4835, 2.0944, 5.236, 2.0944, 6.2832], 1.2217
)


# DualV ------------------------------------------------------------------------------------------------------------

LEG = 0.28  # proximal and distal links [m]
HALF = 0.11  # platform centre to its two ends [m]
GAMMA = np.deg2rad([15.52, 164.48, -164.48, -15.52])  # azimuths of the base joints
BASE = 0.41 * np.stack([np.cos(GAMMA), np.sin(GAMMA)], axis=1)
SIDE = np.array([1, 1, -1, -1])  # which end of the platform a leg holds: +1 is C1 = C2
ELBOW = np.array([-1, 1, -1, 1])  # sense from the line A-C to the proximal link; elbows outwards


def five_bars(pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles of the proximal links from the x axis, and of the distal links from these, (N, 4) each, at x, y, phi."""
    x, y, phi = pose.T[:, :, None]
    dx = x - SIDE * HALF * np.sin(phi) - BASE[:, 0]
    dy = y + SIDE * HALF * np.cos(phi) - BASE[:, 1]
    cosine = np.hypot(dx, dy) / (2 * LEG)
    inner = np.arccos(np.where(cosine < 1, cosine, np.nan))  # isosceles triangle A-B-C
    return np.arctan2(dy, dx) + ELBOW * inner, -2 * ELBOW * inner


def dualv(rng: np.random.Generator, n: int) -> Reachable:
    """Disc r <= 0.14 m, |phi| <= 45 degrees, of these the poses with all |sin q2| > 0.3.

    Disc and angles are each stated about home; with both at their ends at once a leg would have to stretch too far.
    """

    def draw(m: int) -> np.ndarray:
        r, azimuth = 0.14 * np.sqrt(rng.uniform(0, 1, m)), rng.uniform(-np.pi, np.pi, m)
        return np.stack([r * np.cos(azimuth), r * np.sin(azimuth), rng.uniform(-np.pi / 4, np.pi / 4, m)], axis=1)

    def inside(pose: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return (np.abs(np.sin(five_bars(pose)[1])) > 0.3).all(axis=1)

    pose = _keep(draw, inside, n)
    q1, q2 = five_bars(pose)
    home1, home2 = five_bars(np.zeros((1, 3)))
    joints = dict(zip(("x", "y", "phi"), pose.T, strict=True))
    for k in range(4):
        joints[f"A{k + 1}"] = np.angle(np.exp(1j * (q1 - home1)[:, k]))
        joints[f"B{k + 1}"] = np.angle(np.exp(1j * (q2 - home2)[:, k]))
    return Reachable(pose, joints)


# Robots whose numbers are assumed: loops_by_hand.py with floats -------------------------------------------------------


def by_hand(
    loops: Callable, motors: list[str], low: list[float], high: list[float], turns: list[bool], inside: dict
) -> Callable:
    """A sampler: what `loops` starts from between low and high, joints of `inside` between these limits."""

    def joints_of(start: np.ndarray) -> dict[str, np.ndarray]:
        given = [(np.cos(x), np.sin(x)) if turn else x for x, turn in zip(start.T, turns, strict=True)]
        with np.errstate(invalid="ignore"):
            found = loops(*given, of=lambda x: np.full(len(start), float(x)), root=np.sqrt)
        return {name: np.arctan2(x[1], x[0]) if isinstance(x, tuple) else x for name, x in found.items()}

    def fits(start: np.ndarray) -> np.ndarray:
        joints = joints_of(start)
        good = np.isfinite(list(joints.values())).all(axis=0)
        for name, (least, most) in inside.items():
            with np.errstate(invalid="ignore"):
                good &= (joints[name] > least) & (joints[name] < most)
        return good

    def sample(rng: np.random.Generator, n: int) -> Reachable:
        joints = joints_of(_keep(lambda m: rng.uniform(low, high, (m, len(low))), fits, n))
        return Reachable(np.stack([joints[name] for name in motors], axis=1), joints)

    return sample


def scara(rng: np.random.Generator, n: int) -> Reachable:
    """All axes inside their limits; the nut turns with the shaft, and once more for every 20 mm that it slides."""
    j1, j2, z, turn = rng.uniform([-2.3, -2.5, -0.17, -6.3], [2.3, 2.5, 0.01, 6.3], (n, 4)).T
    nut = turn + 2 * np.pi * z / 0.020
    return Reachable(np.stack([j1, j2, nut, turn], axis=1), {"j1": j1, "j2": j2, "nut": nut, "z": z, "turn": turn})


LEGS, PHIS = [f"leg_{k}" for k in range(1, 7)], [f"phi{k}" for k in range(1, 5)]


def _keep(draw: Callable[[int], np.ndarray], inside: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    kept = np.concatenate([x[inside(x)] for x in (draw(4 * n + 100) for _ in range(3))])
    assert len(kept) >= n, "fewer than a twelfth of the drawn states are inside"
    return kept[:n]


WORKSPACES: dict[str, Callable[[np.random.Generator, int], Reachable]] = {
    "delta3": delta3,
    "dualv": dualv,
    "dualv_payload": dualv,
    "fivebar": by_hand(
        loops_by_hand.fivebar, ["j1", "j2"], [-1] * 2, [1] * 2, [True] * 2, {"p1": (-1.1, 0.9), "p2": (-0.9, 1.1)}
    ),
    "fourbar_leg": by_hand(
        loops_by_hand.fourbar_leg,
        ["hip_roll", "hip_pitch", "knee_motor"],
        [-0.6, -1.0, -0.8],
        [0.6, 1.2, 0.8],
        [True] * 3,
        {"shin_pin": (-0.5, 1.2)},
    ),
    "h4": by_hand(
        lambda *x, **numbers: loops_by_hand.h4(x[:3], x[3], **numbers),
        PHIS,
        [-0.1, -0.1, -0.1, -0.5],
        [0.1, 0.1, 0.15, 0.5],
        [False] * 3 + [True],
        dict.fromkeys(PHIS, (-0.8, 1.4)),
    ),
    "hexapod": by_hand(
        lambda *x, **numbers: loops_by_hand.hexapod(x[:3], x[3:], **numbers),
        LEGS,
        [-0.1] * 3 + [-0.3] * 3,
        [0.1] * 3 + [0.3] * 3,
        [False] * 3 + [True] * 3,
        dict.fromkeys(LEGS, (-0.15, 0.2)),
    ),
    "irb2400": irb2400,
    "irb2400_printed": irb2400,
    "irb2400_rods": irb2400,
    "irb2400_spindle": irb2400,
    "irb360": irb360,
    "irb360_arms": irb360_arms,
    "irb360_measure": irb360,
    "irb6660": irb6660,
    "scara": scara,
    "slider_crank": by_hand(loops_by_hand.slider_crank, ["crank"], [-2.3], [2.3], [True], {}),
}
