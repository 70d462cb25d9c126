"""The exported C code compiled and called from Python: microseconds a sample."""

import ctypes
import hashlib
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from robodyn_pin.errors import ClosureFailed, RobodynError, ShapeMismatch
from robodyn_pin.exporting.c_compiler import FLAGS, build_library, c_compiler
from robodyn_pin.exporting.needs import check_casadi
from robodyn_pin.own_code import code_hash
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot
from robodyn_pin.storage.caches import cache_folder
from robodyn_pin.telling import LOGGER


class Compiled:
    """Functions of a robot whose samples come one by one, along a trajectory that begins at home; for one thread alone.

    Each is a method, `tau = robot.inverse_dynamics(c, cd, cdd)`, of float arrays (d,); `tau` of forward_dynamics (n,) of the motors.
    """

    def __init__(self, robot: Robot, functions: Sequence[str], library: Path):
        from robodyn_pin.exporting.c_files import identifier  # imports CasADi
        from robodyn_pin.exporting.functions import FUNCTIONS, sizes_of

        self._library, self._name = ctypes.CDLL(str(library)), identifier(robot.name)
        self._state = np.array(robot.home, float)
        self._left = ctypes.c_double()
        for name in functions:
            function = getattr(self._library, f"{self._name}_{name}")
            sizes = sizes_of(robot, FUNCTIONS[name])
            setattr(self, name, partial(self._call, name, function, sizes, FUNCTIONS[name].shape(robot)))

    def home(self) -> None:
        """Begin at home again."""
        getattr(self._library, f"{self._name}_home")(_pointer(self._state))

    def _call(
        self,
        name: str,
        function: "ctypes._FuncPointer",
        sizes: dict[str, int],
        shape: tuple[int, ...],
        *inputs: np.ndarray,
    ) -> np.ndarray:
        given = [np.ascontiguousarray(x, float) for x in inputs]
        if [x.shape for x in given] != [(n,) for n in sizes.values()]:
            wanted = ", ".join(f"{x} ({n},)" for x, n in sizes.items())
            raise ShapeMismatch(f"{name} takes {wanted}; found {', '.join(str(x.shape) for x in given)}")
        out = np.empty(shape)
        flag = function(_pointer(self._state), *map(_pointer, given), _pointer(out), ctypes.byref(self._left))
        if flag:
            why = "a singular pose" if flag == 2 else "out of reach, or too far from the sample before"
            raise ClosureFailed(f"{name}: {why}; residual {self._left.value:.3g}", 0, "", self._left.value)
        return out


def _pointer(x: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.ctypes.data)


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
    compiler = c_compiler("rp.compiled")
    said = ",".join([numbers_hash(robot), *functions, *FLAGS, code_hash("exporting")])
    library = _folder() / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.so"
    if not library.exists():
        _build(robot, functions, compiler, library)
    return Compiled(robot, functions, library)


def _build(robot: Robot, functions: Sequence[str], compiler: str, library: Path) -> None:
    from robodyn_pin.exporting.c_files import c_texts, identifier  # imports CasADi

    LOGGER.warning("compiling %s, once on this machine: up to half a minute", ", ".join(functions))
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        folder = Path(scratch)
        for file, text in c_texts(robot, functions)[0].items():
            (folder / file).write_text(text)
        build_library(compiler, folder, [f"{identifier(robot.name)}.c"], "built.so")
        (folder / "built.so").replace(library)


def _folder() -> Path:
    """Where compiled libraries stay.

    Raises:
        RobodynError: nowhere.
    """
    if (folder := cache_folder()) is None:
        raise RobodynError(
            "compiled functions cannot be kept, as neither home nor temporary files can be written; set XDG_CACHE_HOME"
        )
    return folder
