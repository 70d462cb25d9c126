"""Write docs/reference/: every command from its --help, every file from its schema, the API and the changelog."""

import shutil
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel

import robodyn_pin
from robodyn_pin.commands.cli import command_line
from robodyn_pin.output.schemas import FILES, file_models, model_schema


def write(docs: Path) -> None:
    """Write the generated pages below the folder of the docs."""
    out = docs / "reference"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    pages = {"commands": commands(), "files": files(), "api": api()}
    for name, text in pages.items():
        (out / f"{name}.md").write_text(text, encoding="utf-8")
    (out / "changelog.md").write_text((docs.parent / "CHANGELOG.md").read_text(encoding="utf-8"), encoding="utf-8")


def commands() -> str:
    """Every command: its help, arguments and options."""
    group = command_line()
    context = typer.Context(group, info_name="robodyn")
    parts = ["# Commands\n"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inside = typer.Context(command, info_name=name, parent=context)
        parts.append(f"## robodyn {name}\n\n```text\n{plain_help(command, inside)}\n```\n")
    return "\n".join(parts)


def plain_help(command: Any, context: Any) -> str:
    """Usage, text and one line a parameter, as --help tells them."""
    rows = [row for parameter in command.get_params(context) if (row := parameter.get_help_record(context))]
    width = max(len(row[0]) for row in rows)
    table = "\n".join(f"  {name:{width}}  {told}" for name, told in rows)
    return f"{command.get_usage(context)}\n\n{command.help or ''}\n\n{table}".replace("\b", "")


def files() -> str:
    """Every file's keys, types and defaults, those of nested entries below."""
    return "# Files\n\nUnknown keys are errors that name the nearest known one.\n\n" + "\n".join(
        f"## {title}\n\n" + "\n".join(keys_of(model) for model in file_models(kind))
        for kind, (title, _) in FILES.items()
    )


def keys_of(model: type[BaseModel]) -> str:
    """Tables of keys of a model and of the entries that it nests."""
    schema = model_schema(model)
    parts = [table(schema)]
    parts += [
        f"**{name}**: {sentence(entry)}\n\n{table(entry)}"
        for name, entry in schema.get("$defs", {}).items()
        if "properties" in entry
    ]
    return "\n".join(parts)


def table(entry: dict[str, Any]) -> str:
    """Keys of one entry."""
    rows = [
        f"| `{key}` | {kind(found)} | {'needed' if key in entry.get('required', ()) else code(found.get('default'))} | {sentence(found)} |"
        for key, found in entry["properties"].items()
    ]
    return "| key | value | default | |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"


def kind(found: dict[str, Any]) -> str:
    """What a key takes, in a few words."""
    if "$ref" in found:
        return found["$ref"].rsplit("/", 1)[-1]
    if "const" in found:
        return code(found["const"])
    if "enum" in found:
        return ", ".join(code(value) for value in found["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in found:
            return " or ".join(dict.fromkeys(kind(one) for one in found[several]))
    if found.get("type") == "array":
        fixed = found.get("prefixItems", ())  # as many as they are
        return f"{len(fixed)} of {kind(fixed[0])}" if fixed else "list of " + kind(found.get("items", {}))
    if found.get("type") == "object" and isinstance(found.get("additionalProperties"), dict):
        return "names with " + kind(found["additionalProperties"])
    return {"null": "none", "object": "mapping", "string": "text"}.get(found.get("type", ""), found.get("type", "any"))


def sentence(found: dict[str, Any]) -> str:
    """The description in one line that a table can hold."""
    return " ".join(found.get("description", "").split()).replace("|", "\\|").replace("<", "&lt;")


def code(value: object) -> str:
    return "" if value is None else f"`{value}`".replace("|", "\\|")


def api() -> str:
    """Every public name with its docstring."""
    parts = ["# Python\n\nEach name is imported as `import robodyn_pin as rp` and used as `rp.name`.\n"]
    for name in robodyn_pin.__all__:
        found = getattr(robodyn_pin, name)
        directive = "autoclass" if isinstance(found, type) else "autofunction"
        options = ":members:\n" if directive == "autoclass" else ""
        parts.append(
            f"## {name}\n\n```{{eval-rst}}\n.. {directive}:: robodyn_pin.{name}\n"
            + (f"   {options}" if options else "")
            + "```\n"
        )
    return "\n".join(parts)
