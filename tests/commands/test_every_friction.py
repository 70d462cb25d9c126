"""Commands know every model of friction or refuse it in a sentence; `python tests/commands/every_friction.py all` tries all of both."""

import numpy as np
import pytest
from every_friction import MODELS, WRITES_TORQUES, every_friction

STRUT, COLD, WARM = "coulomb that grows with a strut's force", "viscous in the cold", "coulomb by temperature"
MEMORY, GROWS = "depends on the motion before", "grows with"
REFUSED = {  # what is said; a controller's own model, not the robot that it moves
    **dict.fromkeys([(c, "maxwell_slip") for c in ("controller", "track", "excite")], MEMORY),
    **dict.fromkeys([(c, m) for c in ("track", "plan", "excite") for m in ("load", STRUT)], GROWS),
    **dict.fromkeys([(c, m) for c in ("track", "excite") for m in (COLD, WARM)], "warmth"),
    **dict.fromkeys([(c, m) for c in ("c", "casadi") for m in ("maxwell_slip", STRUT)], "no form in C yet"),
    **dict.fromkeys([(c, WARM) for c in ("predict", "forces", "joints", "identify")], "no column 'temp'"),
}
QUICK = ["check", "pose", *WRITES_TORQUES, "forces", "joints", "mjcf", "sdf", "urdf"]


@pytest.fixture(scope="module")
def answers() -> list[dict]:
    refused = {model: [c for c, m in REFUSED if m == model] for _, model in REFUSED}
    more = {model: [*commands, "track", "plan", "identify"] for model, commands in refused.items()}
    return every_friction({model: list(dict.fromkeys(QUICK + more.get(model, []))) for model in ("", *MODELS)})


def test_every_command_answers_or_refuses_in_a_sentence(answers):
    assert not [a["shown"] for a in answers if a["wrong"]]
    told = {(a["command"], a["model"]): a["shown"] for a in answers if a["code"] == 1}
    assert set(told) == set(REFUSED), told
    assert not [shown for which, shown in told.items() if REFUSED[which] not in " ".join(shown.split())]


def test_none_is_ignored(answers):
    """Torques differ from those of the robot without friction; a robot without a log is warm and at the reference."""
    smooth = {a["command"]: np.array(a["torques"]) for a in answers if not a["model"] and a["torques"]}
    for answer in (a for a in answers if a["model"] and a["torques"]):
        told = np.abs(np.array(answer["torques"]) - smooth[answer["command"]]).max()
        ignored = answer["model"] in (COLD, WARM) and answer["command"] != "predict"
        assert told == 0 if ignored else told > 1e-6, (answer["command"], answer["model"])
