"""Many mutated commands, by several processes, within a budget of cases and seconds.

python tests/commands/campaign.py [--cases 20000] [--seconds 3600] [--seed 0] [--workers 2]

Case k has seed `--seed` + k, so `--cases 1 --seed 4711` makes case 4711 again. Exit code 1 where an answer is wrong.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import chdir
from dataclasses import asdict
from pathlib import Path

import corpus
import forked
from warm_robodyn import WarmRobodyn

ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


def prepare(folder: Path) -> None:
    """The corpus; compiled kernels are stored by the way."""
    warm = WarmRobodyn()

    def robodyn(words: list[str]) -> None:
        with chdir(folder):
            done = warm.run(words)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")

    corpus.build(folder, robodyn)
    warm.end()


def work(folder: Path, seeds: range, until: float) -> None:
    """Run cases one after the other; print each answer as a line of JSON."""
    forked.warm()
    for seed in seeds:
        if time.time() > until:
            break
        print(json.dumps(asdict(forked.run(folder, seed))), flush=True)


def campaign(cases: int, seconds: float, seed: int, workers: int) -> list[dict]:
    """Answers of all cases that the budget allows, as dictionaries (fields of `forked.Answer`)."""
    with tempfile.TemporaryDirectory(prefix="campaign_") as name:
        folder = Path(name) / "corpus"
        folder.mkdir()
        prepare(folder)
        until = time.time() + seconds
        shares = [(seed + k, seed + cases, workers) for k in range(workers)]
        return said_by([[__file__, "--work", str(folder), *map(str, share), str(until)] for share in shares], folder)


def said_by(programs: list[list[str]], folder: Path) -> list[dict]:
    """What Python programs that work side by side write, a line of JSON each time; their files lie beside the folder."""
    answers = [folder.with_name(f"{k}.jsonl") for k in range(len(programs))]  # a full pipe would hold a program up
    children = []
    for program, path in zip(programs, answers, strict=True):
        with path.open("w") as file:
            children.append(subprocess.Popen([sys.executable, *program], env=os.environ | ALONE, stdout=file))
    codes = [child.wait() for child in children]
    if any(codes):
        raise RuntimeError("a program that tries commands ended early")
    return [json.loads(line) for path in answers for line in path.read_text().splitlines()]


def told(answer: dict) -> str:
    """A wrong answer, and how to make it again."""
    case = answer["case"]
    return f"{answer['wrong']} (seed {case['seed']}): robodyn {' '.join(case['words'])}, mutated: {case['mutated']}\n{answer['shown']}"


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        folder, *seeds, until = sys.argv[2:]
        work(Path(folder), range(*map(int, seeds)), float(until))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=3600, help="budget of time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    answers = campaign(**vars(parser.parse_args()))
    wrong = [answer for answer in answers if answer["wrong"]]
    for answer in wrong:
        print(told(answer))
    print(f"{len(answers)} cases, {len(wrong)} wrong {dict(Counter(answer['wrong'] for answer in wrong))}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
