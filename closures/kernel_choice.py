"""Which of two paths computes: compiled kernels where numba is installed (the extra `fast`), else Pinocchio and NumPy."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.storage.caches import kernels_can_be_kept
from robodyn_pin.telling import LOGGER

NOWHERE = "compiled kernels cannot be kept, as neither home nor temporary files can be written; set NUMBA_CACHE_DIR"
FEW = 32  # fewer samples do not load the kernels, but use them once they are loaded
# Of this thread alone: a page may compute in several.
_forced: ContextVar[Literal["kernel", "pinocchio"] | None] = ContextVar("forced", default=None)


def chosen(samples: int) -> bool:
    """Whether the kernels serve a batch of so many samples."""
    path = _forced.get()
    return (samples >= FEW or _loaded()) and installed() if path is None else path == "kernel"


def _loaded() -> bool:
    """Whether kernels have served before in this process."""
    return kernel.cache_info().currsize > 0


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
def kernel(name: str = "robodyn_pin.closures.kernel") -> ModuleType:
    """A module of compiled kernels, imported when first used."""
    module = import_module(name)
    functions = [f for f in vars(module).values() if getattr(f, "__module__", "") == name and hasattr(f, "stats")]
    if functions and not any(_on_disk(Path(f.stats.cache_path), Path(module.__file__ or "")) for f in functions):
        _say_once()
    return module


def _on_disk(folder: Path, source: Path) -> bool:
    """Whether numba's index of a module's compiled functions is there, and not older than the module."""
    return any(x.stat().st_mtime >= source.stat().st_mtime for x in folder.glob(f"{source.stem}.*.nbi"))


@cache
def _say_once() -> None:
    LOGGER.warning("compiling kernels, once on this machine: about half a minute")


def ready(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays as kernels want them: float, C order, writable; one compiled version then serves all."""
    return tuple(np.require(x, float, ["C", "W"]) for x in arrays)
