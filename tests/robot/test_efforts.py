"""Friction: curves against the papers, slopes against differences; in cut joints against power and another cut."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.multipliers import reactions
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadFile, RobodynError, UnknownName
from robodyn_pin.files import parse_yaml, read_yaml
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.log_to_robot.rows import Job, fold_log
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.export import identified_robot_file
from robodyn_pin.robot.friction_models import EffortSpec, basis, slopes
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.units import coefficient_units
from robodyn_pin.simulation.simulated_log import Noise, simulate

RATES = np.concatenate([-np.geomspace(60, 1e-4, 40), [0.0], np.geomspace(1e-4, 60, 40)])


def curve(spec: EffortSpec) -> np.ndarray:
    return basis(spec, RATES, RATES, 0 * RATES) @ np.array(spec.initial)


def test_saturating_friction_is_the_published_curve_of_drive_4():
    spec = EffortSpec(of="psi", model="saturating", initial=[0.5272, 0.6672], width=0.01, speed=8.5919)
    published = 0.5272 * np.tanh(100 * RATES) + 0.6672 * np.tanh(RATES / 8.5919)
    np.testing.assert_allclose(curve(spec), published, rtol=1e-12)


def test_stribeck_friction_is_the_published_equation_with_its_static_level():
    """Joint 5 of the IRB 2400: F_S = 39.7, F_C = 13.7, F_v = 7.2654, w_St = 0.0176; above the width tanh is the sign."""
    spec = rp.load("irb2400").efforts[4].spec
    published = (13.7 + (39.7 - 13.7) * np.exp(-(np.abs(RATES / 0.0176) ** 2))) * np.sign(RATES) + 7.2654 * RATES
    moving = np.abs(RATES) > 10 * spec.width
    np.testing.assert_allclose(curve(spec)[moving], published[moving], rtol=1e-6)


@pytest.mark.parametrize(("model", "shape"), [("coulomb", "width"), ("stribeck", "width"), ("stribeck", "speed"), ("saturating", "width"), ("saturating", "speed"), ("directional", "width"), ("position", "width")])  # fmt: skip
def test_slopes_are_the_differences_of_the_columns(model, shape):
    spec = EffortSpec(of="j", model=model, width=0.3, speed=2.0, places=[-1.0, 2.0] if model == "position" else None)
    at = [basis(spec.model_copy(update={shape: getattr(spec, shape) + h}), RATES, RATES, RATES) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(slopes(spec, shape, RATES, RATES), (at[0] - at[1]) / 2e-6, atol=1e-9)


def test_quadratic_and_directional_friction_are_their_formulas():
    quadratic = curve(EffortSpec(of="j", model="quadratic", initial=[0.3]))
    np.testing.assert_allclose(quadratic, [0.3 * r**2 if r > 0 else -0.3 * r**2 for r in RATES], rtol=1e-12)
    given = EffortSpec(of="j", model="directional", initial=[1.0, 2.0, 0.1, 0.2], width=0.01)
    expected = [np.tanh(r / 0.01) * (1.0 if r > 0 else 2.0) + r * (0.1 if r > 0 else 0.2) for r in RATES]
    np.testing.assert_allclose(curve(given), expected, rtol=1e-12)


def test_cbrt_position_and_cogging_are_their_formulas():
    found = curve(EffortSpec(of="j", model="cbrt", initial=[0.3]))
    np.testing.assert_allclose(found, [0.3 * np.sign(r) * abs(r) ** (1 / 3) for r in RATES], rtol=1e-12)
    x = np.linspace(-1, 3, 41)
    ripple = basis(EffortSpec(of="j", model="cogging", waves=[1, 101]), x, 0 * x, 0 * x)
    np.testing.assert_allclose(ripple, np.transpose([np.sin(x), np.cos(x), np.sin(101 * x), np.cos(101 * x)]))
    rubs = EffortSpec(of="j", model="position", places=[0.0, 1.0, 2.0], width=0.01, each_way=True)
    alike = rubs.model_copy(update={"each_way": False})
    forward, back = np.array([1.0, 3.0, 2.0]), np.array([4.0, 0.5, 0.0])
    for way, levels in ((1, forward), (-1, back)):
        rate = way * 0.004
        between = [levels[0] if p < 0 else levels[2] if p > 2 else levels[int(min(p, 1.999))] + (p - int(min(p, 1.999))) * (levels[int(min(p, 1.999)) + 1] - levels[int(min(p, 1.999))]) for p in x]  # fmt: skip
        found = basis(rubs, x, rate + 0 * x, 0 * x) @ np.concatenate([forward, back])
        np.testing.assert_allclose(found, np.tanh(rate / 0.01) * np.array(between), atol=1e-12)
        found = basis(alike, x, rate + 0 * x, 0 * x) @ levels
        np.testing.assert_allclose(found, np.tanh(rate / 0.01) * np.array(between), atol=1e-12)


@pytest.mark.parametrize(("effort", "sentence"), [
    ({"model": "cogging"}, "needs the key 'waves'"),
    ({"model": "position", "places": [0.1, 0.1]}, "name them in ascending order"),
    ({"model": "position", "initial": 1.0}, "needs its 'places"),
    ({"model": "viscous", "places": [0, 1]}, "'places' goes with the model 'position'"),
    ({"model": "viscous", "waves": [1]}, "'waves' goes with the model 'cogging' or 'position'"),
    ({"model": "position", "waves": [1], "places": [0, 1]}, "has 'waves' beside 'places'"),
    ({"model": "position", "places": [0, 1], "degree": 9}, "splines of degree 9; expected 1"),
    ({"model": "position", "places": [0, 1], "degree": 3, "initial": [1, 2]}, "has 4 coefficients, 'initial' gives 2"),
    ({"model": "cbrt", "waves": [3]}, "'waves' goes with the model 'cogging'"),
    ({"of": "ball_1a", "model": "position", "places": [0, 1]}, "cannot act in closure"),
])  # fmt: skip
def test_what_friction_over_position_lacks_is_one_sentence(effort, sentence):
    with pytest.raises(BadFile, match=sentence):
        irb360({"of": "phi1", **effort})


def test_friction_over_position_without_places_is_refused_where_it_is_needed():
    robot = irb360({"of": "phi1", "model": "position"})
    with pytest.raises(BadFile, match="identify the robot, whose file then says them"):
        rp.inverse_dynamics(robot, *states(robot))


def test_units_of_quadratic_and_directional_friction():
    robot = irb360({"of": "phi1", "model": "quadratic"}, {"of": "phi1", "model": "directional"})
    found = [unit for effort in robot.efforts for unit in coefficient_units(robot, effort)]
    assert found == ["N m s²/rad²", "N m", "N m", "N m s/rad", "N m s/rad"]


# Cut joints -------------------------------------------------------------------------------------------------------

BALLS = [f"ball_{k}{side}" for k in (1, 2, 3) for side in "ab"]
ELBOWS = [f"strut_{k}{side}_{axis}" for k in (1, 2, 3) for side in "ab" for axis in "yz"]


def irb360(*efforts: dict) -> Robot:
    catalogue = rp.load("irb360")
    file = catalogue.file.model_copy(update={"efforts": [EffortSpec.model_validate(effort) for effort in efforts]})
    return build("irb360", file, catalogue.urdf_xml, catalogue.urdf_path)


def states(robot: Robot, n: int = 12):
    rng = np.random.default_rng(0)
    return (
        rng.uniform([0.1, 0.1, 0.1, -1], [0.5, 0.5, 0.5, 1], (n, 4)),
        rng.normal(size=(n, 4)),
        rng.normal(size=(n, 4)),
    )


def relative_turning(robot: Robot, q: np.ndarray, v: np.ndarray, a: str, b: str) -> np.ndarray:
    """Angular velocity of frame b against frame a, from Pinocchio's velocities of the two."""
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, q, v)
    w = [pin.getFrameVelocity(model, data, model.getFrameId(x), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED).angular for x in (b, a)]  # fmt: skip
    return w[0] - w[1]


