"""Which of some shapes of friction explains the fit data best, axis by axis, by least squares: the logs are read once for all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.fold import Factor
from robodyn_pin.log_to_robot.prior_knowledge import Weigh
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.robot import Robot

LEAST = 1e-300  # sum of squares: nothing is left


def likeliest(
    whole: Robot,
    plain: Sequence[Effort],
    options: Mapping[str, Sequence[Effort]],
    groups: Sequence[Factor],
    weigh: Weigh,
) -> dict[str, Effort]:
    """The option of each axis that is likeliest beside the `plain` efforts, the other axes having theirs.

    Args:
        whole: robot whose columns the rows `groups` have. Options and plain efforts are among its efforts.
    """
    kept = {axis: each[len(each) // 2] for axis, each in options.items()}

    def unlikely(axis: str, option: Effort) -> float:
        used = [*plain, *(kept | {axis: option}).values()]
        part = replace(whole, efforts=tuple(e for e in whole.efforts if any(e is other for other in used)))
        rows = [group.of(columns_kept(whole, part)) for group in groups]
        x = weigh(rows, None, 1.0).full(rows[0].R.shape[1] - 1)
        return float(sum(row.rows * np.log(max(row.residual(x), LEAST)) for row in rows))

    for axis, each in options.items():
        found = [unlikely(axis, option) for option in each]
        kept[axis] = each[int(np.argmin(found))]
    return kept


def columns_kept(whole: Robot, part: Robot) -> np.ndarray:
    """Which columns (k,) of a robot's rows one with fewer efforts has."""
    begin, ours = columns(whole).layout.first_scalar, {id(e) for e in part.efforts}
    kept = [*range(begin)]
    for effort in whole.efforts:
        if not effort.spec.known:
            kept += range(begin, begin + len(effort.labels)) if id(effort) in ours else []
            begin += len(effort.labels)
    return np.array(kept)
