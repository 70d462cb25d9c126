"""Every model of friction in every command that reads a robot: each knows it, or refuses it in a sentence; none ignores it."""

import csv
import json
import shutil
import sys
import tempfile
from pathlib import Path

import forked
import numpy as np
import yaml
from campaign import prepare, said_by

SECONDS = 600  # [s] of processor time of one command; the first one under a controller compiles kernels
MODELS = {
    "viscous": {"initial": 0.3}, "coulomb": {"initial": 0.5}, "stribeck": {"initial": [0.5, 0.3, 0.2], "speed": 0.5},
    "saturating": {"initial": [0.5, 0.3], "speed": 0.5}, "quadratic": {"initial": 0.2}, "cbrt": {"initial": 0.4},
    "directional": {"initial": [0.5, 0.4, 0.3, 0.2]}, "position": {"initial": [0.2, 0.5, 0.3], "places": [-0.4, 0.1, 0.3]},
    "position in splines": {"initial": [0.2, 0.5, 0.3, 0.4, 0.3], "places": [-0.4, 0.1, 0.3], "degree": 3},
    "position in waves": {"initial": [0.5, 0.1, 0.2], "waves": [2.0]}, "cogging": {"initial": [0.2, 0.1], "waves": [5.0]},
    "maxwell_slip": {"stops": [0.01, 0.05], "initial": [0.3, 0.2]}, "load": {"initial": 0.3},
    "coulomb that grows with a strut's force": {"of": ["ball_1a", "ball_1b"], "name": "balls", "model": "load", "strut": "rod_1a",
                                                "initial": 0.01},
    "viscous in the cold": {"initial": 0.3, "warmth": {"time": 2.0}},
    "coulomb by temperature": {"initial": 0.3, "warmth": {"column": "temp", "at": 40}},
}  # fmt: skip
COMMANDS = {
    "check": "check robot.yaml --json",
    "pose": "pose robot.yaml --at 0.1,0.2,0.3 --json",
    "simulate": "simulate robot.yaml --motion motion.yaml --out out.csv",
    "controller": "simulate robot.yaml --motion short.yaml --controller robot_controller.yaml --out out.csv",
    "predict": "predict robot.yaml log.csv --out out.csv",
    "forces": "forces robot.yaml log.csv --out out.csv",
    "joints": "joints robot.yaml log.csv --out out.csv",
    "identify": "identify robot_run.yaml --out out",
    "choose": "identify robot_choose.yaml --out out",
    "track": "track robot.yaml log.csv --settings track.yaml --out out",
    "plan": "plan robot_plan.yaml --out out",
    "excite": "excite robot_excite.yaml --out out",
    "friction": "friction robot_friction.yaml --protocol --out out",
    "c": "export robot.yaml --to c --functions inverse_dynamics --out out",
    "casadi": "export robot.yaml --to casadi --functions inverse_dynamics --out out",
    "mjcf": "export robot.yaml --to mjcf --out out.xml",
    "sdf": "export robot.yaml --to sdf --out out.sdf",
    "urdf": "export robot.yaml --to urdf --out out.urdf",
    "show": "show robot.yaml --motion log.csv --export out.html",
}
WRITES_TORQUES = ("simulate", "controller", "predict")  # a table whose torques must tell the friction


def write(folder: Path, model: str) -> None:
    """The robot with this friction alone on its motors, and the files that name it."""
    robot = yaml.safe_load((folder / "delta3.yaml").read_text())
    said = {"of": "all motors", "model": model.partition(" ")[0]} | MODELS.get(model, {})
    robot["efforts"] = [said] if model else []
    (folder / "robot.yaml").write_text(yaml.safe_dump(robot))
    for name in ("controller", "run", "plan", "excite", "friction"):
        (folder / f"robot_{name}.yaml").write_text(
            (folder / f"{name}.yaml").read_text().replace("delta3.yaml", "robot.yaml")
        )
    run = yaml.safe_load((folder / "robot_run.yaml").read_text())
    choose = run | {"choose": {"friction": ["coulomb+viscous", "+quadratic"], "folds": 3}}
    (folder / "robot_choose.yaml").write_text(yaml.safe_dump(choose))


def torques_of(text: str) -> list[list[float]]:
    """The torques of a table; not by a library with threads, as this process forks."""
    header, *lines = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    columns = [k for k, name in enumerate(header) if name.startswith("tau_")]
    return [[float(line[k]) for k in columns] for line in lines]


def answers(corpus: Path, model: str, commands: list[str]) -> list[dict]:
    found = []
    for name in commands:
        with tempfile.TemporaryDirectory(prefix="friction_") as place:
            folder = Path(place) / "case"
            shutil.copytree(corpus, folder)
            write(folder, model)
            answer = forked.answer(forked.Case(0, tuple(COMMANDS[name].split()), model), folder, SECONDS)
            torques = None
            if name in WRITES_TORQUES and answer.code == 0:
                torques = torques_of((folder / "out.csv").read_text())
            found.append({"model": model, "command": name, "wrong": answer.wrong, "code": answer.code, "shown": answer.shown,
                          "seconds": answer.seconds, "torques": torques})  # fmt: skip
    return found


def every_friction(asked: dict[str, list[str]]) -> list[dict]:
    """What commands answer to models, model: its commands, in a process of its own; the model '' is none."""
    with tempfile.TemporaryDirectory(prefix="every_friction_") as name:
        return said_by(__file__, Path(name) / "corpus", json.dumps(asked))


if __name__ == "__main__":
    if len(sys.argv) == 2:  # a table of all of them
        models = sys.argv[1].split(",") if sys.argv[1] != "all" else ["", *MODELS]
        for row in every_friction({model: list(COMMANDS) for model in models}):
            base = np.array(row.pop("torques") or [])
            print(json.dumps(row | {"torque": float(np.abs(base).mean()) if base.size else None}), flush=True)
    else:
        prepare(Path(sys.argv[1]))
        for one, named in json.loads(sys.argv[2]).items():
            for found in answers(Path(sys.argv[1]), one, named):
                print(json.dumps(found), flush=True)
