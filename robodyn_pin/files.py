"""User files in (YAML, checked), result files out (whole or not at all)."""

import json
import math
import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from robodyn_pin.errors import BadFile, UnknownKey, quoted
from robodyn_pin.numbers import NOT_A_NUMBER, gated
from robodyn_pin.storage import staging
from robodyn_pin.storage.remote import RemotePath, placed
from robodyn_pin.yaml_text import yaml_tree

NotNegative = Annotated[float, Field(ge=0)]


Positive = Annotated[float, Field(gt=0)]


class Strict(BaseModel):
    """Base of all file schemas: unknown keys are errors, numbers are numbers, values do not change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of pydantic, each number of it behind the gate of `robodyn_pin.numbers`."""
        return gated(handler(source))


Schema = TypeVar("Schema", bound=Strict)


LARGEST_TEXT = 50_000_000  # [bytes]


def read_yaml(path: str | Path, schema: type[Schema]) -> Schema:
    """Read a YAML file into `schema`; every mistake becomes one sentence that names the key.

    Raises:
        BadFile: no such file, not YAML, or not what the schema asks for.
    """
    return parse_yaml(read_text(Path(path) if isinstance(path, str) else path), schema, str(path))


def resolve(folder: Path, path: str | Path) -> Path:
    """A path from a user's file: relative to that file's folder or of another machine (s3://...), $VARIABLES replaced.

    Raises:
        BadFile: a variable that is not set.
    """
    text = os.path.expandvars(str(path))
    if "$" in text:
        raise BadFile(f"path {str(path)!r} names an environment variable that is not set")
    found = placed(Path(text))
    return found if isinstance(found, RemotePath) else folder / found


def read_text(path: Path) -> str:
    """The text of a user's file, or BadFile."""
    try:
        if path.is_file() and (size := path.stat().st_size) > LARGEST_TEXT:
            raise BadFile(
                f"{path} has {size} bytes, expected a text of at most {LARGEST_TEXT}; is it another kind of file?"
            )
        return staging.reads(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadFile(f"cannot read {path}: No such file or directory; {_nearby(path)}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise BadFile(
            f"cannot read {path}: its byte {error.start + 1} ({byte:#04x}) is not UTF-8; save it as a text in UTF-8, if it is a text"
        ) from None
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror or error}") from None


def _nearby(path: Path) -> str:
    """What to do about a file that does not exist: the one of that folder that is named most alike, or the folder that is missing."""
    folder = path.parent
    if path.is_symlink():
        return f"it is a link to {quoted(str(path.readlink()))}, which is not there"
    if not folder.is_dir():
        return f"there is no folder {quoted(str(folder))}; check the path, which counts from the file that names it, or from where you are"
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        names = []
    nearest = get_close_matches(path.name, names, n=1, cutoff=0.5)
    return f"did you mean {quoted(nearest[0])}?" if nearest else "check its name and where it lies"


def parse_yaml(text: str, schema: type[Schema], where: str) -> Schema:
    """As `read_yaml`, from a text; `where` names the source in messages."""
    return of_schema(yaml_tree(text, where), schema, where)


def of_schema(raw: Any, schema: type[Schema], where: str) -> Schema:
    """What a tree of plain values says by a schema; `where` names the source in messages.

    Raises:
        UnknownKey, BadFile: a key is unknown, missing or of the wrong kind.
    """
    try:
        return schema.model_validate(raw)
    except ValidationError as error:
        message = f"{where}: {_sentence(error, schema)}"
        if isinstance(raw, dict) and raw.keys() - schema.model_fields.keys():
            raise UnknownKey(message, where, raw) from None
        raise BadFile(message) from None


_BRANCH = re.compile(r"function-|(?:list|dict|tuple)\[|(?:float|int|str|bool)$")  # of a union, in a place of pydantic


