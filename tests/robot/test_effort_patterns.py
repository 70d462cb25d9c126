"""One entry for the efforts of many axes, and one line for the columns of all motors, against the same written out."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile

URDF = '<robot name="r"><link name="base"/>' + "".join(
    f"""<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}" type="revolute"><parent link="{'base' if k == 0 else f'l{k - 1}'}"/><child link="l{k}"/><origin xyz="0 0 1"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>"""
    for k, name in enumerate(("j1", "j2", "wrist"))
) + "</robot>"  # fmt: skip


def arm(*efforts: dict) -> Robot:
    return build("r", RobotFile.model_validate({"urdf": "r.urdf", "efforts": efforts}), URDF, Path("r.urdf"))


@pytest.mark.parametrize(
    ("of", "names"),
    [
        ("all motors", ("j1", "j2", "wrist")),
        ("all joints", ("j1", "j2", "wrist")),
        ("j*", ("j1", "j2")),
        ("wris?", ("wrist",)),
    ],
)
def test_an_entry_for_many_is_one_for_each(of, names):
    short = arm({"of": of, "model": "viscous", "initial": 0.4})
    long = arm(*({"of": name, "model": "viscous", "initial": 0.4} for name in names))
    assert [e.labels for e in short.efforts] == [e.labels for e in long.efforts]
    c = np.array([[0.1, 0.2, 0.3]])
    assert np.array_equal(rp.inverse_dynamics(short, c, 2 * c, c), rp.inverse_dynamics(long, c, 2 * c, c))
    assert short.file.efforts == long.file.efforts  # what an identified robot writes


def test_patterns_that_say_nothing_or_the_same_twice_are_refused():
    with pytest.raises(
        BadFile, match=r"no joint or motor is called like 'k\*', which 'efforts' asks for; it has j1, j2, wrist"
    ):
        arm({"of": "k*", "model": "viscous"})
    with pytest.raises(BadFile, match="friction of 'j1' has its 'viscous' part twice"):
        arm({"of": "all motors", "model": "viscous"}, {"of": "j1", "model": "viscous"})


def test_a_line_names_the_columns_of_all_motors(tmp_path):
    robot, t = load("delta3"), np.arange(100) / 100
    q = 0.3 + 0.1 * np.sin(t[:, None] + np.arange(3))
    names = robot.motors.names
    cells = {"t": t} | {f"q{k}": q[:, k] for k in range(3)} | {f"{m} torque": 10.0 * k + t for k, m in enumerate(names)}
    pl.DataFrame(cells | {"other": t}).write_csv(tmp_path / "log.csv")
    columns = {"q_{}": "q{i0}", "tau_{}": "{} torque"}
    log = rp.read_log(tmp_path / "log.csv", robot, columns=columns)
    np.testing.assert_allclose(log.q, q, atol=1e-12)
    np.testing.assert_allclose(log.tau[0], [0, 10, 20], atol=1e-12)
    own = rp.read_log(tmp_path / "log.csv", robot, columns=columns | {f"tau_{names[2]}": "other"})
    np.testing.assert_allclose(own.tau[:, 2], t, atol=1e-12)
    with pytest.raises(UnknownName, match="q3"):
        rp.read_log(tmp_path / "log.csv", robot, columns={"q_{}": "q{i}", "tau_{}": "{} torque"})
