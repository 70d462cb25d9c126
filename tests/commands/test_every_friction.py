"""Commands know every model of friction or refuse it in a sentence; `python tests/commands/every_friction.py all` tries all of both."""

import numpy as np
import pytest
from every_friction import MODELS, WRITES_TORQUES, every_friction

REFUSED = {  # what is said
    ("controller", "maxwell_slip"): "depends on the motion before",  # its model, not the robot that it moves
    ("track", "maxwell_slip"): "depends on the motion before",
    ("track", "load"): "grows with",
    ("track", "coulomb that grows with a strut's force"): "grows with",
    ("track", "viscous in the cold"): "warmth",
    ("track", "coulomb by temperature"): "warmth",
    ("excite", "viscous in the cold"): "warmth",
    ("excite", "coulomb by temperature"): "warmth",
    ("predict", "coulomb by temperature"): "temp",
    ("identify", "coulomb by temperature"): "temp",
    ("plan", "load"): "grows with",
    ("plan", "coulomb that grows with a strut's force"): "grows with",
}
WITHOUT_LOG = "viscous in the cold"  # a robot that is simulated is warm


@pytest.fixture(scope="module")
def answers() -> list[dict]:
    quick = every_friction(["", *MODELS], ["check", "pose", *WRITES_TORQUES, "mjcf", "sdf"])
    return quick + every_friction(
        list({m for _, m in REFUSED} | {"position in splines", "position in waves"}), ["track", "plan"]
    )


def test_every_command_answers_or_refuses_in_a_sentence(answers):
    assert not [a["shown"] for a in answers if a["wrong"]]
    told = {(a["command"], a["model"]): a["shown"] for a in answers if a["code"] == 1}
    assert set(told) == set(REFUSED), told
    assert not [shown for which, shown in told.items() if REFUSED[which] not in " ".join(shown.split())]


def test_none_is_ignored(answers):
    """Torques differ from those of the robot without friction."""
    smooth = {a["command"]: np.array(a["torques"]) for a in answers if not a["model"] and a["torques"]}
    for answer in (a for a in answers if a["model"] and a["torques"]):
        told = np.abs(np.array(answer["torques"]) - smooth[answer["command"]]).max()
        ignored = answer["model"] == WITHOUT_LOG and answer["command"] != "predict"
        assert told == 0 if ignored else told > 1e-6, (answer["command"], answer["model"])
