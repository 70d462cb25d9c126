"""The directive `run`: Python that runs while the site is built, with what it prints and draws below it.

The blocks of a page share their names and, with all pages, one scratch folder that holds examples/. A block that fails
fails the build.

    ```{run}
    :commands:    the block holds commands of robodyn, not Python
    :tables:      what is printed is Markdown, not text
    :hidden:      the code is folded away
    ```
"""

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from matplotlib import pyplot as plt
from sphinx.util.docutils import SphinxDirective

matplotlib.use("Agg")
matplotlib.rcParams |= {"svg.hashsalt": "robodyn_pin", "figure.figsize": (7.2, 3.4),
                        "axes.spines.top": False, "axes.spines.right": False, "font.size": 10}  # fmt: skip

DOCS = Path(__file__).parent
DRAWN = DOCS / "drawn"
SCRATCH = Path(tempfile.mkdtemp(prefix="robodyn-docs-"))


class Run(SphinxDirective):
    """One block."""

    has_content = True
    option_spec: ClassVar = {
        "commands": directives.flag,
        "tables": directives.flag,
        "hidden": directives.flag,
        "alt": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        code, commands = "\n".join(self.content), "commands" in self.options
        shown = nodes.literal_block(code, code, language="console" if commands else "python")
        found: list[nodes.Node] = [shown]
        if "hidden" in self.options:
            fold, end = ("<details><summary>code</summary>", "</details>")
            found = [nodes.raw("", fold, format="html"), shown, nodes.raw("", end, format="html")]
        out = typed(code) if commands else printed(code, self.env.temp_data, self.env.docname)
        return [*found, *self.told(out), *self.pictures()]

    def told(self, text: str) -> list[nodes.Node]:
        if not text.strip():
            return []
        if "tables" in self.options:
            parent = nodes.container(classes=["printed"])
            self.state.nested_parse(StringList(text.splitlines()), self.content_offset, parent)
            return [parent]
        return [nodes.literal_block(text.rstrip(), text.rstrip(), language="text", classes=["printed"])]

    def pictures(self) -> list[nodes.Node]:
        """What the block has drawn, as files beside the pages."""
        files = []
        for number in plt.get_fignums():
            count = self.env.temp_data["drawn"] = self.env.temp_data.get("drawn", 0) + 1
            name = f"{self.env.docname}_{count}.svg"
            plt.figure(number).tight_layout()
            plt.figure(number).savefig(DRAWN / name, metadata={"Date": None}, bbox_inches="tight")
            files.append(nodes.image(uri=f"drawn/{name}", alt=self.options.get("alt", "what the lines above draw")))
        plt.close("all")
        return files


def printed(code: str, memory: Any, page: str) -> str:
    """What a block prints; it runs in the scratch folder, with the names of earlier blocks of its page."""
    names = memory.setdefault("names", {"__name__": page})
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(SCRATCH):
        exec(compile(code, page, "exec"), names)
    return out.getvalue()


def typed(commands: str) -> str:
    """What commands print, one after the other."""
    told = []
    for command in commands.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(command.removeprefix("$ "))
        done = subprocess.run([Path(sys.executable).with_name(program), *words], cwd=SCRATCH, capture_output=True, text=True,
                              check=False, env=os.environ | {"COLUMNS": "100"})  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
        told.append(done.stdout)
    return "".join(told)


def prepare(_app: Any) -> None:
    """Empty folders for pictures and for what the blocks write."""
    shutil.rmtree(DRAWN, ignore_errors=True)
    DRAWN.mkdir()
    for name in ("examples", "urdf"):
        shutil.copytree(DOCS.parent / name, SCRATCH / name, dirs_exist_ok=True)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app.add_directive("run", Run)
    app.connect("builder-inited", prepare)
    app.connect("build-finished", lambda *_: shutil.rmtree(SCRATCH, ignore_errors=True))
    return {"parallel_read_safe": False}
