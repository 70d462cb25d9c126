"""A robot whose gravity leans from the direction of its file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.robot.robot import Robot


@dataclass(frozen=True)
class Lean:
    """How gravity leans from the direction that the robot file says."""

    gravity: tuple[float, float, float]  # [m/s^2] in the base frame
    angle: float  # [rad]
    deviation: float  # [rad] standard, of the direction, where it is known least

    def summary(self) -> dict[str, object]:
        """As JSON has it."""
        angle, deviation = np.rad2deg([self.angle, self.deviation]).tolist()
        return {"direction [m/s^2]": list(self.gravity), "lean [deg]": angle, "deviation [deg]": deviation}

    def __str__(self) -> str:
        angle, reach = np.rad2deg([self.angle, quantile() * self.deviation])
        direction = ", ".join(f"{x:.4f}" for x in self.gravity)
        return f"gravity leans by {angle:.3f} +- {reach:.2g} degrees (95 %, where it is known least) from the robot file's direction: [{direction}] m/s^2"


@dataclass(frozen=True)
class LeanChoice:
    """A lean that was tried, and whether it is worth it."""

    lean: Lean
    level: float  # [%] error on parts of the fit data that the fit has not seen, gravity as the robot file says
    leaning: float  # [%] the same with the lean, found without these parts
    bound: float  # [%] below which it is taken
    shown: bool  # whether its 95 % region leaves out that the base is level

    @property
    def taken(self) -> bool:
        return self.shown and self.leaning < self.bound

    def __str__(self) -> str:
        lean = f"a lean of {np.rad2deg(self.lean.angle):.2f} degrees"
        if not self.shown:
            return f"gravity stays as the robot file says: {lean} is not told from none (95 %)"
        errors = f"on parts of the fit data that it has not seen the error is {self.leaning:.3g} % with it and {self.level:.3g} % without"
        if self.taken:
            return f"gravity, chosen by cross-validation inside the fit data: {lean} is worth it: {errors}"
        return f"gravity stays as the robot file says: {lean} is not worth it: {errors}; it would have to be below {self.bound:.3g} %"


def leaning(robot: Robot, gravity: Sequence[float] | np.ndarray) -> Robot:
    """The robot with another gravity (3,) [m/s^2]."""
    model = robot.model.copy()
    model.gravity.linear = np.array(gravity, float)
    return replace(robot, model=model, file=robot.file.model_copy(update={"gravity": tuple(map(float, gravity))}))


def leant(gravity: np.ndarray, lean: np.ndarray) -> np.ndarray:
    """Gravity (3,) after a turn by lean (2,) [rad] towards two axes across it."""
    size, angle = float(np.linalg.norm(gravity)), float(np.linalg.norm(lean))
    down = gravity / size
    across = np.linalg.svd(down[None])[2][1:]  # (2, 3)
    return np.asarray(size * (np.cos(angle) * down + np.sinc(angle / np.pi) * lean @ across))
