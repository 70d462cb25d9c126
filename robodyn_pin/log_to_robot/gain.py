"""What a motor's logged torque must be multiplied by."""

from dataclasses import dataclass

from robodyn_pin.identification.uncertainty import quantile


@dataclass(frozen=True)
class DriveGain:
    """What a motor's logged torque must be multiplied by, as a known payload shows."""

    motor: str
    value: float
    deviation: float  # standard

    def summary(self) -> dict[str, object]:
        """As JSON has it."""
        return {"motor": self.motor, "gain": self.value, "deviation": self.deviation}

    def __str__(self) -> str:
        return f"{self.motor}: the logged torque times {self.value:.4g} +- {quantile() * self.deviation:.2g} (95 %), as the known payload shows"
