"""YAML as this package reads it: mappings, lists, words, finite numbers; no tricks of YAML that make a small file a large one."""

import re
from typing import Any

import yaml

from robodyn_pin.errors import BadFile, shortened

LARGEST = 1_000_000  # characters of a file
MOST = 200_000  # values, each alias counted as what it stands for
DEEPEST = 50
HUGE, TINY = 1e15, 1e-30  # sizes of a number; no quantity of a robot lies beyond


class _Loader(yaml.CSafeLoader):
    """Numbers and truth values as in YAML 1.2: `1e5` is a number, `2_6.5`, `1:30` and dates are words; keys stand once."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """YAML silently keeps the last of two equal keys; a robot file with a doubled joint is a mistake."""
        found = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)  # type: ignore[no-untyped-call]  # PyYAML has no types here
            if isinstance(key, dict | list) or key in found:
                what = "is no word" if isinstance(key, dict | list) else "stands twice"
                raise yaml.constructor.ConstructorError(None, None, f"key {shortened(key)} {what}", node.start_mark)
            found.add(key)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE|yes|Yes|no|No|on|On|off|Off", "tTfFyYnNoO"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))  # `010` is ten
_Loader.add_constructor(
    "tag:yaml.org,2002:float", lambda loader, node: float(node.value.replace(".inf", "inf").replace(".nan", "nan"))
)


def yaml_tree(text: str, where: str) -> dict[Any, Any]:
    """The keys and values of a YAML text; `where` names the source in messages.

    Raises:
        BadFile: not YAML, no keys and values, too large or too deep, a number that is not finite or not of this world.
    """
    if len(text) > LARGEST:
        raise BadFile(f"{where} has {len(text)} characters; a file of this kind has at most {LARGEST}")
    try:
        node = _composed(text)
        _sizes(node, where)
        raw = _constructed(node)
    except yaml.YAMLError as error:
        raise BadFile(f"{where} is not YAML: {shortened(' '.join(str(error).split()), 200)}") from None
    except ValueError as error:  # an integer of thousands of digits
        raise BadFile(f"{where} is not YAML: {shortened(str(error), 200)}") from None
    if not isinstance(raw, dict):
        raise BadFile(f"{where}: expected keys and values, found {type(raw).__name__}")
    _check_numbers(raw, where)
    return raw


def is_quantity(value: float) -> bool:
    """Whether a number can be a robot's quantity: finite, zero or of a usual size."""
    return value == 0 or TINY < abs(value) < HUGE


def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text, whose depth was counted before: the C parser calls itself for each level."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.YAMLError(f"it is nested more than {DEEPEST} deep in line {event.start_mark.line + 1}")
    return yaml.compose(text, Loader=_Loader)


def _constructed(node: yaml.Node | None) -> Any:
    return None if node is None else _Loader("").construct_document(node)


def _sizes(root: yaml.Node | None, where: str) -> None:
    """Refuse aliases that make many values out of few, or that hold themselves."""
    known: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        if id(node) not in known:
            known[id(node)] = MOST + 1  # until it is known: a node that holds itself has no end
            parts = node.value if isinstance(node, yaml.SequenceNode) else ()
            parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else parts
            known[id(node)] = min(1 + sum(map(size, parts)), MOST + 1)
        return known[id(node)]

    if root is not None and size(root) > MOST:
        raise BadFile(
            f"{where} holds more than {MOST} values, or aliases (*name) that stand for as many; write out what is needed"
        )


def _check_numbers(value: Any, where: str, key: str = "") -> None:
    """Every number is finite and of a size that a robot's quantities have."""
    if isinstance(value, dict):
        for name, part in value.items():
            _check_numbers(part, where, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for k, part in enumerate(value):
            _check_numbers(part, where, f"{key}.{k}")
    elif isinstance(value, int | float) and not isinstance(value, bool) and not is_quantity(value):
        raise BadFile(
            f"{where}: key {shortened(key)}: expected a finite number, 0 or of a size between {TINY:g} and {HUGE:g}; found {value:.6g}"
        )
