"""Build the pages of the package from its docstrings, with the README as front page: build/docs/robodyn_pin.html.

python docs/build.py [FOLDER]
"""

import shutil
import sys
from pathlib import Path

import pdoc

import robodyn_pin

HERE = Path(__file__).parent
AT_THE_ROOT = ("closures", "identification", "viz", "urdf")


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build" / "docs"
    pages = (HERE.parent / "README.md", HERE / "how_it_works.md", HERE / "glossary.md")
    robodyn_pin.__doc__ = "\n\n".join(page.read_text(encoding="utf-8") for page in pages)
    for name in robodyn_pin.__all__:  # names that are imported on first use, made visible
        setattr(robodyn_pin, name, getattr(robodyn_pin, name))
    pdoc.render.configure(docformat="google")
    here = Path(robodyn_pin.__file__).parent
    modules = sorted(
        path.stem for path in (*here.glob("[!_]*.py"), *(room.parent for room in here.glob("*/__init__.py")))
    )
    names = {*modules, *AT_THE_ROOT}  # those of a checkout lie beside the package, not in it
    pdoc.pdoc("robodyn_pin", *(f"robodyn_pin.{name}" for name in sorted(names)), output_directory=out)
    shutil.copytree(HERE / "pictures", out / "docs" / "pictures", dirs_exist_ok=True)
    print(out / "robodyn_pin.html")


if __name__ == "__main__":
    main()
