"""Springs of MJCF's joints against MuJoCo's own passive forces."""

import mujoco
import numpy as np
import pytest

import robodyn_pin as rp

ARM = """<mujoco><compiler angle="{angle}"/><default><joint stiffness="3"/></default><worldbody>
<body><joint name="turn" axis="0 1 0" springref="{rest}" ref="{ref}"/><geom size=".05" pos=".2 0 0"/>
<body pos=".4 0 0"><joint name="slide" type="slide" axis="1 0 0" stiffness="20" springref="0.03"/><geom size=".04"/>
<body pos=".1 0 0"><joint name="free" axis="0 0 1" stiffness="0"/><geom size=".03" pos="0 .1 0"/></body></body></body>
</worldbody>{more}</mujoco>"""


@pytest.mark.parametrize(
    ("angle", "rest", "ref", "more"),
    [
        ("radian", 0.4, 0, ""), ("degree", 25, 0, ""), ("degree", 25, 10, ""),
        ("radian", 0.4, 0, '<option><flag spring="disable"/></option>'),
    ],
)  # fmt: skip
def test_springs_pull_as_in_mujoco(tmp_path, angle, rest, ref, more):
    text = ARM.format(angle=angle, rest=rest, ref=ref, more=more)
    (tmp_path / "arm.xml").write_text(text)
    robot, model = rp.load(tmp_path / "arm.xml"), mujoco.MjModel.from_xml_string(text)
    data, c = mujoco.MjData(model), np.random.default_rng(2).uniform(-0.5, 0.5, (6, 3))
    tau, pulled = rp.inverse_dynamics(robot, c, 0 * c, 0 * c), 0.0
    for k, q in enumerate(c):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        pulled = max(pulled, np.abs(data.qfrc_passive).max())
        np.testing.assert_allclose(tau[k], data.qfrc_bias - data.qfrc_passive, atol=1e-9)
    assert (pulled > 1) == (not more)


def test_the_file_of_a_robot_says_them_anew(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM.format(angle="radian", rest=0.4, ref=0, more=""))
    (tmp_path / "robot.yaml").write_text("urdf: arm.xml\nefforts: [{of: turn, model: spring, initial: 5, rest: 0.1}]\n")
    springs = {(e.spec.of, e.spec.initial, e.spec.rest) for e in rp.load(tmp_path / "robot.yaml").efforts}
    assert springs == {("turn", 5.0, 0.1), ("slide", 20.0, 0.03)}
