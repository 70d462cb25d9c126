"""Designs drawn by chance that keep the same rules: to start a search from, and to be compared with."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.elastic.design_file import Direction
from robodyn_pin.elastic.design_problem import Plan, Setting, forces, inputs, told
from robodyn_pin.elastic.deviation import levers
from robodyn_pin.elastic.pose_rules import random_poses
from robodyn_pin.elastic.springs import place
from robodyn_pin.identification.experiment_design import Criterion, posterior, size


@dataclass(frozen=True)
class Drawn:
    """Designs by chance."""

    plans: list[Plan]
    u: np.ndarray  # (r, n)
    covariances: np.ndarray  # (r, p, p), forces anywhere within their bounds
    full: np.ndarray  # (r, p, p) the same with all forces at their bounds

    def best(self, criterion: Criterion, count: int) -> np.ndarray:
        """Numbers of the best, all forces at their bounds."""
        return np.argsort(size(self.full, criterion))[:count]


def draw(setting: Setting, directions: list[Direction], poses: int, count: int, rng: np.random.Generator) -> Drawn:
    """Designs with so many poses, forces uniform within their bounds.

    Raises:
        RobodynError: no pose to be reached; says what is in the way.
    """
    c = random_poses(setting.where, count * poses, rng).reshape(count, poses, -1)
    L = levers(place(setting.springs, c.reshape(count * poses, -1)), setting.believed).reshape(count, poses, 3, -1)
    plans, u, covariances = [], [], []
    for i in range(count):
        plan = random_plan(directions, poses, rng)
        plans.append(plan)
        s = rng.uniform(-1, 1, sum(plan.widths))
        both = [inputs(c[i], s), inputs(c[i], np.sign(s))]
        rows = [told(setting, L[i, list(plan.pose)], forces(setting, plan, x)).reshape(-1, L.shape[-1]) for x in both]
        u.append(both[0])
        covariances.append([posterior(r, setting.precision) for r in rows])
    found = np.array(covariances)
    return Drawn(plans, np.array(u), found[:, 0], found[:, 1])


def random_plan(directions: list[Direction], poses: int, rng: np.random.Generator) -> Plan:
    """Measurements dealt to the poses so that each has one, and none has two of one direction."""
    order = rng.permutation(len(directions))
    pose, taken = [0] * len(directions), [set[str]() for _ in range(poses)]
    # First the most frequent direction, which needs most poses; then poses that are empty before those that are not.
    for m in sorted(order, key=lambda m: -directions.count(directions[m])):
        free = [g for g in range(poses) if directions[m] not in taken[g]]
        left = [g for g in free if not taken[g]]
        g = int(rng.choice(left or free))
        pose[m] = g
        taken[g].add(directions[m])
    return Plan(tuple(directions), tuple(pose))
