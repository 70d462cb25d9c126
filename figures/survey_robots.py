"""What `robodyn init --yes` makes of robot files, one after the other: python survey_robots.py FILE ... writes a line of JSON for each."""

import json
import re
import sys
import tempfile
from pathlib import Path

from survey_oracles import of_mjcf, of_urdf, worst_error
from survey_sdf import Sdf

from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.first_file import first_file
from robodyn_pin.robot.robot import load
from robodyn_pin.robot.xacro_macros import expanded


def outcome(path: Path, scratch: Path) -> dict[str, object]:
    """Return what becomes of a file: `error` of the torques, or `refused` with its sentence, or `crashed`."""
    out, tree, text = scratch / "robot.yaml", path, ""
    try:
        if path.suffix == ".xacro":
            text, tree = expanded(path), scratch / "robot.urdf"
            tree.write_text(text)
        made = first_file(tree, out, lambda question, answers: answers[0])
        out.write_text(made.text)
        robot = load(out)
    except RobodynError as error:
        return {"refused": " ".join(str(error).replace(str(path.parent) + "/", "").split())}
    except Exception as error:
        return {"crashed": f"{type(error).__name__}: {error}"}
    text = text or path.read_text(errors="replace")
    try:
        kind = kind_of(text)
        if kind == "mujoco":
            return {"error": worst_error(robot, of_mjcf(path))}
        if kind == "sdf":
            return {"error": worst_error(robot, Sdf(text, {c.name for c in robot.loops.closures}))}
        return {"error": worst_error(robot, of_urdf(re.sub(r"<\?xml.*?\?>", "", text)))}
    except Exception as error:
        return {"not compared": f"{type(error).__name__}: {error}"}


def kind_of(text: str) -> str | None:
    """Return the kind of robot file that a text is: robot, mujoco or sdf."""
    found = re.search(r"<(mujoco|robot|sdf)\b", re.sub(r"(?s)<!--.*?-->", "", text))
    return found and found.group(1)


def main() -> None:
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps({"file": name} | outcome(Path(name), Path(scratch))), flush=True)


if __name__ == "__main__":
    main()
