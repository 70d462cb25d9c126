"""What can be known of each parameter of the delta, DualV and Panda, against counts over a finite field."""

import os
import random
import sys
from collections import Counter

from finite_field import rank
from make import Row, Section
from test_identifiability import COUNTED

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.identifiability import identifiability
from robodyn_pin.robot.robot import load


def study() -> Section:
    data = os.environ.get("ROBODYN_DATA")
    if not data:
        sys.exit("set ROBODYN_DATA to the folder of the measured logs")
    rows = []
    for name, (energy, _) in COUNTED.items():
        rng = random.Random(2)
        exact = rank([energy(rng) for _ in range(200)])
        robot = load(f"{data}/panda_gaz2019/panda.urdf" if name == "panda" else name)
        found = check(robot)
        layout = columns(robot).layout
        bodies = identifiability(found.base, layout.labels)[: layout.first_scalar]
        kinds = Counter(p.kind for p in bodies)
        split = f"{kinds['alone']} alone, {kinds['combination']} in combinations, {kinds['not at all']} not at all"
        rows.append(Row(f"{name}, base parameters of the bodies", f"{exact} (finite field)", f"{found.inertial}; {split}",
                        found.inertial == exact))  # fmt: skip
    return Section(
        "Identifiability", "python figures/make.py identifiability", tuple(rows),
        "Counts from the energies of 200 random states over a field of 2^61 + 15 elements, without round-off. Which parameter "
        "is seen alone, in a combination or not at all is held against the published statements in "
        "`tests/identification/test_identifiability.py`: Panda's list (20 alone) entry by entry, those of the IRB 360 and the DualV.",
    )  # fmt: skip
