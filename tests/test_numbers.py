"""No schema of a file and no option of a command takes a number that is none."""

import importlib
import re
import time
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError
from slowness import slowness

import robodyn_pin
from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict, parse_yaml

ROOM = Path(robodyn_pin.__file__).parent
for _path in sorted(ROOM.rglob("*.py")):  # every file that could have a schema
    if re.search(r"^class \w+\((Strict|\w+(File|Spec|Keys))\)", _path.read_text(), re.M):
        importlib.import_module(".".join(("robodyn_pin", *_path.relative_to(ROOM).with_suffix("").parts)))


def schemas(base: type[Strict] = Strict) -> list[type[Strict]]:
    return [x for sub in base.__subclasses__() for x in (sub, *schemas(sub)) if x.__module__.startswith("robodyn_pin.")]


def wrapped(annotation: Any, bad: object) -> list[Any]:
    """Values of a field that hold `bad` where it wants a float."""
    if annotation is float:
        return [bad]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return wrapped(args[0], bad)
    if origin in (Union, UnionType):
        return [value for arg in args for value in wrapped(arg, bad)]
    if origin is list:
        return [[value] for value in wrapped(args[0], bad)]
    if origin is dict:
        key = get_args(args[0])[0] if get_origin(args[0]) is Literal else "name"
        return [{key: value} for value in wrapped(args[1], bad)]
    if origin is tuple:
        kinds = [a for a in args if a is not Ellipsis]
        return [[value] * len(kinds) for value in wrapped(kinds[0], bad)]
    return []


FIELDS = [
    pytest.param(schema, name, id=f"{schema.__module__.removeprefix('robodyn_pin.')}.{schema.__name__}.{name}")
    for schema in dict.fromkeys(schemas())
    for name, field in schema.model_fields.items()
    if wrapped(field.rebuild_annotation(), 0.0)
]


def test_the_walk_finds_the_floats_of_all_rooms():
    rooms = {p.values[0].__module__.split(".")[1] for p in FIELDS}
    assert len(FIELDS) > 90
    assert rooms >= {"robot", "logs", "planning", "elastic", "online", "simulation", "motions", "excitation"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), True, "2_6.5", "abc", 1e-320, 1e300])
@pytest.mark.parametrize(("schema", "name"), FIELDS)
def test_every_float_of_every_schema_is_a_number(schema: type[BaseModel], name: str, bad: object):
    for value in wrapped(schema.model_fields[name].rebuild_annotation(), bad):
        if "bool" in str(schema.model_fields[name].annotation) and value is True:
            continue
        if isinstance(value, str) and "str" in str(schema.model_fields[name].annotation):
            continue
        with pytest.raises(ValidationError) as found:
            schema.model_validate({name: value})
        assert any(name in e["loc"] and e["type"] != "missing" for e in found.value.errors()), found.value


class _Sample(Strict):
    mass: float


@pytest.mark.parametrize(
    "text", [".nan", ".inf", "-.Inf", "true", "2_6.5", "1:30", "010", "0x10", "'1'", "1e-320", "1e400", "", "[1]"]
)
def test_yaml_reads_a_number_or_names_the_key(text: str):
    with pytest.raises(BadFile, match=r"robot\.yaml: key 'mass': "):
        parse_yaml(f"mass: {text}", _Sample, "robot.yaml")


@pytest.mark.parametrize(("text", "value"), [("1e-5", 1e-5), ("-2", -2.0), (".5", 0.5), ("+1.E+3", 1000.0), ("0", 0.0)])
def test_yaml_reads_plain_numbers(text: str, value: float):
    assert parse_yaml(f"mass: {text}", _Sample, "").mass == value


def test_what_is_no_yaml_is_told_with_its_place():
    with pytest.raises(BadFile, match=r"^robot\.yaml is not YAML: line 3, column 1: [^<]*$"):
        parse_yaml("a: 1\nmass: [1\n", _Sample, "robot.yaml")
    with pytest.raises(BadFile, match=r"line 2, column 1: key 'mass' stands twice$"):
        parse_yaml("mass: 1\nmass: 1\n", _Sample, "robot.yaml")


HOSTILE = {
    "deep": "a: " + "[" * 10_000 + "]" * 10_000,
    "deep keys": "\n".join(" " * k + "a:" for k in range(1500)),
    "bomb": "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
    + "".join(f"a{k + 1}: &a{k + 1} [{','.join([f'*a{k}'] * 10)}]\n" for k in range(9)),
    "wrong type": "mass: [" + "1," * 400_000 + "]",
    "long name": "x" * 5000 + ": 1",
    "long value": "mass: " + "y" * 500_000,
    "huge": "mass: " + "[" + "1," * 50_000_000 + "]",
    "itself": "mass: &a [*a]",
    "integer": "mass: " + "9" * 5000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_large_and_deep_files_get_a_short_sentence(name: str):
    start = time.process_time()
    with pytest.raises(BadFile) as found:
        parse_yaml(HOSTILE[name], _Sample, "robot.yaml")
    assert len(str(found.value)) < 300
    assert time.process_time() - start < 2 * slowness()


@pytest.mark.parametrize("option", ["noise", "bias"])
@pytest.mark.parametrize("bad", ["nan", "inf", "2_6.5", "1,,2", "true", "1e400"])
def test_lists_of_numbers_on_the_command_line(option: str, bad: str):
    from robodyn_pin.commands.options import number_list
    from robodyn_pin.errors import RobodynError

    with pytest.raises(RobodynError, match=f"--{option} expects numbers"):
        number_list(bad, f"--{option}")


NUMBER_OPTIONS = [
    ("simulate", "--seed"), ("simulate", "--internal"), ("simulate", "--encoder-bits"), ("forces", "--limit"), ("show", "--limit"),
    ("stream", "--rate"), ("stream", "--garbage"), ("record", "--wait"), ("track", "--speed"), ("record", "--port"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "option"), NUMBER_OPTIONS)
def test_number_options_refuse_what_is_no_number(command: str, option: str, capsys: pytest.CaptureFixture[str]):
    from robodyn_pin.commands.cli import command_line

    for bad in ("nan", "inf", "2_6", "true"):
        with pytest.raises(SystemExit) as end:
            command_line()([command, option, bad, "x", "y", "z"])
        assert end.value.code == 2
        said = capsys.readouterr().err
        assert option in said
        assert "is no number" in " ".join(said.split())
