"""Numbers of every file and option are finite, of a usual size, and numbers; files are neither deep nor large."""

import json

import pytest
from forked import warm
from pydantic import BaseModel, ValidationError

from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict, parse_yaml

warm()


def _schemas(base: type[BaseModel]) -> list[type[BaseModel]]:
    return [schema for child in base.__subclasses__() for schema in (child, *_schemas(child))]


def _takes_a_number(annotation: object) -> bool:
    parts = getattr(annotation, "__args__", ())
    return annotation is float or any(_takes_a_number(part) for part in parts if not isinstance(part, str))


NUMBERS = sorted(
    {(schema, name) for schema in _schemas(Strict) for name, field in schema.model_fields.items() if field.annotation in (float, float | None)},
    key=str,
)  # fmt: skip


def test_schemas_have_numbers():
    assert len(NUMBERS) > 60
    assert len({schema for schema, _ in NUMBERS}) > 25


@pytest.mark.parametrize(("schema", "name"), NUMBERS, ids=lambda x: getattr(x, "__name__", x))
def test_what_is_no_finite_number_is_refused_with_its_key(schema, name):
    for text in (".nan", ".inf", "-.inf", "1e400", "1.0e+16", "1e-320"):
        with pytest.raises(BadFile, match=f"'{name}'.*finite number"):
            parse_yaml(f"{name}: {text}", schema, "file.yaml")
    for word in (True, "2_6.5", "1:30", "nan", "0x10", [1.0], "1,5"):
        with pytest.raises(ValidationError) as refused:
            schema.model_validate_json(json.dumps({name: word}), strict=True)
        assert any(error["loc"][0] == name for error in refused.value.errors())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("urdf: " + "[" * 10_000 + "]" * 10_000, "nested more than"),
        ("a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(f"{k}: &{k} [{', '.join(['*' + p] * 9)}]\n" for p, k in zip("abcdefgh", "bcdefghi", strict=True)), "aliases"),
        ("a: &a [*a]", "aliases"),
        ("urdf: x\nurdf: y", "stands twice"),
        ("urdf: [" + "1, " * 400_000 + "1]", "characters"),
        ("urdf: [" + "1, " * 50_000 + "1]", "key 'urdf'"),
        ("? " + "u" * 5000 + "\n: 1", "unknown key"),
        ("{[a, b]: 1}", "not YAML"),
        ("{? {a: 1} : 1}", "not YAML"),
        ("number: " + "9" * 10_000, "not YAML"),
        ("- 1", "expected keys and values"),
        ("", "expected keys and values"),
        ("urdf: \x00", "not YAML"),
    ],
    ids=lambda x: x[:12],
)  # fmt: skip
def test_deep_large_and_odd_files_are_refused_briefly(text, said):
    from robodyn_pin.robot.robot_file import RobotFile

    with pytest.raises(BadFile, match=said) as refused:
        parse_yaml(text, RobotFile, "robot.yaml")
    assert len(str(refused.value)) < 400  # the known keys among it


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e308", "6_0"])
def test_options_take_finite_numbers_only(robodyn, tmp_path, number):
    log = tmp_path / "log.csv"
    motion = tmp_path / "motion.yaml"
    motion.write_text("rate: 100\nduration: 0.5\nperiod: 1\ncoordinates: [x, y, z]\ncentre: {x: 0, y: 0, z: -0.0954}\n")
    simulate = ("simulate", "delta3", "--motion", motion)
    assert robodyn(*simulate, "--out", log).returncode == 0
    for words in (("forces", "delta3", log, f"--limit={number}"), (*simulate, "--noise", f"{number},1,1")):
        done = robodyn(*words, "--out", tmp_path / "out.csv")
        below = number in ("nan", "-inf") and "--noise" not in words  # of a range that starts at zero
        assert done.returncode == (2 if below else 1)
        assert ("greater than or equal" if below else "finite number") in done.stderr
        assert below or len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "out.csv").exists()
