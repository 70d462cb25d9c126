"""How many parameters a log can show: counts that were published or derived on paper for the same mechanisms."""

import re
from pathlib import Path

import numpy as np
import pytest
from workspaces import WORKSPACES

import robodyn_pin as rp
from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import regressor
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import MotorSpec
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.urdf import catalogue

# A passive joint at the platform is cut: its rate is that of the platform less those of the leg.
ENDS = [{"phi": 1.0, f"A{k}": -1.0, f"B{k}": -1.0} for k in (1, 2, 3, 4)]
MOTORS = ["m1", "m2", "m3", "m4"]
PASSIVE = ["B1", "B2", "B3", "B4", *ENDS]


def friction(of: list, *models: str) -> list[EffortSpec]:
    return [EffortSpec(of=joint, model=model) for joint in of for model in models]


def variant(name: str, efforts: list[EffortSpec] | None = None, urdf=lambda text: text) -> Robot:
    """A catalogue robot with other efforts, or with another text of its URDF."""
    robot = load(name)
    file = robot.file if efforts is None else robot.file.model_copy(update={"efforts": efforts})
    return build(name, file, urdf(robot.urdf_path.read_text()), robot.urdf_path)


def without_end_effector(urdf: str) -> str:
    start = urdf.index('<link name="end_effector">')
    stripped = re.sub(r"<inertial>.*?</inertial>", "", urdf[start:], count=1, flags=re.DOTALL)
    return urdf[:start] + stripped


def rank(robot: Robot, name: str, states: int = 300) -> int:
    """Rank of the regressor over the whole workspace, columns scaled to length one; a gap must set it apart."""
    rng = np.random.default_rng(20)
    c = WORKSPACES[name](rng, states).c
    W = regressor(robot, c, 3 * rng.normal(size=c.shape), 30 * rng.normal(size=c.shape)).reshape(
        states * c.shape[1], -1
    )
    lengths = np.linalg.norm(W, axis=0)
    W = W[:, lengths > 1e-9 * lengths.max()]
    s = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    count = int((s > 1e-9 * s[0]).sum())
    assert count == len(s) or s[count] < 1e-4 * s[count - 1]
    return count


@pytest.mark.parametrize(
    ("urdf", "expected"),
    [(lambda text: text, 37), (without_end_effector, 35)],
    ids=["as it is", "without end-effector"],
)
def test_irb360_shows_the_published_number_with_identical_limbs_and_linear_friction(urdf, expected):
    robot = variant("irb360", urdf=urdf)
    report = check(robot)
    assert len(report.base.columns) == expected
    assert report.inertial == expected - 10  # five joints with Coulomb and viscous friction
    assert rank(robot, "irb360") == expected


DUALV = {
    "bodies alone": ([], 16),
    "with motor friction": (friction(MOTORS, "viscous", "coulomb"), 24),
    "and offsets": (friction(MOTORS, "viscous", "coulomb", "offset"), 28),
    "and friction of the eight passive joints": (
        friction(MOTORS, "viscous", "coulomb", "offset") + friction(PASSIVE, "viscous", "coulomb"), 44,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DUALV)
def test_dualv_shows_the_number_that_its_four_legs_leave(case):
    efforts, expected = DUALV[case]
    robot = variant("dualv", efforts)
    report = check(robot)
    assert report.inertial == 16
    assert len(report.base.columns) == expected
    assert rank(robot, "dualv") == expected


def test_a_rotor_of_the_dualv_joins_its_leg_as_printed():
    """zz_1iR = zz_1i + ia_1i + d2^2 m_2i of Briot et al. (DualV), d2 = 0.28 m; the rest is what a mass at C shares."""
    labels = check(variant("dualv", friction(MOTORS, "armature"))).base_labels
    for k in (1, 2, 3, 4):
        assert f"Izz(proximal_{k}) + 0.0784 m(distal_{k}) - Izz(distal_{k}) + armature(m{k})" in labels


def test_panda_shows_the_43_parameters_of_its_published_identification(measured_logs: Path):
    report = check(load(measured_logs / "panda_gaz2019" / "panda.urdf"))
    assert len(report.base.columns) == report.inertial == 43


def test_gears_change_no_count():
    """A motor that turns a hundred times as fast shows what the joint itself shows."""
    direct = load("irb2400")
    motors = [
        MotorSpec(name=m.name, of={joint: k * factor for joint, factor in m.of.items()})
        for m, k in zip(direct.file.motors, (-1000, 120, 80, 1, 50, 1000), strict=True)
    ]
    file = direct.file.model_copy(update={"motors": motors, "efforts": [], "limits": {}})
    found = check(build("geared", file, direct.urdf_path.read_text(), direct.urdf_path))
    exact = check(direct)
    assert found.inertial == exact.inertial
    assert found.base.condition < 3 * exact.base.condition


def rounded(name: str, digits: int) -> Robot:
    """A catalogue robot, every number of its URDF rounded to so many decimals: right angles are not quite right any more."""
    return variant(name, urdf=lambda text: re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda m: f"{float(m[0]):.{digits}f}", text))


@pytest.mark.parametrize("digits", [6, 9, 12])
@pytest.mark.parametrize("name", catalogue())
def test_rounding_the_numbers_of_a_urdf_changes_no_count(name, digits):
    found, exact = check(rounded(name, digits)), check(load(name))
    assert (found.base.size, found.inertial) == (exact.base.size, exact.inertial)
    assert found.base.condition < 3 * exact.base.condition


@pytest.mark.parametrize("digits", [6, 11])
@pytest.mark.parametrize("name", ["irb360", "irb2400"])
def test_check_fit_and_report_count_the_same_base_parameters_of_a_rounded_urdf(name, digits):
    robot, exact = rounded(name, digits), check(load(name))
    rng, names = np.random.default_rng(3), robot.coordinates.names
    amplitude = {n: list(0.2 * rng.normal(size=5) / np.arange(1, 6)) for n in names}
    motion = FourierMotion(rate=250, duration=8, period=4, centre=dict.fromkeys(names, 0.2), sin=amplitude)
    log = simulate(robot, motion, Noise(np.full(len(names), 0.1), seed=1))
    result = rp.identify(robot, log)
    assert result.wls.base.size == result.check.diagnosis.known.base.size == check(robot).base.size == exact.base.size
    assert result.wls.base.condition < 1e4
