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
    "Robot": "robot",
    "State": "robot",
    "load": "robot",
    "Wrench": "dynamics",
    "inverse_dynamics": "dynamics",
    "nearest_torques": "dynamics",
    "forward_dynamics": "dynamics",
    "mass_matrix": "dynamics",
    "coriolis": "dynamics",
    "gravity": "dynamics",
    "energy": "dynamics",
    "frame_jacobian": "dynamics",
    "forward_kinematics": "kinematics",
    "inverse_kinematics": "branches",
    "nearness": "singular_poses",
    "damped_rates": "singular_poses",
    "constraint_forces": "forces",
    "strut_loads": "struts",
    "strut_history": "strut_forces",
    "extremes": "strut_forces",
    "reduced_model": "reduced",
    "reduced_forces": "reduced",
    "Preparation": "differentiation",
    "roll_out": "simulation",
    "fastest": "planning.solve",
    "planning_limits": "planning.limits",
    "read_look_up": "planning.table",
    "regressor": "regression",
    "Log": "motion",
    "read_log": "motion",
    "Result": "result",
    "identify": "run",
    "execute": "run",
    "TrackFile": "online.settings",
    "tracked": "online.model",
    "Tracker": "online.tracker",
    "CausalRates": "online.causal",
    "Stream": "online.stream",
    "nearest_consistent": "online.consistent",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'robodyn_pin' has no attribute {name!r}")
    return getattr(import_module(f"robodyn_pin.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return __all__
