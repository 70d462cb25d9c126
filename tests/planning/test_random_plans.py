"""Random paths and limits: a motion that keeps them, or the limit that forbids all motions, and nothing else."""

import numpy as np
import pytest
from random_plans import random_plan

OVER = 1e-3  # share of a limit
MOMENTUM = (114, 162, 342)  # passed with momentum only, where friction turns
KNOWN = {221: 0.327, 441: 0.249, 467: 1.58}  # [s] motions that keep the limits are known: what is planned is no slower


@pytest.mark.parametrize("number", [*range(25), *MOMENTUM, *KNOWN])
def test_a_random_path_is_planned_or_the_limit_that_forbids_it_is_named(number):
    outcome = random_plan(np.random.default_rng([800, number]))
    if outcome.label is not None:
        assert number not in {*MOMENTUM, *KNOWN}
        assert outcome.excess > 0
        assert outcome.proved
        assert outcome.label[0] in ("torque", "force")  # all others allow slow motion
        return
    assert outcome.time < KNOWN.get(number, np.inf)
    assert outcome.worst <= OVER
    assert outcome.jerked <= OVER
    assert outcome.cost <= 5e-3
