"""Formulas as drawings in the page: no script and no font from elsewhere, so that they show offline and in the page's colour."""

import re
from html import escape
from typing import Any

import ziamath
from docutils import nodes

SIZE = 24  # [px] that a formula is set in
ziamath.config.svg2 = False  # paths in place: glyphs of several formulas would share their names


def drawing(text: str, inline: bool) -> str:
    """SVG as tall as the text around it, on its line."""
    found = ziamath.Latex(text.strip(), size=SIZE, inline=inline, color="currentColor").svg()
    x, y, width, height = (float(n) for n in re.search(r'viewBox="([^"]+)"', found)[1].split())  # type: ignore[index]
    per_em = 1.1 / SIZE
    style = f"width: {width * per_em:.3f}em; height: {height * per_em:.3f}em; vertical-align: {-(y + height) * per_em:.3f}em"
    head = f'<svg role="img" aria-label="{escape(text.strip())}" viewBox="{x} {y} {width} {height}" style="{style}">'
    return head + found.split(">", 1)[1]


def inline(writer: Any, node: nodes.math) -> None:
    """A formula in a sentence."""
    writer.body.append(drawing(node.astext(), inline=True))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own; it scrolls where the screen is narrower."""
    svg = drawing(node.astext(), inline=False)
    writer.body.append(
        f'<div tabindex="0" style="overflow-x: auto; margin: 1em 0; text-align: center; white-space: nowrap">{svg}</div>'
    )
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("formulas", (inline, None), (block, None))
    return {"parallel_read_safe": True}
