"""Friction that grows with the load, put into simulated arms and found back; the loads come from the bodies that are found."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from test_friction_shapes import identified, with_friction

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.identification.parameters import INERTIAL
from robodyn_pin.log_to_robot import load_borne
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.units import coefficient_units
from robodyn_pin.simulation.simulated_log import Noise, simulate

MOTORS = ("m1", "m2", "m3", "m4", "m5", "m6")
MOTION = FourierMotion(
    rate=100, duration=40, period=10, centre=dict.fromkeys(MOTORS, 0.1),
    sin={name: (0.15 * np.roll([1.0, -0.4, 0.8, 0.2, -0.5], k)).tolist() for k, name in enumerate(MOTORS)},
)  # fmt: skip
RUN = {"robot": "irb2400", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}}
TRUTH = {"m2": 0.12, "m3": 0.2}
NOISE = np.array([3.9, 10.5, 3.6, 1.1, 0.7, 0.7])


def rubbing(loads: dict[str, float | None], plain: float | None = 5.0) -> Robot:
    """The IRB 2400 with Coulomb and viscous friction on every motor, and some that grows with the load."""
    given = {} if plain is None else {"initial": plain}
    efforts = [{"of": m, "model": model, **width, **given} for m in MOTORS for model, width in (("coulomb", {"width": 0.05}), ("viscous", {}))]  # fmt: skip
    efforts += [{"of": m, "model": "load", "width": 0.05, **({"initial": x} if x else {})} for m, x in loads.items()]
    return with_friction("irb2400", *efforts)


def simulated(robot: Robot, noise: float = 1.0, seed: int = 0) -> Log:
    return simulate(robot, MOTION, Noise(noise * NOISE, None, seed))


def coefficient(result: Result, label: str) -> tuple[float, float]:
    """Value and standard deviation of weighted least squares."""
    k = result.wls.base.labels(result.layout.labels).index(label)
    return float(result.wls.values[k]), float(result.wls.deviations[k])


def feasible(result: Result, label: str) -> float:
    return float(result.feasible.values[list(result.layout.labels).index(label)])


def heavier(robot: Robot, factor: float) -> Robot:
    """The same robot, whose files say bodies that are none."""
    model = robot.model.copy()
    for j in range(1, model.njoints):
        model.inertias[j] = pin.Inertia.FromDynamicParameters(factor * model.inertias[j].toDynamicParameters())
    return replace(robot, model=model)


ASKED = rubbing(dict.fromkeys(TRUTH), None)
PLAIN = RunFile.model_validate(RUN)


@pytest.fixture(scope="module")
def quiet() -> tuple[Log, Result]:
    log = simulated(rubbing(TRUTH), noise=1e-3)
    return log, identified(ASKED, PLAIN, log)


def test_coefficients_are_found_through_the_loop(quiet):
    for motor, value in TRUTH.items():
        assert coefficient(quiet[1], f"load({motor})")[0] == pytest.approx(value, rel=1e-3)
        assert feasible(quiet[1], f"load({motor})") == pytest.approx(value, rel=2e-3)
    assert not any("grows with the load" in text for text in quiet[1].verdict.cautions)


def test_what_the_files_say_of_the_bodies_does_not_matter(quiet):
    again = identified(heavier(ASKED, 5.0), PLAIN, quiet[0])
    for motor in TRUTH:
        label = f"load({motor})"
        assert coefficient(again, label)[0] == pytest.approx(coefficient(quiet[1], label)[0], rel=1e-4)


def test_the_identified_robot_predicts_what_the_identification_did(quiet, tmp_path):
    """Its loads come from its own URDF, those of the identification from the round before, a ten-thousandth apart; rates at ends differ."""
    log, result = quiet
    robot = load(result.write(tmp_path / "result", report=False))
    predicted = predict(robot, log, result.run.preparation)
    sample = result.check.samples[0]
    rows = np.searchsorted(log.t, sample.t - 1e-9)
    scale = np.sqrt(np.mean(log.efforts**2, axis=0))
    assert (np.abs(predicted[rows] - sample.predicted["feasible"]).max(axis=0) < 1e-3 * scale).all()


def test_intervals_hold_the_truth():
    """Three deviations: of these ten values one would lie outside by chance once in 37 times."""
    for seed in range(5):
        result = identified(ASKED, PLAIN, simulated(rubbing(TRUTH), seed=seed))
        for motor, value in TRUTH.items():
            found, deviation = coefficient(result, f"load({motor})")
            assert abs(found - value) < 3 * deviation
            assert deviation < 0.05 * value


def test_a_robot_without_it_gets_none():
    result = identified(ASKED, PLAIN, simulated(rubbing({})))
    for motor in TRUTH:
        found, deviation = coefficient(result, f"load({motor})")
        assert abs(found) < 3 * deviation
        assert 0 <= feasible(result, f"load({motor})") < 0.02


def test_loads_that_do_not_settle_are_said(monkeypatch):
    monkeypatch.setattr(load_borne, "SETTLED", 0.0)
    monkeypatch.setattr(load_borne, "ROUNDS", 2)
    result = identified(ASKED, PLAIN, simulated(rubbing(TRUTH)))
    assert any("after 2 rounds the loads still change the prediction" in text for text in result.verdict.cautions)


def test_the_axes_that_have_it_get_it():
    run = RunFile.model_validate(RUN | {"choose": {"friction": ["coulomb+viscous", "+load"], "folds": 4}})
    result = identified(rubbing({}, None), run, simulated(rubbing(TRUTH), noise=0.3))
    taken = {c.axis: c.chosen for c in result.settings.friction}
    assert {axis for axis, chosen in taken.items() if "load" in chosen} == set(TRUTH)


def test_friction_by_the_force_in_struts_is_found_and_known_to_the_identified_robot(tmp_path):
    """Balls of a Delta rub by the forces in their rods, a motor by that in one of them; weighed parts say which body has which mass."""
    robot, names = load("delta3"), ("phi1", "phi2", "phi3")
    balls, rods = [c.name for c in robot.file.closures], list(robot.file.struts)
    motion = FourierMotion(
        rate=100, duration=30, period=10, centre=dict.fromkeys(names, 0.0),
        sin={name: (0.12 * np.roll([1.0, -0.4, 0.8, 0.2, -0.5, 0.3, 0.4], k)).tolist() for k, name in enumerate(names)},
    )  # fmt: skip

    def with_radii(*radii: float | None) -> Robot:
        plain = [{"of": m, "model": model, **width, "initial": 0.3} for m in names for model, width in (("coulomb", {"width": 0.05}), ("viscous", {}))]  # fmt: skip
        by_force = ({"of": balls, "name": "balls", "strut": rods}, {"of": "phi1", "strut": rods[0]})
        efforts = [
            *plain,
            *({"model": "load", "width": 0.05, "initial": r, **x} for r, x in zip(radii, by_force, strict=True)),
        ]
        return with_friction("delta3", *efforts)

    log = simulate(with_radii(0.01, 0.02), motion, Noise(np.full(3, 0.02), None, 0))
    groups = robot.body_groups
    bodies = columns(robot).values[: 10 * len(groups)].reshape(-1, 10).tolist()
    weighed = {g[0]: {"mass": x[0], "radius": 0.05, "values": dict(zip(INERTIAL, x, strict=True))} for g, x in zip(groups, bodies, strict=True)}  # fmt: skip
    prior = {"weight": 0.1, "bodies": weighed}
    run = RunFile.model_validate({"robot": "delta3", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}, "prior": prior})
    result = identified(with_radii(None, None), run, log)
    assert not any("grows with the load" in text for text in result.verdict.cautions)
    assert coefficient(result, "load(balls)")[0] == pytest.approx(0.01, rel=0.05)
    assert coefficient(result, "load(phi1)")[0] == pytest.approx(0.02, rel=0.1)
    written = load(result.write(tmp_path / "result", report=False))
    found = {e.name: e for e in written.efforts if e.bears}
    assert found["balls"].carriers == tuple(rods)
    assert found["balls"].initial[0] == pytest.approx(feasible(result, "load(balls)"), rel=1e-6)
    assert coefficient_units(written, found["balls"]) == ["m"]
    predicted, sample = predict(written, log, result.run.preparation), result.check.samples[0]
    rows = np.searchsorted(log.t, sample.t - 1e-9)
    scale = np.sqrt(np.mean(log.efforts**2, axis=0))
    assert (np.abs(predicted[rows] - sample.predicted["feasible"]).max(axis=0) < 2e-3 * scale).all()
