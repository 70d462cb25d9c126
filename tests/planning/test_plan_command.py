"""`robodyn plan`: from a plan file to a result folder, and one sentence for everything that is wrong with it."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import robodyn_pin as rp
from robodyn_pin.commands.cli import app
from robodyn_pin.errors import RobodynError
from robodyn_pin.planning.table import read_look_up

ROOT = Path(__file__).parents[2]
U_TURN = yaml.safe_load((ROOT / "examples/irb360_u_turn.yaml").read_text())
ARM = yaml.safe_load((ROOT / "examples/irb2400_plan.yaml").read_text())

GEARED = """<robot name="arm"><link name="base"/><link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="4" effort="20"/></joint></robot>"""


def run(folder: Path, settings: dict, *options: str):
    file = folder / "plan.yaml"
    file.write_text(yaml.safe_dump(settings))
    return CliRunner().invoke(app, ["plan", str(file), "--out", str(folder / "out"), *options], catch_exceptions=True)


def changed(settings: dict, **keys) -> dict:
    return settings | keys


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Result folder of the U-turn."""
    where = tmp_path_factory.mktemp("plan")
    answer = run(where, changed(U_TURN, costs=False))
    assert answer.exit_code == 0, answer.output
    return where / "out"


def test_a_result_folder_holds_table_pictures_film_and_what_was_asked(folder):
    names = {file.name for file in folder.iterdir()}
    assert {
        "result.json", "table.csv", "phase_plane.svg", "quantities.svg", "strut_forces.svg", "film.html", "plan.yaml",
    } == names  # fmt: skip
    assert yaml.safe_load((folder / "plan.yaml").read_text())["path"]["start"] == U_TURN["path"]["start"]


def test_a_geared_arm_whose_joints_have_limits_of_their_own_is_planned(tmp_path):
    """Torques of the URDF count on the joint's side of the gear: 20 N m at the joint are 2/3 N m of the motor."""
    (tmp_path / "arm.urdf").write_text(GEARED)
    (tmp_path / "arm.yaml").write_text("{urdf: arm.urdf, motors: [{name: j1, of: {j1: -30}}]}")
    limits = {"j1": {"acceleration": 3000, "jerk": 300000}}
    settings = {
        "robot": "arm.yaml",
        "path": {"kind": "through", "points": [[0], [30]]},
        "limits": limits,
        "costs": False,
    }
    answer = run(tmp_path, settings)
    assert answer.exit_code == 0, answer.output
    table = read_look_up(tmp_path / "out" / "table.csv")
    tau = np.abs(table.rows[:, table.names.index("tau_j1")])
    assert 0.3 < tau.max() <= 1.001 * 20 / 30


def test_the_table_starts_and_ends_at_rest_on_the_path_and_keeps_the_limits(folder):
    found = json.loads((folder / "result.json").read_text())
    table = read_look_up(folder / "table.csv")
    column = dict(zip(table.names, table.rows.T, strict=True))
    assert found["time [s]"] <= column["t"][-1] < found["time [s]"] + 400e-6
    assert found["rows"] == len(table.rows)
    first, last = table.at(0.0), table.at(9.0)
    assert (first["c_y"], first["c_z"]) == pytest.approx((-0.4, -0.1566))
    assert (last["c_y"], last["c_z"], last["s"]) == pytest.approx((0.4, -0.1566, 1))
    for row in (first, last):
        assert [row[f"dq_phi{k}"] for k in (1, 2, 3)] == pytest.approx([0, 0, 0], abs=1e-12)
    for kind, most in (("dq", 18.99), ("ddq", 87.27), ("dddq", 1745.3), ("tau", 129.6)):
        for motor in ("phi1", "phi2", "phi3"):
            assert np.abs(column[f"{kind}_{motor}"]).max() <= most * 1.001, (kind, motor)
    # A straight count: positions are the sum of rates (Simpson's rule errs with the jumps of the jerk).
    gained = np.trapezoid(column["dq_phi1"], column["t"])
    assert gained == pytest.approx(column["q_phi1"][-1] - column["q_phi1"][0], abs=1e-5)


