"""The gate for numbers of a user: those of files and those of the command line."""

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

LARGEST = 1e15  # in SI units: beyond it squares and products of numbers lose their meaning
SMALLEST = 1e-30  # nearer to zero, and not zero, inverses of products run over
NOT_A_NUMBER = "not_a_number"
_DECIMAL = re.compile(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*")


def why_no_number(value: object) -> str | None:
    """What was expected instead, as part of a sentence; None for a number that is finite and of a size that means something."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return "expected a number"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return f"expected a number of at most {LARGEST:g}"
    if not math.isfinite(number):
        return "expected a finite number"
    if abs(number) > LARGEST:
        return f"expected a number from {-LARGEST:g} to {LARGEST:g}"
    if 0 < abs(number) < SMALLEST:
        return f"expected 0, or a number of at least {SMALLEST:g}"
    return None


def parsed(text: str) -> float | None:
    """The number that a text is; None if it is none: neither nan nor inf nor 2_6.5 is one."""
    return float(text) if _DECIMAL.fullmatch(text) and why_no_number(float(text)) is None else None


def plain(text: str) -> float:
    """The number that an attribute of XML is, also one that is not finite: a joint may turn for ever.

    Raises:
        ValueError: it is none; 2_6.5, which `float` takes for one, neither.
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no number")
    return float(text)


def gated(schema: Any) -> Any:
    """A schema of pydantic, in which every number passes `why_no_number` first."""
    if isinstance(schema, dict):
        inner = {
            key: value if key in ("metadata", "serialization", "ref") else gated(value) for key, value in schema.items()
        }
        return _behind_gate(inner) if schema.get("type") in ("float", "int") else inner
    if isinstance(schema, list):
        return [gated(part) for part in schema]
    if isinstance(schema, tuple):
        return tuple(gated(part) for part in schema)
    return schema


def _behind_gate(schema: Any) -> "CoreSchema":
    from pydantic_core import core_schema  # not for `--help`, which has numbers, but no files

    return core_schema.no_info_before_validator_function(_number, schema)


def _number(value: Any) -> Any:
    if isinstance(value, str) and "e" in value and (number := parsed(value)) is not None:  # a word in YAML 1.1: 2.0e6
        return number
    if why := why_no_number(value):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError(NOT_A_NUMBER, why)
    return value
