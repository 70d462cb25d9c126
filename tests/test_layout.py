"""The architecture: who imports whom, and nothing heavy before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import robodyn_pin

ROOT = Path(__file__).parents[1]


def imports(path: Path) -> set[str]:
    """Modules that a file names at its top level, within the package."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: imports are absolute"
    return {name for name in found if name.startswith("robodyn_pin")}


def starts(names: set[str], *allowed: str) -> bool:
    return all(any(name == a or name.startswith(f"{a}.") for a in allowed) for name in names)


@pytest.mark.parametrize("path", sorted((ROOT / "closures").glob("*.py")), ids=lambda p: p.name)
def test_closures_know_no_robot(path):
    assert starts(imports(path), "robodyn_pin.closures", "robodyn_pin.errors")


@pytest.mark.parametrize("path", sorted((ROOT / "identification").glob("*.py")), ids=lambda p: p.name)
def test_estimators_know_no_robot(path):
    assert starts(imports(path), "robodyn_pin.identification", "robodyn_pin.errors")


PACKAGE = sorted((ROOT / "robodyn_pin").rglob("*.py"))


@pytest.mark.parametrize("path", PACKAGE, ids=lambda p: p.name)
def test_nothing_imports_pictures_at_its_top(path):
    assert not any(name.startswith("robodyn_pin.viz") for name in imports(path))


def test_only_the_entry_knows_the_commands():
    knowing = [path for path in PACKAGE if any(name.startswith("robodyn_pin.commands") for name in imports(path))]
    assert [path.name for path in knowing if path.parent.name != "commands"] == ["cli.py"]


def test_help_is_instant_because_nothing_heavy_is_imported():
    code = "import sys, robodyn_pin, robodyn_pin.errors, robodyn_pin.cli; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"numpy", "pinocchio", "scipy", "cvxpy", "matplotlib", "meshcat", "polars"}


def test_no_public_name_is_that_of_a_module():
    """The module would take the name's place once it is imported: the second use would find the module."""
    package = {path.stem for path in (ROOT / "robodyn_pin").iterdir()} | {path.name for path in ROOT.iterdir()}
    assert not package & set(robodyn_pin.__all__)
