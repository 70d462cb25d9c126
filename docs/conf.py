"""The site: pages of this folder, commands from their --help, files from their schemas, the API from its docstrings.

sphinx-build -W docs build/docs; its pages work from the folder, offline.
"""

import logging
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import references

import robodyn_pin

project = "robodyn_pin"
author = "The robodyn_pin authors"
release = robodyn_pin.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "executed", "formulas"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "none"  # signatures hold them; their names are of rooms that have no page
html_math_renderer = "formulas"
html_theme = "furo"
html_show_search_summary = False  # pages opened from a folder may not read each other
html_show_copyright = False
html_title = f"robodyn_pin {release}"

references.write(Path(__file__).parent)
logging.getLogger("robodyn_pin").setLevel(logging.WARNING)  # a package of the theme shows everybody's messages


def reachable(app: Any, error: Exception | None) -> None:
    """Blocks that scroll take the keyboard's focus, and headings of the menu have a level."""
    for page in [] if error else Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8").replace("<pre>", '<pre tabindex="0">')
        page.write_text(
            text.replace('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'), "utf-8"
        )


def setup(app: Any) -> None:
    """Let |x| in docstrings be the size of x, not the name of a substitution."""
    app.connect("build-finished", reachable)

    def escaped(_app: Any, _what: str, _name: str, _found: Any, _options: Any, lines: list[str]) -> None:
        lines[:] = [line.replace("|", "\\|") for line in lines]

    app.connect("autodoc-process-docstring", escaped)