def _sentence(error: ValidationError, schema: type[BaseModel]) -> str:
    """The first complaint of pydantic in one sentence, with the nearest known key."""
    # Of a union, pydantic reports every branch; an unknown key is the most telling complaint, then a wrong number.
    telling = {"extra_forbidden": 0, NOT_A_NUMBER: 1}
    first = min(error.errors(), key=lambda e: telling.get(e["type"], 2))
    place = ".".join(str(part) for part in first["loc"] if not _BRANCH.match(str(part)))
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        known = _known_keys(schema, first["loc"][:-1])
        nearest = get_close_matches(key, known, n=1, cutoff=0.6)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"known keys: {', '.join(known)}"
        return f"unknown key {quoted(key)}{f' at {quoted(place)}' if place != key else ''}; {hint}"
    if first["type"] == "value_error":  # a rule of our own: its sentence says it all
        return str(first["ctx"]["error"])
    if first["type"] == "missing":
        return f"key {quoted(place)} is missing"
    if first["type"] == "model_type" and (known := _known_keys(schema, first["loc"])):
        whose = f"key {quoted(place)}" if place else "the whole"
        return f"{whose}: expected keys of its own ({', '.join(known)}), found {quoted(first['input'])}"
    words = [
        e["ctx"]["expected"] for e in error.errors() if e["type"] == "literal_error" and e["input"] is first["input"]
    ]
    also = "".join(f" or {w}" for w in dict.fromkeys(words)) if first["type"] == NOT_A_NUMBER else ""
    return f"key {quoted(place)}: {first['msg']}{also} (found {quoted(first['input'])})"


def _known_keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Field names of the schema at a pydantic location, found by walking annotations."""
    found = [schema]
    for part in location:
        if isinstance(part, str):
            for model in found:
                if part in model.model_fields:
                    found = _models_in(model.model_fields[part].annotation)
                    break
                if part == model.__name__:  # a branch of a union
                    found = [model]
                    break
    return sorted({name for model in found for name in model.model_fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The named arrays of an .npz file.

    Raises:
        BadFile: there is no such file, or it is damaged.
    """
    try:
        with np.load(staging.reads(path), allow_pickle=False) as stored:
            return {name: np.asarray(stored[name]) for name in stored.files}
    except FileNotFoundError:
        raise BadFile(f"{path}: no such file") from None
    except Exception as error:  # a damaged archive fails in zipfile, tokenize, NumPy's header or its allocation
        raise BadFile(
            f"cannot read {path}: {' '.join(str(error).split()) or type(error).__name__}; is it damaged?"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all; raises as `write_whole`."""
    write_whole(path, partial(Path.write_text, data=text, encoding="utf-8"))


def json_text(content: object, indent: int | None = 1) -> str:
    """Content as JSON, which knows no infinity: numbers that are not finite become null."""
    return json.dumps(_finite(content), indent=indent, allow_nan=False)


def parse_json(text: str) -> Any:
    """Read what `json_text` wrote: its numbers are finite.

    Raises:
        ValueError: no JSON, or a number that is not finite.
    """

    def finite(number: str) -> float:
        if not math.isfinite(value := float(number)):
            raise ValueError(f"{number} is no finite number")
        return value

    return json.loads(text, parse_constant=finite, parse_float=finite)


def _finite(content: object) -> object:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path: Path, content: object) -> None:
    """Write a JSON file whole or not at all; raises as `write_whole`."""
    write_text(path, json_text(content) + "\n")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a place where the file waits until it, or all results of a command, appear: whole or not at all.

    Raises:
        BadFile: the folder cannot be made or written.
    """
    if not staging.within_results():
        with staging.whole_results():
            write_whole(path, write)
        return
    try:
        write(staging.staged(path))
    except Exception as error:  # a full disk is an OSError; polars has errors of its own, and is not imported for them
        if isinstance(error, OSError) or type(error).__module__.partition(".")[0] == "polars":
            raise BadFile(f"cannot write {path}: {_why(error)}") from None
        raise


def _why(error: Exception) -> str:
    """The first line of what the system says."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return reason.splitlines()[0][:200]


def remove(path: Path) -> None:
    """Delete a file or folder of an earlier result, at the moment when the new one appears.

    Raises:
        BadFile: it cannot be deleted.
    """
    if not staging.within_results():
        with staging.whole_results():
            remove(path)
        return
    try:
        staging.staged_removal(path)
    except OSError as error:
        raise BadFile(f"cannot write {path.parent}: {_why(error)}") from None


def prepare_folder(folder: Path) -> None:
    """Make the folder and see that it can be written, before the work is done.

    Raises:
        BadFile: it cannot.
    """
    try:
        if staging.within_results():
            staging.check_folder(folder)
            return
        folder.mkdir(parents=True, exist_ok=True)
        with staging.whole_results():
            staging.check_folder(folder)
    except OSError as error:
        raise BadFile(f"cannot write the output folder {folder}: {_why(error)}") from None


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in ("robodyn_pin", "pin", "numpy", "scipy", "cvxpy", "clarabel")}
