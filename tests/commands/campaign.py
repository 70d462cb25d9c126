"""Many mutated commands, by several processes, within a budget of cases and seconds.

python tests/commands/campaign.py [--cases 20000] [--seconds 3600] [--seed 0] [--workers 2]

Case k has seed `--seed` + k, so `--cases 1 --seed 4711` makes case 4711 again. Exit code 1 where an answer is wrong.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import corpus
import forked

ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
BUILDING = 120  # [s] of processor time that a command needs at most where it compiles kernels


def prepare(folder: Path) -> None:
    """Let this process be one whose children are warm, and write the corpus; compiled kernels are stored by the way."""
    forked.warm()

    def robodyn(words: list[str]) -> None:
        found = forked.answer(forked.Case(0, tuple(words), ""), folder, BUILDING)
        if found.code not in (0, 3):
            raise RuntimeError(f"{' '.join(words)}: {found.shown}")

    folder.mkdir()
    corpus.build(folder, robodyn)


def print_answers(
    run: Callable[[int], list[forked.Answer]], seeds: range, workers: int, until: float = math.inf
) -> None:
    """Print what each seed's commands answered as lines of JSON, found by so many children at once; none begins later than `until` [s]."""
    running = 0
    for seed in seeds:
        if time.time() > until:
            break
        if running == workers:
            _wait_for_one()
            running -= 1
        if os.fork() == 0:
            # At once: what the other children print does not come between.
            os.write(1, "".join(json.dumps(asdict(found)) + "\n" for found in run(seed)).encode())
            os._exit(0)
        running += 1
    for _ in range(running):
        _wait_for_one()


def _wait_for_one() -> None:
    if os.wait()[1]:
        raise RuntimeError("a child that tries commands ended early")


def said_by(*program: object) -> list[dict]:
    """What a Python program writes, a line of JSON each time."""
    with tempfile.TemporaryFile("a+") as lines:
        subprocess.run([sys.executable, *map(str, program)], env=os.environ | ALONE, stdout=lines, check=True)
        lines.seek(0)
        return [json.loads(line) for line in lines]


def campaign(cases: int, seconds: float, seed: int, workers: int) -> list[dict]:
    """Answers of all cases that the budget allows, as dictionaries (fields of `forked.Answer`)."""
    with tempfile.TemporaryDirectory(prefix="campaign_") as name:
        return said_by(__file__, "--work", Path(name) / "corpus", seed, seed + cases, workers, seconds)


def work(folder: Path, seeds: range, workers: int, seconds: float) -> None:
    prepare(folder)
    print_answers(lambda seed: [forked.run(folder, seed)], seeds, workers, time.time() + seconds)


def told(answer: dict) -> str:
    """A wrong answer, and how to make it again."""
    case = answer["case"]
    return f"{answer['wrong']} (seed {case['seed']}): robodyn {' '.join(case['words'])}, mutated: {case['mutated']}\n{answer['shown']}"


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        folder, begin, end, workers, seconds = sys.argv[2:]
        work(Path(folder), range(int(begin), int(end)), int(workers), float(seconds))
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
