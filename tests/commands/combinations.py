"""Settings of a run file and friction models drawn at random, each valid by itself: none may break in the company of others."""

import random
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import forked
import yaml
from campaign import prepare, print_answers, said_by

SECONDS = 90  # [s] of processor time of one command: some settings try dozens of fits
SHARES = {
    "robust": 0.3,
    "gravity": 0.1,
    "intervals": 0.15,
    "second_opinion": 0.15,
    "prior": 0.2,
    "choose": 0.4,
}  # else USUAL
USUAL = 0.25  # share of the run files that say a key

LOGS = {  # robot: fit log, held-out log, motion, axes
    "delta3": ("log.csv", "other.csv", "motion.yaml", ("phi1", "phi2", "phi3")),
    "irb360": ("strut.csv", "strut.csv", "swing.yaml", ("phi1", "phi2", "phi3", "psi")),
    "irb2400": ("wrist.csv", "wrist.csv", "wrist.yaml", ("m1", "m2", "m3", "m4", "m5", "m6")),
    "dualv": ("turn.csv", "turn.csv", "turn.yaml", ("m1", "m2", "m3", "m4")),
}
RUBBING = (
    {"model": "coulomb", "width": 0.05, "fit": ["width"]}, {"model": "stribeck", "width": 0.05, "speed": 0.2},
    {"model": "stribeck", "width": 0.05, "speed": 0.2, "fit": ["width", "speed"]}, {"model": "directional"},
    {"model": "saturating", "width": 0.01, "speed": 0.2}, {"model": "position"}, {"model": "position", "each_way": True},
)  # fmt: skip
BESIDE = (
    {"model": "maxwell_slip"}, {"model": "maxwell_slip", "stops": [0.01, 0.1]}, {"model": "load"}, {"model": "quadratic"},
    {"model": "cbrt"}, {"model": "offset"}, {"model": "cogging", "waves": [2, 5]}, {"model": "armature"}, {"model": "spring"},
    {"model": "polynomial", "degree": 2},
)  # fmt: skip
SETTINGS = {
    "preparation": ({"filter": {"order": 4, "cutoff": 20}}, {"differentiation": "auto"}, {"differentiation": "spline"},
                    {"differentiation": "spline", "cutoff": 10}, {"differentiation": "fourier", "period": 1}),
    "gravity": ("fit", "choose"), "robust": ("huber", "student"), "essential": (1.5, 10.0), "gauss_markov": (True,),
    "second_opinion": (True,), "intervals": (True,), "instruments": (False,), "clock": ("stamps", "found"),
    "noise": ("residuals", "limits", "coordinates"), "coulomb_width": (0.1,),
    "prior": ({"weight": 0.1, "distance": "relative"}, {"weight": 0.1, "distance": "entropic"}, {"friction": 0.1}),
    "score": ({"filter": {"order": 4, "cutoff": 10}}, {"measure": "pooled"}, {"still": 0.2}),
}  # fmt: skip
CHOOSE = {
    "cutoff": ([10, 20],), "coulomb_width": ([0.05, 0.2],), "prior_weight": ([0.01, 0.1],), "use": ("simulation",), "folds": (2, 3),
    "friction": (["coulomb+viscous", "maxwell_slip", "+load"], ["coulomb+viscous", "+quadratic", "+cbrt"], ["coulomb+viscous", "position"]),
}  # fmt: skip


def write(folder: Path, rng: random.Random) -> list[str]:
    """Put a robot file and a run file into a corpus; the command lines that read them."""
    name = rng.choice(list(LOGS))
    fit, held_out, motion, axes = LOGS[name]
    robot = yaml.safe_load((folder / f"{name}.yaml").read_text())
    if rng.random() < 0.7:
        robot["efforts"] = [effort for axis in axes for effort in _friction(axis, rng)]
    run = {"robot": "robot.yaml", "fit": [{"file": fit}], "rows": {"cut": 10, "every": rng.choice([1, 2, 4])}}
    if rng.random() < 0.5:
        run["held_out"] = [{"file": held_out}]
    if rng.random() < 0.4:
        run["rows"]["filter"] = {"order": 4, "cutoff": rng.choice([5, 20])}
    run |= {key: rng.choice(values) for key, values in SETTINGS.items() if rng.random() < SHARES.get(key, USUAL)}
    if rng.random() < SHARES["choose"]:
        run["choose"] = {key: rng.choice(values) for key, values in CHOOSE.items() if rng.random() < 0.4}
    (folder / "robot.yaml").write_text(yaml.safe_dump(robot))
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    return [
        "identify run.yaml --out out",
        f"predict robot.yaml {held_out} --params out --out out_torques.csv --json",
        f"joints robot.yaml {held_out} --params out --out out_joints.csv --json",
        f"simulate robot.yaml --params out --motion {motion} --out out_log.csv --ignore-limits",
    ]


def _friction(axis: str, rng: random.Random) -> list[dict[str, object]]:
    found = rng.sample(RUBBING, rng.choice([0, 1, 1])) + rng.sample(BESIDE, rng.choice([0, 1, 2]))
    first = {effort["model"]: effort for effort in reversed(found)}
    return [{"of": axis} | effort for effort in first.values()]


def run(corpus: Path, seed: int) -> list[forked.Answer]:
    """The answers of all commands on one combination."""
    answers = []
    with tempfile.TemporaryDirectory(prefix="combination_") as name:
        folder = Path(name) / "case"
        shutil.copytree(corpus, folder)
        for line in write(folder, random.Random(seed)):
            case = forked.Case(seed, tuple(line.split()), "run.yaml")
            answers.append(forked.answer(case, folder, SECONDS))
            if not (folder / "out" / "result.json").exists():
                break
    return answers


def combinations(cases: int, seed: int, workers: int) -> list[dict]:
    """Answers of all commands on so many combinations, as dictionaries, in processes of their own."""
    with tempfile.TemporaryDirectory(prefix="combinations_") as name:
        return said_by(__file__, Path(name) / "corpus", seed, seed + cases, workers)


if __name__ == "__main__":
    folder, (begin, end, workers) = Path(sys.argv[1]), map(int, sys.argv[2:])
    prepare(folder)
    print_answers(partial(run, folder), range(begin, end), workers)
