"""The stiffest orientation for a task: the pose at a given place in which a process force moves the tool least."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.optimize import minimize

from robodyn_pin.closures import kernel_choice
from robodyn_pin.elastic.deviation import DeviationModel, deviation_at, twist_compliance_slopes
from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.pose_rules import ConeSpec, PoseRules, pose_rules, random_poses, slack
from robodyn_pin.elastic.springs import PoseKinematics, Springs, motors_of, pose_kinematics
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict

TOLERANCE = 1e-6  # [m, rad or cosine] by which a rule may be violated


class StiffestPoseSpec(Strict):
    """The task: a place, a force, and how far the tool may lean."""

    position: Vector  # [m] of the tool's point
    force: Vector  # [N] on the tool, axes of the base
    cone: ConeSpec | None = None
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.02  # share of every joint's range that is kept free at the limits
    random: Annotated[int, Field(ge=10)] = 300  # random poses to start from
    starts: Annotated[int, Field(ge=1)] = 8  # the best of these are improved


@dataclass(frozen=True)
class StiffestPose:
    """The stiffest pose for a task, and the deviations of random poses for comparison."""

    spec: StiffestPoseSpec
    motors: np.ndarray  # (n_motors,) [rad or m]
    q: np.ndarray  # (nv,) of all joints
    rotation: np.ndarray  # (3, 3) of the tool's frame
    deviation: np.ndarray  # (3,) [m], axes of the base
    random: np.ndarray  # (r,) lengths of the deviations of random poses [m]


def stiffest_pose(
    springs: Springs, k: np.ndarray, model: DeviationModel, spec: StiffestPoseSpec, seed: int
) -> StiffestPose:
    """Search for the pose at the task's place in which its force moves the tool least; k (n,) [N m/rad].

    Raises:
        BadFile: the force is zero. RobodynError: no pose is within reach; the message names what is in the way.
    """
    force = np.array(spec.force)
    if not force.any():
        raise BadFile("task.force is zero; which orientation is stiffest depends on the force")
    rules = pose_rules(springs, spec.position, None, spec.cone, spec.margin)
    c = random_poses(rules, spec.random, np.random.default_rng(seed))
    moved = deviation_at(springs, pose_kinematics(springs, c), np.broadcast_to(force, (len(c), 3)), k, model).values
    lengths = np.linalg.norm(moved, axis=1)
    starts = c[lengths.argsort()[: spec.starts]]
    with kernel_choice.preferred():
        candidates = [
            x for c in starts for x in (c, _improved(rules, c, force, k)) if _violation(rules, x) <= TOLERANCE
        ]
    poses = pose_kinematics(springs, np.array(candidates))
    values = deviation_at(springs, poses, np.broadcast_to(force, (len(candidates), 3)), k, model).values
    i = int(np.linalg.norm(values, axis=1).argmin())
    return StiffestPose(spec, motors_of(springs, poses)[i], poses.q[i], poses.rotation[i], values[i], lengths)


def _improved(rules: PoseRules, start: np.ndarray, force: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Coordinates (d,) that sequential quadratic programming reaches from a start, by the linear model, slopes exact."""
    springs, target = rules.springs, rules.position

    @lru_cache(maxsize=4)
    def pose(c: bytes) -> PoseKinematics:
        return pose_kinematics(springs, np.frombuffer(c)[None])

    def log_length(c: np.ndarray) -> tuple[float, np.ndarray]:
        L, dL = (x[0] for x in twist_compliance_slopes(springs, pose(c.tobytes()), k))
        twist = L.T @ force
        moved = L @ (k * twist)  # J K^-1 J' F = sum k_i L_i (L_i . F)
        slope = np.einsum("xsj,s->xj", dL, k * twist) + L @ (k[:, None] * np.einsum("xsj,x->sj", dL, force))
        return float(np.log(np.linalg.norm(moved))), moved @ slope / (moved @ moved)

    constraints = [
        {"type": "eq", "fun": lambda c: pose(c.tobytes()).point[0] - target, "jac": lambda c: pose(c.tobytes()).J[0]},
        {"type": "ineq", "fun": lambda c: slack(rules, pose(c.tobytes()))[0][0],
         "jac": lambda c: slack(rules, pose(c.tobytes()))[1][0]},
    ]  # fmt: skip
    bounds = list(zip(rules.low, rules.high, strict=True))
    found = minimize(
        log_length, start, jac=True, bounds=bounds, constraints=constraints, method="SLSQP", options={"ftol": 1e-9}
    )
    return np.asarray(np.clip(found.x, rules.low, rules.high))


def _violation(rules: PoseRules, c: np.ndarray) -> float:
    """By how much a pose violates the position and the rules of `slack`."""
    pose = pose_kinematics(rules.springs, c[None])
    distance = float(np.abs(pose.point[0] - rules.position).max())
    return max(distance, float(-slack(rules, pose)[0].min(initial=0.0)))
