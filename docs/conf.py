"""The site: pages of this folder, commands from their --help, files from their schemas, the API from its docstrings.

sphinx-build -W docs build/docs; its pages work from the folder, offline.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import references

import robodyn_pin

project = "robodyn_pin"
author = "The robodyn_pin authors"
release = robodyn_pin.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
autodoc_typehints = "none"  # signatures hold them; their names are of rooms that have no page
html_theme = "furo"
html_title = f"robodyn_pin {release}"
exclude_patterns = ["_gen"]

references.write(Path(__file__).parent)
