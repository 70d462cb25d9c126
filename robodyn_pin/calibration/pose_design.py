"""Which poses to measure: those that leave least of what is unknown of a geometry, chosen among many within all limits.

Poses are added one by one where they help most, then exchanged as long as that helps (Fedorov). Errors count in units of their tolerances,
and only in the combinations that some pose shows.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, possible_errors
from robodyn_pin.calibration.shown_errors import GAP
from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.closing import close, follow
from robodyn_pin.closures.singularity import smallest_singular_values
from robodyn_pin.dynamics.loads import positions_allowed
from robodyn_pin.errors import BadFile, ClosureFailed, UnknownName
from robodyn_pin.files import Strict
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot, load_named

PASSES = 20  # of exchanges over all poses
MOST_TRIES = 50  # for each candidate
SINGULAR = 0.1  # of home's distance from a singular state: nearer poses are left out
LOOKED_AT = 25  # candidates of an exchange that are evaluated in full for the weakest direction
USUAL: list[str] = ["offsets", "joints", "closures", "base", "tool"]


class PosesFile(Strict):
    """Run file of `robodyn design --for calibration`."""

    robot: str
    targets: Annotated[dict[str, TargetSpec], Field(min_length=1)]  # what will be measured, by name
    poses: Annotated[int, Field(ge=2, le=1000)] = 30  # how many to measure
    calibrate: Annotated[list[str], Field(min_length=1)] = USUAL  # groups, or single errors by name
    tolerances: Tolerances = Tolerances()
    coordinates: list[str] | None = None  # default: the motors, where they are as many as needed
    ranges: dict[str, tuple[float, float]] = {}  # [rad or m] of coordinates; others go through their limits
    criterion: Literal["D", "E"] = "D"  # smallest volume of what stays unknown, or smallest largest axis of it
    candidates: Annotated[int, Field(ge=10, le=20_000)] = 600  # random poses within all limits to choose from
    random: Annotated[int, Field(ge=10, le=20_000)] = 500  # random sets of as many poses, to compare with
    seed: int = 0
    output: Path | None = None


@dataclass(frozen=True)
class PoseDesign:
    """Chosen poses, and how random ones compare."""

    run: PosesFile
    robot: ErringRobot
    c: np.ndarray  # (poses, d) [rad or m]
    value: float  # of the criterion, see `_value`; larger is better
    random: np.ndarray  # (random,) of sets of random poses
    remaining: np.ndarray  # (errors,) standard deviation after the fit over the tolerance
    rank: int  # combinations of errors that the candidates show

    @property
    def better(self) -> int:
        """How many random sets the design beats."""
        return int((self.random < self.value).sum())


def design_poses(run: PosesFile, folder: Path) -> PoseDesign:
    """Choose the poses; paths start from `folder`.

    Raises:
        RobodynError: a name that is not there, or no pose within the limits.
    """
    if "stiffness" in run.calibrate:
        raise BadFile(
            "'calibrate' names stiffness, which loads show and not poses alone; take it out, and choose loads with a design of stiffness "
            "(`robodyn design` without --for)"
        )
    drawn = load_named(run.robot, folder)
    enough = len(drawn.motors.names) == len(drawn.coordinates.names)
    robot = drawn.with_coordinates(run.coordinates or (drawn.motors.names if enough else drawn.coordinates.names))
    rng = np.random.default_rng(run.seed)
    c, q = _candidates(robot, run, rng)
    errors = possible_errors(robot, robot.coordinates.names, run.targets, run.calibrate, run.tolerances)
    whole = ErringRobot(robot, errors, run.targets)
    fine = whole.contradictions(np.zeros(len(errors)), c[:20], q[:20]) < 1e-7
    whole = whole.with_errors([error for error, good in zip(errors, fine, strict=True) if good])
    rows = _rows(whole, c, q)
    flat = rows.reshape(-1, rows.shape[2])
    _, s, Vt = np.linalg.svd(np.linalg.qr(flat, mode="r"))
    rank = int((s > GAP * s[0]).sum())
    A = rows @ Vt[:rank].T
    chosen = _exchanged(A, _greedy(A, run.poses), run.criterion)
    others = np.array(
        [_value(A, rng.choice(len(c), run.poses, replace=False), run.criterion) for _ in range(run.random)]
    )
    J = rows[chosen].reshape(-1, rows.shape[2])
    remaining = np.sqrt(np.diag(np.linalg.inv(np.eye(J.shape[1]) + J.T @ J)))
    return PoseDesign(run, whole, c[chosen], _value(A, chosen, run.criterion), others, remaining, rank)


def _candidates(robot: Robot, run: PosesFile, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random poses (N, d) within all limits and away from singular ones, and their joints (N, joints)."""
    ranges, tried, n = _ranges(robot, run), 0, 0
    found_c: list[np.ndarray] = []
    found_q: list[np.ndarray] = []
    while n < run.candidates and tried < MOST_TRIES * run.candidates:
        c = rng.uniform(ranges[:, 0], ranges[:, 1], (run.candidates, len(ranges)))
        tried += len(c)
        c, q = _within_reach(robot, c)
        if len(q):
            fine = positions_allowed(robot, q)
            if robot.loops.size:
                at_home = smallest_singular_values(robot.loops, robot.coordinates.S, robot.home[None], robot.home)[0]
                fine &= smallest_singular_values(robot.loops, robot.coordinates.S, q, robot.home) > SINGULAR * at_home
            found_c.append(c[fine])
            found_q.append(q[fine])
            n += int(fine.sum())
    if n < max(run.poses, 10):
        raise BadFile(
            f"only {n} of {tried} random poses of {robot.name!r} close within its limits, {max(run.poses, 10)} are needed; narrow 'ranges' "
            "to where the robot can be"
        )
    return np.concatenate(found_c)[: run.candidates], np.concatenate(found_q)[: run.candidates]


