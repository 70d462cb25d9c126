"""What numba keeps of compiled kernels, after the package has changed."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from robodyn_pin.closures.kernel_choice import installed

RUN = """
import numpy as np
from robodyn_pin.closures.kernel_choice import kernel
z = np.zeros((2, 1))
kernel("robodyn_pin.robot.stops_kernel").run(np.array([[0.0], [3.0]]), np.ones(1), z[0].copy(), z[0].copy(), z)
print(z[1, 0])
"""


class Gone:
    """A table of a version before."""


@pytest.mark.skipif(not installed(), reason="numba is not installed")
def test_what_another_version_has_kept_is_compiled_again(tmp_path):
    def stretched() -> str:
        run = subprocess.run(
            [sys.executable, "-c", RUN], capture_output=True, text=True, check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    assert stretched() == "1.0"
    (index,) = Path(tmp_path).rglob("stops_kernel.*.nbi")
    version = pickle.loads(index.read_bytes())
    index.write_bytes(pickle.dumps(version) + pickle.dumps(Gone()))  # which nobody else can read
    os.utime(index, (0, 0))
    assert stretched() == "1.0"