@pytest.mark.parametrize("spec", [{"model": "viscous", "initial": 0.3}, {"model": "coulomb", "initial": 0.3, "width": 0.2}])  # fmt: skip
def test_friction_in_balls_takes_the_power_of_their_relative_turning(spec):
    """Twelve balls, one coefficient: viscous c |w|^2, Coulomb c |w| tanh(|w| / width); an elbow's two axes turn by w."""
    of = [*BALLS, *ELBOWS] if spec["model"] == "viscous" else BALLS
    smooth, rubbing = irb360(), irb360({"of": of, **spec})
    c, cd, cdd = states(smooth)
    extra = rp.inverse_dynamics(rubbing, c, cd, cdd) - rp.inverse_dynamics(smooth, c, cd, cdd)
    state = smooth.close(c, cd, cdd)
    ends = [(f"strut_{ball[5:]}_end", f"platform_{ball[5:]}") for ball in BALLS]
    if spec["model"] == "viscous":
        ends += [(f"arm_{ball[5]}", f"strut_{ball[5:]}") for ball in BALLS]
    for i in range(len(c)):
        w = np.array([np.linalg.norm(relative_turning(smooth, state.q[i], state.v[i], a, b)) for a, b in ends])
        power = 0.3 * (w * w if spec["model"] == "viscous" else w * np.tanh(w / 0.2)).sum()
        assert extra[i] @ cd[i] == pytest.approx(power, rel=1e-9)