def test_strut_forces_of_the_table_are_those_of_its_own_motion_and_below_the_limit(folder):
    robot = rp.load("irb360")
    assert rp.read_log(folder / "table.csv", robot).simulated
    table = read_look_up(folder / "table.csv")
    column = dict(zip(table.names, table.rows.T, strict=True))
    worst = max(np.abs(column[name]).max() for name in table.names if name.startswith(("upper_", "lower_")))
    assert worst < 120
    found = json.loads((folder / "result.json").read_text())["struts"]
    assert [use["model"] for use in found] == ["full", "reduced"]
    assert found[0]["largest force [N]"] == pytest.approx(worst)
    assert found[0]["margin to the limit [N]"] == pytest.approx(120 - worst)
    # The empty robot's struts would carry less: the load is in the plan.
    c, cd, cdd = (np.stack([column[f"{d}q_{m}"] for m in robot.motors.names], axis=1) for d in ("", "d", "dd"))
    empty = rp.constraint_forces(robot, c, cd, cdd).struts
    assert max(np.abs(x).max() for x in empty.values()) < 0.8 * worst


def test_one_strut_may_have_a_limit_of_its_own(tmp_path):
    weak = U_TURN["limits"] | {"strut_3b": {"force": 70}}
    answer = run(tmp_path, changed(U_TURN, limits=weak, points=60, costs=False), "--json")
    table = read_look_up(tmp_path / "out/table.csv")
    most = {
        name: np.abs(table.rows[:, table.names.index(name)]).max() for name in table.names if name.startswith("upper_")
    }
    assert most.pop("upper_strut_3b") == pytest.approx(63, rel=2e-3)  # 10 % are kept free
    assert 63 < max(most.values()) <= 108.1
    assert json.loads(answer.stdout)["struts"][0]["margin to the limit [N]"] == pytest.approx(7, abs=0.2)


def test_the_film_says_that_it_is_planned_and_slower(folder):
    page = (folder / "film.html").read_text()
    assert "(PLANNED)" in page
    assert '"slow": 20.0' in page


def test_json_is_the_result_and_nothing_else(tmp_path):
    answer = run(tmp_path, changed(ARM, points=40, costs=True, table="parquet"), "--json")
    assert answer.exit_code == 0, answer.output
    printed = json.loads(answer.stdout)
    assert printed == json.loads((tmp_path / "out/result.json").read_text())
    assert printed["costs [s]"]
    of_kind = {"velocity": "rad/s", "acceleration": "rad/s²", "jerk": "rad/s³", "torque": "N m", "position": "rad"}
    assert all(row["unit"] == of_kind[row["kind"]] for row in printed["limits"])
    assert (tmp_path / "out/table.parquet").exists()
    assert not (tmp_path / "out/strut_forces.svg").exists()


def test_a_limit_that_stands_alone_has_no_price_and_old_files_go(tmp_path):
    only = changed(ARM, points=40, without=["acceleration", "jerk", "torque"], table="parquet")
    assert run(tmp_path, only).exit_code == 0
    answer = run(tmp_path, only | {"table": "csv"}, "--json")
    assert json.loads(answer.stdout)["costs [s]"] == {"velocity": None}
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "result.json", "plan.yaml", "table.csv", "phase_plane.svg", "quantities.svg", "film.html",
    }  # fmt: skip


def test_a_motion_that_no_torque_allows_is_a_verdict_with_its_proof(tmp_path):
    weak = {f"phi{k}": {"torque": 5} for k in (1, 2, 3)}
    answer = run(tmp_path, changed(U_TURN, limits=weak), "--json")
    assert answer.exit_code == 3
    found = json.loads(answer.stdout)
    assert found["feasible"] is False
    assert found["limit"].startswith("torque phi")
    assert 0 <= found["s"] <= 1
    assert found["excess"] > 0
    assert "over its limit at standstill" in found["reason"]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"result.json", "plan.yaml"}


