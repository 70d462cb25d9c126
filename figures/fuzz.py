"""Twenty thousand mutated files and options: does any command break, hang, or answer with what is no number?"""

from collections import Counter

from campaign import campaign
from corpus import COMMANDS
from make import Row, Section

CASES = 20_000
ASKED = {
    "traceback": "tracebacks",
    "hang": "hangs over 10 s of processor time",
    "stray line": "stray lines",
    "NaN in an answer": "NaN with exit 0 or 3",
}


def study() -> Section:
    answers = campaign(cases=CASES, seconds=6 * 3600, seed=0, workers=2)
    wrong = Counter(answer["wrong"] for answer in answers if answer["wrong"])
    codes = Counter(answer["code"] for answer in answers)
    rows = [Row("cases", f"{CASES}", f"{len(answers)}", len(answers) >= CASES)]
    rows += [Row(what, "0", f"{wrong[kind]}", not wrong[kind]) for kind, what in ASKED.items()]
    others = {kind: count for kind, count in wrong.items() if kind not in ASKED}
    rows += [
        Row(
            "other failures (killed by a signal, refusals of 300 characters and more)",
            "0",
            f"{sum(others.values())}",
            not others,
        ),
        Row(
            "refused with a sentence; answered all the same; not accepted",
            "",
            f"{codes[1] + codes[2]}; {codes[0]}; {codes[3]}",
        ),
    ]
    note = f"Values, keys, cells, attributes, elements, options and bytes are mutated, one to three at a time, of files for {len(COMMANDS)} command lines, Parquet among them."
    return Section("Mutated files and options", "python figures/make.py fuzz", tuple(rows), note)
