"""Build the pages of the package from its docstrings, with the README as front page: build/docs/robodyn_pin.html.

python docs/build.py [FOLDER]
"""

import shutil
import sys
from pathlib import Path

import pdoc

import robodyn_pin

HERE = Path(__file__).parent
SUBPACKAGES = ("closures", "identification", "viz", "urdf")


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build" / "docs"
    robodyn_pin.__doc__ = (HERE.parent / "README.md").read_text(encoding="utf-8")
    for name in robodyn_pin.__all__:  # names that are imported on first use, made visible
        setattr(robodyn_pin, name, getattr(robodyn_pin, name))
    pdoc.render.configure(docformat="google")
    modules = sorted(path.stem for path in Path(robodyn_pin.__file__).parent.glob("[!_]*.py"))
    pdoc.pdoc("robodyn_pin", *(f"robodyn_pin.{name}" for name in (*modules, *SUBPACKAGES)), output_directory=out)
    shutil.copytree(HERE / "pictures", out / "docs" / "pictures", dirs_exist_ok=True)
    print(out / "robodyn_pin.html")


if __name__ == "__main__":
    main()
