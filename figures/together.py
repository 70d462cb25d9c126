"""Two hundred run files of settings drawn at random, each valid by itself: does any break in the company of others?"""

from collections import Counter

from combinations import combinations
from make import Row, Section

CASES = 200


def study() -> Section:
    answers = combinations(CASES, seed=1000, workers=2)
    wrong = Counter(answer["wrong"] for answer in answers if answer["wrong"])
    done = Counter(answer["case"]["words"][0] for answer in answers if answer["code"] in (0, 3))
    rows = (
        Row("run files", f"{CASES}", f"{len({answer['case']['seed'] for answer in answers})}"),
        Row(
            "tracebacks, hangs over 90 s of processor time, stray lines, NaN with exit 0 or 3",
            "0",
            f"{dict(wrong) or 0}",
            not wrong,
        ),
        Row("done: " + ", ".join(done), "", ", ".join(map(str, done.values()))),
    )
    note = "Friction models, rates, filters, weights, priors and choices at random, SIMULATED logs of 2 s of four robots; each result then predicts, gives joint forces and is simulated."
    return Section("Settings together", "python figures/make.py together", rows, note)
