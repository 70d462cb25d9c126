"""JSON Schemas against another validator: every robot of the catalogue, an example of every kind, and a key that nobody knows."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from robodyn_pin.errors import UnknownName
from robodyn_pin.output.schemas import FILES, kinds_with, schema_of
from robodyn_pin.urdf import catalogue

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS = {
    "irb360.yaml": "run", "dualv_motors.yaml": "run", "irb360_motion.yaml": "motion", "irb360_excite.yaml": "excite", "irb360_u_turn.yaml": "plan",
    "irb6660_stiffness.yaml": "stiffness", "irb6660_design.yaml": "design", "irb360_calibration.yaml": "calibrate", "irb6660_calibration.yaml": "calibrate", "irb360_poses.yaml": "poses", "irb2400_friction.yaml": "friction", "delta3_track.yaml": "track",
    "irb360_controller.yaml": "controller", "irb360_fleet.yaml": "fleet", "irb2400_spindle_tool.yaml": "tool", "dualv_payload_body.yaml": "payload",
}  # fmt: skip


def read(path: Path) -> dict:
    """A file as editors read it: 0.4e6 is a number in YAML 1.2, a text in the YAML 1.1 of PyYAML."""
    return yaml.safe_load(re.sub(r"\b(\d+\.?\d*)e(\d+)\b", lambda m: repr(float(m[0])), path.read_text()))


@pytest.mark.parametrize("kind", FILES)
def test_schemas_are_schemas(kind):
    Draft202012Validator.check_schema(schema_of(kind))


@pytest.mark.parametrize("name", catalogue())
def test_robots_of_the_catalogue_keep_to_theirs(name):
    Draft202012Validator(schema_of("robot")).validate(read(catalogue()[name]))


@pytest.mark.parametrize("name", KINDS)
def test_examples_keep_to_theirs(name):
    text = read(EXAMPLES / name)
    Draft202012Validator(schema_of(KINDS[name])).validate(text)
    wrong = Draft202012Validator(schema_of(KINDS[name])).iter_errors({**text, "no_such_key": 1})
    assert next(wrong, None) is not None


@pytest.mark.parametrize("name", KINDS)
def test_the_keys_of_an_example_tell_its_kind(name):
    text = read(EXAMPLES / name)
    assert kinds_with(text) == [FILES[KINDS[name]][0]]
    assert not kinds_with({**text, "no_such_key": 1})


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: path.name)
def test_the_first_line_of_an_example_names_the_schema_that_it_keeps_to(path):
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
    file = (path.parent / named[1]).resolve()
    assert file.parent == EXAMPLES / "schemas"
    Draft202012Validator(json.loads(file.read_text())).validate(read(path))


@pytest.mark.parametrize("kind", FILES)
def test_schemas_beside_the_examples_are_of_today(kind):
    """Written by `robodyn schema KIND --out examples/schemas/KIND.schema.json`."""
    assert json.loads((EXAMPLES / "schemas" / f"{kind}.schema.json").read_text()) == schema_of(kind)


def test_keys_say_what_they_mean():
    found = schema_of("run")
    assert found["properties"]["gravity"]["description"].startswith("its direction from the logs")
    assert found["$defs"]["BoundsSpec"]["properties"]["mass"]["description"] == "[kg], every body"


def test_the_command_writes_what_it_prints(robodyn, tmp_path):
    printed, written = robodyn("schema", "plan"), robodyn("schema", "plan", "--out", tmp_path / "plan.json")
    assert printed.returncode == written.returncode == 0
    assert json.loads(printed.stdout) == json.loads((tmp_path / "plan.json").read_text()) == schema_of("plan")
    wrong = robodyn("schema", "plans")
    assert wrong.returncode == 1
    assert "did you mean 'plan'" in wrong.stderr
    with pytest.raises(UnknownName):
        schema_of("plans")