def _ranges(robot: Robot, run: PosesFile) -> np.ndarray:
    """From where to where each coordinate is drawn (d, 2) [rad or m]: its limits, half a turn or half a metre each way without any."""
    names = robot.coordinates.names
    for name, (low, high) in run.ranges.items():
        if name not in names:
            raise UnknownName("coordinate", name, "'ranges'", names)
        if low >= high:
            raise BadFile(f"'ranges' of {name!r} from {low:g} to {high:g} leaves no room; give the lower end first")
    free = np.where(robot.slides(robot.coordinates.S), 0.5, np.pi)[:, None] * [-1.0, 1.0]
    for bounds in limits_of(robot, {}, 0.0).of(["position"]).bounds:
        for row, centre, half in zip(bounds.S, bounds.centre, bounds.half, strict=True):
            for k, (own, offset) in enumerate(zip(robot.coordinates.S, robot.coordinates.offset, strict=True)):
                if np.array_equal(row, own):
                    free[k] = max(centre - half + offset, free[k, 0]), min(centre + half + offset, free[k, 1])
    return np.array([run.ranges.get(name, tuple(one)) for name, one in zip(names, free, strict=True)], float)


def _within_reach(robot: Robot, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Those of the poses c (N, d) that close, and their joints."""
    S, offset = robot.coordinates.S, robot.coordinates.offset
    if robot.loops.size and (compiled := robot.loops.compiled(S)) and kernel_choice.chosen(len(c)):
        q, closed = follow(compiled, S, offset, c, robot.home, scattered=True, searching=True)
        return c[closed], q[closed]
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for one in c:
        with contextlib.suppress(ClosureFailed):
            found.append((one, close(robot.loops, S, offset, one[None], robot.home)[0]))
    return np.array([x for x, _ in found]), np.array([x for _, x in found])


def _rows(robot: ErringRobot, c: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Slopes (N, rows, errors) of what each pose gives, in standard deviations of the measurements per tolerance."""
    zero = np.zeros(len(robot.errors))
    found = robot.predict(zero, c, q)
    sigma = [np.array([spec.sigma] * 3 + [spec.sigma_angle] * 3)[: spec.rows] for spec in robot.targets.values()]
    rows = np.concatenate([found.slopes[name] for name in robot.targets], axis=1)
    return np.asarray(rows / np.concatenate(sigma)[:, None] * [error.tolerance for error in robot.errors])


def _value(A: np.ndarray, chosen: Sequence[int] | np.ndarray, criterion: str) -> float:
    """What a set of poses is worth: half the log determinant of the information (D), or the root of its smallest eigenvalue (E)."""
    M = _information(A, chosen)
    if criterion == "D":
        return float(np.linalg.slogdet(M)[1] / 2)
    return float(np.sqrt(np.linalg.eigvalsh(M)[0]))


def _information(A: np.ndarray, chosen: Sequence[int] | np.ndarray) -> np.ndarray:
    """Information (rank, rank) on the combinations that can be shown, the prior's own included."""
    part = A[np.asarray(chosen, int)].reshape(-1, A.shape[2])
    return np.asarray(np.eye(A.shape[2]) + part.T @ part)


def _gains(A: np.ndarray, M: np.ndarray) -> np.ndarray:
    """By how much one more pose would raise the log determinant (N,)."""
    X = A @ np.linalg.inv(M)
    return np.asarray(np.linalg.slogdet(np.eye(A.shape[1]) + X @ np.swapaxes(A, 1, 2))[1])


def _greedy(A: np.ndarray, count: int) -> list[int]:
    """Poses added one by one where they help most."""
    chosen: list[int] = []
    for _ in range(count):
        gain = _gains(A, _information(A, chosen))
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
    return chosen


def _exchanged(A: np.ndarray, chosen: list[int], criterion: str) -> list[int]:
    """Poses exchanged one by one for better ones, until no exchange helps."""
    best = _value(A, chosen, criterion)
    for _ in range(PASSES):
        before = best
        for k in range(len(chosen)):
            rest = chosen[:k] + chosen[k + 1 :]
            M = _information(A, rest)
            if criterion == "D":
                worth = _gains(A, M)
            else:
                weak = np.linalg.eigh(M)[1][:, 0]
                worth = np.linalg.norm(A @ weak, axis=1)
            worth[rest] = -np.inf
            for i in np.argsort(-worth)[: 1 if criterion == "D" else LOOKED_AT]:
                value = _value(A, [*rest, int(i)], criterion)
                if value > best * (1 + 1e-12):
                    chosen, best = [*chosen[:k], int(i), *chosen[k + 1 :]], value
        if best <= before * (1 + 1e-6):
            break
    return chosen
