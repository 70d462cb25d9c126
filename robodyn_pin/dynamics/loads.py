"""What a motion asks of a robot, and whether the robot survives it: motions, torques and strut forces beside their limits."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.errors import BeyondLimits
from robodyn_pin.robot.limits import AxisLimits, Limits, described, limits_of
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.robot.robot_file import Limit

ROUND_OFF, LEAST = 1e-9, 1e-6  # of half a range; [SI] of ranges that are open at one end but for a huge number
PER = {"position": "", "velocity": "/s", "acceleration": "/s²"}


def loads(
    robot: Robot, state: State, kinds: Collection[str], internal: np.ndarray | None = None,
    label: Callable[[int], str] = lambda i: f"sample {i}",
) -> dict[str, np.ndarray]:  # fmt: skip
    """Of N samples, as far as `kinds` asks: torques (N, n_motors) [N m or N], forces (N, 2 struts) along the struts [N].

    The lower ends of all struts come first, those that a closure holds; then the upper ones, those that the tree carries.
    `internal` and `label` as in `motor_torques`, raises as that.
    """
    of, found = Loads(robot, state, None, internal, label), {}
    if {"torque", "force"} & set(kinds):
        found["torque"] = of.tau
    if "force" in kinds:
        found["force"] = np.hstack([of.struts.lower, of.struts.upper])
    return found


def limited(robot: Robot, limits: Limits, state: State) -> np.ndarray:
    """The limited quantities of N samples (N, m), columns as `limits.labels`."""
    return quantities(limits, state, loads(robot, state, limits.kinds))


def quantities(limits: Limits, state: State, found: dict[str, np.ndarray]) -> np.ndarray:
    """As `limited`, where the loads are at hand: `found`, as `loads` gives them."""
    of = {"position": state.q, "velocity": state.v, "acceleration": state.a} | found
    return np.concatenate([np.zeros((len(state.q), 0)), *(of[b.kind] @ b.S.T for b in limits.bounds)], axis=1)


@dataclass(frozen=True)
class Beyond:
    """A limited quantity outside its limits."""

    sample: int
    kind: str
    name: str
    value: float
    low: float
    high: float
    unit: str

    @property
    def excess(self) -> float:
        """How far outside, in parts of half the range."""
        return abs(self.value - (self.low + self.high) / 2) / ((self.high - self.low) / 2) - 1

    def __str__(self) -> str:
        """`the velocity of 'phi1' is 25.1 rad/s, outside its limits -18.99 to 18.99 rad/s`."""
        return (
            f"{described((self.kind, self.name))} is {self.value:.5g} {self.unit}, outside its limits {self.low:.6g} to {self.high:.6g} "
            f"{self.unit}"
        )


def first_beyond(robot: Robot, limits: Limits, values: np.ndarray) -> Beyond | None:
    """The first of N samples (N, m) outside the limits; of several limits there the one that is exceeded most."""
    share = _shares(limits, values)
    outside = (share > 1).any(axis=1)
    if not outside.any():
        return None
    i = int(outside.argmax())
    return _beyond(robot, limits, values, i, int(share[i].argmax()))


def worst_beyond(robot: Robot, limits: Limits, values: np.ndarray) -> list[Beyond]:
    """Of N samples (N, m), each limit that is exceeded, where it is exceeded most."""
    share = _shares(limits, values)
    return [
        _beyond(robot, limits, values, int(share[:, k].argmax()), k)
        for k in np.flatnonzero((share > 1).any(axis=0)).tolist()
    ]


def _shares(limits: Limits, values: np.ndarray) -> np.ndarray:
    """Shares of the limits that are used (N, m); beyond one they are exceeded, by numbers that are none as well."""
    centre, half = limits.scale
    share = (np.abs(values - centre) - np.minimum(ROUND_OFF * half, LEAST)) / half
    return np.where(np.isnan(share), np.inf, share)


def _beyond(robot: Robot, limits: Limits, values: np.ndarray, i: int, k: int) -> Beyond:
    (kind, name), (low, high) = limits.labels[k], limits.ranges[k]
    bounds = next(b for b in limits.bounds if b.kind == kind)
    shift = _offset(robot, name) if kind == "position" else 0.0
    at = float(values[i, k]) + shift
    return Beyond(i, kind, name, at, float(low) + shift, float(high) + shift, _unit(robot, bounds, name))


def check_positions(
    robot: Robot, q: np.ndarray, label: Callable[[int], str], given: Mapping[str, Limit] | None = None
) -> None:
    """See that all joints and motors are where they may be, at N positions of all joints (N, nv).

    Raises:
        BeyondLimits: the first one that is not; calls sample i label(i), names joint, position and limits.
    """
    limits = limits_of(robot, given or {}, 0.0).of(["position"])
    for bounds in limits.bounds:
        if found := first_beyond(robot, limits, q @ bounds.S.T):
            raise BeyondLimits(f"{label(found.sample)}: {found}; the robot cannot be there")


def positions_allowed(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Whether all joints and motors are where they may be (N,), at N positions of all joints (N, nv), as `check_positions`."""
    limits = limits_of(robot, {}, 0.0).of(["position"])
    shares = [_shares(limits, q @ bounds.S.T) for bounds in limits.bounds]
    return np.all([(share <= 1).all(axis=1) for share in shares], axis=0) if shares else np.ones(len(q), bool)


def check_motion(
    robot: Robot, limits: Limits, state: State, found: dict[str, np.ndarray], label: Callable[[int], str]
) -> None:
    """See that a robot survives N samples of a motion; `found`: its loads, as `loads` gives them for `limits.kinds`.

    Raises:
        BeyondLimits: the first sample that it does not; calls sample i label(i), names axis, value and limits.
    """
    if beyond := first_beyond(robot, limits, quantities(limits, state, found)):
        raise BeyondLimits(f"{label(beyond.sample)}: {beyond}")


def _offset(robot: Robot, name: str) -> float:
    motors = robot.motors
    return float(motors.offset[motors.names.index(name)]) if name in motors.names else 0.0


def _unit(robot: Robot, bounds: AxisLimits, name: str) -> str:
    if bounds.kind == "force":
        return "N"
    row = bounds.S[bounds.names.index(name)]
    if bounds.kind == "torque":  # of the motors
        return "N" if robot.slides(robot.motors.S[row != 0]).all() else "N m"
    return ("m" if robot.slides(row[None])[0] else "rad") + PER[bounds.kind]
