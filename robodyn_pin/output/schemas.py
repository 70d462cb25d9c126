"""What every file may say, as JSON Schema: for editors that complete and check keys, and for the reference of the docs."""

import inspect
import re
from collections.abc import Collection
from importlib import import_module
from typing import Any, Union

from pydantic import BaseModel, TypeAdapter

from robodyn_pin.errors import UnknownName

# Kind of file, as the command calls it -> title, and the models that read it.
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "robot": ("Robot file", ("robot.robot_file.RobotFile",)),
    "run": ("Run file of `identify`", ("log_to_robot.run_file.RunFile",)),
    "fleet": ("File of `fleet`", ("fleets.fleet_file.FleetFile",)),
    "motion": ("Motion file", ("motions.fourier.FourierMotion", "motions.steps.StepMotion", "motions.sweeps.SweepMotion")),
    "track": ("Settings of `track`", ("online.track_file.TrackFile",)),
    "friction": ("File of `friction`", ("friction_tests.friction_file.FrictionFile",)),
    "excite": ("File of `excite`", ("excitation.excitation_file.ExcitationFile",)),
    "plan": ("File of `plan`", ("planning.plan_file.PlanFile",)),
    "stiffness": ("File of `stiffness`", ("elastic.stiffness_file.StiffnessFile",)),
    "calibrate": ("File of `calibrate`", ("calibration.calibration_file.CalibrationFile",)),
    "poses": ("File of `design --for calibration`", ("calibration.pose_design.PosesFile",)),
    "design": ("File of `design`", ("elastic.design_file.DesignFile",)),
    "controller": ("Controller of `simulate` and `plan`", ("simulation.controller_file.ControllerFile",)),
    "drives": ("Drives of `simulate`", ("elastic.drives_file.DrivesFile",)),
    "tool": ("Tool", ("robot.tools.ToolFile",)),
    "payload": ("Payload", ("robot.payload.LoadSpec",)),
}  # fmt: skip


def file_models(kind: str) -> list[type[BaseModel]]:
    """The models that read a kind of file.

    Raises:
        UnknownName: no such kind.
    """
    if kind not in FILES:
        raise UnknownName("kind of file", kind, "the schemas", list(FILES))
    places = [path.rsplit(".", 1) for path in FILES[kind][1]]
    return [getattr(import_module(f"robodyn_pin.{module}"), name) for module, name in places]


def kinds_with(keys: Collection[str]) -> list[str]:
    """Titles of the kinds of files that have all of these keys, and need no other."""
    return [title for kind, (title, _) in FILES.items() if any(_fits(model, set(keys)) for model in file_models(kind))]


def _fits(model: type[BaseModel], keys: set[str]) -> bool:
    fields = model.model_fields
    return fields.keys() >= keys >= {key for key, field in fields.items() if field.is_required()}


def schema_of(kind: str) -> dict[str, Any]:
    """JSON Schema of a kind of file, with what the source says of each key; raises as `file_models`."""
    models = file_models(kind)
    if len(models) == 1:
        whole = model_schema(models[0])
    else:
        any_of: Any = Union[tuple(models)]  # noqa: UP007
        whole = _told(TypeAdapter(any_of).json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | whole


def model_schema(model: type[BaseModel]) -> dict[str, Any]:
    """JSON Schema of one model; keys, those of nested entries, too, have the remarks of the source as descriptions."""
    return _told(model.model_json_schema(), model)


def _told(schema: dict[str, Any], model: type[BaseModel] | None = None) -> dict[str, Any]:
    models = {found.__name__: found for found in _heirs(BaseModel)}
    entries = [(model, schema)] + [(models.get(name), entry) for name, entry in schema.get("$defs", {}).items()]
    for one, entry in entries:
        told = remarks(one) if one else {}
        for key, found in entry.get("properties", {}).items():
            if key in told:
                found["description"] = told[key]
    return schema


def remarks(model: type[BaseModel]) -> dict[str, str]:
    """What the source says beside each key: units and meaning."""
    own = [found for found in reversed(model.__mro__) if issubclass(found, BaseModel) and found is not BaseModel]
    return {
        key: remark
        for found in own
        for key, remark in re.findall(r"(?m)^    (\w+):.*?  # (?!type:|noqa)(.*)$", inspect.getsource(found))
    }


def _heirs(base: type[BaseModel]) -> list[type[BaseModel]]:
    """All models that derive from one."""
    return [found for heir in base.__subclasses__() for found in (heir, *_heirs(heir))]
