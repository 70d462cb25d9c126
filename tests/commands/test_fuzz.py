"""Mutated files and options: every command refuses them in a sentence of ours, or answers with numbers."""

from campaign import campaign, told
from combinations import combinations

CASES = 240  # `make fuzz` tries thousands
TOGETHER = 14


def test_no_mutated_input_breaks_a_command():
    answers = campaign(cases=CASES, seconds=3600, seed=1, workers=2)  # among the last tests: a core is idle
    assert len(answers) == CASES
    assert {answer["code"] for answer in answers} >= {0, 1}  # some are refused, some are still good
    assert not [told(answer) for answer in answers if answer["wrong"]]


def test_settings_that_are_valid_alone_do_not_break_together():
    answers = combinations(TOGETHER, seed=1, workers=2)
    assert {answer["case"]["words"][0] for answer in answers} == {"identify", "predict", "joints", "simulate"}
    assert not [told(answer) for answer in answers if answer["wrong"]]