def body(name: str, x: float) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{x} 0 0"/><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def hinge(name: str, parent: str, child: str, x: float) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-4" upper="4" effort="9" velocity="9"/></joint>'
    )


def bars(name: str, *parts: str) -> str:
    ground = hinge("j_crank", "base", "crank", 0) + hinge("j_follower", "base", "follower", 0.5)
    return f'<robot name="{name}"><link name="base"/>{body("crank", 0.1)}{body("follower", 0.1)}{ground}{"".join(parts)}</robot>'


CUTS = {  # where the loop is cut: the coupler's parts, joint angles, and the closure
    "follower": (
        body("coupler", 0.1) + hinge("j_coupler", "crank", "coupler", 0.2), {"j_coupler": -0.6},
        {"between": ["follower", "coupler"], "at": [[0.4, 0, 0], [0.5, 0, 0]]},
    ),
    "crank": (
        body("coupler", -0.4) + hinge("j_tip", "follower", "coupler", 0.4), {"j_tip": -1.1},
        {"between": ["crank", "coupler"], "at": [[0.2, 0, 0], [-0.5, 0, 0]]},
    ),
}  # fmt: skip


def four_bar(cut: str, kind: str, effort: dict) -> Robot:
    """Crank 0.2, coupler 0.5, follower 0.4, ground 0.5 m; the loop cut at one end of the coupler or at the other."""
    coupler, home, ends = CUTS[cut]
    closure = {"name": "pin", "kind": kind, **ends, **({"axis": [0, 0, 1]} if kind == "revolute" else {})}
    file = RobotFile.model_validate({
        "urdf": "bars.urdf", "motors": ["j_crank"], "home": {"j_crank": 1.0, "j_follower": 1.5, **home},
        "closures": [closure], "gravity": [0, -9.81, 0], "efforts": [effort],
    })  # fmt: skip
    return build("bars", file, bars("bars", coupler), Path("bars.urdf"))


@pytest.mark.parametrize("kind", ["planar_point", "revolute"])
@pytest.mark.parametrize("friction", [{"model": "stribeck", "initial": [2.0, 1.0, 0.4], "speed": 0.3, "width": 0.1}, {"model": "viscous", "initial": 0.7}])  # fmt: skip
def test_a_pin_rubs_alike_as_a_joint_and_as_a_cut(kind, friction):
    """The same four-bar cut at either end of its coupler: the pin at the follower is a closure in one, a joint in the other."""
    as_cut = four_bar("follower", kind, {"of": "pin", **friction})
    as_joint = four_bar("crank", kind, {"of": "j_tip", **friction})
    rng = np.random.default_rng(1)
    c, cd, cdd = rng.uniform(0.5, 2.0, (9, 1)), rng.normal(size=(9, 1)), rng.normal(size=(9, 1))
    tau = rp.inverse_dynamics(as_cut, c, cd, cdd)
    np.testing.assert_allclose(tau, rp.inverse_dynamics(as_joint, c, cd, cdd), rtol=1e-9)
    np.testing.assert_allclose(rp.forward_dynamics(as_cut, c, cd, tau), cdd, rtol=1e-8)


def test_with_rubbing_balls_every_joint_of_the_tree_is_in_balance():
    """Multipliers and friction moments together leave nothing along any joint's axis but motor and friction there."""
    robot = irb360({"of": BALLS, "model": "saturating", "initial": [0.4, 0.3], "width": 0.1, "speed": 2.0}, {"of": [*ELBOWS, "ext"], "model": "viscous", "initial": 0.2})  # fmt: skip
    c, cd, cdd = states(robot, 3)
    forces, state = rp.constraint_forces(robot, c, cd, cdd), robot.close(c, cd, cdd)
    carried = reactions(robot, state, forces.multipliers)
    model, along = robot.model, forces.tau @ robot.motors.S
    for name in [*ELBOWS, "ext"]:
        k = model.joints[model.getJointId(name)].idx_v
        along[:, k] -= 0.2 * state.v[:, k]
    for j in range(1, model.njoints):
        at = model.joints[j].createData()
        model.joints[j].calc(at, state.q[0], state.v[0])
        np.testing.assert_allclose(
            carried[model.names[j]] @ np.asarray(at.S).reshape(6), along[:, j - 1], atol=1e-9 * np.abs(along).max()
        )


