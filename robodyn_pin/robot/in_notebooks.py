"""How a robot shows itself in a notebook: its tree and what closes its loops."""

from collections.abc import Collection, Sequence
from html import escape

import pinocchio as pin


def tree_html(
    title: str, model: pin.Model, motors: Collection[str], loops: Sequence[tuple[str, str, Sequence[str]]]
) -> str:
    """Return the joints as a nested list and each loop (name, kind, links) as a line.

    Args:
        model: of the spanning tree. motors: names of the driven joints, set in bold.
    """
    below: dict[int, list[int]] = {}
    for joint in range(1, model.njoints):
        below.setdefault(int(model.parents[joint]), []).append(joint)

    def branch(joint: int) -> str:
        name = escape(model.names[joint])
        own = f"<b>{name}</b> (motor)" if model.names[joint] in motors else name
        return f"<li>{own}{branches(joint)}</li>"

    def branches(joint: int) -> str:
        return f"<ul>{''.join(map(branch, below[joint]))}</ul>" if joint in below else ""

    closed = "".join(
        f"<li>{escape(name)}: {escape(kind)} between {' and '.join(map(escape, links))}</li>"
        for name, kind, links in loops
    )
    return f"<p>{escape(title)}</p>{branches(0)}" + (f"<p>Loops</p><ul>{closed}</ul>" if loops else "")
