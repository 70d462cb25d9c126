"""What a controller file may say: law, gains, sampling, friction, what disturbs."""

from typing import Literal, Self

from pydantic import Field, model_validator

from robodyn_pin.files import NotNegative, Positive, Strict
from robodyn_pin.robot.payload import LoadSpec

LONGEST_DELAY = 50  # samples: who waits longer may sample less often

Law = Literal["pd", "feedforward", "computed_torque", "augmented_pd", "passivity", "adaptive"]
PASSIVE = ("passivity", "adaptive")  # tau = M c_r'' + C c_r' + gravity + K (c_r' - c'), with c_r' = c_d' + L (c_d - c)


class Gains(Strict):
    """Of one motor."""

    p: NotNegative  # [N m/rad or N/m]
    d: NotNegative  # [N m s/rad or N s/m]


class PickedSpec(LoadSpec):
    """A body that comes onto a link or frame, moving with it."""

    time: NotNegative  # [s] of the motion


class DisturbanceSpec(Strict):
    """Torques and a load that nobody told the controller of."""

    percent: NotNegative = 0  # largest one, of the largest torque that the motion asks of each motor
    up_to: Positive = 10  # [Hz] sines below it, added with random phases, make up those percent
    seed: int = 0
    torque: dict[str, float] = {}  # constant ones, by motor [N m or N]
    payload: PickedSpec | None = None  # that comes on on the way


class EstimatorSpec(Strict):
    """The online estimator that closes the loop of law `adaptive`."""

    settings: str  # file of `track`, with the noise of a torque sample
    rate: Positive | None = None  # [Hz] at which it takes samples; default: that of the loop


class ControllerFile(Strict):
    """What a controller file may say."""

    law: Law
    rate: Positive  # [Hz] of the loop; torques are held between two samples
    bandwidth: Positive | None = None  # [Hz] of e'' + 2 damping w e' + w^2 e = 0
    damping: Positive | None = None  # passivity: 1 or more, the error dies in two steps of first order
    gains: dict[str, Gains] = {}  # by motor, instead of bandwidth and damping; passivity: K = d, L = p / d
    derivative_filter: Positive | None = None  # [Hz] low-pass of first order over the errors' rates
    model: str | None = None  # robot or result folder that it knows; default: the simulated robot, unloaded
    friction: Literal["desired", "measured", "none"] | None = (
        None  # whose rates; default desired, computed_torque measured
    )
    friction_width: Positive | None = None  # [rad/s or m/s] over which compensation changes sign; default: the model's
    delay: int = Field(0, ge=0, le=LONGEST_DELAY)  # samples between measurement and torque
    torque_limits: bool | dict[str, Positive] = True  # the robot file's, none, or by motor [N m or N]
    projection: bool = True  # more motors than degrees of freedom: take torques out that move nothing
    internal: dict[str, float] = {}  # torques of which the part that moves nothing is added, by motor [N m or N]
    start: dict[str, float] = {}  # coordinates [rad or m] of a stand at the beginning; default: on the reference
    disturbance: DisturbanceSpec = DisturbanceSpec()
    estimator: EstimatorSpec | None = None  # of law adaptive

    @model_validator(mode="after")
    def _has_gains(self) -> Self:
        if bool(self.gains) == (self.bandwidth is not None):
            raise ValueError(
                f"law {self.law!r} needs gains: either 'bandwidth' [Hz] with 'damping', or 'gains' with p and d of every motor"
            )
        if (self.bandwidth is None) != (self.damping is None):
            raise ValueError("'bandwidth' and 'damping' go together")
        if self.law == "computed_torque" and self.gains:
            raise ValueError("law 'computed_torque' needs 'bandwidth' and 'damping': its gains follow from the model")
        if self.law in PASSIVE and (self.damping or 1) < 1:
            raise ValueError(
                f"law {self.law!r} has two poles of first order, which damping {self.damping:g} is too low for: it must be 1 or more"
            )
        if self.law in PASSIVE and (idle := [m for m, g in self.gains.items() if g.d == 0]):
            raise ValueError(f"law {self.law!r} needs a gain d above 0, but that of motor {', '.join(idle)} is 0")
        if self.derivative_filter is not None and self.derivative_filter >= self.rate / 2:
            raise ValueError(
                f"'derivative_filter' {self.derivative_filter:g} Hz must be below half the rate of {self.rate:g} Hz"
            )
        if (self.law == "adaptive") != (self.estimator is not None):
            raise ValueError(
                "law 'adaptive' needs an 'estimator' with the settings of `track`, and no other law has one"
            )
        every = 1.0 if self.estimator is None or self.estimator.rate is None else self.rate / self.estimator.rate
        if abs(every - round(every)) > 1e-9 or every < 1:
            raise ValueError(f"the estimator's rate must divide that of the loop, {self.rate:g} Hz")
        if self.friction not in (None, "none") and self.law == "pd":
            raise ValueError("law 'pd' knows no model, so it compensates no friction; 'feedforward' is PD with a model")
        if self.friction == "measured" and self.law == "feedforward":
            raise ValueError(
                "law 'feedforward' takes its model along the reference, so 'friction' is desired or none; 'augmented_pd' has it at the "
                "measured state"
            )
        return self

    @property
    def every(self) -> int:
        """Samples of the loop between two of the estimator."""
        return round(self.rate / self.estimator.rate) if self.estimator and self.estimator.rate else 1

    @property
    def friction_at(self) -> str:
        """At which rates friction is compensated: desired, measured or none."""
        return self.friction or ("measured" if self.law == "computed_torque" else "desired")
