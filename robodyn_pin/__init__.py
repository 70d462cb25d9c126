"""Dynamics of robots with closed loops on Pinocchio.

URDF + loops + motion log -> parameters a real body can have -> torques, strut forces, pictures.

Example:
    >>> import robodyn_pin as rp
    >>> robot = rp.load("irb360")
    >>> tau = rp.inverse_dynamics(robot, c, cd, cdd)
"""

from importlib import import_module
from pathlib import Path
from typing import Any

# In a checkout the subpackages lie beside this folder: Python started there must find them too.
if (_ROOT := Path(__file__).parents[1]).joinpath("pyproject.toml").exists() and (_ROOT / "closures").is_dir():
    __path__.append(str(_ROOT))

# Public name -> module that defines it. Imported on first use, so that `robodyn --help` stays instant.
_PUBLIC = {
    "RobodynError": "errors",
    "Robot": "robot.robot",
    "State": "robot.robot",
    "load": "robot.robot",
    "Wrench": "dynamics.equations",
    "inverse_dynamics": "dynamics.equations",
    "prepared": "dynamics.prepared",
    "compiled": "exporting.compiled",
    "nearest_torques": "dynamics.equations",
    "forward_dynamics": "dynamics.equations",
    "inverse_dynamics_derivatives": "dynamics.derivatives",
    "forward_dynamics_derivatives": "dynamics.derivatives",
    "regressor_derivatives": "dynamics.derivatives",
    "mass_matrix": "dynamics.equations",
    "coriolis": "dynamics.equations",
    "gravity": "dynamics.equations",
    "energy": "dynamics.equations",
    "frame_jacobian": "robot.kinematics",
    "forward_kinematics": "robot.kinematics",
    "inverse_kinematics": "families.inverse_kinematics",
    "nearness": "families.singular_poses",
    "damped_rates": "families.singular_poses",
    "constraint_forces": "dynamics.multipliers",
    "strut_loads": "dynamics.struts",
    "strut_force_derivatives": "dynamics.strut_slopes",
    "strut_history": "forces.strut_history",
    "extremes": "forces.strut_history",
    "reduced_model": "families.reduced_delta",
    "reduced_forces": "families.reduced_delta",
    "tree_forces": "families.reduced_delta",
    "Preparation": "logs.differentiation",
    "roll_out": "simulation.forward",
    "fastest": "planning.solve",
    "planning_limits": "planning.limits",
    "Limits": "robot.limits",
    "symmetric": "planning.limits",
    "through": "planning.path",
    "read_look_up": "planning.table",
    "regressor": "dynamics.regressor",
    "state_regressor": "dynamics.regressor",
    "columns": "dynamics.regressor",
    "check": "dynamics.check",
    "identifiability": "identification.identifiability",
    "Log": "logs.log",
    "read_log": "logs.reading",
    "Result": "log_to_robot.result",
    "identify": "log_to_robot.from_memory",
    "execute": "log_to_robot.run",
    "read_run": "log_to_robot.run",
    "read_yaml": "files",
    "relative_deviations": "identification.essential",
    "Evidence": "log_to_robot.evidence",
    "fold": "log_to_robot.from_evidence",
    "merge": "log_to_robot.evidence",
    "from_evidence": "log_to_robot.from_evidence",
    "working": "workers",
    "TrackFile": "online.track_file",
    "tracked": "online.tracked",
    "Tracker": "online.tracker",
    "CausalRates": "online.causal_rates",
    "Stream": "online.stream",
    "nearest_consistent": "online.nearest_consistent",
    "DampedLeastSquares": "identification.online",
    "Tool": "elastic.springs",
    "springs_in": "elastic.springs",
    "deviation": "elastic.deviation",
    "CalibrationFile": "calibration.calibration_file",
    "calibrate": "calibration.calibration",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("robodyn_pin")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'robodyn_pin' has no attribute {name!r}")
    return getattr(import_module(f"robodyn_pin.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return __all__
