"""The IRB 360 campaign as `make campaign` runs it, against the published values that are the truth of its simulated logs."""

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
NOISE = {"phi1": 1.5, "phi2": 1.5, "phi3": 1.6, "psi": 0.16}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory, robodyn) -> Path:
    desk = tmp_path_factory.mktemp("campaign")
    shutil.copytree(ROOT / "examples", desk / "examples")
    script = desk / "examples" / "irb360_campaign" / "campaign.py"
    with pytest.MonkeyPatch.context() as patch:  # commands as in all tests: half of its time would be their starts
        patch.setattr(subprocess, "run", lambda words, **_: robodyn(*words[1:]))
        runpy.run_path(str(script), run_name="__main__")
    return desk / "results" / "irb360_campaign"


def read(folder: Path, name: str = "result.json"):
    return json.loads((folder / name).read_text())


def wls(folder: Path) -> dict[str, np.ndarray]:
    return {p["label"]: np.array([p["wls"], p["deviation"]]) for p in read(folder)["base"]["parameters"]}


def test_static_poses_give_the_noise_that_was_put_in(campaign):
    found = read(campaign / "arms")["noise"]
    passed = found["phi1"] / NOISE["phi1"]  # what the rows' filter lets through
    for name, sigma in NOISE.items():
        # 5 poses of 600 samples: 1.3 % of a standard deviation.
        assert found[name] / passed == pytest.approx(sigma, rel=0.06)


def test_arms_are_found_whatever_the_weights(campaign):
    by_noise, by_limits = wls(campaign / "arms"), wls(campaign / "arms_limits")
    assert by_noise.keys() == by_limits.keys()
    for label, (value, _) in by_noise.items():
        assert value == pytest.approx(by_limits[label][0], rel=1e-9), label
    truth = {
        "mx(arm_1)": 0.150,
        "mz(arm_3)": 0.016,
        "Iyy(arm_2)": 0.232 - 0.188,
        "viscous(phi3)": 0.448,
        "coulomb(psi)": 0.387,
    }
    for label, value in truth.items():
        found, deviation = by_noise[label]
        assert abs(found - value) < 4 * deviation + 0.01 * abs(value), label


def test_friction_of_drive_4_is_model_48(campaign):
    found = read(campaign / "friction", "friction.json")
    fit = found["fits"]["saturating"]
    found_there = fit["coefficients"] | {"speed": fit["speed"]}
    offset, deviation = found_there.pop("offset"), fit["deviations"]["offset"]  # the simulated drive has none
    np.testing.assert_allclose(list(found_there.values()), [0.5272, 0.6672, 8.5919], rtol=0.03)
    assert abs(offset) < 4 * deviation < 0.01
    assert fit["rmse"] < 0.02 < 0.1 < found["fits"]["linear"]["rmse"]


def test_the_assembled_robot_has_the_published_counts_and_predicts_to_the_noise(campaign):
    consistent, base = read(campaign / "irb360"), read(campaign / "base")
    assert consistent["feasible"]["variables"] == 29
    assert base["base"]["count"] == 37
    assert consistent["verdict"]["accepted"]
    for name, sigma in NOISE.items():
        assert consistent["errors"]["feasible"]["held_out"]["rmse"][name] == pytest.approx(sigma, rel=0.05)
    # Linear friction on drive 4 leaves what the published base parameters left as well.
    left = {name: r["errors"][e]["held_out"]["rmse"]["psi"] for name, r, e in (("base", base, "WLS"), ("consistent", consistent, "feasible"))}  # fmt: skip
    assert left["base"] > 1.03 * left["consistent"]


def test_the_page_says_that_it_is_simulated_and_shows_its_pictures(campaign):
    page = (campaign / "campaign.md").read_text()
    assert "SIMULATED" in page.splitlines()[0]
    for picture in ("arms.svg", "friction/friction.svg", "verification.svg"):
        assert f"]({picture})" in page
        assert "SIMULATED" in (campaign / picture).read_text()
