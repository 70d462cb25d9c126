"""The exported C code compiled and called from Python: microseconds a sample."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from robodyn_pin.errors import ClosureFailed, RobodynError, ShapeMismatch
from robodyn_pin.exporting.c_files import identifier, write_c
from robodyn_pin.exporting.functions import FUNCTIONS
from robodyn_pin.exporting.needs import check_casadi
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import LOGGER

FLAGS = ("-std=c99", "-O2", "-shared", "-fPIC")


class Compiled:
    """Functions of a robot whose samples come one by one, along a trajectory that begins at home; for one thread alone.

    Each is a method, `tau = robot.inverse_dynamics(c, cd, cdd)`, of float arrays (d,).
    """

    def __init__(self, robot: Robot, functions: Sequence[str], library: Path):
        self._library, self._name = ctypes.CDLL(str(library)), identifier(robot.name)
        self._d, sizes = len(robot.coordinates.names), _sizes(robot)
        self._state = np.array(robot.home, float)
        self._left = ctypes.c_double()
        for function in functions:
            setattr(
                self,
                function,
                partial(self._call, function, getattr(self._library, f"{self._name}_{function}"), sizes[function]),
            )

    def home(self) -> None:
        """Begin at home again."""
        getattr(self._library, f"{self._name}_home")(_pointer(self._state))

    def _call(
        self, name: str, function: "ctypes._FuncPointer", shape: tuple[int, ...], *inputs: np.ndarray
    ) -> np.ndarray:
        given = [np.ascontiguousarray(x, float) for x in inputs]
        if len(given) != 1 + len(FUNCTIONS[name].inputs) or any(x.shape != (self._d,) for x in given):
            raise ShapeMismatch(
                f"{name} takes {', '.join(('c', *FUNCTIONS[name].inputs))}, each ({self._d},); found {', '.join(str(x.shape) for x in given)}"
            )
        out = np.empty(shape)
        flag = function(_pointer(self._state), *map(_pointer, given), _pointer(out), ctypes.byref(self._left))
        if flag:
            why = "a singular pose" if flag == 2 else "out of reach, or too far from the sample before"
            raise ClosureFailed(f"{name}: {why}; residual {self._left.value:.3g}", 0, "", self._left.value)
        return out


def _pointer(x: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.ctypes.data)


def _sizes(robot: Robot) -> dict[str, tuple[int, ...]]:
    d = len(robot.coordinates.names)
    return {
        "inverse_dynamics": (len(robot.motors.names),), "gravity": (d,), "mass_matrix": (d, d),
        "strut_forces": (2, len(robot.file.struts or {})), "forward_kinematics": (len(robot.file.frames), 3, 4),
    }  # fmt: skip


def compiled(robot: Robot, functions: Sequence[str] = ("inverse_dynamics",)) -> Compiled:
    """Return functions of the robot as compiled C code, for control loops in Python; compiled once for each robot on a machine.

    Example:
        >>> fast = rp.compiled(robot)
        >>> tau = fast.inverse_dynamics(c, cd, cdd)  # one sample, (d,) each, near the one before

    Raises:
        RobodynError: CasADi or a C compiler is missing, or something of the robot has no form in C.
        UnknownName: no such function.
    """
    check_casadi()
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise RobodynError(
            "rp.compiled needs a C compiler, and there is no cc, gcc or clang; install one, or name it in CC"
        )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_c(robot, list(functions), folder)
        source = folder / f"{identifier(robot.name)}.c"
        kept = _cache() / f"{hashlib.sha256(source.read_bytes()).hexdigest()[:32]}.so"
        if not kept.exists():
            LOGGER.warning("compiling %s, once on this machine: up to half a minute", ", ".join(functions))
            built = folder / "built.so"
            done = subprocess.run(
                [compiler, *FLAGS, "-o", built, source, "-lm"], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RobodynError(f"{compiler} does not compile the exported code: {done.stderr.splitlines()[0]}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            own = kept.with_suffix(f".{os.getpid()}")
            shutil.copy(built, own)
            own.replace(kept)
        return Compiled(robot, functions, kept)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "robodyn_pin"
