"""What every file may say, for editors."""

import json
from pathlib import Path
from typing import Annotated

import typer


def schema_command(
    kind: Annotated[
        str,
        typer.Argument(
            help="robot, run, motion, track, friction, excite, plan, stiffness, calibrate, poses, design, controller, tool, payload, drives or fleet."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="JSON file to write; default: print it.")] = None,
) -> None:
    """Write the JSON Schema of a kind of file: editors then complete and check its keys.

    The first line of such a file names it, for VS Code with the YAML extension: # yaml-language-server: $schema=run.schema.json

    Example: robodyn schema run --out run.schema.json
    """
    from robodyn_pin.files import write_text
    from robodyn_pin.output.schemas import schema_of

    text = json.dumps(schema_of(kind), indent=2) + "\n"
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
        print(f"{out}: JSON Schema of a {kind} file")
