"""C++ Pinocchio as a peer: `regressor.cpp`, compiled (about a minute) where g++, Pinocchio's headers and Eigen's are there."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pinocchio as pin

SOURCE = Path(__file__).with_name("regressor.cpp")
DEFINED = {  # as Pinocchio's own CMake targets ask for
    "BOOST_MPL_LIMIT_LIST_SIZE": 30, "BOOST_MPL_LIMIT_VECTOR_SIZE": 30, "BOOST_FUSION_INVOKE_MAX_ARITY": 12,
}  # fmt: skip


class Program:
    """The compiled program; its folder goes with it."""

    def __init__(self, prefix: Path, eigen: Path):
        self._folder = tempfile.TemporaryDirectory(prefix="peer_")
        self.path = Path(self._folder.name)
        defined = [f"-D{name}={value}" for name, value in DEFINED.items()]
        defined += ["-DNDEBUG", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"]
        paths = [
            "-isystem",
            str(prefix / "include"),
            "-isystem",
            str(eigen),
            f"-L{prefix / 'lib'}",
            f"-Wl,-rpath,{prefix / 'lib'}",
        ]
        with_libraries = ["-lpinocchio_default", "-lboost_serialization", "-o", str(self.path / "regressor")]
        subprocess.run(["g++", "-std=c++17", "-O3", *defined, str(SOURCE), *paths, *with_libraries], check=True)

    def regressor(
        self, model: pin.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, repeats: int
    ) -> tuple[float, float]:
        """Best processor time of a sample [us], and the sum of the sizes of all entries; q, v, a (N, nv)."""
        model.saveToBinary(str(self.path / "model"))
        np.stack([q, v, a], axis=1).tofile(self.path / "states")
        command = [self.path / "regressor", self.path / "model", self.path / "states", str(len(q)), str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        us, total = map(float, done.stdout.split())
        return us, total


def program() -> Program | None:
    """The compiled program, or None where it cannot be compiled."""
    prefix = Path(pin.__file__).parents[4]
    headers = [Path(p) / "cmeel.prefix/include/eigen3" for p in sys.path] + [Path("/usr/include/eigen3")]
    eigen = next((p for p in headers if (p / "Eigen/Core").is_file()), None)
    there = shutil.which("g++") and eigen and (prefix / "include/pinocchio/serialization.hpp").is_file()
    return Program(prefix, eigen) if there and eigen else None
