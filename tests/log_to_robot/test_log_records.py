"""What is said of each log of an identification: SIMULATED logs of the IRB 360, one of another robot or day among them."""

import json

import numpy as np
import pytest
from simulated_fleets import SETTINGS, Changed, SimulatedFleet, changed_body

import robodyn_pin as rp
from robodyn_pin.output.identification import summary_of

PLANT = SimulatedFleet(rp.load("irb360"), SETTINGS)
JUDGE = PLANT.logs("judge", Changed(), np.random.default_rng(99), 1)
HEAVY = changed_body("platform", 2.0)  # 2.4 kg more
WORN = Changed({"coulomb(phi2)": 1.0, "viscous(phi2)": 1.0})


def identified(logs):
    return rp.identify(PLANT.robot, logs, JUDGE, **SETTINGS)


def strangers(result):
    return [text for text in result.verdict.cautions if "times worse" in text]


def test_the_error_of_each_log_is_that_of_its_torques():
    """The oracle takes the torques of the simulated motion themselves, without a filter."""
    logs = PLANT.logs("same", Changed(), np.random.default_rng(1), 3)
    found = identified(logs)
    errors = np.array([record.errors.rmse for record in found.logs])
    predicted = PLANT.W @ found.feasible.values + PLANT.known
    cut = slice(SETTINGS["rows"]["cut"], -SETTINGS["rows"]["cut"])
    torques = np.array([(log.tau - predicted)[cut] for log in [*logs, *JUDGE]])
    assert np.allclose(errors, np.sqrt(np.mean(torques**2, axis=1)), rtol=0.02)
    assert not strangers(found)
    told = json.loads(json.dumps(summary_of(found)))["logs"]
    assert [x["errors"]["rmse"]["psi"] for x in told] == errors[:, 3].tolist()


@pytest.mark.parametrize(("change", "where"), [(HEAVY, 0), (WORN, 3)])
def test_a_log_that_is_unlike_the_others_is_named(change, where):
    logs = PLANT.logs("same", Changed(), np.random.default_rng(2), 5)
    logs.insert(where, *PLANT.logs("other", change, np.random.default_rng(3), 1))
    (told,) = strangers(identified(logs))
    assert told.startswith("other 0, samples 0 to 999: the parameters explain its torques ")


def test_a_held_out_log_is_compared_with_those_that_judge_too_and_a_file_is_named_once():
    logs = PLANT.logs("same", Changed(), np.random.default_rng(2), 4)
    other = PLANT.logs("other", WORN, np.random.default_rng(3), 1)
    (told,) = strangers(rp.identify(PLANT.robot, logs[:1], [*logs[1:], *other], **SETTINGS))
    assert told.startswith("other 0, samples 40 to 959: ")
    (told,) = strangers(rp.identify(PLANT.robot, [*logs, *other], **SETTINGS))
    assert told.startswith("other 0, samples 0 to 699: ")


def test_two_logs_do_not_tell_which_is_unlike_the_other():
    logs = PLANT.logs("same", Changed(), np.random.default_rng(2), 1) + PLANT.logs(
        "other", WORN, np.random.default_rng(3), 1
    )
    assert not strangers(identified(logs))
