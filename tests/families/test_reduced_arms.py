"""The reduced strut model of n arms: the Delta's closed form, the full multipliers where struts weigh nothing, hand statics."""

import numpy as np
import pytest
from test_reduced_delta import LIGHT, with_masses
from workspaces import WORKSPACES

import robodyn_pin as rp
from robodyn_pin.errors import RobodynError
from robodyn_pin.families.reduced_arms import arm_forces, arm_model
from robodyn_pin.families.reduced_delta import reduced_model, tree_forces

G = 9.81


def moving(name: str, n: int = 40) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(8)
    c = WORKSPACES[name](rng, n).c
    return c, 3 * rng.normal(size=c.shape), 60 * rng.normal(size=c.shape)


def test_of_three_arms_it_is_the_model_of_the_delta():
    robot = rp.load("delta3")
    state = robot.close(*moving("delta3"))
    general, delta = (
        model(parts(robot), state.q, state.v, state.a)
        for model, parts in ((arm_forces, arm_model), (tree_forces, reduced_model))
    )
    for name in ("lower", "upper", "arms"):
        wanted = getattr(delta, name)
        np.testing.assert_allclose(getattr(general, name), wanted, atol=1e-9 * np.abs(wanted).max())


def test_without_mass_in_the_struts_the_full_multipliers_of_the_h4_are_the_same():
    robot = rp.load("h4")
    robot = with_masses(robot, dict.fromkeys(robot.file.struts, LIGHT))
    motion = moving("h4")
    state, full = robot.close(*motion), rp.constraint_forces(robot, *motion)
    found = arm_forces(arm_model(robot), state.q, state.v, state.a)
    wanted = np.stack([full.struts[name] for name in robot.file.struts], axis=1)
    size = np.abs(wanted).max()
    assert size > 20
    np.testing.assert_allclose(found.lower, wanted, atol=1e-8 * size)
    np.testing.assert_allclose(found.upper, wanted, atol=1e-8 * size)
    columns = [list(robot.model.names).index(name) - 1 for name in robot.motors.names]
    friction = sum(e.columns(state.q, state.v, state.a) @ e.initial for e in robot.efforts)[:, columns]
    np.testing.assert_allclose(found.arms, full.tau - friction, atol=1e-8 * np.abs(full.tau).max())


def test_the_struts_of_the_h4_bear_plates_and_bar_at_rest():
    """What hangs below is 0.3 + 0.4 + 0.3 kg; a rod adds its weight along itself above, 0.8 of it at home."""
    robot = rp.load("h4")
    rest = np.zeros((1, 4))
    state = robot.close(rest, rest, rest)
    found = arm_forces(arm_model(robot), state.q, state.v, state.a)
    assert found.lower.sum() * 0.8 == pytest.approx(1.0 * G, rel=1e-9)
    np.testing.assert_allclose(found.upper - found.lower, 0.1 * G * 0.8, rtol=1e-9)


def test_strut_forces_along_a_log_of_four_arms(tmp_path, robodyn):
    motion = "rate: 500\nduration: 2\nperiod: 2\ncentre: {phi1: 0, phi2: 0, phi3: 0, phi4: 0}\nsin: {phi1: [0.1], phi2: [0.1, 0.05], phi3: [0.08], phi4: [0, 0.06]}\n"
    (tmp_path / "m.yaml").write_text(motion)
    done = robodyn("simulate", "h4", "--motion", tmp_path / "m.yaml", "--out", tmp_path / "log.csv")
    assert done.returncode == 0, done.stderr
    done = robodyn("forces", "h4", tmp_path / "log.csv", "--reduced", "--out", tmp_path / "f.csv")
    assert done.returncode == 0, done.stderr
    assert "upper_rod_4b" in (tmp_path / "f.csv").read_text().splitlines()[1]


def test_platforms_that_other_things_hold_are_refused():
    with pytest.raises(
        RobodynError, match=r"robot 'irb360' has no platform that struts alone hold.*7 closures for 6 struts"
    ):
        arm_model(rp.load("irb360"))
