"""The compiled loop of a controller against the one in Python: the same samples, whatever lies between law and robot. All simulated."""

import numpy as np
import pytest

import robodyn_pin.simulation.closed_loop as closed_loop
from robodyn_pin.closures.kernel_choice import installed
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.closed_loop import prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile
from robodyn_pin.simulation.sampled_loop import CompiledLoop

compiled = pytest.mark.skipif(not installed(), reason="numba is not installed")
BETWEEN = {"delay": 2, "derivative_filter": 120.0, "disturbance": {"percent": 10, "up_to": 10}}
CASES = [
    ("delta3", "pd", {}, None),
    ("delta3", "computed_torque", {"friction": "desired", **BETWEEN}, 18),
    ("dualv", "feedforward", {"internal": {"m1": 3.0}, "torque_limits": {"m1": 20.0}, **BETWEEN}, 16),
    ("dualv", "feedforward", {"projection": False}, None),
    ("dualv", "computed_torque", {"internal": {"m2": 2.0}}, None),
    ("irb360", "computed_torque", BETWEEN, 18),
    ("irb360", "feedforward", {"disturbance": {"torque": {"phi1": 2.0}}}, None),
]


def motion_of(name: str, wide: float, duration: float) -> FourierMotion:
    robot = load(name)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    centre = dict(zip(robot.coordinates.names, home.tolist(), strict=True))
    return FourierMotion(rate=2000, duration=duration, period=0.2, centre=centre, sin={key: [wide] for key in centre})


@compiled
@pytest.mark.parametrize(("name", "law", "settings", "bits"), CASES)
def test_both_loops_go_through_the_same_samples(monkeypatch, name, law, settings, bits):
    robot, motion = load(name), motion_of(name, 0.01 if name == "dualv" else 0.1, 0.08)
    spec = ControllerFile.model_validate({"law": law, "rate": 2000, "bandwidth": 15, "damping": 0.9, **settings})
    reached = []

    class Watched(CompiledLoop):
        def run(self, *arguments):
            reached.append(super().run(*arguments))
            return reached[-1]

    monkeypatch.setattr("robodyn_pin.simulation.sampled_loop.CompiledLoop", Watched)
    fast = track_motion(*prepare(robot, robot, motion, spec), bits)
    assert reached[-1][0] == len(fast.t)  # it did go through them
    assert len(reached) == -(-len(fast.t) // closed_loop.CHUNK)
    monkeypatch.setattr(closed_loop, "compiled_loop", lambda *_: None)
    plain = track_motion(*prepare(robot, robot, motion, spec), bits)
    for what in ("q", "tau", "commanded", "joints", "rates", "taken"):
        a, b = getattr(fast, what), getattr(plain, what)
        assert a == pytest.approx(b, rel=0, abs=1e-9 * max(1.0, np.abs(b).max())), what


@compiled
def test_a_load_that_comes_on_and_a_stop_on_the_way_change_nothing_of_that(monkeypatch):
    """In mid-chunk the compiled loop gives up as if it met what it does not master: Python goes on for a sample."""
    robot, motion = load("delta3"), motion_of("delta3", 0.1, 0.1)
    load_on = {"payload": {"time": 0.0333, "link": "platform", "mass": 0.5, "radius": 0.02}}
    spec = ControllerFile.model_validate(
        {"law": "computed_torque", "rate": 2000, "bandwidth": 15, "damping": 0.9, "disturbance": load_on}
    )
    whole = track_motion(*prepare(robot, robot, motion, spec))
    run = CompiledLoop.run
    monkeypatch.setattr(CompiledLoop, "run", lambda self, k, end, *state: run(self, k, min(end, k + 7), *state))
    parts = track_motion(*prepare(robot, robot, motion, spec))
    assert len(whole.stages) == 2
    assert parts.joints == pytest.approx(whole.joints, rel=0, abs=1e-10)
    assert parts.tau == pytest.approx(whole.tau, rel=0, abs=1e-8)
