"""Constraints at which a fit stands, in words: what the simulated robot lacks is said to be at zero."""

import numpy as np
from test_friction_shapes import identified, with_friction
from test_stops_used import MOTION

from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball
from robodyn_pin.log_to_robot.at_bounds import bounds_in_words
from robodyn_pin.log_to_robot.not_shown import not_shown
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.simulation.simulated_log import Noise, simulate

RUN = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}], "rows": {"cut": 5}})
PLACES = [0.1, 0.3, 0.5]


def test_what_the_robot_lacks_is_at_zero_and_said_in_words(tmp_path):
    """Viscous friction, a stop, a place and forward friction are missing, or of the wrong sign, in the log's robot."""
    log = simulate(
        with_friction(
            "irb360_arms",
            {"of": "phi1", "model": "coulomb", "initial": 3.0, "width": 0.05},
            {"of": "phi1", "model": "viscous", "initial": -0.5},
            {"of": "phi2", "model": "maxwell_slip", "stops": [0.01, 0.03, 0.1], "initial": [2.0, -1.0, 1.0]},
            {"of": "phi3", "model": "position", "places": PLACES, "initial": [-1.0, 1.0, -1.0], "width": 0.05},
            {"of": "psi", "model": "directional", "initial": [-0.5, 0.5, 0.2, 0.2], "width": 0.05},
        ),
        MOTION, Noise(np.full(4, 0.01), None, 0),
    )  # fmt: skip
    asked = with_friction(
        "irb360_arms",
        {"of": "phi1", "model": "coulomb", "width": 0.05},
        {"of": "phi1", "model": "viscous"},
        {"of": "phi2", "model": "maxwell_slip", "stops": [0.01, 0.03, 0.1]},
        {"of": "phi3", "model": "position", "places": PLACES, "width": 0.05},
        {"of": "psi", "model": "directional", "width": 0.05},
    )
    result = identified(asked, RUN, log)
    said = [text for text in result.at_bounds if "bound 0" in text]
    assert "the viscous friction of phi1 is at its bound 0" in said
    assert "the stop of radius 0.03 rad of phi2 is at its bound 0" in said
    assert "the Coulomb friction at 0.1 and 0.5 rad of phi3 is at its bound 0" in said
    assert "the forward Coulomb friction of psi is at its bound 0" in said
    assert not [text for text in said if "the Coulomb friction of phi1" in text or "backward" in text]
    folder = result.write(tmp_path / "result")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f"<li>{text}</li>" in page for text in result.at_bounds)


def test_masses_and_bodies_at_their_bounds_are_named(tmp_path):
    log = simulate(with_friction("irb360_arms"), MOTION, Noise(np.full(4, 0.01), None, 0))
    result = identified(with_friction("irb360_arms"), RUN, log)
    found, layout, bounds = result.feasible, result.layout, result.estimates.bounds
    values = found.values.copy()
    values[0] = bounds.mass[0, 1]
    thin = FeasibleEstimate(values, "", "", np.full(len(found.eigenvalues), bounds.eigenvalue), found.free)
    said = bounds_in_words(result.robot_before, layout, thin, result.wls, bounds)
    assert f"the mass of {layout.bodies[0]} is at its bound 100 kg" in said
    assert f"the pseudo-inertia of {layout.bodies[0]}" in said[-1]


def test_friction_of_a_motor_that_stands_still_is_called_unknown_and_is_zero():
    motion = MOTION.model_copy(update={"sin": {**MOTION.sin, "psi": []}, "cos": {**MOTION.cos, "psi": []}})
    result = identified(
        with_friction("irb360_arms"),
        RUN,
        simulate(with_friction("irb360_arms"), motion, Noise(np.full(4, 0.01), None, 0)),
    )
    labels, values = result.layout.labels, dict(zip(result.layout.labels, result.feasible.values, strict=True))
    of_psi = [x for x in labels if x.endswith("(psi)") and x.startswith(("coulomb", "viscous"))]
    assert of_psi
    assert all(values[x] == 0 for x in of_psi)
    assert any(f"the fit logs do not show {', '.join(of_psi)}: zero stands for" in x for x in result.verdict.cautions)
    assert not [x for x in result.at_bounds if "psi" in x]


def test_unknown_coefficients_are_named_up_to_six_unless_the_prior_knows_them():
    names = tuple(f"viscous({axis})" for axis in "abcdefghi")
    layout, W = Layout(("body",), names, (True,) * 9), np.random.default_rng(0).normal(size=(200, 19))
    W[:, 11:] = 0.0  # all but viscous(a)
    wls = ordinary([fold_rows(empty(19), W, W[:, :11].sum(axis=1) + 0.01 * W[:, 0] ** 2)])
    said = not_shown(layout, wls, Prior(ball(1.0, 0.1)[None], 0.01))
    assert f"do not show {', '.join(names[1:7])} and 2 more: zero stands" in said
    known = Prior(ball(1.0, 0.1)[None], 0.01, scalars=np.ones(9), scalar_weight=0.01)
    assert not_shown(layout, wls, known) == ""
