"""Shapes of friction from simulated logs, found back from twice or half their values (a round trip, but for the start)."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_prior_knowledge import GNAD, run_file

from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.output.console import print_result
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.simulation.simulated_log import Noise, simulate

DRIVE_4 = {"of": "psi", "model": "saturating", "initial": [0.5272, 0.6672], "width": 0.01, "speed": 8.5919}


def with_friction(name: str, *efforts: dict) -> Robot:
    """A catalogue robot with other efforts on the joints that these name."""
    robot, changed = load(name), [EffortSpec.model_validate(effort) for effort in efforts]
    kept = [e for e in robot.file.efforts if e.of not in [c.of for c in changed]]
    file = robot.file.model_copy(update={"efforts": [*kept, *changed]})
    return build(name, file, robot.urdf_xml, robot.urdf_path)


def noise_free(robot: Robot, motion: FourierMotion) -> Log:
    return uniform(simulate(robot, motion, Noise(np.zeros(len(robot.motors.names)))))


def identified(robot: Robot, run: RunFile, log: Log) -> Result:
    cut = int(0.7 * log.size)
    return estimate(robot, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size)])


def least_squares_values(result: Result) -> dict[str, float]:
    labels = np.array(result.layout.labels)[result.wls.base.columns]
    return dict(zip(labels, result.wls.values.tolist(), strict=True))


@pytest.fixture(scope="module")
def drive_4() -> Result:
    """The published assumptions, their model of drive 4 (48) started at half its speed, on a log that has it."""
    motion = read_yaml(Path(__file__).parents[2] / "examples" / "irb360_motion.yaml", FourierMotion)
    log = noise_free(with_friction("irb360", DRIVE_4), motion.model_copy(update={"duration": 8.0}))
    robot = with_friction("irb360", DRIVE_4 | {"initial": [1.0, 1.0], "speed": 8.5919 / 2, "fit": ["speed"]})
    run = GNAD.replace("mz: 0.005, Iyy: 0.23", "mz: 0.005, Ixx: 0.115, Iyy: 0.23, Izz: 0.2")  # a body that can exist
    return identified(robot, run_file(run + "rows: {cut: 5}\nchoose: {prior_weight: [0.01, 0.02]}"), log)


def test_published_friction_of_drive_4_is_found(drive_4):
    (speed,) = drive_4.settings.shapes
    assert (speed.label, speed.start) == ("speed(psi)", 8.5919 / 2)
    assert speed.value == pytest.approx(8.5919, rel=1e-3)
    found = least_squares_values(drive_4)
    assert found["coulomb(psi)"] == pytest.approx(0.5272, rel=1e-3)
    assert found["saturating(psi)"] == pytest.approx(0.6672, rel=1e-3)


def test_the_published_assumptions_leave_29_variables_with_the_model_of_drive_4(drive_4, tmp_path, capsys):
    """18 of the bodies, 8 of linear friction, 3 of drive 4: section 6.3.3 of Gnad et al. (IRB 360)."""
    assert drive_4.variables == 18 + 8 + 3
    print_result(drive_4, tmp_path)
    assert "29 variables in the feasible fit" in capsys.readouterr().out
    assert drive_4.summary()["feasible"]["variables"] == 29  # type: ignore[index]


def test_the_identified_speed_is_written_to_robot_file_result_and_report(drive_4, tmp_path):
    (speed,) = drive_4.settings.shapes
    folder = drive_4.write(tmp_path / "result")
    (written,) = [e for e in load(folder).efforts if e.name == "psi"]
    assert (written.spec.speed, written.spec.width) == (speed.value, 0.01)
    assert json.loads((folder / "result.json").read_text())["shapes"] == [
        {"label": "speed(psi)", "start": 8.5919 / 2, "value": speed.value, "deviation": speed.deviation}
    ]
    assert "speed(psi)" in (folder / "report.html").read_text(encoding="utf-8")


def test_stribeck_speeds_of_all_joints_of_the_irb_2400_are_found():
    """Six shapes at once, from twice or half the published speeds, on a slow motion that passes them."""
    truth = load("irb2400").file.efforts
    sine = np.random.default_rng(0).uniform(-0.06, 0.06, (6, 5)).round(4)
    names = load("irb2400").coordinates.names
    motion = FourierMotion(
        rate=500, duration=20, period=20, centre=dict.fromkeys(names, 0.3),
        sin=dict(zip(names, sine.tolist(), strict=True)),
    )  # fmt: skip
    log = noise_free(load("irb2400"), motion)
    changed = [
        e.model_dump(exclude_defaults=True) | {"speed": e.speed * (2.0 if k % 2 else 0.5), "fit": ["speed"]}
        for k, e in enumerate(truth)
        if e.speed
    ]
    result = identified(with_friction("irb2400", *changed), RunFile.model_validate({"robot": "irb2400", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}}), log)  # fmt: skip
    for shape, spec in zip(result.settings.shapes, truth, strict=True):
        assert shape.value == pytest.approx(spec.speed, rel=1e-3), shape.label
    found = least_squares_values(result)
    for spec in truth:
        for label, value in zip(("coulomb", "stribeck", "viscous"), spec.initial, strict=True):
            assert found[f"{label}({spec.of})"] == pytest.approx(value, rel=1e-3)


def test_a_speed_that_the_log_does_not_show_stays_at_its_start_and_the_run_goes_on():
    """Drive 4 hardly turns: of tanh(x' / 8.6) only the slope at zero is seen, and viscous friction has that as well."""
    motion = FourierMotion(rate=200, duration=5, period=5, centre=dict.fromkeys(("phi1", "phi2", "phi3", "psi"), 0.2), sin={"phi1": [0.1], "phi2": [0.0, 0.1], "phi3": [0.05, 0.05], "psi": [1e-5, 1e-5]})  # fmt: skip
    robot = with_friction("irb360_arms", DRIVE_4 | {"fit": ["speed"]})
    run = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}]})
    result = identified(robot, run, noise_free(robot, motion))
    assert result.settings.shapes == ()
    (kept,) = [e.spec.speed for e in result.robot_before.efforts if e.name == "psi" and e.spec.model == "saturating"]
    assert kept == 8.5919
    assert any(c.startswith("speed(psi) stays at 8.5919") for c in result.verdict.cautions)
