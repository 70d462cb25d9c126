"""By how much the torques of a log come later than its positions."""

from dataclasses import dataclass

from robodyn_pin.identification.uncertainty import quantile


@dataclass(frozen=True)
class Delay:
    """By how much the torques of a log come later than its positions."""

    log: str
    sha256: str
    seconds: float
    deviation: float  # [s] standard

    def summary(self) -> dict[str, object]:
        """As JSON has it."""
        return {"log": self.log, "delay [s]": self.seconds, "deviation [s]": self.deviation}

    def __str__(self) -> str:
        ms, reach = 1e3 * self.seconds, 1e3 * quantile() * self.deviation
        return f"{self.log}: torques come {ms:.3f} +- {reach:.2g} ms (95 %) later than positions"
