"""A run on two seconds of log is refused with the reason; a longer one says for what it holds and how sure it is."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from robodyn_pin.identification.whiteness import ljung_box, widening

ROOT = Path(__file__).parents[2]
RUN = {
    "robot": "irb360", "preparation": {"filter": {"cutoff": 40}}, "intervals": True,
    "rows": {"filter": {"cutoff": 40}, "cut": 200, "every": 12}, "bounds": {"mass": [0.01, 5.0]},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(robodyn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnosis")
    motion = yaml.safe_load((ROOT / "examples/irb360_motion.yaml").read_text()) | {"duration": 8}
    (folder / "motion.yaml").write_text(yaml.safe_dump(motion))
    done = robodyn("simulate", "irb360", "--motion", folder / "motion.yaml", "--out", folder / "log.csv",
                   "--noise", "1.5,1.5,1.6,0.16", "--encoder-bits", "15", "--seed", "3")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def identified(robodyn, folder, begin: int, end: int):
    run = RUN | {
        "fit": [{"file": "log.csv", "rows": [begin, end]}],
        "held_out": [{"file": "log.csv", "rows": [6000, 7800]}],
    }
    (folder / f"{end}.yaml").write_text(yaml.safe_dump(run))
    done = robodyn("identify", folder / f"{end}.yaml", "--out", folder / f"result_{end}", "--json")
    return done.returncode, json.loads(done.stdout)


def test_two_seconds_are_over_fitted_and_the_verdict_says_why(robodyn, folder):
    code, result = identified(robodyn, folder, 0, 2000)
    assert code == 3
    assert not result["verdict"]["accepted"]
    (reason,) = result["verdict"]["reasons"]
    assert "over-fitted: 2 s of log" in reason
    assert "37 base parameters" in reason


def test_longer_log_is_accepted_with_its_scope_and_intervals_that_hold_the_truth(robodyn, folder):
    code, result = identified(robodyn, folder, 0, 5500)
    assert code == 0, result["verdict"]
    assert "motions like the fitted 5.5 s" in result["verdict"]["scope"]
    base, intervals = result["base"]["parameters"], result["intervals"]
    friction = {"viscous(phi1)": 1.727, "coulomb(phi2)": 4.376, "coulomb(phi3)": 6.466, "viscous(psi)": 0.012}
    for label, truth in friction.items():  # Gnad et al., Tables 1 and 4
        k = [p["label"] for p in base].index(label)
        for low, high in (intervals["base"][k], intervals["feasible_base"][k], intervals["feasible"][label]):
            assert low < truth < high
    assert all(low >= 0.01 * (1 - 1e-6) for name, (low, _) in intervals["feasible"].items() if name.startswith("m("))
    assert result["identifiability"]["m(arm_1=arm_2=arm_3)"] == "not at all"
    assert result["identifiability"]["mx(bar_upper)"] == "alone"
    assert len(result["best_motion"]) == 37
    assert not result["instruments"]["disagree"]
    assert min(result["residuals"]["ljung_box"].values()) > 1e-3  # the simulated noise is white


def test_colour_of_noise_is_told_and_its_cost_measured():
    """Means of 400 samples of an autoregression spread (1 + a) / (1 - a) times wider in variance than white ones."""
    rng, a = np.random.default_rng(0), 0.9
    white = rng.normal(size=(20_000, 1))
    red = np.zeros_like(white)
    for k in range(1, len(red)):
        red[k] = a * red[k - 1] + white[k]
    assert ljung_box(white)[0] > 0.01
    assert ljung_box(red)[0] < 1e-6
    assert 0 < ljung_box(white[:15])[0] < 1  # fewer rows than lags
    means = red[: 400 * 50].reshape(50, 400).mean(axis=1)
    cost = means.std() / (red.std() / np.sqrt(400))
    assert widening(red, 1000.0, 2.0, 500.0)[0] == pytest.approx(np.sqrt((1 + a) / (1 - a)), rel=0.15)
    assert widening(red, 1000.0, 2.0, 500.0)[0] == pytest.approx(cost, rel=0.25)
    assert widening(white, 1000.0, 2.0, 500.0)[0] == pytest.approx(1, abs=0.2)
