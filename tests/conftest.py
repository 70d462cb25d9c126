"""Where the measured logs are, and how a command is run as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def measured_logs() -> Path:
    """The folder of measured logs, also as ROBODYN_DATA, which the run files name."""
    folder = Path(os.environ.get("ROBODYN_DATA", HERE.parents[1] / "shared" / "data")).resolve()
    if not (folder / "score.py").exists():
        pytest.skip("the measured logs are not here; set ROBODYN_DATA to their folder")
    os.environ["ROBODYN_DATA"] = str(folder)
    return folder


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def robodyn() -> Command:
    """Run `robodyn` with arguments; the outcome has returncode, stdout, stderr."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("robodyn")
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)

    return run
