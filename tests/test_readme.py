"""What README and the pages of the docs tell users to type, typed."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.robot_file import RobotFile

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LISTS = re.findall(r"(?ms)^```{toctree}\n(.*?)^```", (ROOT / "docs/index.md").read_text(encoding="utf-8"))
WRITTEN = [name for names in LISTS for name in names.split("\n") if (ROOT / "docs" / f"{name}.md").is_file()]
PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in WRITTEN if name[:9] != "reference"
}
DOCS = "\n".join(PAGES.values())  # in the order of the site: later pages use what earlier ones wrote


WAVES = {
    "rate": 500, "duration": 20, "period": 5, "coordinates": ["j1", "j2"], "centre": {"j1": 2.0, "j2": 1.14},
    "sin": {"j1": [0.3, 0.1, 0.05], "j2": [0.2, -0.15, 0.06]}, "cos": {"j1": [0.1, -0.1], "j2": [-0.2, 0.05]},
}  # fmt: skip


def five_bar() -> str:
    """Two cranks of 0.2 m whose pivots are 0.2 m apart, and two rods of 0.3 m that meet."""
    links = {"base": (0, 0), "crank_1": (0.5, 0.2), "rod_1": (0.3, 0.3), "crank_2": (0.5, 0.2), "rod_2": (0.3, 0.3)}
    joints = (
        ("j1", "base", "crank_1", -0.1),
        ("p1", "crank_1", "rod_1", 0.2),
        ("j2", "base", "crank_2", 0.1),
        ("p2", "crank_2", "rod_2", 0.2),
    )
    bodies = "".join(
        f'<link name="{name}"><inertial><origin xyz="{long / 2} 0 0"/><mass value="{mass}"/><inertia ixx="1e-4" '
        f'iyy="{mass * long**2 / 12}" izz="{mass * long**2 / 12}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        if mass
        else f'<link name="{name}"/>'
        for name, (mass, long) in links.items()
    )
    pins = "".join(
        f'<joint name="{name}" type="continuous"><parent link="{a}"/><child link="{b}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
        for name, a, b, x in joints
    )
    return f'<robot name="myrobot">{bodies}{pins}</robot>'


def blocks(language: str, text: str) -> list[str]:
    """Fenced blocks, lists' indentation removed."""
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```", text)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


def typed(robodyn, text: str, folder: Path) -> None:
    """The commands of a text, run in a folder."""
    for command in re.findall(r"(?m)^    robodyn ((?:.*\\\n)*.*)$", text):
        with chdir(folder):
            done = robodyn(*shlex.split(command.replace("\\\n", " ")))
        assert done.returncode == 0, (command, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def desk(tmp_path_factory, robodyn) -> Path:
    """A folder with the examples, after the commands of the first tutorial."""
    folder = tmp_path_factory.mktemp("readme")
    # The run file names ../results from its own folder: a copy keeps the tutorial away from the real one.
    for name in ("examples", "urdf"):
        shutil.copytree(ROOT / name, folder / name)
    typed(robodyn, DOCS, folder)
    return folder


def test_commands_of_the_tutorial_leave_what_they_promise(desk):
    for name in ("irb360/report.html", "irb360/irb360_identified.urdf", "torques.csv", "irb360.html"):
        assert (desk / "results" / name).stat().st_size > 1000


@pytest.mark.parametrize("number", range(len(blocks("python", DOCS))))
def test_python_blocks_run(desk, number):
    code = blocks("python", DOCS)[number]
    done = subprocess.run([sys.executable, "-c", code], cwd=desk, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_closure_kind_is_named():
    assert not [kind for kind in KINDS if f"`{kind}` (" not in PAGES["own_robot"]]


def test_yaml_blocks_are_files_as_they_are_read():
    (robot,) = (yaml.safe_load(text) for text in blocks("yaml", PAGES["own_robot"]))
    run, more = (yaml.safe_load(text) for text in blocks("yaml", PAGES["run_file"]))
    (bag,) = (yaml.safe_load(text) for text in blocks("yaml", PAGES["logs"]))
    assert len(blocks("yaml", DOCS)) == 4
    RunFile.model_validate({"robot": "myrobot"} | bag)
    RobotFile.model_validate(robot)
    RunFile.model_validate(run)
    RunFile.model_validate(run | more)


def test_the_own_robot_of_the_front_page_comes_to_a_verdict(tmp_path, robodyn):
    robot, run = blocks("yaml", README)
    (tmp_path / "myrobot.yaml").write_text(robot)
    (tmp_path / "run.yaml").write_text(run)
    (tmp_path / "myrobot.urdf").write_text(five_bar())
    (tmp_path / "motion.yaml").write_text(yaml.safe_dump(WAVES))
    typed(
        robodyn,
        "    robodyn simulate myrobot.yaml --motion motion.yaml --out log.csv --noise 0.01,0.01 --seed 1",
        tmp_path,
    )
    typed(robodyn, README, tmp_path)
    found = json.loads((tmp_path / "results/myrobot/result.json").read_text())
    assert found["verdict"]["accepted"]


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_links_lead_to_files(name):
    page = ROOT / name
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


def test_the_front_page_is_short_and_every_page_is_on_the_site():
    assert README.count("\n") <= 120
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} == {"index", *PAGES}


def test_snippets_import_public_names_only_and_the_stub_has_them_all():
    text = "\n".join([README, DOCS])
    assert not re.findall(r"(?m)^ *(?:from|import) robodyn_pin\.\S+", text)
    named = {x.strip() for names in re.findall(r"(?m)^ *from robodyn_pin import (.+)$", text) for x in names.split(",")}
    assert named <= set(rp.__all__)
    stub = (ROOT / "robodyn_pin/__init__.pyi").read_text(encoding="utf-8")
    places = {name: place for place, name in re.findall(r"from robodyn_pin\.(\S+) import (\w+) as \2\n", stub)}
    assert places == rp._PUBLIC
