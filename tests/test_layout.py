"""The architecture: who imports whom, and nothing heavy before it is needed."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import robodyn_pin

ROOT = Path(__file__).parents[1]


PACKAGE = [
    path for room in ("robodyn_pin", "closures", "identification") for path in sorted((ROOT / room).rglob("*.py"))
]
STOREYS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0][
    "layers"
]
HEIGHT = {room: k for k, storey in enumerate(reversed(STOREYS)) for room in storey.split(" | ")}


def imports(path: Path) -> set[str]:
    """Rooms of the package that a file imports anywhere, but for those of its own."""
    modules = [
        node.module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("robodyn_pin.")
    ]
    return {module.split(".")[1] for module in modules} - {room(path)}


def room(path: Path) -> str:
    """The room that a file is in, or the file itself where it stands in none."""
    inside = path.relative_to(ROOT / "robodyn_pin" if path.is_relative_to(ROOT / "robodyn_pin") else ROOT)
    return inside.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", PACKAGE, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_a_room_imports_lower_rooms_only(path):
    """As the contract in pyproject.toml says, which import-linter holds over the installed package."""
    public = path.match("log_to_robot/result.py")  # rp.Result.write and .figures
    upward = {"output", "viz"} if public else set()
    if room(path) != "__init__":
        assert [name for name in imports(path) - upward if HEIGHT[name] >= HEIGHT[room(path)]] == []


def test_every_room_of_tests_is_a_room_of_the_package():
    rooms = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms <= set(HEIGHT)


def test_help_is_instant_because_nothing_heavy_is_imported():
    code = "import sys, robodyn_pin, robodyn_pin.errors, robodyn_pin.commands.cli; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"numpy", "pinocchio", "scipy", "cvxpy", "matplotlib", "meshcat", "polars"}


def test_public_names_are_there_without_any_extra():
    """And what needs one says which."""
    extras = "numba viser trimesh casadi rosbags rerun ABBRobotEGM distributed fsspec s3fs adlfs aiohttp xacro"
    code = f"""
import sys
sys.modules.update(dict.fromkeys({extras.split()}))
import robodyn_pin as rp
for name in rp.__all__:
    getattr(rp, name)
try:
    rp.compiled(rp.load("dualv"))
except rp.RobodynError as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'robodyn_pin[export]'" in done.stdout


def test_no_public_name_is_that_of_a_module():
    """The module would take the name's place once it is imported: the second use would find the module."""
    package = {path.stem for path in (ROOT / "robodyn_pin").iterdir()} | {path.name for path in ROOT.iterdir()}
    assert not package & set(robodyn_pin.__all__)


def test_a_public_name_stands_for_one_thing():
    """But for `main`, by which entry points go."""
    places: dict[str, list[str]] = {}
    for path in [*PACKAGE, *(ROOT / "viz").rglob("*.py")]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1 and name != "main"} == {}


def test_every_study_finds_what_it_imports():
    """Studies take much from tests, which change; they are long, so that nobody runs them at every change."""
    code = """
import importlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
sys.path[:0] = map(str, (root / "figures", root / "benchmarks", root / "tests", *(root / "tests").glob("*/")))
for study in sorted((root / "figures").glob("*.py")):
    importlib.import_module(study.stem)
"""
    run = subprocess.run([sys.executable, "-P", "-c", code, ROOT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
