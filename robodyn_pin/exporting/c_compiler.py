"""The machine's C compiler, and a library built by it."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from robodyn_pin.errors import RobodynError

# -O2 takes half as long again: what is written neither loops nor calls, and runs as fast either way.
FLAGS = ("-std=c99", "-O1", "-shared", "-fPIC")


def c_compiler(needed_by: str) -> str:
    """Path of the compiler: that of CC, else cc, gcc or clang.

    Raises:
        RobodynError: none is there, which `needed_by` needs.
    """
    found = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        raise RobodynError(
            f"{needed_by} needs a C compiler, and there is no cc, gcc or clang; install one, or name it in CC"
        )
    return found


def build_library(compiler: str, folder: Path, sources: Sequence[str], library: str) -> None:
    """Compile sources of a folder into a library there.

    Raises:
        RobodynError: the compiler refuses; says its first line.
    """
    command = [compiler, *FLAGS, "-o", library, *sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().partition("\n")[0] or f"exit code {done.returncode}"
        raise RobodynError(f"{compiler} does not compile the exported code: {said}")