LINES = {
    "kind": "lines",
    "coordinates": ["x", "y", "z", "psi"],
    "points": [[0, -0.3, 0, 0], [0, 0.3, 0, 0]],
    "radius": 0,
}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"robot": "irb361"}, "did you mean 'irb360'?"),
        ({"path": U_TURN["path"] | {"spacings": 0.1}}, "unknown key 'spacings' at 'path.u_turn.spacings'; did you mean 'spacing'?"),
        ({"limit": {}}, "unknown key 'limit'; did you mean 'limits'?"),
        ({"path": U_TURN["path"] | {"start": [0, 0, 0]}}, "start of the path has 3 numbers, expected 4: x, y, z, psi"),
        ({"path": LINES | {"points": [[0, 0, 0, 0], [0, 0, 0, 0]]}}, "points 1 and 2 of the path are the same"),
        ({"path": LINES | {"points": [[0, 0, 0, 0], [0, 0.2, 0, 0], [0, 0.2, 0.1, 0]]}}, "kink at point 2"),
        ({"path": LINES | {"radius": None}}, "needs a 'radius'"),
        ({"path": LINES | {"kind": "through"}}, "leave 'radius' out"),
        ({"path": LINES | {"points": [[0, 0, 0, 0], [0, 1.2, 0, 0]]}}, "leaves the workspace at s = "),
        ({"path": U_TURN["path"] | {"up": [0, 0, 0, 0]}}, "'up' of the U-turn has no length"),
        ({"path": U_TURN["path"] | {"spacing": 9.0}}, "leaves the U-turn 4 control points: it needs 6"),
        ({"payload": [{"link": "hand"}]}, "no link or frame 'hand'"),
        ({"limits": {"phi9": {"torque": 3}}}, "no joint, motor or strut 'phi9' in robot 'irb360', which 'limits' names"),
        ({"limits": {"phi1": {"force": 20}}}, "'force' of 'phi1' would limit nothing; it has position, velocity, acceleration, jerk, torque"),
        ({"limits": {"strut_1a": {"torque": 20}}}, "'torque' of 'strut_1a' would limit nothing; it has force"),
        ({"limits": {"y": {"torque": 20}}}, "'torque' of 'y' would limit nothing"),
        ({"limits": {"phi1": {"position": [-0.5, float("inf")]}}}, "'limits.phi1.position.1': expected a finite number"),
        (ARM | {"payload": [], "limits": {"struts": {"force": 20}}}, "no joint, motor or strut 'struts' in robot 'irb2400'"),
        ({"cycle": 0}, "key 'cycle'"),
        ({"cycle": 1e-9}, "key 'cycle': Input should be greater than or equal to"),
        ({"margins": {"torque": 1.0}}, "key 'margins.torque'"),
        ({"params": "nowhere"}, "nowhere"),
        ({"robot": "irb2400", "payload": [], "limits": {}, "path": ARM["path"]}, "'end_effector' limits come from the reduced model of Deltas: robot 'irb2400' is no Delta"),
        ({"ends": ["rest", "stop"]}, "key 'ends.1': Input should be 'rest' or 'free'"),
        ({"path": LINES | {"coordinates": ["x", "y"], "points": [[0, 0], [0, 0.1]]}}, "leave joints free to move"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_sentence(tmp_path, keys, says):
    answer = run(tmp_path, changed(U_TURN, points=60, **keys))
    assert isinstance(answer.exception, RobodynError), answer.output
    assert says in str(answer.exception)
    assert not (tmp_path / "out").exists()


def test_a_controller_that_follows_shows_the_planned_acceleration(tmp_path):
    law = tmp_path / "law.yaml"
    law.write_text("law: computed_torque\nrate: 1000\nbandwidth: 20\ndamping: 1\n")
    limits = {f"phi{k}": {"acceleration": 60, "jerk": 2000} for k in (1, 2, 3)}
    path = {"kind": "lines", "points": [[0, 0, 0], [0.5, 0.2, 0.4]], "radius": 0}
    settings = {"robot": "delta3", "path": path, "limits": limits, "points": 60, "costs": False, "cycle": 0.001}
    answer = run(tmp_path, settings, "--controller", str(law), "--json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)["simulation"]
    assert found["simulated"] is True
    assert max(found["largest error [rad or m]"].values()) < 1e-3
    # Of accelerations up to 60 rad/s^2: the torques are held for a millisecond.
    missed = found["rms acceleration error"]
    assert list(missed) == [f"platform {axis} [m/s²]" for axis in "xyz"]
    assert max(missed.values()) < 1.5
    assert (tmp_path / "out/acceleration.svg").exists()


@pytest.mark.parametrize(("torque", "cut"), [(15.0, False), (1.0, True)])
def test_simulated_motors_have_no_more_torque_than_the_plan_file_gives_them(tmp_path, torque, cut):
    law = tmp_path / "law.yaml"
    law.write_text("law: computed_torque\nrate: 1000\nbandwidth: 20\ndamping: 1\n")
    limits = {f"phi{k}": {"acceleration": 60, "jerk": 2000, "torque": torque} for k in (1, 2, 3)}
    path = {"kind": "lines", "points": [[0, 0, 0], [0.5, 0.2, 0.4]], "radius": 0}
    settings = {"robot": "delta3", "path": path, "limits": limits, "points": 40, "costs": False, "cycle": 0.001}
    answer = run(tmp_path, settings | {"without": ["torque"]}, "--controller", str(law), "--json")
    assert answer.exit_code == 0, answer.output
    assert (json.loads(answer.stdout)["simulation"]["samples at a torque limit"] > 0) == cut
