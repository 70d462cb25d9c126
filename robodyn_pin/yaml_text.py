"""YAML as this package reads it: numbers as in YAML 1.2, no key twice, of bounded size and depth."""

import re
from typing import TYPE_CHECKING, Any

import yaml

from robodyn_pin.errors import BadFile, quoted

DEEPEST = 60  # levels of a YAML file
LARGEST_YAML = 2_000_000  # characters
MOST_NODES = 200_000  # of a YAML file with its aliases written out
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)


if TYPE_CHECKING:
    from yaml import SafeLoader
else:
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML was built so: 20 times faster


class _Loader(SafeLoader):
    """YAML with the numbers of YAML 1.2, and no key twice.

    YAML 1.1 reads 2_6.5 as 26.5, 1:30 as 90, 010 as 8, and 1e-5 as a text; of two equal keys it keeps the last.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.constructor.ConstructorError(None, None, f"{quoted(key)} is no key", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {quoted(key)} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag not in _NUMBERS]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_NUMBERS[0], _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver(_NUMBERS[1], _FLOAT, list("-+.0123456789"))


def _check_size(text: str, where: str) -> None:
    """See that a YAML text is neither large nor deep, also with its aliases written out.

    Raises:
        BadFile: it is.
    """
    if len(text) > LARGEST_YAML:
        raise BadFile(
            f"{where} has {len(text)} characters, expected at most {LARGEST_YAML}; is it another kind of file?"
        )
    open_at: list[str | None] = []  # anchors of the collections that are open
    sizes: list[int] = [0]  # nodes within them
    anchors: dict[str, int] = {}
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            sizes[-1] += anchors.get(str(event.anchor), 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if event.anchor:
                anchors[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_at.append(event.anchor)
            sizes.append(1)
        elif isinstance(event, yaml.CollectionEndEvent):
            size, anchor = sizes.pop(), open_at.pop()
            sizes[-1] += size
            if anchor:
                anchors[anchor] = size
        if len(open_at) > DEEPEST:
            raise BadFile(f"{where} is nested more than {DEEPEST} levels deep; write it flatter")
        if sizes[-1] > MOST_NODES:
            raise BadFile(f"{where} has more than {MOST_NODES} values, aliases written out; write less, or use a table")


def yaml_tree(text: str, where: str) -> dict[Any, Any]:
    """The keys and values of a YAML text; `where` names the source in messages.

    Raises:
        BadFile: not YAML, no keys and values, too large or too deep.
    """
    try:
        _check_size(text, where)
        raw = yaml.load(text, Loader=_Loader)
    except (ValueError, OverflowError, RecursionError) as error:  # a date or a number that Python does not know
        raise BadFile(f"{where} is not YAML: {quoted(str(error))}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise BadFile(f"{where} is not YAML: {place}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadFile(f"{where} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict):
        raise BadFile(f"{where}: expected keys and values, found {type(raw).__name__}")
    return raw
