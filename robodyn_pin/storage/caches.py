"""Caches of the libraries on machines where neither the user's home nor the installation can be written."""

import logging
import os
import tempfile
from functools import cache
from pathlib import Path


def spare_caches() -> None:
    """Let matplotlib and fontconfig use a folder of this user's own where theirs cannot be written, instead of complaining."""
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        if can_be_written(_base(name) / "matplotlib"):
            continue
        if (spare := spare_folder()) is None:
            logging.getLogger("matplotlib").setLevel(logging.ERROR)  # its error says it all
        else:
            os.environ[name] = str(spare)
            os.environ.setdefault("MPLCONFIGDIR", str(spare / "matplotlib"))


def kernels_can_be_kept(source: Path) -> bool:
    """Whether numba finds a folder for what it compiles of the files in `source`; a spare one is named to it if need be."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    usual = (*([Path(named)] if named else []), source / "__pycache__", _base("XDG_CACHE_HOME") / "numba")
    if any(can_be_written(folder) for folder in usual):
        return True
    if spare := spare_folder():
        os.environ["NUMBA_CACHE_DIR"] = str(spare / "numba")
    return spare is not None


def cache_folder() -> Path | None:
    """Where the package keeps what it can make again: in the user's caches, else in the spare folder; None if there can be none."""
    usual = _base("XDG_CACHE_HOME") / "robodyn_pin"
    return usual if can_be_written(usual) else spare_folder()


def can_be_written(folder: Path) -> bool:
    """Whether files can be made in a folder, or in one that is yet to be made; tried, as a file system may be read-only."""
    try:
        with tempfile.TemporaryFile(dir=next(x for x in (folder, *folder.parents) if os.path.lexists(x))):
            return folder.is_absolute()
    except (OSError, StopIteration):
        return False


@cache
def spare_folder() -> Path | None:
    """A folder of this user's own beside other temporary files, the same in each run; None if there can be none."""
    try:
        folder = Path(tempfile.gettempdir()) / f"robodyn_{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    own = found.st_uid == os.getuid() and not found.st_mode & 0o077  # nobody else has put code there
    return folder if own and can_be_written(folder) else None


def _base(name: str) -> Path:
    """The folder of caches or settings in the user's home; relative, if there is no home."""
    usual = {"XDG_CACHE_HOME": "~/.cache", "XDG_CONFIG_HOME": "~/.config"}
    return Path(os.environ.get(name) or os.path.expanduser(usual[name]))
