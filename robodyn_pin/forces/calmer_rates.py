"""Whether a prediction that is far off would not be with rates that pass less of what is no motion."""

from collections.abc import Iterator

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_rows
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.torque_errors import relative_error, torque_errors
from robodyn_pin.robot.robot import Robot

USELESS = 1.0  # error over the torques' rms, of all motors: no torque at all would be as good a prediction
CLEARLY = 0.5  # of the error: by so much other rates must lower it to be called the cause
CUTOFFS = (3.0, 6.0, 12.0)  # [Hz] that are tried
MOST = 20_000  # rows


def why_far_off(
    robot: Robot, log: Log, tau: np.ndarray, preparation: Preparation, lowpass: Lowpass | None = None
) -> str:
    """One sentence on what is likely wrong with predicted torques (N, n) that are no better than none; else empty.

    Args:
        lowpass: on the torques before they are compared, as the identification scored them.
    """
    edge = edge_rows(log, preparation)
    now = relative_error(torque_errors(log, tau, edge, lowpass))
    if now <= USELESS or log.size < 4 * edge + 10:
        return ""
    part, tried = log.section(0, min(log.size, MOST)), list[tuple[float, str]]()
    for other in _others(part):
        try:
            error = relative_error(torque_errors(part, predict(robot, part, other), edge_rows(part, other), lowpass))
        except RobodynError:
            continue
        kind = "measured rates" if other.rates == "measured" else "positions"
        tried.append((error, f"a spline that passes {other.cutoff:g} Hz over {kind}"))
    error, way = min(tried, default=(np.inf, ""))
    below = f" below {lowpass.cutoff:g} Hz" if lowpass else ""
    found = f"the prediction is off by {100 * now:.3g} % of the torques' rms{below}"
    if error < CLEARLY * now:
        named = "measured, " if "measured" in way else "positions, "
        cutoff = way.split(" passes ")[1].split(" ")[0]
        return (
            f"{found}; the rates are the likely cause: with {way} it would be {100 * error:.3g} %; identify with 'preparation: "
            f"{{rates: {named}differentiation: spline, cutoff: {cutoff}}}', or leave 'preparation' out"
        )
    return (
        f"{found}, and other rates do not explain it: the parameters are not those of this robot, or columns, units or signs of the "
        "log are wrong"
    )


def _others(log: Log) -> Iterator[Preparation]:
    for rates in ("positions", "measured") if log.dq is not None else ("positions",):
        for cutoff in CUTOFFS:
            yield Preparation.model_validate({"rates": rates, "differentiation": "spline", "cutoff": cutoff})
