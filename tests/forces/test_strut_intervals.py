"""Strut forces as a linear map of the parameters, and how often true forces lie inside their intervals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from simulated import SHORT, exact_rows, fold_seeds, noise_of

import robodyn_pin as rp
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.dynamics.strut_regressor import strut_regressor
from robodyn_pin.forces import strut_history
from robodyn_pin.forces.strut_intervals import strut_history_with_reach
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.bounds import equalities
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import weighted
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.identification.posterior import posterior
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import fourier
from robodyn_pin.simulation.simulated_log import Noise, simulate

ROOT = Path(__file__).parents[2]
RUN, URDF = ROOT / "examples/irb360.yaml", ROOT / "urdf"
SEEDS = 20


OTHERS = {
    "more motors than needed": ("psi]\ncoordinates", "psi, ext]\ncoordinates"),
    "more equations than needed": ("closures:", "closures:\n  - {name: again, kind: point, between: [strut_3b_end, platform_3b]}"),
}  # fmt: skip


def variant(name: str, folder: Path) -> rp.Robot:
    """A robot of the package, or the IRB 360 with a line changed and without rotors."""
    if name not in OTHERS:
        return rp.load(name)
    text = (URDF / "irb360.yaml").read_text().replace(*OTHERS[name]).replace("initial: 0.188", "initial: 0")
    (folder / "robot.yaml").write_text(text.replace("urdf: ", f"urdf: {URDF}/"))
    return rp.load(folder / "robot.yaml")


@pytest.mark.parametrize("name", ["irb360", "delta3", *OTHERS])
def test_strut_forces_are_linear_in_the_parameters(name, tmp_path):
    """R pi is what the multipliers give, which are computed with Newton-Euler."""
    robot, rng = variant(name, tmp_path), np.random.default_rng(0)
    d = len(robot.coordinates.names)
    state = robot.close(rng.uniform(0.1, 0.3, (20, d)), rng.normal(size=(20, d)), 10 * rng.normal(size=(20, d)))
    found = strut_regressor(robot, state) @ columns(robot).values
    loads = Loads(robot, state).struts
    np.testing.assert_allclose(found[:, 0], loads.lower, atol=1e-10)
    np.testing.assert_allclose(found[:, 1], loads.upper, atol=1e-10)


@pytest.fixture(scope="module")
def identified():
    """Twenty seeds of noise on five seconds of the IRB 360: true forces, and those found with their deviations (N, 2, k)."""
    robot, run = rp.load("irb360"), read_run(RUN)
    named, bounds, prior = columns(robot), bounds_of(run, robot), prior_of(run, robot)
    t, c, cd, cdd = fourier(SHORT, robot.coordinates.names)
    state = robot.close(c[::5], cd[::5], cdd[::5])
    R = strut_regressor(robot, state)
    found = []
    for groups in fold_seeds(exact_rows(robot, SHORT), noise_of(range(SEEDS), len(t))):
        base = base_set(weighted(groups, np.ones(len(groups)))[:, :-1], named.layout.order)
        wls = weighted_least_squares(groups, base)
        feasible = fit_feasible(groups, wls.sigma, named.layout, bounds, prior)
        covariance = posterior(wls, feasible.values, prior, bounds)
        deviation = np.sqrt(np.einsum("neks,st,nekt->nek", R, covariance, R, optimize=True))
        found.append((R @ feasible.values, deviation, covariance, wls))
    return R @ named.values, found


def test_true_forces_lie_inside_the_intervals(identified):
    """At least 95 of 100, and the intervals are of use: their half is no more than four times the error."""
    true, found = identified
    inside = [np.abs(true - force) <= 1.96 * s for force, s, _, _ in found]
    assert np.mean(inside) > 0.95
    assert min(np.mean(x) for x in inside) > 0.9
    error = np.sqrt(np.mean([np.square(true - force) for force, _, _, _ in found]))
    assert 1.96 * np.mean([s for _, s, _, _ in found]) < 4 * error


def test_what_the_log_shows_keeps_its_deviation(identified):
    """Along base parameters that the log shows well the covariance is that of least squares."""
    _, found = identified
    _, _, covariance, wls = found[0]
    along = np.sqrt(np.diag(wls.base.matrix @ covariance @ wls.base.matrix.T))
    assert (along <= 1.001 * wls.deviations).all()
    well = wls.deviations < 0.02 * np.abs(wls.values)
    assert well.any()
    np.testing.assert_allclose(along[well], wls.deviations[well], rtol=0.05)


def test_what_is_weighed_is_sure():
    robot, run = rp.load("irb360"), read_run(RUN)
    named, bounds, prior = columns(robot), bounds_of(run, robot), prior_of(run, robot)
    (groups,) = fold_seeds(exact_rows(robot, SHORT), noise_of([0], 1000))
    wls = weighted_least_squares(groups, base_set(weighted(groups, np.ones(4))[:, :-1], named.layout.order))
    strut = next(i for i, body in enumerate(named.layout.bodies) if body.startswith("strut"))
    weighed = replace(bounds, equalities=(*equalities(strut, "m = 0.15"), *equalities(strut, "my mz = 0")))
    covariance = posterior(wls, named.values, prior, weighed)
    assert np.sqrt(np.diag(covariance)[10 * strut + np.array([0, 2, 3])]).max() < 1e-6
    assert np.sqrt(np.diag(posterior(wls, named.values, prior, bounds)))[10 * strut] > 1e-3


def test_intervals_do_not_change_with_the_blocks(monkeypatch):
    robot, t = rp.load("irb360"), np.arange(1000) / 500
    q = np.stack([0.3 + 0.15 * np.sin(2 * np.pi * t + k / 3) for k in range(3)] + [0 * t], axis=1)
    log, spread = rp.Log("log", t, q, None, simulated=True), np.eye(columns(robot).layout.size)
    way = rp.Preparation.model_validate({"filter": {"order": 2, "cutoff": 40}})
    whole = strut_history_with_reach(robot, log, way, None, spread)
    monkeypatch.setattr(strut_history, "BLOCK", 300)
    parts = strut_history_with_reach(robot, log, way, None, spread)
    assert whole.reach.upper.shape == whole.upper.shape == (1000, 6)
    np.testing.assert_allclose(parts.reach.upper, whole.reach.upper, rtol=1e-6)
    np.testing.assert_allclose(parts.reach.lower, whole.reach.lower, rtol=1e-6)


def test_the_commands_show_the_intervals_of_an_identified_robot(robodyn, tmp_path):
    """Table, summary, picture and film; a robot's own files say nothing of them, nor does the reduced model."""
    log, run = tmp_path / "log.csv", tmp_path / "run.yaml"
    write_log(
        log, simulate(rp.load("irb360"), SHORT, Noise(np.array([1.5, 1.5, 1.6, 0.16]))), rp.load("irb360"), "SIMULATED"
    )
    run.write_text(
        f"robot: irb360\nfit: [{{file: {log}}}]\npreparation: {{filter: {{cutoff: 40}}}}\ninstruments: false\n"
    )
    robodyn("identify", run, "--out", tmp_path / "result")
    known = ("--params", tmp_path / "result")
    done = robodyn("forces", "irb360", log, *known, "--out", tmp_path / "struts.csv")
    assert done.returncode == 0, done.stderr
    table = pl.read_csv(tmp_path / "struts.csv", comment_prefix="#")
    for row in json.loads((tmp_path / "struts.json").read_text())["struts"]:
        name = f"{row['end']}_{row['strut']}"
        low, high = row["95 % of the worst [N]"]
        i = int(table[name].abs().arg_max())
        assert (low, high) == pytest.approx((table[f"low_{name}"][i], table[f"high_{name}"][i]))
        assert low < table[name][i] < high
        assert f"{low:.1f} to {high:.1f}" in done.stdout
    assert "bands: 95 % intervals" in (tmp_path / "struts.svg").read_text()
    assert "rather too wide than too narrow" in " ".join(done.stdout.split())
    done = robodyn("show", "irb360", "--motion", log, *known, "--forces", "--export", tmp_path / "film.html")
    assert done.returncode == 0, done.stderr
    assert '"interval": [' in (tmp_path / "film.html").read_text()
    body = tmp_path / "body.yaml"
    body.write_text("{link: arm_1, mass: 1, at: [0, 0, 0.05]}")
    done = robodyn("forces", "irb360", log, *known, "--payload", body, "--out", tmp_path / "loaded.csv")
    assert done.returncode == 0, done.stderr
    loaded = pl.read_csv(tmp_path / "loaded.csv", comment_prefix="#")
    for name in (column for column in table.columns if column.startswith("high_")):  # a known mass is no less sure
        force = name.removeprefix("high_")
        np.testing.assert_allclose(loaded[name] - loaded[force], table[name] - table[force], rtol=1e-6)
    for more in ((), (*known, "--reduced")):
        done = robodyn("forces", "irb360", log, *more, "--out", tmp_path / "own.csv")
        assert done.returncode == 0, done.stderr
        assert not any("low_" in column for column in pl.read_csv(tmp_path / "own.csv", comment_prefix="#").columns)
        assert ("leave --reduced out" in " ".join(done.stdout.split())) == bool(more)
