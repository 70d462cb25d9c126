"""Files of other machines, named s3://BUCKET/..., abfs://..., https://..., beside those of this one; fsspec reads and writes them.

Addresses and credentials are those of each library's own settings (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...), and so are
the tries after a request that failed.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import glob
from io import BufferedReader, RawIOBase
from pathlib import Path, PosixPath
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Any

from robodyn_pin.errors import BadFile, RobodynError

SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+]+:/")
WEB = ("http:", "https:")  # there are no folders there
READ_AHEAD = 1 << 20  # [bytes] of a file that is read from its begin to its end


class RemotePath(PosixPath):
    """A file or folder of another machine; a path has one slash of two, as a text it has both again."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)

    def absolute(self) -> "RemotePath":
        return self


def placed(path: Path) -> Path:
    """The same path, of another machine where it starts like a URL."""
    return RemotePath(path) if SCHEME.match(path.as_posix()) else path


def opened(path: Path) -> BufferedReader:
    """The bytes of a file, to be read from the begin to the end.

    Raises:
        BadFile: another machine does not give them, now or when they are read. OSError: this one does not.
    """
    if not isinstance(path, RemotePath):
        return path.open("rb")
    with _asked(path):
        system, name = _there(path)
        block = 0 if path.parts[0] in WEB else 4 * READ_AHEAD  # some web servers send nothing but whole files
        return BufferedReader(_RemoteBytes(path, system.open(name, "rb", block_size=block)), READ_AHEAD)


def opened_anywhere(path: RemotePath) -> RawIOBase:
    """The bytes of a file, of which only those that are asked for are fetched; of the web, first all of them. Raises as `opened`."""
    with _asked(path):
        system, name = _there(path)
        if path.parts[0] not in WEB:
            return _RemoteBytes(path, system.open(name, "rb", cache_type="none"))
        copy = _unnamed()
        with system.open(name, "rb", block_size=0) as file:
            shutil.copyfileobj(file, copy)
        copy.seek(0)
        return _RemoteBytes(path, copy)


def _unnamed() -> Any:
    """An empty file of this machine without a name, which goes with the process."""
    return TemporaryFile()


class _RemoteBytes(RawIOBase):
    """An open file of another machine; whatever reading it raises is one sentence."""

    def __init__(self, path: Path, file: Any):
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _asked(self._path):
            return int(self._file.readinto(buffer))

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; raises BadFile where another machine does not answer."""
    if not isinstance(path, RemotePath):
        return path.is_dir()
    if path.parts[0] in WEB:
        return False
    with _asked(path):
        system, name = _there(path)
        return bool(system.isdir(name))


def matching(pattern: Path) -> dict[Path, str]:
    """Files and folders that fit a pattern, with their states as `state_of`; raises BadFile where another machine does not answer."""
    if not isinstance(pattern, RemotePath):
        return {path: state_of(path) for path in map(Path, glob(str(pattern), recursive=True))}
    with _asked(pattern):
        system, name = _there(pattern)
        return {_path(system, found): _told(info) for found, info in system.glob(name, detail=True).items()}


def files_below(folder: Path) -> dict[Path, str]:
    """All files of a folder and of those in it; as `matching`."""
    if not isinstance(folder, RemotePath):
        paths = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
        return {path: state_of(path) for path in paths}
    with _asked(folder):
        system, name = _there(folder)
        return {_path(system, found): _told(info) for found, info in system.find(name, detail=True).items()}


def state_of(path: Path) -> str:
    """Another text where a file has changed: of its size and time, or what its server says of it; empty: it is not here.

    Raises:
        BadFile: another machine does not answer, or has no such file.
    """
    if not isinstance(path, RemotePath):
        with suppress(OSError):
            found = path.stat()
            return f"{found.st_size} {found.st_mtime_ns}"
        return ""
    with _asked(path):
        system, name = _there(path)
        return _told(system.info(name))


def _told(info: dict[str, Any]) -> str:
    return str(sorted((key, str(value)) for key, value in info.items()))


def stored_bytes(path: Path) -> bytes | None:
    """What `store_bytes` has stored; None: nothing, or it cannot be read."""
    with suppress(OSError, RobodynError), opened(path) as file:
        return file.read()
    return None


def store_bytes(path: Path, content: bytes) -> None:
    """Write a file at once, whole or not at all.

    Raises:
        OSError: this machine does not write it. BadFile: another one does not.
    """
    if isinstance(path, RemotePath):
        with _asked(path):
            system, name = _there(path)
            system.pipe_file(name, content)
        return
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


def make_folder(folder: Path) -> None:
    """Make a folder; on another machine, where they are parts of names, see that files can be written there. Raises as `store_bytes`."""
    if not isinstance(folder, RemotePath):
        folder.mkdir(parents=True, exist_ok=True)
        return
    trial = folder / f".written-{os.getpid()}"
    store_bytes(trial, b"robodyn_pin")
    with _asked(folder):
        system, name = _there(trial)
        system.rm_file(name)


def _there(path: RemotePath) -> tuple[Any, str]:
    """The file system of a path, without what it remembers of its folders, and the name there."""
    from fsspec.core import url_to_fs

    system, name = url_to_fs(str(path))
    system.invalidate_cache()
    return system, name


def _path(system: Any, name: str) -> Path:
    return RemotePath(system.unstrip_protocol(name))


@contextmanager
def _asked(path: Path) -> Iterator[None]:
    """Turn what the libraries of other machines' files raise, each errors of its own, into one sentence."""
    try:
        yield
    except RobodynError:
        raise
    except ImportError as error:
        why = f"{' '.join(str(error).split())}; pip install 'robodyn_pin[remote]'"
    except FileNotFoundError:
        why = "there is no such file or bucket; check the name"
    except PermissionError:
        why = "access is refused; check the name and the credentials"
    except Exception as error:
        why = f"{' '.join(str(error).split())[:200] or type(error).__name__}; check the address, the network and the credentials"
    else:
        return
    raise BadFile(f"cannot reach {path}: {why}")
