"""Strengths from a simulated log that begins in motion, its stops stretched by known amounts that the fit does not know."""

from dataclasses import replace

import numpy as np
from test_friction_shapes import identified, with_friction
from test_stops_used import MOTION, NAMES, RUN, STOPS, STRENGTHS
from test_unknown_start import followed

from robodyn_pin.log_to_robot import rows
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

BEGAN = (-0.9, -0.7, -1.0, -0.3)  # of the radii


def begun_in_motion() -> Log:
    log = simulate(load("irb360_arms"), replace_duration(4.0), Noise(np.full(4, 1e-3), None, 0))
    x, tau = log.q[:, NAMES.index("phi1")], log.efforts.copy()
    for radius, strength, start in zip(STOPS, STRENGTHS, BEGAN, strict=True):
        tau[:, 0] += strength * followed(x, radius, start)
    return replace(log, tau=tau)


def replace_duration(seconds: float):
    return (
        MOTION.model_copy(update={"duration": seconds})
        if hasattr(MOTION, "model_copy")
        else replace(MOTION, duration=seconds)
    )


def worst_strength(log: Log) -> float:
    asked = with_friction("irb360_arms", {"of": "phi1", "model": "maxwell_slip", "stops": STOPS})
    result = identified(asked, RUN, log)
    labels = list(result.layout.labels)
    found = [result.wls.full(len(labels))[labels.index(f"stop_{k}(phi1)")] for k in (1, 2, 3, 4)]
    return float(np.abs(np.array(found) / STRENGTHS - 1).max())


def test_an_unknown_start_biases_strengths_unless_it_is_among_the_unknowns(monkeypatch):
    log = begun_in_motion()
    free = worst_strength(log)
    monkeypatch.setattr(rows, "unknown_start", lambda robot, log: None)
    taken_as_relaxed = worst_strength(log)
    print(free, taken_as_relaxed)
    assert free < 0.01 < 0.05 < taken_as_relaxed