def test_drives_take_over_what_unknown_balls_rub_and_give_it_back_to_their_column():
    """A round trip without noise: balls of 0.4 N m s/rad triple the drives' viscous friction, or have a column and do not."""
    drives, balls = [0.281, 0.419, 0.448], {"of": [*BALLS, *ELBOWS], "name": "balls", "model": "viscous"}
    known = [{"of": f"phi{k + 1}", "model": "viscous", "initial": x} for k, x in enumerate(drives)]
    motion = read_yaml(Path(__file__).parents[2] / "examples" / "irb360_motion.yaml", FourierMotion)
    short = motion.model_copy(update={"duration": 5.0, "rate": 500})
    log = uniform(simulate(irb360(*known, balls | {"initial": 0.4}), short, Noise(np.zeros(4))))
    found = []
    for robot in (irb360(*known), irb360(*known, balls)):
        folded = fold_log(robot, log, Preparation(), [Job(None, lambda index, rates: 0 * rates.astype(int), 1)])[0]
        estimate, labels = weighted_least_squares(folded[0]), np.array(columns(robot).layout.labels)
        found.append(dict(zip(labels[estimate.base.columns], estimate.values, strict=True)))
    without, with_balls = ([values[f"viscous(phi{k})"] for k in (1, 2, 3)] for values in found)
    assert (np.array(without) > 3 * np.array(drives)).all()
    np.testing.assert_allclose(with_balls, drives, rtol=1e-2)  # rates are differences of angles
    assert found[1]["viscous(balls)"] == pytest.approx(0.4, rel=1e-2)


def test_shared_coefficients_are_columns_added_and_are_written_back():
    one = irb360({"of": [*BALLS, *ELBOWS], "name": "balls", "model": "viscous", "initial": 0.2})
    each = irb360(*({"of": name, "model": "viscous", "initial": 0.2} for name in [*BALLS, *ELBOWS]))
    c, cd, cdd = states(one)
    first = columns(one).layout.first_scalar
    W, apart = rp.regressor(one, c, cd, cdd), rp.regressor(each, c, cd, cdd)
    np.testing.assert_allclose(W[:, :, first], apart[:, :, first:].sum(axis=2), atol=1e-12)
    assert columns(one).layout.scalars == ("viscous(balls)",)
    assert columns(irb360({"of": ["phi1", "ball_2a"], "model": "viscous"})).layout.scalars == ("viscous(phi1=ball_2a)",)
    named = columns(one)
    text = identified_robot_file(one, named.layout, named.values, simulated=True)
    (spec,) = parse_yaml(text, RobotFile, "written").efforts
    assert (spec.of, spec.name, spec.initial) == ([*BALLS, *ELBOWS], "balls", 0.2)


def test_units_of_friction_in_closures_are_those_of_turning():
    robot = irb360({"of": BALLS, "model": "viscous"}, {"of": ["ball_1a", "ext"], "model": "saturating", "speed": 1.0})
    assert [coefficient_units(robot, e) for e in robot.efforts] == [["N m s/rad"], ["N m or N", "N m or N"]]


@pytest.mark.parametrize(
    ("effort", "error", "message"),
    [
        ({"of": "ball_1c", "model": "viscous"}, UnknownName, r"no joint, motor or closure 'ball_1c'.*did you mean 'ball_1"),
        ({"of": ["ball_1a", "ball_1a"], "model": "viscous"}, BadFile, "'ball_1a' twice"),
        ({"of": [], "model": "viscous"}, BadFile, "acts on nothing"),
        ({"of": "ball_1a", "model": "spring"}, BadFile, "'spring' cannot act in closure 'ball_1a', only friction can"),
        ({"of": "psi", "model": "saturating"}, BadFile, "needs the key 'speed'"),
        ({"of": "psi", "model": "viscous", "fit": ["speed"]}, BadFile, "no shape parameter 'speed' to fit; it has none"),
        ({"of": "psi", "model": "coulomb", "fit": ["speed"]}, BadFile, "it has width"),
        ({"of": "psi", "model": "coulomb", "known": True, "initial": 1, "fit": ["width"]}, BadFile, "nothing to do"),
    ],
)  # fmt: skip
def test_efforts_that_cannot_be_are_said_when_the_robot_is_loaded(effort, error, message):
    with pytest.raises(error, match=message):
        irb360(effort)


def test_nothing_turns_in_a_rod():
    rod = {
        "name": "link",
        "kind": "rod",
        "between": ["crank", "follower"],
        "at": [[0.2, 0, 0], [0.4, 0, 0]],
        "length": 0.5,
    }
    file = RobotFile.model_validate({
        "urdf": "bars.urdf", "motors": ["j_crank"], "home": {"j_crank": 1.0, "j_follower": 1.5}, "closures": [rod],
        "efforts": [{"of": "link", "model": "viscous"}],
    })  # fmt: skip
    with pytest.raises(RobodynError, match="nothing turns in a rod"):
        build("bars", file, bars("bars"), Path("bars.urdf"))
