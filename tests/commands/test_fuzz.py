"""Mutated files and options: every command refuses them in a sentence of ours, or answers with numbers."""

from campaign import campaign, told

CASES = 500


def test_no_mutated_input_breaks_a_command():
    answers = campaign(cases=CASES, seconds=3600, seed=1, workers=1)
    assert len(answers) == CASES
    assert {answer["code"] for answer in answers} >= {0, 1}  # some are refused, some are still good
    assert not [told(answer) for answer in answers if answer["wrong"]]
