"""Random designs that keep the same rules: starting points of a search, and a standard to compare its result with."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.elastic.design_file import Direction
from robodyn_pin.elastic.design_problem import DesignSetting, MeasurementPlan, design_inputs, forces_of, sensitivities
from robodyn_pin.elastic.deviation import twist_compliance
from robodyn_pin.elastic.pose_rules import random_poses
from robodyn_pin.elastic.springs import pose_kinematics
from robodyn_pin.identification.experiment_design import Criterion, design_posterior, size


@dataclass(frozen=True)
class RandomDesigns:
    """r random designs with p springs."""

    plans: list[MeasurementPlan]
    u: np.ndarray  # (r, n) inputs
    covariances: np.ndarray  # (r, p, p) posterior, with forces anywhere within their bounds
    full_force: np.ndarray  # (r, p, p) posterior of the same designs with all forces at their bounds

    def best(self, criterion: Criterion, count: int) -> np.ndarray:
        """Numbers of the best designs with all forces at their bounds."""
        return np.argsort(size(self.full_force, criterion))[:count]


def draw_designs(
    setting: DesignSetting, directions: list[Direction], poses: int, count: int, rng: np.random.Generator
) -> RandomDesigns:
    """Draw `count` designs of so many poses, with forces uniform within their bounds.

    Raises:
        RobodynError: no pose is within reach; the message names what is in the way.
    """
    c = random_poses(setting.rules, count * poses, rng).reshape(count, poses, -1)
    placed = pose_kinematics(setting.springs, c.reshape(count * poses, -1))
    L = twist_compliance(placed, setting.prior_stiffness).reshape(count, poses, 3, -1)
    plans, inputs, covariances = [], [], []
    for i in range(count):
        plan = random_plan(directions, poses, rng)
        plans.append(plan)
        parts = rng.uniform(-1, 1, sum(plan.widths))
        both = [design_inputs(c[i], parts), design_inputs(c[i], np.sign(parts))]
        rows = [sensitivities(setting, L[i, list(plan.pose)], forces_of(setting, plan, u)) for u in both]
        inputs.append(both[0])
        covariances.append([design_posterior(r.reshape(-1, L.shape[-1]), setting.precision) for r in rows])
    within, full = np.swapaxes(np.array(covariances), 0, 1)
    return RandomDesigns(plans, np.array(inputs), within, full)


def random_plan(directions: list[Direction], poses: int, rng: np.random.Generator) -> MeasurementPlan:
    """Assign measurements to poses at random: each pose gets one, and none gets two of one direction."""
    order = rng.permutation(len(directions))
    pose, taken = [0] * len(directions), [set[str]() for _ in range(poses)]
    # First the most frequent direction, which needs most poses; then poses that are empty before those that are not.
    for m in sorted(order, key=lambda m: -directions.count(directions[m])):
        free = [g for g in range(poses) if directions[m] not in taken[g]]
        empty = [g for g in free if not taken[g]]
        g = int(rng.choice(empty or free))
        pose[m] = g
        taken[g].add(directions[m])
    return MeasurementPlan(tuple(directions), tuple(pose))
