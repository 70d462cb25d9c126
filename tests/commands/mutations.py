"""Mutations of users' files: of a value, a key, a cell, an attribute, an element, or of single bytes.

Each takes the content of a file and a random generator, and returns other content; the same generator gives the same content.
"""

import gzip
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import yaml

STRANGE = (
    float("nan"), float("inf"), -float("inf"), True, False, None, "2_6.5", "", " ", "nan", "1e400", "1,5", "0x1F", "é", "x" * 5000,
    0, -1, 1, 2.5, -0.0, 1e-320, 1e308, -1e308, 1e13, 10**30, [], {}, [[]], [1, 2, 3], {"a": 1}, ["x"], "2026-11-22", "../../etc",
)  # fmt: skip
CELLS = (
    "nan",
    "inf",
    "",
    " ",
    "1e400",
    "1,5",
    "true",
    "é",
    "-",
    "1e308",
    "1e-320",
    "99999999999999999999",
    "0",
    "-1",
    '"',
    "x" * 5000,
)

Mutation = Callable[[bytes, random.Random], bytes]


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a tree of mappings and lists has values."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [place for key, child in children for place in _places(child, (*path, key))]
    return [path, *found] if path else found


def _parent(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        tree = tree[key]
    return tree


def of_yaml(content: bytes, rng: random.Random) -> bytes:
    """Another value, a key less, a key doubled or misspelled, an item doubled or a list emptied."""
    tree = yaml.safe_load(content)
    place = rng.choice(_places(tree))
    parent, key = _parent(tree, place), place[-1]
    how = rng.randrange(6)
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, dict):
        parent[f"{key}s"] = parent.pop(key)
    elif how == 2 and isinstance(parent, list):
        parent.append(parent[key])
    elif how == 3 and isinstance(parent[key], int | float):
        parent[key] *= rng.choice((-1, 0, 1e-9, 1e9, 1000, 0.001))
    elif how == 4:
        other = _parent(tree, there := rng.choice(_places(tree)))
        parent[key] = other[there[-1]]
        if there == place[: len(there)]:
            parent[key] = rng.choice(STRANGE)
    else:
        parent[key] = rng.choice(STRANGE)
    return yaml.safe_dump(tree, allow_unicode=True, sort_keys=False).encode()


def of_xml(content: bytes, rng: random.Random) -> bytes:
    """Another attribute, an attribute less, an element less, doubled or renamed."""
    root = ET.fromstring(content)
    parent = rng.choice([element for element in root.iter() if len(element)])
    child = rng.choice(list(parent))
    how = rng.randrange(5)
    if how == 0:
        parent.remove(child)
    elif how == 1:
        parent.append(child)
    elif how == 2:
        child.tag = rng.choice(("joint", "link", "inertial", "mass", "unknown"))
    elif child.attrib:
        key = rng.choice(list(child.attrib))
        if how == 3:
            del child.attrib[key]
        else:
            words = child.attrib[key].split() or [""]
            words[rng.randrange(len(words))] = str(rng.choice(STRANGE))
            child.attrib[key] = " ".join(words)
    return ET.tostring(root)


def of_table(content: bytes, rng: random.Random) -> bytes:
    """Another cell, header or separator, rows less, doubled or swapped, line ends, byte order mark, compression."""
    lines = content.decode().splitlines()
    how = rng.randrange(9)
    row = rng.randrange(len(lines))
    if how <= 2:
        cells = lines[row].split(",")
        cells[rng.randrange(len(cells))] = rng.choice(CELLS)
        lines[row] = ",".join(cells)
    elif how == 3:
        header = next(k for k, line in enumerate(lines) if not line.startswith("#"))
        cells = lines[header].split(",")
        k = rng.randrange(len(cells))
        cells[k] = rng.choice(CELLS + tuple(cells))
        lines[header] = ",".join(cells)
    elif how == 4:
        del lines[row : row + rng.choice((1, 5, len(lines)))]
    elif how == 5:
        other = rng.randrange(len(lines))
        lines[row], lines[other] = lines[other], lines[row]
    elif how == 6:
        lines = [line.replace(",", rng.choice((";", "\t", " "))) for line in lines]
    elif how == 7:
        lines.insert(row, rng.choice((lines[row], "", "# a remark", "1")))
    else:
        whole = rng.choice(("\r\n", "\n\n", "\r")).join(lines).encode()
        return rng.choice(
            (whole, b"\xef\xbb\xbf" + whole, gzip.compress(whole, mtime=0), whole[: rng.randrange(len(whole))])
        )
    return "\n".join(lines).encode() + b"\n"


def of_json(content: bytes, rng: random.Random) -> bytes:
    """A number, word or brace replaced in the text."""
    tokens = list(re.finditer(rb'[-\d.e+]+|"[^"]*"|[\[\]{}]', content))
    token = rng.choice(tokens)
    other = rng.choice((b"NaN", b"Infinity", b"-1", b"0", b"1e308", b"null", b"true", b'"x"', b"[]", b"{}", b""))
    return content[: token.start()] + other + content[token.end() :]


def of_bytes(content: bytes, rng: random.Random) -> bytes:
    """Single bytes flipped, a stretch cut out, doubled, or the end torn off."""
    changed = bytearray(content)
    start = rng.randrange(len(changed))
    stretch = slice(start, start + rng.choice((1, 2, 16, 500)))
    how = rng.randrange(5)
    if how <= 1:
        for _ in range(rng.choice((1, 1, 8))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif how == 2:
        del changed[stretch]
    elif how == 3:
        changed[start:start] = changed[stretch]
    else:
        del changed[start:]
    return bytes(changed)


BY_ENDING: dict[str, Mutation] = {
    ".yaml": of_yaml, ".urdf": of_xml, ".xml": of_xml, ".csv": of_table, ".json": of_json, ".parquet": of_bytes, ".npz": of_bytes,
}  # fmt: skip


def mutant(content: bytes, ending: str, rng: random.Random) -> bytes:
    """Content with one to three mutations of its kind; one time in five, of its bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = of_bytes if rng.random() < 0.2 or not content.strip() else BY_ENDING[ending]
        try:
            content = change(content, rng) if content else b"\0"
        except (
            ET.ParseError,
            yaml.YAMLError,
            UnicodeDecodeError,
            AttributeError,
            IndexError,
            TypeError,
            StopIteration,
        ):
            content = of_bytes(content, rng)  # an earlier mutation left nothing that can be parsed
    return content
