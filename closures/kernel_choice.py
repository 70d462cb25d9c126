"""Which of two paths computes: compiled kernels where numba is installed (the extra `fast`), else Pinocchio and NumPy."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.storage.caches import kernels_can_be_kept
from robodyn_pin.telling import LOGGER

NOWHERE = "compiled kernels cannot be kept, as neither home nor temporary files can be written; set NUMBA_CACHE_DIR"
PACKAGE = "robodyn_pin"
LOOPS = "robodyn_pin.closures.kernel_solve"  # which every log needs
POSTURE = "robodyn_pin.closures.kernel_posture"  # what all kernels of robots need, those of filters and stops do not
FEW = 32  # fewer samples do not load the kernels, but use them once they are loaded
# Of this thread alone: a page may compute in several.
_forced: ContextVar[Literal["kernel", "pinocchio"] | None] = ContextVar("forced", default=None)


def chosen(samples: int) -> bool:
    """Whether the kernels serve a batch of so many samples."""
    path = _forced.get()
    return (samples >= FEW or _loaded()) and installed() if path is None else path == "kernel"


def _loaded() -> bool:
    """Whether kernels of robots have served before in this process."""
    return POSTURE in sys.modules


@cache
def installed() -> bool:
    """Whether numba is there, and a folder in which compiled kernels stay."""
    if find_spec("numba") is None:
        return False
    if kernels_can_be_kept(Path(__file__).parent):
        return True
    LOGGER.warning("%s, so Pinocchio computes, which is slower", NOWHERE)
    return False


@contextmanager
def forced(path: Literal["kernel", "pinocchio"]) -> Iterator[None]:
    """Compute on one path, whatever the batch and the installation, within a `with` block and in its thread alone.

    Raises:
        RobodynError: kernels asked for without numba.
    """
    if path == "kernel" and not installed():
        raise RobodynError(
            NOWHERE if find_spec("numba") else "the compiled kernels need numba: pip install 'robodyn_pin[fast]'"
        )
    before = _forced.set(path)
    try:
        yield
    finally:
        _forced.reset(before)


def preferred() -> AbstractContextManager[None]:
    """Compiled kernels where numba is installed, for small batches that come often: of single samples they take a tenth of the time.

    A path that is forced around it stays.
    """
    return forced("kernel") if _forced.get() is None and installed() else nullcontext()


def not_loaded_for_this() -> AbstractContextManager[None]:
    """Compute without kernels unless they are loaded: for work that is done in less time than loading them takes."""
    return nullcontext() if _loaded() else forced("pinocchio")


@cache
def kernel(name: str = LOOPS) -> ModuleType:
    """A module of compiled kernels, imported when first used."""
    module = import_module(name)
    drop_outdated()
    if _none_are_kept(module):
        _say_once()
    return module


def none_of_loops_are_kept() -> bool:
    """Whether those of loops are still to be compiled."""
    module = import_module(LOOPS)
    drop_outdated()
    return _none_are_kept(module)


def drop_outdated() -> None:
    """Forget what numba keeps of kernels that is older than any file that kernels are made of: numba itself looks at a function's own file
    alone, and fails where a table's class is no longer there."""
    modules = [module for name, module in sys.modules.items() if name.startswith(PACKAGE) and "kernel" in name]
    tables = {x.__module__ for m in modules for x in vars(m).values() if isinstance(x, type) and issubclass(x, tuple)}
    sources = [m.__file__ for m in (*modules, *(sys.modules[name] for name in tables)) if m.__file__]
    newest = max(os.stat(source).st_mtime for source in sources)
    for module in modules:
        for index in _indexes(module):
            with suppress(FileNotFoundError):  # another process was here first
                if index.stat().st_mtime < newest:
                    index.unlink()


def _compiled(module: ModuleType) -> list[Any]:
    """Its compiled functions that numba keeps."""
    own = [f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__]
    return [f for f in own if hasattr(f, "stats") and f.stats.cache_path]


def _none_are_kept(module: ModuleType) -> bool:
    return bool(_compiled(module)) and not any(_indexes(module))


def _indexes(module: ModuleType) -> Iterator[Path]:
    """Files in which numba lists what it keeps of a module's compiled functions."""
    for folder in {f.stats.cache_path for f in _compiled(module)}:
        yield from Path(folder).glob(f"{Path(module.__file__ or '').stem}.*.nbi")


@cache
def _say_once() -> None:
    LOGGER.warning("compiling kernels, once on this machine: up to half a minute")


def ready(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays as kernels want them: float, C order, writable; one compiled version then serves all."""
    return tuple(np.require(x, float, ["C", "W"]) for x in arrays)
